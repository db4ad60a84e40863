"""What a refusal says to do instead works, tried as a stranger would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.program import run

if TYPE_CHECKING:
    from pathlib import Path

REDUCE = "lightpath-4/all-reduce-1MiB"
GATHER = "lightpath-4/all-gather-64KiB"
SWITCHED = "ocs-16/all-reduce-1MiB"
OUT = ("-o", "{}/out.jsonl")
MODEL = ("--write", "{}/m.mps")

TWELVE = ("lightpath-8/all-reduce-1MiB", "--set", "fabric.rows=3")
HALVED = (*("--problem", "rounds"), *("--param", "method=divide-and-conquer"))
HINTS = [
    (
        ("solve", *TWELVE, *HALVED),
        "use 1048572 or 1048584",
        ("solve", *TWELVE, "--size", "1048572", *HALVED),
    ),
    (
        ("synth", REDUCE, "--algorithm", "direct", *OUT),
        "auto takes the fastest that does all-reduce here",
        ("synth", REDUCE, "--algorithm", "auto", *OUT),
    ),
    (
        ("synth", REDUCE, "--algorithm", "radices", "--param", "radices=3,3", *OUT),
        "try [4]",
        ("synth", REDUCE, "--algorithm", "radices", "--param", "radices=4", *OUT),
    ),
    (
        ("synth", GATHER, "--size", "65537", *OUT),
        "use 65536 or 65540",
        ("synth", GATHER, "--size", "65540", *OUT),
    ),
    (
        ("synth", REDUCE, "--set", "fabric.laser=2", *OUT),
        "did you mean lasers?",
        ("synth", REDUCE, "--set", "fabric.lasers=2", *OUT),
    ),
    (
        ("synth", "lightpath-4/all-reduce-1MB", *OUT),
        f"did you mean {REDUCE}",
        ("synth", REDUCE, *OUT),
    ),
    (
        ("model", REDUCE, "--problem", "rounds", *MODEL),
        "--set collective.op=all-gather",
        ("model", REDUCE, *MODEL, "--set", "collective.op=all-gather"),
    ),
    (
        ("model", REDUCE, "--problem", "routing", *MODEL),
        "--set collective.op=all-to-all",
        (
            *("model", REDUCE, "--problem", "routing", *MODEL),
            *("--set", "collective.op=all-to-all"),
        ),
    ),
    (
        ("solve", SWITCHED),
        "`lightloom synth` answers it with a schedule",
        ("synth", SWITCHED, *OUT),
    ),
    (
        ("train", REDUCE),
        "`lightloom instances --op bert-large`",
        ("instances", "--op", "bert-large"),
    ),
    (
        ("ramp", "check", REDUCE),
        "`lightloom instances --names` lists some: ramp-16/all-reduce-1MiB",
        ("ramp", "check", "ramp-16/all-reduce-1MiB"),
    ),
    (
        ("replay", "{}/a.toml"),
        "`lightloom synth {}/a.toml -o schedule.jsonl`",
        ("synth", "{}/a.toml", *OUT),
    ),
    (
        ("export", "{}/a.jsonl", "--to", "chakra", "-o", "{}/a.jsonl"),
        "name a folder",
        ("export", "{}/a.jsonl", "--to", "chakra", "-o", "{}/traces"),
    ),
    (
        ("plot", "{}/a.jsonl", "-o", "{}/a.gif"),
        "allowed: .pdf, .png, .svg",
        ("plot", "{}/a.jsonl", "-o", "{}/a.svg"),
    ),
    (
        ("show", "{}/a.jsonl", "-o", "{}/a.html.gz"),
        "a name without it",
        ("show", "{}/a.jsonl", "-o", "{}/a.html"),
    ),
    (
        ("show", "{}/a.jsonl", "-o", "{}/b.png"),
        "`lightloom plot",
        ("plot", "{}/a.jsonl", "-o", "{}/b.png"),
    ),
    (
        ("synth", REDUCE, "-o", "{}/a.jsonl.xz"),
        "allowed: .gz, .zst",
        ("synth", REDUCE, "-o", "{}/a.jsonl.zst"),
    ),
    (
        ("verify", "{}/a.jsonl", "--jsn"),
        "`lightloom verify --help`",
        ("verify", "--help"),
    ),
    (
        ("solve", "lightpath-4/all-to-all-1MiB"),
        "allowed: rounds, routing",
        ("solve", "lightpath-4/all-to-all-1MiB", "--problem", "routing"),
    ),
    (
        ("instances", "--fabric", "lightpth-4"),
        "did you mean lightpath-4",
        ("instances", "--fabric", "lightpath-4"),
    ),
    (
        ("bench", "list", "smok"),
        "`lightloom bench list --help`",
        ("bench", "list", "--help"),
    ),
    (
        ("algorithms", "lumorph4"),
        "did you mean lumorph-4",
        ("algorithms", "lumorph-4"),
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an instance and a schedule."""
    made = tmp_path_factory.mktemp("hints")
    (made / "a.toml").write_text(run("instances", "show", GATHER).stdout)
    assert run("synth", GATHER, "-o", f"{made}/a.jsonl").exit_code == 0
    return made


@pytest.mark.parametrize(
    ("refused", "hint", "instead"), HINTS, ids=[" ".join(one[0]) for one in HINTS]
)
def test_what_a_refusal_says_works(
    refused: tuple[str, ...], hint: str, instead: tuple[str, ...], folder: Path
) -> None:
    """The message has the hint, and the command that it leads to is done."""
    first = run(*(part.format(folder) for part in refused))
    assert first.exit_code == 2
    assert hint.format(folder) in first.stderr
    then = run(*(part.format(folder) for part in instead))
    assert then.exit_code == 0, then.stderr
