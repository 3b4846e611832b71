"""git is read and written without starting a program, and only as shown (SAFETY S4, E3, group J)."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from effects_kit import FILES, IDENTITY, WHEN, Bench

from cas_tui.effects.errors import PreImageChanged, Refused
from cas_tui.effects.git import describe, init_repository, tree_oid
from cas_tui.effects.workspace import Workspace


def refused(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


def plant_programs(bench: Bench) -> Path:
    """Every way a repository can name a program, each of which would touch the marker."""
    marker = bench.outside / "ran"
    program = bench.outside / "evil"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {marker}\ncat\n")
    program.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.pager", "core.editor", "sequence.editor", "core.sshCommand", "core.askPass",
        "credential.helper", "gpg.program", "diff.external", "diff.evil.command", "diff.evil.textconv",
        "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver", "alias.status",
        "interactive.diffFilter", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        bench.git("config", key, str(program))
    bench.git("config", "filter.evil.required", "true")
    bench.git("config", "commit.gpgSign", "true")
    hooks = bench.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-index-change", "reference-transaction",
        "post-checkout", "fsmonitor-watchman", "pre-auto-gc",
    ):  # fmt: skip
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    bench.write("included.cfg", f"[core]\n\tfsmonitor = {program}\n\thooksPath = {hooks}\n".encode())
    bench.git("config", "include.path", "../included.cfg")
    bench.write(".gitattributes", b"* diff=evil merge=evil\n*.md filter=evil\n")
    marker.unlink(missing_ok=True)
    return marker


def test_s4_the_planted_programs_do_run_under_the_git_program(bench: Bench) -> None:
    """Otherwise the next test would prove nothing."""
    marker = plant_programs(bench)
    bench.write("README.md", b"# Sample\n\nchanged\n")
    with contextlib.suppress(subprocess.CalledProcessError):
        bench.git("diff", "--stat")
    assert marker.exists()


def test_s4_no_observe_op_starts_a_program_or_writes_anything(bench: Bench) -> None:
    """J01 to J06: fsmonitor, filters, textconv, external diff, hooks, includes."""
    marker = plant_programs(bench)
    bench.write("README.md", b"# Sample\n\nchanged\n")
    bench.write("new.md", b"new\n")
    before = bench.tree()
    assert b"README.md" in bench.look("git_status").data
    assert b"changed" in bench.look("git_diff").data
    assert b"changed" in bench.look("git_diff", rev="HEAD").data
    assert b"Begin" in bench.look("git_log").data
    assert b"app.py" in bench.look("git_grep", query="main").data
    describe(bench.ws)
    bench.prepare("git_stage")
    assert bench.tree() == before
    assert not marker.exists()


def test_s4_staging_committing_and_branching_start_no_program_either(bench: Bench) -> None:
    """J02, J04, J05: what a filter would have changed is said, and a commit is not signed by a program."""
    marker = plant_programs(bench)
    bench.write("README.md", b"# Sample\n\nchanged\n")
    shown = bench.prepare("git_stage", paths=["README.md"])
    assert "filter not run" in shown.flags
    bench.do("git_stage", paths=["README.md"])
    bench.do("git_commit", message="Change")
    bench.do("git_branch", name="topic")
    assert not marker.exists()
    assert bench.git("cat-file", "blob", "HEAD:README.md") == "# Sample\n\nchanged\n"


def test_j15_git_variables_in_our_own_environment_mean_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    init_repository(other, {"x": b"x"}, message="Other", identity=IDENTITY, when=WHEN)
    for name, value in (
        ("GIT_DIR", str(other / ".git")), ("GIT_WORK_TREE", str(other)), ("GIT_INDEX_FILE", str(other / "i")),
        ("GIT_OBJECT_DIRECTORY", str(other / "o")), ("GIT_EXTERNAL_DIFF", "/bin/false"), ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.worktree"), ("GIT_CONFIG_VALUE_0", str(other)),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    ws = Workspace.open(bench.path)
    assert describe(ws)["subjects"] == ["Begin"]
    bench.write("README.md", b"x\n")
    bench.do("git_stage")
    assert not (other / "i").exists()


def test_three_ops_of_one_story_in_order(bench: Bench) -> None:
    """Write, stage, commit: each shown against the state the one before left, each done as shown."""
    wrote = bench.do("fs_write", path="docs/new.md", content="hello\n")
    shown = bench.prepare("git_stage", paths=["docs/new.md"])
    assert shown.display == {"kind": "stage", "files": [["A", "docs/new.md"]]}
    assert shown.pre_image.paths["docs/new.md"].as_json() == wrote.post["docs/new.md"]
    staged = bench.perform("git_stage", shown.pre_image, paths=["docs/new.md"])
    shown = bench.prepare("git_commit", message="Add a page\n\nWith a body.")
    assert shown.pre_image.index_tree == staged.facts["index_tree"]
    assert shown.title == 'Commit 1 file on main: "Add a page"'
    assert shown.display["files"] == [["A", "docs/new.md", 1, 0]]
    assert shown.display["author"] == "cas-tui <cas-tui@localhost>"
    done = bench.perform("git_commit", shown.pre_image, message="Add a page\n\nWith a body.")
    assert bench.git("log", "-1", "--format=%H|%an|%ae|%at|%B").strip() == (
        f"{done.facts['commit']}|cas-tui|cas-tui@localhost|{int(WHEN.timestamp())}|Add a page\n\nWith a body."
    )
    assert bench.git("status", "--porcelain") == ""
    bench.git("fsck", "--strict")


def test_the_index_tree_is_computed_as_git_does_and_writes_no_object(bench: Bench) -> None:
    bench.write("a-b/x", b"1")
    bench.write("a/x", b"2")
    bench.write("a.c", b"3")
    bench.write("run.sh", b"#!/bin/sh\n").chmod(0o755)
    bench.git("add", ".")
    before = bench.tree()
    assert bench.ws.git is not None
    state = bench.ws.git.state()
    assert bench.tree() == before
    assert state.index_tree == bench.git("write-tree").strip()
    assert tree_oid(iter(())) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_status_lines_are_gits_own(bench: Bench) -> None:
    """PROTOCOL §2.5: `XY path`; spaces, renames, deletions; the runtime's own files left out."""
    bench.write("docs/a b.md", b"changed\n")
    bench.write("added file.txt", b"x\n")
    bench.git("add", "added file.txt")
    bench.git("mv", "README.md", "READ.md")
    (bench.path / "src" / "app.py").unlink()
    for name in ("state/x", "logs/y", ".cn/z", "cn.json", "agent.package.json"):
        bench.write(name, b"ours\n")
    bench.write("free.txt", b"x\n")
    assert bench.look("git_status").data.decode().splitlines() == [
        "R  README.md -> READ.md",
        "A  added file.txt",
        " M docs/a b.md",
        "?? free.txt",
        " D src/app.py",
    ]


def test_a_hostile_file_name_stays_one_line(bench: Bench) -> None:
    bench.write("two\nlines", b"x\n")
    (bench.path / os.fsdecode(b"caf\xe9")).write_bytes(b"x\n")
    assert bench.look("git_status").data.decode().splitlines() == ["?? caf\\xe9", "?? two\\nlines"]
    shown = bench.prepare("fs_write", path="x", content="y")
    assert shown.title
    assert refused(lambda: bench.prepare("git_stage")).reason == "nothing_to_stage"


@pytest.mark.parametrize("rev", ["-x", "--output=x", "-O/tmp/x", "no-such", "HEAD:README.md", "a\x1bb", "HEAD...HEAD"])
def test_j08_a_revision_that_is_none_is_denied(bench: Bench, rev: str) -> None:
    for kind in ("git_log", "git_diff"):
        assert refused(lambda kind=kind: bench.look(kind, rev=rev)).reason.startswith("invalid_rev: ")


def test_diff_against_a_revision_and_between_two(bench: Bench) -> None:
    bench.do("fs_write", path="README.md", content="new\n")
    bench.do("git_stage")
    bench.do("git_commit", message="Second")
    assert bench.look("git_diff").data == b""
    assert b"+new" in bench.look("git_diff", rev="HEAD~1").data
    assert bench.look("git_diff", rev="HEAD~1..HEAD").data == bench.look("git_diff", rev="HEAD~1").data
    lines = bench.look("git_log").data.decode().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == ["Second", "Begin"]
    assert len(bench.look("git_log", max=1).data.splitlines()) == 1


def test_denied_places_are_in_no_diff_and_no_grep(bench: Bench) -> None:
    bench.write("state/x.md", b"sesame\n")
    bench.git("add", "-f", "state/x.md")
    bench.git("commit", "-qm", "hidden")
    bench.write("state/x.md", b"sesame changed\n")
    assert b"sesame" not in bench.look("git_diff").data
    assert b"sesame" not in bench.look("git_diff", rev="HEAD~1").data
    assert bench.look("git_grep", query="sesame").data == b""


def test_stage_all_takes_the_safe_changes_and_says_what_it_leaves(bench: Bench) -> None:
    """Denied, protected and linked files are never staged; spaces, deletions and new files are."""
    bench.write("docs/a b.md", b"changed\n")
    bench.write("new file.txt", b"x\n")
    (bench.path / "src" / "app.py").unlink()
    (bench.path / "link").symlink_to("README.md")
    bench.write("spec/SOUL.md", b"me\n")
    bench.write("state/x", b"x\n")
    bench.write("nested/.git/config", b"[core]\n")
    (bench.path / os.fsdecode(b"caf\xe9")).write_bytes(b"x\n")
    shown = bench.prepare("git_stage")
    assert shown.display["files"] == [["M", "docs/a b.md"], ["A", "new file.txt"], ["D", "src/app.py"]]
    assert ["link", "symlink_escape"] in shown.display["left_out"]
    assert ["spec/SOUL.md", "protected_file"] in shown.display["left_out"]
    assert "some changes left out" in shown.flags
    assert "removes files" in shown.flags
    bench.perform("git_stage", shown.pre_image)
    assert sorted(bench.git("diff", "--cached", "--name-status").splitlines()) == [
        "A\tnew file.txt",
        "D\tsrc/app.py",
        "M\tdocs/a b.md",
    ]


def test_named_paths_are_literal_and_directories_are_refused(bench: Bench) -> None:
    bench.write("*.md", b"star\n")
    bench.write("README.md", b"changed\n")
    shown = bench.prepare("git_stage", paths=["*.md"])
    assert shown.display["files"] == [["A", "*.md"]]
    assert refused(lambda: bench.prepare("git_stage", paths=["src"])).reason == "directory_not_allowed: src"
    assert refused(lambda: bench.prepare("git_stage", paths=["."])).reason == "directory_not_allowed: ."
    assert refused(lambda: bench.prepare("git_stage", paths=[":(top)x"])).reason == "file_not_found"
    assert refused(lambda: bench.prepare("git_stage", paths=["state/x"])).reason == "path_denied"
    same = refused(lambda: bench.prepare("git_stage", paths=["src/app.py"]))
    assert (same.reason, same.status) == ("nothing_to_stage", "skipped")


def test_an_ignored_file_is_not_staged(bench: Bench) -> None:
    bench.write(".gitignore", b"*.key\n")
    bench.write("a.key", b"k\n")
    assert refused(lambda: bench.prepare("git_stage", paths=["a.key"])).reason == "path_denied"
    assert bench.prepare("git_stage").display["files"] == [["A", ".gitignore"]]


def test_line_endings_and_ident_are_kept_as_git_keeps_them(bench: Bench) -> None:
    """The built-in conversions are no programs; without them git would see a change right after a commit."""
    bench.write(".gitattributes", b"*.txt text=auto\n*.c ident\n")
    bench.write("dos.txt", b"one\r\ntwo\r\n")
    bench.write("a.c", b"/* $Id: 123 $ */\n")
    bench.do("git_stage")
    bench.do("git_commit", message="Conversions")
    assert bench.git("cat-file", "blob", "HEAD:dos.txt") == "one\ntwo\n"
    assert bench.git("cat-file", "blob", "HEAD:a.c") == "/* $Id$ */\n"
    assert bench.git("status", "--porcelain") == ""


def test_an_executable_is_committed_as_one(bench: Bench) -> None:
    bench.write("run.sh", b"#!/bin/sh\n").chmod(0o755)
    bench.do("git_stage")
    bench.do("git_commit", message="Tool")
    assert bench.git("ls-tree", "HEAD", "run.sh").startswith("100755")


def test_an_empty_index_is_skipped_unless_an_empty_commit_is_asked_for(bench: Bench) -> None:
    empty = refused(lambda: bench.prepare("git_commit", message="Nothing"))
    assert (empty.reason, empty.status) == ("nothing_staged", "skipped")
    shown = bench.prepare("git_commit", message="Nothing", allow_empty=True)
    assert shown.flags == ("empty commit",)
    bench.perform("git_commit", shown.pre_image, message="Nothing", allow_empty=True)
    assert describe(bench.ws)["subjects"] == ["Nothing", "Begin"]


def test_the_first_commit_of_a_new_repository(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench({})
    bench.git("init", "-q", "-b", "trunk")
    bench.ws = Workspace.open(bench.path)
    bench.do("fs_write", path="a.txt", content="a\n")
    bench.do("git_stage")
    shown = bench.prepare("git_commit", message="First")
    assert (shown.pre_image.head, shown.pre_image.branch) == ("unborn", "trunk")
    bench.perform("git_commit", shown.pre_image, message="First")
    assert describe(bench.ws)["branch"] == "trunk"
    assert bench.git("status", "--porcelain") == ""


def test_j12_a_message_is_shown_raw_and_quoted_on_one_line(bench: Bench) -> None:
    message = "Fix \x1b[2J\u202e\n\nSigned-off-by: root <root@x>"
    bench.write("README.md", b"x\n")
    bench.do("git_stage")
    shown = bench.prepare("git_commit", message=message)
    assert shown.display["message"] == message + "\n"
    assert "\n" not in shown.title
    assert "\x1b" not in shown.title
    bench.perform("git_commit", shown.pre_image, message=message)
    assert bench.git("log", "-1", "--format=%an %cn").strip() == "cas-tui cas-tui"


@pytest.mark.parametrize(
    "name",
    [
        "-x", "--force", "@{-1}", "@", "HEAD", "head", "refs/../x", "refs/heads/x", "a..b", "a b", "a~1", "a^", "a:b",
        "x.lock", "x/", "/x", "a//b", ".x", "x" * 300, "a\x1bb", "a\u202eb", ".git/x", "main", "main/x", "",
    ],
)  # fmt: skip
def test_j11_a_branch_name_that_could_mislead_is_refused(bench: Bench, name: str) -> None:
    assert refused(lambda: bench.prepare("git_branch", name=name)).reason == "policy_rejected"


def test_a_branch_is_made_at_head_and_switched_to_and_no_file_changes(bench: Bench) -> None:
    bench.write("README.md", b"uncommitted\n")
    shown = bench.prepare("git_branch", name="topic/one")
    assert shown.display == {"kind": "branch", "name": "topic/one", "at": shown.pre_image.head, "from": "main"}
    bench.perform("git_branch", shown.pre_image, name="topic/one")
    assert bench.git("branch", "--show-current").strip() == "topic/one"
    assert (bench.path / "README.md").read_bytes() == b"uncommitted\n"


def test_j13_what_moved_since_it_was_shown_refuses(bench: Bench) -> None:
    """E3: content, index, HEAD, branch, and a new file among all changes."""
    bench.write("README.md", b"one\n")
    shown = bench.prepare("git_stage")
    bench.write("README.md", b"two\n")
    with pytest.raises(PreImageChanged, match=r"README\.md changed"):
        bench.perform("git_stage", shown.pre_image)
    shown = bench.prepare("git_stage")
    bench.write("extra.txt", b"x\n")
    with pytest.raises(PreImageChanged, match=r"extra\.txt is new"):
        bench.perform("git_stage", shown.pre_image)
    (bench.path / "extra.txt").unlink()
    bench.do("git_stage")
    shown = bench.prepare("git_commit", message="One")
    bench.git("add", "-A")
    bench.write("more.txt", b"x\n")
    bench.git("add", "more.txt")
    with pytest.raises(PreImageChanged, match="the index moved"):
        bench.perform("git_commit", shown.pre_image, message="One")
    shown = bench.prepare("git_commit", message="Two")
    bench.git("checkout", "-q", "-b", "elsewhere")
    with pytest.raises(PreImageChanged, match="the branch moved"):
        bench.perform("git_commit", shown.pre_image, message="Two")
    shown = bench.prepare("git_branch", name="topic")
    bench.git("commit", "-qm", "someone else")
    with pytest.raises(PreImageChanged, match="HEAD moved"):
        bench.perform("git_branch", shown.pre_image, name="topic")
    assert bench.git("branch", "--list", "topic") == ""


def test_j13_a_lock_a_merge_and_a_detached_head_are_refused_in_words(bench: Bench) -> None:
    bench.write("README.md", b"one\n")
    bench.git("add", "README.md")
    lock = bench.path / ".git" / "index.lock"
    lock.touch()
    assert "index.lock" in refused(lambda: bench.prepare("git_commit", message="x")).detail
    assert "index.lock" in refused(lambda: bench.prepare("git_stage", paths=["README.md"])).detail
    lock.unlink()
    merge = bench.path / ".git" / "MERGE_HEAD"
    merge.write_text(bench.git("rev-parse", "HEAD"))
    assert "merge is in progress" in refused(lambda: bench.prepare("git_commit", message="x")).detail
    merge.unlink()
    bench.git("checkout", "-q", "--detach")
    assert "detached" in refused(lambda: bench.prepare("git_commit", message="x")).detail
    assert bench.prepare("git_branch", name="rescue").pre_image.branch == "HEAD"


def test_j13_conflicts_in_the_index_are_refused(bench: Bench) -> None:
    bench.git("checkout", "-q", "-b", "a")
    bench.write("README.md", b"a\n")
    bench.git("commit", "-qam", "a")
    bench.git("checkout", "-q", "main")
    bench.write("README.md", b"b\n")
    bench.git("commit", "-qam", "b")
    with pytest.raises(subprocess.CalledProcessError):
        bench.git("merge", "a")
    assert b"UU README.md" in bench.look("git_status").data
    assert refused(lambda: bench.prepare("git_commit", message="x")).reason == "git_not_ready"


def test_j07_a_repository_in_a_sub_directory_is_not_entered(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench({})
    init_repository(bench.path / "sub", FILES, message="Inner", identity=IDENTITY, when=WHEN)
    bench.git("init", "-q", "--bare", "bare.git")
    ws = Workspace.open(bench.path)
    assert ws.git is None
    assert refused(ws.repo).reason == "policy_rejected"


def test_a_workspace_below_a_repository_does_not_use_it(bench: Bench) -> None:
    ws = Workspace.open(bench.path / "src")
    assert ws.git is None


def test_a_work_tree_elsewhere_is_not_used(bench: Bench) -> None:
    bench.git("config", "core.worktree", str(bench.outside))
    assert "another directory" in Workspace.open(bench.path).git_fault
    assert refused(lambda: bench.look("git_status")).reason == "git_not_ready"


def test_a_git_file_or_link_that_points_to_a_strange_repository_is_not_used(bench: Bench, tmp_path: Path) -> None:
    place = tmp_path / "pointing"
    place.mkdir()
    (place / ".git").write_text(f"gitdir: {bench.path}/.git\n")
    ws = Workspace.open(place)
    assert ws.git is None
    assert ws.git_fault
    (place / ".git").unlink()
    (place / ".git").symlink_to(bench.path / ".git")
    assert Workspace.open(place).git_fault == ".git is a symlink"


def test_a_linked_worktree_of_git_is_used(bench: Bench, tmp_path: Path) -> None:
    bench.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    ws = Workspace.open(tmp_path / "side")
    assert ws.git_fault == ""
    assert describe(ws)["branch"] == "side"


def test_j14_objects_from_elsewhere_are_refused(bench: Bench) -> None:
    (bench.path / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (bench.path / ".git" / "objects" / "info" / "alternates").write_text("/elsewhere\n")
    assert "alternates" in refused(lambda: bench.look("git_log")).detail


@pytest.mark.parametrize("name", ["objects", "refs/heads", "index", "logs"])
def test_s1_a_part_of_the_git_directory_that_leads_elsewhere_is_refused(bench: Bench, name: str) -> None:
    place = bench.path / ".git" / name
    place.rename(bench.outside / "moved")
    place.symlink_to(bench.outside / "moved")
    assert refused(lambda: bench.prepare("git_branch", name="x")).reason == "git_not_ready"


def test_s1_a_branch_is_not_written_through_a_linked_directory(bench: Bench) -> None:
    (bench.path / ".git" / "refs" / "heads" / "topic").symlink_to(bench.outside)
    with pytest.raises(Refused):
        bench.do("git_branch", name="topic/x")
    assert sorted(os.listdir(bench.outside)) == ["secret.txt"]


def test_the_git_directory_exchanged_during_the_run_is_refused(bench: Bench, tmp_path: Path) -> None:
    (bench.path / ".git").rename(tmp_path / "old.git")
    init_repository(bench.path, {"x": b"x"}, message="Other", identity=IDENTITY, when=WHEN)
    with pytest.raises(PreImageChanged):
        bench.look("git_log")


def test_j14_a_corrupt_repository_is_said_in_words(bench: Bench) -> None:
    (bench.path / ".git" / "index").write_bytes(b"garbage")
    assert refused(lambda: bench.look("git_status")).reason == "git_error"
    (bench.path / ".git" / "HEAD").write_bytes(b"\xff\xfe")
    assert refused(lambda: bench.look("git_log")).detail


def test_j10_submodules_are_not_entered(bench: Bench, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    init_repository(inner, {"x": b"x"}, message="Inner", identity=IDENTITY, when=WHEN)
    bench.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    bench.git("commit", "-qm", "submodule")
    bench.write("sub/x", b"changed inside\n")
    assert bench.look("git_status").data == b""
    assert b"changed inside" not in bench.look("git_diff").data


def test_a_demo_repository_has_one_commit_and_what_is_staged(tmp_path: Path) -> None:
    oid = init_repository(
        tmp_path / "demo", {"a.txt": b"a\n", "d/b.txt": b"b\n"}, message="Begin", identity=IDENTITY, when=WHEN,
        staged={"a.txt": b"A\n"},
    )  # fmt: skip
    ws = Workspace.open(tmp_path / "demo")
    assert describe(ws) == {"head": oid, "branch": "main", "subjects": ["Begin"]}
    assert ws.git is not None
    with pytest.raises(FileExistsError):
        init_repository(tmp_path / "demo", {}, message="", identity=IDENTITY, when=WHEN)
    hooks = tmp_path / "demo" / ".git" / "hooks"
    assert not [name for name in os.listdir(hooks) if not name.endswith(".sample")]


def test_the_commit_display_counts_lines_and_names_what_a_reader_should_know(bench: Bench) -> None:
    bench.write("README.md", b"# Sample\n\none\n2\nthree\nfour\n")
    bench.write("image.bin", b"\0\1\2")
    bench.write("Makefile", b"all:\n")
    (bench.path / "src" / "app.py").unlink()
    bench.do("git_stage")
    shown = bench.prepare("git_commit", message="Mixed")
    assert shown.display["files"] == [
        ["A", "Makefile", 1, 0],
        ["M", "README.md", 2, 1],
        ["A", "image.bin", 0, 0],
        ["D", "src/app.py", 0, 2],
    ]
    assert shown.flags == ("binary", "protected path: runs later", "removes files")
    assert shown.touches == {"git:index", "git:head"}
