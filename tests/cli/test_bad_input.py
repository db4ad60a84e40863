"""Bad input: one clear line, the right exit code, no traceback, no partial file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import child, one_error, run

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = "lightpath-4/all-reduce-64KiB"

FABRIC = """
[fabric]
kind = "lightpath"
rows = 2
cols = 2
"""
COLLECTIVE = """
[collective]
op = "all-reduce"
buffer_bytes = 4096
"""


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder, so that partial files would show."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("synt",), "did you mean synth"),
        (("synth", SMALL), "--output"),
        (("synth", SMALL, "-o", "x", "--algoritm", "ring"), "--algorithm"),
        (("synth", "lightpath-4/all-reduce-64KB", "-o", "x"), "all-reduce-64KiB"),
        (("synth", SMALL, "-o", "x", "--algorithm", "rign"), "did you mean ring"),
        (("synth", SMALL, "-o", "x", "--algorithm", "greedy"), "serves demands"),
        (("synth", SMALL, "-o", "x.jsonl.xz"), "allowed: .gz, .zst"),
        (("verify", "x.jsonl.bz2"), "allowed: .gz, .zst"),
        (("model", SMALL, "--problem", "rounds", "--write", "x.lp"), "all-gather"),
        (
            ("solve", SMALL, "--problem", "rounds", "--param", "nope=3"),
            "no parameter of this name; found 'nope'",
        ),
        (("synth", SMALL, "-o", "x", "--router", "best"), "minimum-congestion"),
        (("synth", SMALL, "-o", "x", "--seed", "one"), "--seed"),
        (("synth", SMALL, "-o", "x", "--param", "radices=4"), "auto"),
        (("synth", SMALL, "-o", "x", "--seed", "-1"), "--seed"),
        (("synth", "none.toml", "-o", "x"), "none.toml"),
        (("instances", "--fabric", "lightpath-5"), "did you mean lightpath-"),
        (("instances", "--op", "all-reduc"), "did you mean all-reduce"),
        (("instances", "show", "nothing"), "nothing"),
        (("bound", "lightpath-4/all-reduc-64KiB"), "did you mean"),
        (("reproduce", "lumorph-fig77"), "did you mean lumorph-fig7"),
        (("verify", "none.jsonl"), "none.jsonl"),
        (("replay", "none.jsonl"), "none.jsonl"),
        (("verify",), "FILE"),
        (("verify", ""), "the name of the file is empty"),
        (("replay", ""), "the name of the file is empty"),
        (("bench", "foo"), "collectives, demands"),
        (("bench", "report", ""), "the name of the results file is empty"),
        (("bench", "report", "x", "--suite", "y"), "x: cannot read"),
        (("instances", "foo"), "allowed: show"),
        (("ramp", "foo"), "allowed: check, nic"),
        (("synth", SMALL, "-o", ""), "--output: the name of the file is empty"),
        (("synth", SMALL, "-o", "x", "--algorithm", "foo"), "--algorithm: unknown"),
        (
            ("synth", SMALL, "-o", "x", "--algorithm", "ring", "--param", "foo=3"),
            "--param: unknown key 'foo'; allowed: none",
        ),
        (
            (
                "synth",
                SMALL,
                "-o",
                "x",
                "--algorithm",
                "multiport",
                "--param",
                "ports=x",
            ),
            "--param ports: value not allowed; found 'x'; allowed: integer",
        ),
        (
            ("synth", "sipac-16/hybrid-parallel-100MB", "-o", "x", "--algorithm", "a"),
            "--algorithm: ",
        ),
        (("solve", SMALL, "--problem", "routing"), f"{SMALL}: collective.op: "),
        (("bound", SMALL, "--problem", "ocs"), SMALL),
        (("demo", "--out", ""), "--out: the name of the folder is empty"),
        (("reproduce", "lumorph-fig7", "--out", ""), "--out: the name of the folder"),
        (("ramp", "check", "ramp-16/all-reduce-1KiB", "--op", ""), "--op: unknown"),
        (("conform", "a:b", "--time-limit", "nan"), "'nan' is not a valid number"),
        (("conform", "a:b", "--time-limit", "inf"), "--time-limit"),
        (("model", SMALL, "--problem", "foo", "--write", "x.mps"), "--problem: unk"),
        (("model", SMALL, "--problem", "rounds", "--write", ""), "--write: the name"),
        (("verify", "."), "."),
        (("schema", "extra"), "extra"),
    ],
)
def test_wrong_usage_is_one_line(arguments: tuple[str, ...], says: str) -> None:
    """What is wrong, and the nearest right name, in one line with exit code 2."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in one_error(result)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("parameter", "says"),
    [
        ("radices", "KEY=VALUE"),
        ("=4", "KEY=VALUE"),
        ("radices=4,x", "not an integer"),
        ("radices=2.5", "not an integer"),
        ("radices=3", "3"),
        ("radices=0,4", "0"),
        ("radix=4", "radices"),
    ],
)
def test_wrong_parameters_are_one_line(parameter: str, says: str) -> None:
    """Parameters that make no sense name themselves."""
    options = ("--algorithm", "radices", "--param", parameter)
    result = run("synth", SMALL, *options, "-o", "x.jsonl")
    assert result.exit_code == 2
    assert says in one_error(result)
    assert list(Path().iterdir()) == []


def test_a_parameter_given_twice_is_refused() -> None:
    """Which of the two is meant cannot be known."""
    options = ("--algorithm", "radices", "--param", "radices=4", "--param", "radices=4")
    result = run("synth", SMALL, *options, "-o", "x.jsonl")
    assert result.exit_code == 2
    assert "twice" in one_error(result)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fabric", "TOML"),
        (FABRIC, "none"),
        (FABRIC + COLLECTIVE + "chunk = 4\n", "did you mean chunks"),
        (FABRIC.replace("rows", "row") + COLLECTIVE, "rows"),
        (FABRIC.replace("lightpath", "lightpat") + COLLECTIVE, "lightpath"),
        (FABRIC.replace("rows = 2", "rows = 0") + COLLECTIVE, "rows"),
        (FABRIC.replace("rows = 2", "rows = -2") + COLLECTIVE, "rows"),
        (FABRIC.replace("rows = 2", 'rows = "two"') + COLLECTIVE, "rows"),
        (FABRIC + COLLECTIVE.replace("4096", "0"), "buffer_bytes"),
        (FABRIC + COLLECTIVE.replace("4096", "-1"), "buffer_bytes"),
        (FABRIC + COLLECTIVE + "chunks = 5000\n", "chunks"),
        (FABRIC + COLLECTIVE + "nodes = [0, 1, 9]\n", "nodes"),
        (FABRIC + COLLECTIVE + "nodes = [0, 0]\n", "repeated"),
        (FABRIC + COLLECTIVE.replace("all-reduce", "all-reduc"), "all-reduce"),
        (
            FABRIC + COLLECTIVE.replace("all-reduce", "all-reduc"),
            "wrong.toml: collective.op: unknown collective",
        ),
        (
            FABRIC + COLLECTIVE.replace("buffer_bytes = 4096", ""),
            "wrong.toml: collective: missing key 'buffer_bytes'",
        ),
        (FABRIC + COLLECTIVE.replace('"all-reduce"', "3"), "found 3; allowed: text"),
        (FABRIC + '[demand]\nmatrix = "none.csv"\n', "none.csv"),
        (
            FABRIC + "[demand]\nmatrix = [[0, 1], [0]]\n",
            "matrix: the matrix is not square",
        ),
        (FABRIC + "[demand]\nmatrix = [[0, 1], [1, 0]]\n", "as wide as the fabric"),
        (FABRIC + "[demand]\nmatrix = [[0, -1], [1, 0]]\n", "demand.matrix[0][1]"),
        (FABRIC + '[demand]\npairs = ""\n', "demand.pairs: the name of the file"),
        (FABRIC + '[demand]\nmatrix = "wrong.toml"\n', "wrong.toml:1: a blank line"),
        (
            FABRIC + "[demand]\nsrc = [1]\ndst = [1]\nbytes = [4]\n",
            "demand row 0: a node sends to itself",
        ),
    ],
)
def test_wrong_instances_are_one_line(text: str, says: str) -> None:
    """An instance file that is wrong says which key, and leaves nothing."""
    Path("wrong.toml").write_text(text, encoding="utf-8")
    result = run("synth", "wrong.toml", "-o", "x.jsonl")
    assert result.exit_code == 2
    assert says in one_error(result)
    assert [path.name for path in Path().iterdir()] == ["wrong.toml"]


def test_byte_order_marks_are_no_part_of_the_text() -> None:
    """TOML as some editors on Windows save it."""
    Path("marked.toml").write_text("\ufeff" + FABRIC + COLLECTIVE, encoding="utf-8")
    assert run("bound", "marked.toml").exit_code == 0


def test_no_waveguides_is_proven_infeasible() -> None:
    """Where nothing can be sent, exit code 4 says that it is proven."""
    text = FABRIC + "waveguides = 0\n" + COLLECTIVE
    Path("dark.toml").write_text(text, encoding="utf-8")
    result = run("synth", "dark.toml", "-o", "x.jsonl")
    assert result.exit_code == 4
    one_error(result)
    assert [path.name for path in Path().iterdir()] == ["dark.toml"]


@pytest.mark.parametrize("target", ["no/such/folder/x.jsonl", "."])
def test_a_path_that_cannot_be_written_is_one_line(target: str) -> None:
    """The path is named, and nothing is left behind."""
    result = run("synth", SMALL, "--algorithm", "ring", "-o", target)
    assert result.exit_code == 2
    assert target in one_error(result)
    assert list(Path().iterdir()) == []


def test_a_trace_that_cannot_be_written_is_one_line() -> None:
    """The trace of a good schedule to a bad place fails alone."""
    assert run("synth", SMALL, "--algorithm", "ring", "-o", "x.jsonl").exit_code == 0
    result = run("replay", "x.jsonl", "--trace", "no/folder/t.json")
    assert result.exit_code == 2
    assert "no/folder" in one_error(result)


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "truncated": (lambda data: data[: len(data) // 2], "truncated"),
    "no-footer": (
        lambda data: b"".join(data.splitlines(keepends=True)[:-1]),
        "footer",
    ),
    "bit-flipped": (
        lambda data: data.replace(b'"chunk_lo":[0', b'"chunk_lo":[1', 1),
        "sha",
    ),
    "other-version": (lambda data: data.replace(b'"version":2', b'"version":9'), "9"),
    "no-json": (lambda data: b"hello\n" + data, ":1"),
    "no-text": (lambda data: b"\xff\xfe" + data, ":1"),
    "empty": (lambda _: b"", "damaged.jsonl"),
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("command", ["verify", "replay"])
def test_damaged_files_are_refused(command: str, kind: str) -> None:
    """A damaged file is a wrong question: exit code 2, and the line is named."""
    assert run("synth", SMALL, "--algorithm", "ring", "-o", "x.jsonl").exit_code == 0
    damage, says = DAMAGE[kind]
    Path("damaged.jsonl").write_bytes(damage(Path("x.jsonl").read_bytes()))
    result = run(command, "damaged.jsonl")
    assert result.exit_code == 2
    message = one_error(result)
    assert "damaged.jsonl" in message
    assert says in message.lower()


def test_a_file_edited_by_hand_is_checked_when_its_hash_is_ignored() -> None:
    """Broken rules are on stdout as ever, the hash beside them on stderr."""
    assert run("synth", SMALL, "--algorithm", "ring", "-o", "x.jsonl").exit_code == 0
    good = run("verify", "x.jsonl", "--ignore-hash")
    assert (good.exit_code, good.stderr) == (0, "")
    change = DAMAGE["bit-flipped"][0]
    Path("edited.jsonl").write_bytes(change(Path("x.jsonl").read_bytes()))
    result = run("verify", "edited.jsonl", "--ignore-hash")
    assert result.exit_code == 1
    assert "[chunk-range]" in result.stdout
    assert "its hash differs" in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_is_read_is_not_overwritten() -> None:
    """Neither an instance by its schedule, nor a schedule by its trace."""
    text = FABRIC + COLLECTIVE
    Path("in.toml").write_text(text, encoding="utf-8")
    result = run("synth", "in.toml", "--algorithm", "ring", "-o", "./in.toml")
    assert "--output: this would overwrite what is read" in one_error(result)
    assert Path("in.toml").read_text(encoding="utf-8") == text
    assert run("synth", "in.toml", "--algorithm", "ring", "-o", "x").exit_code == 0
    before = Path("x").read_bytes()
    result = run("replay", "x", "--trace", "x")
    assert "--trace: this would overwrite what is read" in one_error(result)
    assert "both need stdout" in one_error(run("replay", "x", "--trace", "-"))
    assert Path("x").read_bytes() == before


def test_a_failed_synth_keeps_the_old_file() -> None:
    """What was there before a failure is there after it."""
    Path("x.jsonl").write_text("mine", encoding="utf-8")
    assert run("synth", SMALL, "--algorithm", "bruck", "-o", "x.jsonl").exit_code == 2
    assert Path("x.jsonl").read_text(encoding="utf-8") == "mine"


def test_a_child_process_shows_no_traceback() -> None:
    """The installed program fails as the tests in this process say."""
    done = child("synth", "nothing", "-o", "x.jsonl")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1
