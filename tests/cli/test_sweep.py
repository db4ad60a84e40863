"""Changed instances and sweeps over them, from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.program import one_error, run, run_json

SMALL = "lightpath-4/all-reduce-1MiB"


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder."""
    monkeypatch.chdir(tmp_path)


def test_a_changed_key_changes_what_follows_from_it() -> None:
    """A default that follows from another key follows, one that is stated stays."""
    toml = run("instances", "show", SMALL, "--set", "fabric.waveguides=8").stdout
    assert "waveguides = 8\nfibers = 8\n" in toml
    Path("mine.toml").write_text(
        toml.replace("fibers = 8", "fibers = 5"), encoding="utf-8"
    )
    toml = run("instances", "show", "mine.toml", "--set", "fabric.waveguides=9").stdout
    assert "waveguides = 9\nfibers = 5\n" in toml


def test_more_rows_are_more_ranks() -> None:
    """A collective of all nodes stays one of all nodes."""
    text = run("instances", "show", SMALL, "--set", "fabric.rows=3", "--size", "3MiB")
    Path("mine.toml").write_text(text.stdout, encoding="utf-8")
    changed = run_json("bound", SMALL, "--set", "fabric.rows=3", "--size", "3MiB")
    assert changed["bound"] == run_json("bound", "mine.toml")["bound"]
    assert changed["bound"] != run_json("bound", SMALL)["bound"]
    assert changed["instance"].endswith("fabric.rows=3 collective.buffer_bytes=3145728")


def test_an_instance_on_standard_input() -> None:
    """``-`` is TOML on stdin, and can be changed too."""
    toml = run("instances", "show", SMALL).stdout.encode()
    bound = json.loads(run("bound", "-", "--json", stdin=toml).stdout)["bound"]
    assert bound == run_json("bound", SMALL)["bound"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--size", "3Mi"), "--size: not a size; found '3Mi'"),
        (("--set", "lasers=3"), "one of the tables fabric, collective"),
        (("--set", "fabric.laser=3"), "did you mean lasers?"),
        (("--set", "fabric.rows=0"), "found 0"),
        (("--set", "demand.src=3"), "not a key of the instance"),
    ],
)
def test_changes_that_are_refused(options: tuple[str, ...], says: str) -> None:
    """One line, exit code 2."""
    assert says in one_error(run("bound", SMALL, *options))


def test_a_sweep_is_a_table_a_csv_and_a_picture_and_goes_on() -> None:
    """Every combination is a row; what is there is not computed again."""
    asked = ("sweep", SMALL, "--size", "64KiB,1MiB", "--set", "fabric.lasers=3,6")
    algorithms = ("--algorithm", "ring,direct")
    result = run(*asked, "--algorithm", "ring", "--csv", "x.csv", "--plot", "x.svg")
    assert result.exit_code == 0, result.stderr
    assert "4 points, 4 not in sweep.jsonl" in result.stderr
    with Path("x.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["fabric.lasers"] for row in rows] == ["3", "6", "3", "6"]
    for row in rows:
        alone = run_json(
            "synth", SMALL, "--algorithm", "ring", "-o", "x.jsonl",
            "--set", f"fabric.lasers={row['fabric.lasers']}",
            "--size", f"{row['collective.buffer_bytes']}B",
        )  # fmt: skip
        assert int(row["completion_time_ps"]) == alone["completion_time_ps"]
        time_s = alone["completion_time_ps"] / 10**12
        rate = int(row["collective.buffer_bytes"]) / time_s
        assert int(row["algorithm_bytes_per_s"]) == pytest.approx(rate, abs=1)
        assert int(row["bus_bytes_per_s"]) == pytest.approx(rate * 2 * 3 / 4, abs=1)
    assert Path("x.svg").read_text(encoding="utf-8").startswith("<?xml")
    again = run(*asked, *algorithms, "--json")
    assert "8 points, 4 not in" in again.stderr
    told = json.loads(again.stdout)["rows"]
    assert [row["algorithm"] for row in told] == ["ring", "direct"] * 4
    # The one key that has numbers is the axis; without any there are dots.
    assert run(*asked[:2], *algorithms, "--plot", "y.png").exit_code == 0


def test_sweeps_that_are_refused() -> None:
    """Before anything is run."""
    for options, says in (
        (("--algorithm", "rign"), "did you mean ring"),
        (("--size", "1MiB,,2MiB"), "a value is empty"),
        (("--set", "fabric.lasers"), "a value is empty"),
        (("--plot", "x.gif"), ".png"),
    ):
        assert says in one_error(run("sweep", SMALL, *options))
    assert not list(Path().iterdir())
