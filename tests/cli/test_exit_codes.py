"""Commands end with the codes that docs/cli.md lists for them, and with no others."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click
import pytest

import lightloom as ll
from lightloom.cli.main import lightloom
from tests.cli.program import run

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
GRID = '[fabric]\nkind = "lightpath"\nrows = 2\ncols = 2\n'
GATHER = "lightpath-4/all-gather-64KiB"
DARK = ("--set", "fabric.lasers=0")
IN_CONFIGURATIONS = ("--algorithm", "configurations")

CASES = [
    ("verify", 0, ("verify", "{}/good.jsonl")),
    ("verify", 1, ("verify", "{}/bad.jsonl")),
    ("verify", 2, ("verify", "{}/missing.jsonl")),
    ("replay", 0, ("replay", "{}/bad.jsonl")),
    ("replay", 2, ("replay", "{}/dark.toml")),
    ("show", 0, ("show", "{}/bad.jsonl", "-o", "{}/bad.html")),
    ("show", 2, ("show", "{}/bad.jsonl", "-o", "{}/bad.html.gz")),
    ("synth", 0, ("synth", GATHER, "-o", "{}/a.jsonl")),
    ("synth", 2, ("synth", GATHER, "-o", "{}/a.jsonl", "--algorithm", "rng")),
    ("synth", 4, ("synth", GATHER, "-o", "{}/a.jsonl", *DARK)),
    ("synth", 3, ("synth", "{}/all.toml", "-o", "{}/a.jsonl", *IN_CONFIGURATIONS)),
    ("bound", 0, ("bound", "{}/place.toml", "--problem", "placement")),
    ("bound", 4, ("bound", "{}/full.toml", "--problem", "placement")),
    ("solve", 0, ("solve", "{}/place.toml")),
    ("solve", 2, ("solve", "{}/place.toml", "--solver", "hihgs")),
    ("solve", 3, ("solve", GATHER, "--problem", "rounds", "--time-limit", "0")),
    ("solve", 4, ("solve", "{}/full.toml")),
    ("model", 0, ("model", "{}/place.toml", "--write", "{}/m.mps")),
    ("model", 2, ("model", "{}/place.toml", "--write", "{}/m.xls")),
    ("model", 4, ("model", "{}/full.toml", "--write", "{}/m.mps")),
    ("jobs", 4, ("jobs", "ring-16/bert-large-batch64", "{}/jobs.csv")),
    ("conform", 1, ("conform", "tests.examples.synthesisers:bare", "--examples", "2")),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with schedules, right and wrong, and questions."""
    folder = tmp_path_factory.mktemp("codes")
    good = ll.synthesise(GATHER, "ring").schedule
    ll.write_schedule(good, folder / "good.jsonl")
    ll.write_schedule(replace(good, parts=good.parts[:-1]), folder / "bad.jsonl")
    place = (
        '[fabric]\nkind = "ideal-switch"\nnodes = 2\n[workload]\nop = ["a", "b"]\n'
        "duration_ps = [5, 5]\nmemory_bytes = [1, 1]\n"
        "src = [0]\ndst = [1]\nbytes = [8]\n"
    )
    (folder / "place.toml").write_text(place)
    (folder / "full.toml").write_text(f"{place}device_memory_bytes = 0\n")
    (folder / "jobs.csv").write_text(
        "name,arrival_us,devices,iterations,batch_size\na,0,1,1,2000\n"
    )
    pairs = [(a, b) for a in range(20) for b in range(20) if a != b]
    (folder / "all.toml").write_text(
        '[fabric]\nkind = "lightpath"\nrows = 1\ncols = 20\nlasers = 65\n'
        "waveguides = 1\n[demand]\n"
        f"src = {[a for a, _ in pairs]}\ndst = {[b for _, b in pairs]}\n"
        f"bytes = {[1] * len(pairs)}\n"
    )
    return folder


def documented() -> dict[str, set[int]]:
    """Return the codes beside 0 and 2 that the page lists by command."""
    text = PAGE.read_text(encoding="utf-8").split("# Commands")[0]
    found: dict[str, set[int]] = {}
    for row in re.finditer(r"^\| (`[a-z ,`]+`) \|(( [^|]*\|){3})$", text, re.MULTILINE):
        cells = [cell.strip() for cell in row[2].split("|")[:3]]
        codes = {code for code, cell in zip((1, 3, 4), cells, strict=True) if cell}
        for name in re.findall(r"`([^`]+)`", row[1]):
            found[name] = codes
    return found


def test_every_command_has_its_codes_on_the_page() -> None:
    """No command is forgotten, and every code that is not 0 or 2 is tried."""
    context = click.Context(lightloom)
    assert {name.split()[0] for name in documented()} == set(
        lightloom.list_commands(context)
    )
    tried = {(name, code) for name, code, _ in CASES if code in (1, 3, 4)}
    elsewhere = {
        ("demo", 1),  # of a defect of ours
        ("bench run", 1),  # tests/bench: faulty solvers
        ("bench golden", 1),  # tests/bench/test_golden.py
        ("bench pages", 1),  # tests/bench/test_pages.py
        ("ramp check", 1),  # tests/validate/test_ramp.py
        ("jobs", 3),  # iterations together that differ too much in length
        ("train", 3),  # a placement that is not found
        ("train", 4),  # tests/cli/test_train.py
    }
    asked = {(name, code) for name, codes in documented().items() for code in codes}
    assert asked - elsewhere == tried


@pytest.mark.parametrize(
    ("name", "code", "arguments"),
    CASES,
    ids=[f"{name} {code}" for name, code, _ in CASES],
)
def test_the_code_is_the_documented_one(
    name: str, code: int, arguments: tuple[str, ...], files: Path
) -> None:
    """One error a line on stderr where there is one; the code says which kind."""
    result = run(*(part.format(files) for part in arguments))
    assert result.exit_code == code, result.stderr
    assert code in documented()[name] | {0, 2}
    if code in (2, 4):
        assert "lightloom: error: " in result.stderr
