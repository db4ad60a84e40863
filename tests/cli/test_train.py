"""``lightloom train``."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import run, run_json

if TYPE_CHECKING:
    from pathlib import Path

SMALL = """
[fabric]
kind = "{kind}"
{more}
[computation]
model = "transformer-350m"
batch_size = 8
gpu = "v100"
parameters = {{ layers = 2, hidden = 256, heads = 8, positions = 128, vocabulary = 99 }}
"""


@pytest.fixture
def ocs(tmp_path: Path) -> str:
    """Return an instance on eight switches."""
    path = tmp_path / "ocs.toml"
    more = "nodes = 8\nswitches = 8\nbits_per_second_per_node = 400_000_000_000"
    path.write_text(SMALL.format(kind="ocs", more=more))
    return str(path)


@pytest.fixture
def ring(tmp_path: Path) -> str:
    """Return an instance on a ring both ways."""
    path = tmp_path / "ring.toml"
    more = "nodes = 8\nwavelengths = 32\ndirections = 2\nreach = 6"
    path.write_text(SMALL.format(kind="ring", more=more))
    return str(path)


@pytest.fixture
def grid(tmp_path: Path) -> str:
    """Return an instance on a 2D ring of four rows."""
    path = tmp_path / "grid.toml"
    more = "rows = 4\ncols = 2\nrow_wavelengths = 8\ncolumn_wavelengths = 8"
    path.write_text(SMALL.format(kind="ring-2d", more=more))
    return str(path)


def test_the_record_is_that_of_the_fastest_replayed(ocs: str) -> None:
    """Every strategy is there, with its times or a reason."""
    record = run_json("train", ocs, "--replayed", "4")
    times = [row["iteration_ps"] for row in record["tried"] if row["iteration_ps"]]
    assert record["iteration_ps"] == min(times)
    assert 1 <= record["model_parallel"] * record["replicas"] <= 8
    assert 0 <= record["communication_share"] <= 1
    assert {row["model_parallel"] for row in record["tried"]} == set(range(1, 9))


def test_text_says_what_the_record_says(ocs: str) -> None:
    """Tables of strategies and of fabrics, then the result."""
    fixed = ("--model-parallel", "2", "--replicas", "4", "--circuits", "one-shot")
    result = run("train", ocs, "--strategies", "--compare", *fixed)
    assert result.exit_code == 0, result.stderr
    for words in ("2 x 4, 8", "ideal-switch", "ring", "samples/s", "2 x 4 devices"):
        assert words in result.stdout
    assert "chosen" in result.stdout


def test_files_hold_the_replay_and_the_traffic(ocs: str, tmp_path: Path) -> None:
    """The trace can be loaded, and the traffic has a row for each pair."""
    trace, traffic = tmp_path / "trace.json", tmp_path / "traffic.csv"
    options = ("--model-parallel", "4", "--trace", str(trace))
    assert run("train", ocs, *options, "--traffic", str(traffic)).exit_code == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert any("backward" in event["name"] for event in events)
    with traffic.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(int(row["bytes"]) > 0 and row["src"] != row["dst"] for row in rows)


def test_a_curve_gives_the_time_to_accuracy(ocs: str, tmp_path: Path) -> None:
    """The time to accuracy is the iterations times the time of one."""
    curve = tmp_path / "curve.csv"
    curve.write_text("batch_size,iterations\n8,1000\n16,900\n")
    record = run_json("train", ocs, "--curve", str(curve))
    expected = record["iterations"] * record["iteration_ps"] / 10**12
    assert record["time_to_accuracy_s"] == pytest.approx(expected)
    assert {row["batch_size"] for row in record["tried"]} == {8, 16}


@pytest.mark.parametrize("name", ["ring", "grid"])
def test_the_papers_controller_stands_beside_ours(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """SiP-ML's steps 1 to 4 set a ring's circuits too, and both say what they cost."""
    instance = request.getfixturevalue(name)
    options = ("--model-parallel", "2", "--replayed", "1", "--circuits", "controlled")
    ours = run_json("train", instance, *options)
    theirs = run_json("train", instance, *options, "--controlled-by", "flow-heuristic")
    names = [record["controller"]["name"] for record in (ours, theirs)]
    assert names == ["max-min", "flow-heuristic"]
    for record in (ours, theirs):
        cost = record["controller"]
        assert cost["decisions"] >= 1
        assert 0 < cost["mean_s"] <= cost["longest_s"]
        assert record["iteration_ps"] > 0
    by_flows = ("--controlled-by", "flow-heuristic", "--model-parallel", "2")
    result = run("train", instance, *by_flows, "--replayed", "1", "--compare")
    assert result.exit_code == 0, result.stderr
    assert "circuits follow traffic (flow-heuristic)" in result.stdout
    assert "ms at most" in result.stdout
    assert "invalid controller" not in result.stdout
    log = tmp_path / "calls.log"
    log.write_text("L2L;1000000;1;0;0;1\nAR;4000000;0,1\n")
    recorded = ("--log", str(log), "--controlled-by")
    result = run("train", instance, *recorded, "flow-heuristic")
    assert "circuits follow traffic (flow-heuristic)" in result.stdout
    result = run("train", instance, *recorded, "x")
    assert result.exit_code == 2
    assert "--controlled-by: invalid controller" in result.stderr


def test_grids_are_trained_on_and_compared(grid: str) -> None:
    """Beside a LIGHTPATH rack and a 2D ring of the same rate."""
    still = ("--circuits", "one-shot")
    result = run("train", grid, "--compare", "--model-parallel", "2", *still)
    assert result.exit_code == 0, result.stderr
    for words in ("lightpath 2 x 4", "ring-2d 2 x 4", "at most 2 partners a node"):
        assert words in result.stdout
    single = run("train", grid, "--model-parallel", "2", "--replicas", "1")
    assert "at most 1 partner a node" in single.stdout


def test_a_part_of_a_2d_ring_is_whole_rows(grid: str) -> None:
    """Two of four rows train; one and a half do not."""
    options = ("--gpus", "4", "--batch", "4", "--replicas", "2")
    assert run_json("train", grid, *options)["replicas"] == 2
    result = run("train", grid, "--gpus", "3")
    assert result.exit_code == 2
    assert "multiples of 2 nodes" in result.stderr


def test_replicas_that_leave_their_row_are_refused(grid: str) -> None:
    """There are two nodes on a row."""
    result = run("train", grid, "--model-parallel", "4", "--circuits", "one-shot")
    assert result.exit_code == 4
    assert "does not fit a row" in result.stderr


@pytest.mark.parametrize(
    ("options", "exit_code", "words"),
    [
        (("--model-parallel", "4", "--replicas", "3"), 2, "4 * 3 = 12"),
        (("--model-parallel", "0"), 2, "--model-parallel: too few"),
        (("--replicas", "3", "--batch", "2"), 2, "--batch: more replicas than samples"),
        (("--batch", "0"), 2, "--batch"),
        (("--batch", "9" * 11), 2, "--batch: too many samples for 8 nodes"),
        (("--replayed", "0"), 2, "--replayed"),
        (("--period", "0"), 2, "--period"),
        (("--gpus", "99"), 2, "--gpus: more nodes than the fabric has"),
        (("--collectives", "rong"), 2, "--collectives"),
        (("--controlled-by", "flow-heuristic"), 2, "kind ocs; found 'flow-heuristic'"),
        (("--controlled-by", "x", "--circuits", "one-shot"), 2, "follow traffic have"),
        (("-o", "x", "--circuits", "one-shot"), 2, "--circuits: only circuits that"),
        (("--trace", "no/such/folder/x"), 2, "no such folder"),
        (("--trace", "-"), 2, "--trace"),
        (("--curve", "none.csv"), 2, "cannot read"),
        (("--curve", "none.csv", "--batch", "8"), 2, "a batch, or a curve"),
    ],
)
def test_questions_that_are_wrong(
    ocs: str, options: tuple[str, ...], exit_code: int, words: str
) -> None:
    """One line each, and the code that the help promises."""
    result = run("train", ocs, *options)
    assert result.exit_code == exit_code
    assert words in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("lightpath-4/all-reduce-1KiB", "[collective] all-reduce"),
        ("ocs-16/groups-3MB", "[demand]"),
    ],
)
def test_instances_without_a_model_are_refused(name: str, found: str) -> None:
    """With what they have, and what is needed."""
    result = run("train", name)
    assert result.exit_code == 2
    for words in (f"found '{found}'", "[computation]", "model, batch_size, gpu"):
        assert words in result.stderr


def test_placement_takes_a_model_cut_for_the_fabric(ocs: str) -> None:
    """`solve --problem placement` of a [computation]."""
    record = run_json("solve", ocs, "--problem", "placement")
    assert record["unit"] == "ps"
    assert 0 < record["bound"] <= record["objective"]
    result = run("solve", ocs, "--problem", "placement", "--solver", "highs")
    assert result.exit_code == 2
    assert "--solver lightloom" in result.stderr
