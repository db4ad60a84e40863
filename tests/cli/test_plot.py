"""``lightloom plot``: a picture, or one line that says why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lightloom.formats.schedule_reader import read_schedule
from lightloom.report.schedule_panels import step_panels
from tests.cli.program import run, run_json


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("--algorithm", "ring", "-o", "a.jsonl")
    assert run("synth", "lightpath-8/all-reduce-1MiB", *arguments).exit_code == 0


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")],
)
def test_each_kind_of_picture(name: str, begins: bytes) -> None:
    """Same schedule, same bytes."""
    pictures = []
    for _ in range(2):
        result = run("plot", "a.jsonl", "-o", name)
        assert result.exit_code == 0, result.stderr
        pictures.append(Path(name).read_bytes())
    assert pictures[0].startswith(begins)
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("a.jsonl", "-o", "a.bmp"), "unknown kind of picture"),
        (("no.jsonl", "-o", "a.png"), "no.jsonl"),
        (("a.jsonl", "-o", "no/a.png"), "no such folder"),
    ],
)
def test_what_cannot_be_drawn(arguments: tuple[str, ...], says: str) -> None:
    """One line, exit code 2, no file."""
    result = run("plot", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not Path("a.png").exists()


def test_two_side_by_side_and_their_difference() -> None:
    """One picture of both; a table of what differs, and no files from bad input."""
    arguments = ("--algorithm", "lumorph-2", "-o", "b.jsonl")
    assert run("synth", "lightpath-8/all-reduce-1MiB", *arguments).exit_code == 0
    assert run("plot", "a.jsonl", "b.jsonl", "-o", "d.svg").exit_code == 0
    assert Path("d.svg").stat().st_size > 1000
    result = run("plot", "a.jsonl", "b.jsonl", "a.jsonl", "-o", "e.svg")
    assert result.exit_code == 2
    result = run("diff", "a.jsonl", "b.jsonl")
    assert result.exit_code == 0
    for text in ("lumorph-2", "  alpha ", "-57.1 %", "steps differ from the first"):
        assert text in result.stdout
    record = run_json("diff", "a.jsonl", "a.jsonl")
    assert record["same"]
    assert record["measures"]["steps"] == [14, 14]
    result = run("diff", "a.jsonl", "lightpath-8/all-reduce-1MiB")
    assert result.exit_code == 2
    assert "it is an instance" in result.stderr


@pytest.mark.parametrize(
    "instance",
    ["lightpath-8/all-gather-1MiB", "ocs-8/groups-3MB", "superpod-16/all-gather-1MiB"],
)
def test_a_step_is_drawn_as_the_fabric_it_is_on(instance: str) -> None:
    """Edges with their wavelengths, switches as matrices, pairs elsewhere."""
    assert run("synth", instance, "-o", "s.jsonl").exit_code == 0
    result = run("plot", "s.jsonl", "--step", "0", "-o", "s.svg")
    assert result.exit_code == 0, result.stderr
    (panel, *more) = step_panels(read_schedule("s.jsonl"), 0)
    assert panel.kind == ("matrix" if "ocs" in instance else "network")
    assert "lightpath" not in instance or panel.lines
    assert len(more) <= 11
    result = run("plot", "s.jsonl", "--step", "99", "-o", "t.svg")
    assert result.exit_code == 2
    assert "no such step" in result.stderr


def test_a_step_counts_the_wavelengths_of_each_edge() -> None:
    """What the circuits of a step cross, edge by edge and wavelength by wavelength."""
    schedule = read_schedule("a.jsonl")
    (panel,) = step_panels(schedule, 0)
    circuits = schedule.segments[0].circuits
    spans = circuits.lists("route").lengths - 1
    crossed = int((spans * circuits.lists("wavelengths").lengths).sum())
    assert sum(weight for _, _, weight in panel.lines) == crossed


@pytest.mark.parametrize(("paper", "inches"), [("column", 3.5), ("page", 7.16)])
def test_a_paper_has_its_widths(paper: str, inches: float) -> None:
    """A picture is as wide as a column, or as a page."""
    result = run("plot", "a.jsonl", "-o", "a.svg", "--paper", paper)
    assert result.exit_code == 0, result.stderr
    found = re.search(r'width="([0-9.]+)pt"', Path("a.svg").read_text())
    assert found is not None
    assert float(found[1]) == pytest.approx(72 * inches)
