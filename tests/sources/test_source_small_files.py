"""Issues and the exchange: small files, read again only when they change (PROTOCOL §2.3, §2.7)."""

from __future__ import annotations

from pathlib import Path

from sources_kit import detail, said, unprivileged_folder

from cas_tui.protocol.events import IssuesRead, LoopFiles
from cas_tui.sources import issues as issues_module
from cas_tui.sources.exchange import Exchange
from cas_tui.sources.folder import Folder
from cas_tui.sources.issues import Issues


def pinned(path: Path) -> Folder:
    folder = Folder(path)
    folder.refresh()
    return folder


def names(events: tuple[object, ...]) -> list[str] | None:
    read = [event for event in events if isinstance(event, IssuesRead)]
    return [issue.name for issue in read[-1].issues] if read else None


def surfaced(root: Path, name: str, content: bytes) -> Path:
    directory = root / "state" / "mca"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(content)
    return directory / name


def test_issues_are_read_in_order_with_their_frontmatter_and_body(tmp_path: Path) -> None:
    surfaced(tmp_path, "b.md", b"bare text")
    surfaced(tmp_path, "a.md", b"---\nid: x\nstatus: open\n---\n# MCA\n\nit is \xff broken\n")
    surfaced(tmp_path, "note.txt", b"no issue")
    source = Issues(pinned(tmp_path), root="r")
    (event,) = source.look()
    assert isinstance(event, IssuesRead)
    first, second = event.issues
    assert (first.name, first.entries) == ("a.md", (("id", "x"), ("status", "open")))
    assert first.body == "# MCA\n\nit is \udcff broken"
    assert (second.entries, second.body) == ((), "bare text")
    read = source.bytes_read
    assert source.look() == () and source.bytes_read == read


def test_no_issues_are_said_once_and_new_ones_found_later(tmp_path: Path) -> None:
    source = Issues(pinned(tmp_path), root="r")
    assert names(source.look()) == [] and source.look() == ()
    file = surfaced(tmp_path, "a.md", b"one")
    assert names(source.look()) == ["a.md"]
    file.write_bytes(b"two, edited")
    assert names(source.look()) == ["a.md"]
    file.rename(file.with_name("b.md"))
    assert names(source.look()) == ["b.md"]
    file.with_name("b.md").unlink()
    assert names(source.look()) == []


def test_an_issue_that_may_not_be_read_is_listed_with_its_reason() -> None:
    with unprivileged_folder() as folder:
        surfaced(folder, "a.md", b"one").chmod(0)
        surfaced(folder, "b.md", b"two")
        source = Issues(pinned(folder), root="r")
        events = source.look()
        assert names(events) == ["a.md", "b.md"]
        assert detail(events, "state/mca/a.md") == "permission denied"
        assert source.look() == ()
        (folder / "state" / "mca" / "a.md").chmod(0o600)
        events = source.look()
        assert said(events, "state/mca/a.md") == ["live"] and names(events) == ["a.md", "b.md"]


def test_a_link_out_of_the_root_is_not_read_as_an_issue(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    root = tmp_path / "memory"
    surfaced(root, "a.md", b"one")
    (root / "state" / "mca" / "b.md").symlink_to(secret)
    events = Issues(pinned(root), root="r").look()
    assert names(events) == ["a.md", "b.md"]
    assert "secret" not in str(events) and said(events, "state/mca/b.md") == ["unreadable"]


def test_many_and_large_issues_are_bounded_and_it_is_said(tmp_path: Path, monkeypatch) -> None:
    """B09."""
    monkeypatch.setattr(issues_module, "MAX_ISSUES", 3)
    for number in range(5):
        surfaced(tmp_path, f"{number}.md", b"x" * (70_000 if number == 0 else 5))
    source = Issues(pinned(tmp_path), root="r")
    events = source.look()
    assert names(events) == ["0.md", "1.md", "2.md"]
    assert detail(events, "state/mca") == "2 more files than the 3 shown"
    assert "only the first" in detail(events, "state/mca/0.md")
    assert source.look() == ()


def test_names_that_are_not_text_are_kept(tmp_path: Path) -> None:
    """B09: escaped by whoever shows them."""
    surfaced(tmp_path, "a\nb.md", b"one")
    surfaced(tmp_path, "\udcff.md", b"two")
    assert names(Issues(pinned(tmp_path), root="r").look()) == ["a\nb.md", "\udcff.md"]


def test_an_empty_exchange_is_said_once(tmp_path: Path) -> None:
    source = Exchange(pinned(tmp_path), root="r")
    assert source.look() == LoopFiles("r") and source.look() is None


def test_the_exchange_is_followed_as_it_changes(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "queue").mkdir(parents=True)
    (state / "input.md").write_text("---\nid: t1\nfrom: operator\n---\n\nhello\n")
    (state / "queue" / "2-b.md").write_text("")
    (state / "queue" / "1-a.md").write_text("")
    (tmp_path / "run_nonce.txt").write_text("n-1\n")
    source = Exchange(pinned(tmp_path), root="r")
    assert source.look() == LoopFiles("r", "t1", 1, False, ("1-a.md", "2-b.md"), "n-1")
    (state / "output.md").write_text("")
    assert source.look() == LoopFiles("r", "t1", 1, True, ("1-a.md", "2-b.md"), "n-1")
    (state / "input.md").write_text("---\nid: t1\n---\n\n## Pass 1 Receipts\n\n## Pass 2 Receipts\n")
    (state / "queue" / "1-a.md").unlink()
    assert source.look() == LoopFiles("r", "t1", 3, True, ("2-b.md",), "n-1")
    (state / "input.md").write_text("---\nid: t2\npass: 7\n---\n\n## Pass 1 Receipts\n")
    assert source.look() == LoopFiles("r", "t2", 7, True, ("2-b.md",), "n-1")
    assert source.look() is None


def test_the_nonce_of_the_sandbox_layout_is_read(tmp_path: Path) -> None:
    (tmp_path / "STATE").mkdir()
    (tmp_path / "STATE" / "run_nonce.txt").write_text(" n-2\n")
    event = Exchange(pinned(tmp_path), root="r").look()
    assert event is not None and event.nonce_file == "n-2"
