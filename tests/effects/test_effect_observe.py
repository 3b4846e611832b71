"""Observe ops answer within bounds, show nothing that is closed, and change nothing (PROTOCOL §2.5, SAFETY S4)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest
from effects_kit import Bench
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.effects.errors import Refused
from cas_tui.effects.globbing import component_matches
from cas_tui.effects.limits import Limits


def refused(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


def test_a_file_is_read_in_pieces_and_past_its_end_is_nothing(both: Bench) -> None:
    both.write("n.txt", b"0123456789")
    assert both.look("fs_read", path="n.txt", offset=2, limit=3).data == b"234"
    assert both.look("fs_read", path="n.txt", offset=8, limit=10).data == b"89"
    assert both.look("fs_read", path="n.txt", offset=10).data == b""
    assert both.look("fs_read", path="n.txt", offset=99).data == b""


def test_g12_a_read_is_cut_at_the_budget_and_says_so(both: Bench) -> None:
    both.write("big.txt", b"x" * 100)
    with open(both.path / "sparse", "wb") as file:
        file.truncate(10 << 30)
    limits = Limits(max_artifact_bytes_per_op=64)
    whole = both.look("fs_read", limits, path="big.txt")
    assert (len(whole.data), whole.truncated) == (64, True)
    assert both.look("fs_read", limits, path="big.txt", limit=10).truncated is False
    assert both.look("fs_read", limits, path="big.txt", limit=99).truncated is True
    assert both.look("fs_read", limits, path="sparse").data == b"\0" * 64


def test_what_does_not_exist_is_an_error_and_not_a_denial(both: Bench) -> None:
    for kind, fields, reason in (
        ("fs_read", {"path": "nope"}, "file_not_found"),
        ("fs_read", {"path": "README.md/x"}, "file_not_found"),
        ("fs_list", {"path": "nope"}, "directory_not_found"),
        ("fs_list", {"path": "README.md"}, "directory_not_found"),
        ("fs_glob", {"pattern": "*", "base": "nope"}, "directory_not_found"),
    ):
        error = refused(lambda kind=kind, fields=fields: both.look(kind, **fields))
        assert (error.reason, error.status) == (reason, "error")


def test_a_list_is_sorted_names_without_what_is_closed_or_self_knowledge(both: Bench) -> None:
    both.write("state/x", b"")
    both.write("cn.json", b"{}")
    both.write("agent.package.json", b"{}")
    both.write("package.json", b"{}")
    assert both.look("fs_list", path=".").data == b"README.md\ndocs\npackage.json\nsrc\n"


def test_self_knowledge_is_redirected(both: Bench) -> None:
    both.write("cn.json", b"{}")
    for path in ("cn.json", "agent.package.json"):
        both.write(path, b"{}")
        error = refused(lambda path=path: both.look("fs_read", path=path))
        assert (error.reason, error.status) == ("contract_redirect", "contract_redirect")


def test_globs_match_within_and_across_components(both: Bench) -> None:
    both.write("src/deep/er/x.py", b"")
    both.write(".git-not/x.py", b"")

    def glob(pattern: str, base: str = ".") -> list[str]:
        return both.look("fs_glob", pattern=pattern, base=base).data.decode().splitlines()

    assert glob("**/*.py") == [".git-not/x.py", "src/app.py", "src/deep/er/x.py"]
    assert glob("src/*.py") == ["src/app.py"]
    assert glob("src/**") == ["src", "src/app.py", "src/deep", "src/deep/er", "src/deep/er/x.py"]
    assert glob("*.py", "src") == ["src/app.py"]
    assert glob("s?c/a**.py") == ["src/app.py"]
    assert glob("[s]rc/*") == []
    assert refused(lambda: glob("../*")).reason == "path_escape"
    assert refused(lambda: glob("/etc/*")).reason == "absolute_path"
    assert refused(lambda: glob("*", ".git")).reason == "path_denied"


def test_g11_a_glob_survives_cycles_bombs_and_many_results(both: Bench) -> None:
    (both.path / "src" / "loop").symlink_to("..")
    both.write("a" * 200, b"")
    started = time.monotonic()
    found = both.look("fs_glob", pattern="**/**/**/**/*a*a*a*a*a*a*a*a*a*a*b").data
    assert found == b""
    assert both.look("fs_glob", pattern="**").data.count(b"loop") == 1
    for number in range(300):
        both.write(f"many/{number}", b"")
    cut = both.look("fs_glob", Limits(max_walk_entries=100), pattern="**")
    assert cut.truncated
    small = both.look("fs_glob", Limits(max_artifact_bytes_per_op=50), pattern="**")
    assert small.truncated
    assert len(small.data) == 50
    assert time.monotonic() - started < 10


@settings(max_examples=200, deadline=None)
@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_component_matching_agrees_with_the_plain_definition(pattern: str, name: str) -> None:
    def matches(p: str, n: str) -> bool:
        if not p:
            return not n
        if p[0] == "*":
            return matches(p[1:], n) or (bool(n) and matches(p, n[1:]))
        return bool(n) and p[0] in ("?", n[0]) and matches(p[1:], n[1:])

    assert component_matches(pattern, name) == matches(pattern, name)


def test_grep_is_literal_and_names_file_and_line(both: Bench) -> None:
    both.write("src/app.py", b"def main():\n    return 'a.*b'\n")
    assert both.look("git_grep", query="a.*b").data == b"src/app.py:2:    return 'a.*b'\n"
    assert both.look("git_grep", query="a.*b", path="docs").data == b""
    assert both.look("git_grep", query="-e").data == b""
    assert refused(lambda: both.look("git_grep", query="x", path="../..")).reason == "path_escape"


def test_without_a_repository_git_ops_say_so(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench({})
    for kind in ("git_status", "git_diff", "git_log"):
        assert "not a git repository" in refused(lambda kind=kind: bench.look(kind)).detail
    bench.do("fs_write", path="x", content="works all the same\n")


def test_an_effect_is_no_observe_op(bench: Bench) -> None:
    assert refused(lambda: bench.look("fs_write", path="x", content="")).reason == "unknown_op_kind"


def test_a_name_that_is_not_text_is_listed_as_escapes(both: Bench) -> None:
    (both.path / os.fsdecode(b"\xff\x1bx")).write_bytes(b"")
    assert b"\\xff\\x1bx\n" in both.look("fs_list", path="").data
