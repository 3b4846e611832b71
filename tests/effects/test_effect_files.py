"""What a file op shows is what it does, and it does nothing when the file is another one (SAFETY E2, E3, E4, G08)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from effects_kit import Bench
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.effects.difference import lines_of
from cas_tui.effects.errors import PreImageChanged, Refused
from cas_tui.effects.flags import T3_FLAGS
from cas_tui.effects.perform import perform, tidy
from cas_tui.effects.preimages import PreImageStore
from cas_tui.effects.prepare import EVERYTHING, HEAD, INDEX, overlap, prepare, touches
from cas_tui.effects.workspace import Workspace
from cas_tui.protocol.digest import request_digest, sha256
from cas_tui.protocol.requests import ABSENT, PreImage

PATCH = "--- a/README.md\n+++ b/README.md\n@@ -3,3 +3,4 @@\n one\n-two\n+2\n+2.5\n three\n"


def refused(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


def test_a_patch_is_shown_with_titles_of_ours_and_every_changed_row(both: Bench) -> None:
    shown = both.prepare("fs_patch", path="README.md", unified_diff=PATCH)
    assert shown.title == "Change README.md +2 -1"
    assert shown.summary == "Change README.md: 2 lines added, 1 removed, mode stays 0644"
    assert shown.display["rows"] == [
        [" ", 1, 1, "# Sample"],
        [" ", 2, 2, ""],
        [" ", 3, 3, "one"],
        ["-", 4, None, "two"],
        ["+", None, 4, "2"],
        ["+", None, 5, "2.5"],
        [" ", 5, 6, "three"],
    ]
    assert shown.display["foot"] == "end of file, newline kept"
    assert shown.flags == ()
    assert shown.reversible
    assert shown.touches == {"README.md"}
    done = both.perform("fs_patch", shown.pre_image, path="README.md", unified_diff=PATCH)
    data = (both.path / "README.md").read_bytes()
    assert data == b"# Sample\n\none\n2\n2.5\nthree\n"
    assert shown.after == {"README.md": sha256(data)}
    assert done.post["README.md"]["sha256"] == sha256(data)


def test_a_new_file_is_all_additions(both: Bench) -> None:
    shown = both.prepare("fs_write", path="docs/deep/x.md", content="a\nb\n")
    assert shown.title == "New file docs/deep/x.md, 2 lines"
    assert shown.pre_image.paths == {"docs/deep/x.md": ABSENT}
    assert [row[0] for row in shown.display["rows"]] == ["+", "+"]
    assert shown.flags == ("new path",)


def test_an_empty_file_an_unchanged_one_and_one_without_a_newline(both: Bench) -> None:
    assert both.prepare("fs_write", path="e", content="").display["foot"] == "the file is empty"
    same = both.prepare("fs_write", path="docs/a b.md", content="spaced\n")
    assert same.title == "Change docs/a b.md, same content"
    bare = both.prepare("fs_write", path="docs/a b.md", content="spaced")
    assert "no final newline" in bare.flags
    assert bare.display["foot"] == "end of file, newline removed"


def test_a_deletion_by_patch_removes_the_file_and_can_be_put_back(both: Bench) -> None:
    text = "--- a/docs/a b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-spaced\n"
    shown = both.prepare("fs_patch", path="docs/a b.md", unified_diff=text)
    assert "deletion" in shown.flags
    assert shown.after == {"docs/a b.md": "absent"}
    both.perform("fs_patch", shown.pre_image, path="docs/a b.md", unified_diff=text)
    assert not (both.path / "docs" / "a b.md").exists()
    image = shown.pre_image.paths["docs/a b.md"].sha256
    back = both.prepare("fs_restore", path="docs/a b.md", image=image, mode="0644")
    assert back.display["kind"] == "restore"
    both.perform("fs_restore", back.pre_image, path="docs/a b.md", image=image, mode="0644")
    assert (both.path / "docs" / "a b.md").read_bytes() == b"spaced\n"


def test_an_edit_is_undone_from_its_saved_pre_image_and_a_new_file_by_removal(both: Bench) -> None:
    """PROTOCOL §5.4: reversible because the pre-image is saved."""
    shown = both.prepare("fs_write", path="README.md", content="gone\n")
    both.perform("fs_write", shown.pre_image, path="README.md", content="gone\n")
    both.do("fs_restore", path="README.md", image=shown.pre_image.paths["README.md"].sha256)
    assert (both.path / "README.md").read_bytes().startswith(b"# Sample")
    both.do("fs_write", path="new.md", content="x\n")
    shown = both.prepare("fs_restore", path="new.md", image="absent")
    assert "deletion" in shown.flags
    both.perform("fs_restore", shown.pre_image, path="new.md", image="absent")
    assert not (both.path / "new.md").exists()
    assert refused(lambda: both.prepare("fs_restore", path="new.md", image="absent")).status == "skipped"
    assert refused(lambda: both.prepare("fs_restore", path="x", image=sha256(b"never"))).reason == "file_not_found"


def test_a_restore_puts_a_file_where_a_link_now_stands_and_follows_nothing(both: Bench) -> None:
    image = both.store.save(b"# Sample\n")
    (both.path / "README.md").unlink()
    (both.path / "README.md").symlink_to(both.outside / "secret.txt")
    shown = both.prepare("fs_restore", path="README.md", image=image)
    assert shown.display["was"] == "symlink"
    assert [row[3] for row in shown.display["rows"]] == ["# Sample"]
    both.perform("fs_restore", shown.pre_image, path="README.md", image=image)
    assert not (both.path / "README.md").is_symlink()
    assert (both.outside / "secret.txt").read_bytes() == b"secret\n"


@pytest.mark.parametrize("change", ["content", "mode", "gone", "link", "directory"])
def test_e3_g08_a_file_that_changed_since_it_was_shown_is_left_alone(both: Bench, change: str) -> None:
    shown = both.prepare("fs_patch", path="README.md", unified_diff=PATCH)
    target = both.path / "README.md"
    if change == "content":
        target.write_bytes(target.read_bytes() + b"more\n")
    elif change == "mode":
        target.chmod(0o600)
    else:
        target.unlink()
        if change == "link":
            target.symlink_to("src/app.py")
        elif change == "directory":
            target.mkdir()
    before = both.tree()
    with pytest.raises(PreImageChanged):
        both.perform("fs_patch", shown.pre_image, path="README.md", unified_diff=PATCH)
    assert both.tree() == before


def test_e3_a_file_that_appeared_since_it_was_shown_absent_is_left_alone(both: Bench) -> None:
    shown = both.prepare("fs_write", path="x", content="ours\n")
    both.write("x", b"theirs\n")
    with pytest.raises(PreImageChanged):
        both.perform("fs_write", shown.pre_image, path="x", content="ours\n")
    assert (both.path / "x").read_bytes() == b"theirs\n"


def test_e3_a_change_while_the_new_content_is_being_written_is_noticed(both: Bench) -> None:
    """The last look comes when the new content is on disk; here saving the old one gives the other writer time."""
    shown = both.prepare("fs_write", path="README.md", content="ours\n")

    def save(data: bytes) -> str:
        both.write("README.md", b"theirs\n")
        return sha256(data)

    with pytest.raises(PreImageChanged):
        perform(
            both.ws, "fs_write", {"path": "README.md", "content": "ours\n"}, shown.pre_image,
            save=save, identity=("a", "b"), when=None,  # type: ignore[arg-type]
        )  # fmt: skip
    assert (both.path / "README.md").read_bytes() == b"theirs\n"
    assert not [name for name in os.listdir(both.path) if name.startswith(".cas-tui-")]


def test_nothing_is_written_when_the_old_version_cannot_be_saved(both: Bench) -> None:
    shown = both.prepare("fs_write", path="README.md", content="ours\n")
    before = both.tree()

    def full(_: bytes) -> str:
        raise OSError(28, "No space left on device")

    error = refused(
        lambda: perform(
            both.ws, "fs_write", {"path": "README.md", "content": "ours\n"}, shown.pre_image,
            save=full, identity=("a", "b"), when=None,  # type: ignore[arg-type]
        )
    )  # fmt: skip
    assert error.reason == "storage_failure"
    assert both.tree() == before


def test_binary_and_oversize_are_opaque_and_flagged(both: Bench) -> None:
    both.write("b.bin", b"\0\1")
    shown = both.prepare("fs_write", path="b.bin", content="text\n")
    assert (shown.display["kind"], shown.display["size"]) == ("opaque", 5)
    assert "binary" in shown.flags
    big = both.prepare("fs_write", path="big.txt", content="x" * (2 << 20) + "\n")
    assert big.display["kind"] == "opaque"
    assert "oversize" in big.flags
    assert {"binary", "oversize"} <= T3_FLAGS


def test_bytes_that_are_not_text_are_flagged_and_reach_json_as_escapes(both: Bench) -> None:
    both.write("latin.txt", b"caf\xe9\none\n")
    shown = both.prepare("fs_write", path="latin.txt", content="cafe\none\n")
    assert "not UTF-8" in shown.flags
    assert ["-", 1, None, "caf\\xe9"] in shown.display["rows"]
    json.dumps(shown.display).encode()


def test_l08_what_could_mislead_in_content_or_path_is_flagged(both: Bench) -> None:
    assert "bidi" in both.prepare("fs_write", path="a", content="x\u202ey\n").flags
    assert "bidi" in both.prepare("fs_write", path="a\u202eb", content="x\n").flags
    assert "control characters" in both.prepare("fs_write", path="a", content="\x1b]52;c;x\x07\n").flags
    assert "invisible characters" in both.prepare("fs_write", path="a", content="x\u200by\n").flags


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("exec", {"argv": ["ls"]}, "policy_rejected"),
        ("obligation_register", {"obligation": {}}, "policy_rejected"),
        ("fs_chmod", {"path": "x"}, "unknown_op_kind"),
    ],
)
def test_e6_what_is_not_done_at_all_is_refused_when_shown_and_when_asked(
    bench: Bench, kind: str, fields: dict[str, object], reason: str
) -> None:
    assert refused(lambda: bench.prepare(kind, **fields)).reason == reason
    assert refused(lambda: bench.perform(kind, PreImage(), **fields)).reason == reason
    assert refused(lambda: touches(bench.ws, kind, fields)).reason == reason


def test_touches_are_known_before_the_state_is_there(bench: Bench) -> None:
    """PROTOCOL §5.4 `after`: a patch or stage of a file that an earlier op of the pass will make."""
    write = touches(bench.ws, "fs_write", {"path": "./new.md", "content": ""})
    patch = touches(bench.ws, "fs_patch", {"path": "new.md", "unified_diff": ""})
    stage = touches(bench.ws, "git_stage", {"paths": ["new.md"]})
    everything = touches(bench.ws, "git_stage", {})
    commit = touches(bench.ws, "git_commit", {"message": "x"})
    branch = touches(bench.ws, "git_branch", {"name": "x"})
    other = touches(bench.ws, "fs_write", {"path": "other.md", "content": ""})
    assert write == patch == {"new.md"}
    assert overlap(write, stage)
    assert overlap(write, everything)
    assert overlap(stage, commit)
    assert overlap(commit, branch)
    assert not overlap(write, commit)
    assert not overlap(write, other)
    assert not overlap(stage, branch)
    assert overlap(frozenset({"a"}), frozenset({"a/b"}))
    assert not overlap(frozenset({"a"}), frozenset({"ab"}))
    assert {INDEX, EVERYTHING, HEAD} == {"git:index", "*", "git:head"}


def test_the_digest_of_a_prepared_op_names_its_pre_image(bench: Bench) -> None:
    """E2, E3: the same op against another state has another digest."""

    def digest() -> str:
        fields = {"path": "README.md", "content": "x\n"}
        shown = prepare(bench.ws, "fs_write", fields)
        return request_digest(
            root="/r", trigger_id="t", op_id="1", kind="fs_write", fields=fields, cwd="", env_names=(),
            pre_image=shown.pre_image.as_json(),
        )  # fmt: skip

    first = digest()
    assert digest() == first
    bench.write("README.md", b"else\n")
    assert digest() != first


def test_a_killed_write_is_tidied_beside_its_own_path(bench: Bench) -> None:
    name = ".cas-tui-" + "ab" * 16 + ".tmp"
    bench.write(f"docs/{name}", b"half")
    assert tidy(bench.ws, "fs_write", {"path": "README.md"}) == ()
    assert tidy(bench.ws, "fs_write", {"path": "docs/x.md"}) == (name,)
    assert tidy(bench.ws, "git_commit", {"message": "x"}) == ()


@settings(max_examples=60, deadline=None)
@given(
    before=st.one_of(st.none(), st.binary(max_size=60)),
    after=st.text(alphabet=st.sampled_from("ab\n\r\té\u202e\x00\x1b"), max_size=60),
)
def test_e2_what_was_shown_is_what_is_written(tmp_path_factory, before: bytes | None, after: str) -> None:
    """The rows rebuild the file that is then there, unless the card says it cannot show it."""
    path = tmp_path_factory.mktemp("w")
    if before is not None:
        (path / "f").write_bytes(before)
    ws = Workspace.open(path)
    try:
        fields = {"path": "f", "content": after}
        shown = prepare(ws, "fs_write", fields)
        store = PreImageStore(path.parent / "pre")
        perform(ws, "fs_write", fields, shown.pre_image, save=store.save, identity=("a", "b"), when=None)  # type: ignore[arg-type]
        now = (path / "f").read_bytes()
        assert now == after.encode()
        assert shown.after == {"f": sha256(now)}
        if before is not None:
            assert store.load(shown.pre_image.paths["f"].sha256) == before
        if shown.display["kind"] == "diff":
            lines = lines_of(now)
            for mark, _, number, text in shown.display["rows"]:
                if mark in "+ ":
                    assert lines[number - 1].decode("utf-8", "backslashreplace") == text
            assert len([row for row in shown.display["rows"] if row[0] == "+"]) == shown.display["added"]
        else:
            assert {"binary", "oversize"} & set(shown.flags)
    finally:
        ws.close()


def test_saved_contents_are_private_checked_and_kept_once(tmp_path: Path) -> None:
    store = PreImageStore(tmp_path / "zone" / "pre")
    key = store.save(b"content")
    assert store.save(b"content") == key
    assert store.load(key) == b"content"
    assert (tmp_path / "zone" / "pre").stat().st_mode & 0o777 == 0o700
    (file,) = (tmp_path / "zone" / "pre").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"tampered")
    assert store.load(key) is None
    assert store.save(b"content") == key
    assert store.load(key) == b"content"
    quick = store.save(b"quick", durable=False)
    assert store.save(b"quick", durable=False) == store.save(b"quick") == quick
    assert store.load(quick) == b"quick"
    for odd in ("sha256:../../x", "../x", "", "sha256:" + "0" * 64):
        assert store.load(odd) is None
