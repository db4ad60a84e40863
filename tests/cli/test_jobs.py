"""``lightloom jobs``."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import run, run_json

if TYPE_CHECKING:
    from pathlib import Path

FABRICS = {
    "ring": "nodes = 8\nwavelengths = 32\ndirections = 2\nreach = 6",
    "ocs": "nodes = 8\nswitches = 8\nbits_per_second_per_node = 400_000_000_000",
    "ring-2d": "rows = 4\ncols = 2\nrow_wavelengths = 8\ncolumn_wavelengths = 8",
}
MODEL = """
[computation]
model = "transformer-350m"
batch_size = 8
gpu = "v100"
parameters = { layers = 2, hidden = 256, heads = 8, positions = 128, vocabulary = 99 }
"""
HEAD = "name,arrival_us,devices,iterations,departure_us,model,batch_size\n"


def questions(tmp_path: Path, kind: str, rows: str) -> tuple[str, str]:
    """Return an instance and a trace, as files."""
    instance, trace = tmp_path / f"{kind}.toml", tmp_path / "trace.csv"
    instance.write_text(f'[fabric]\nkind = "{kind}"\n{FABRICS[kind]}\n{MODEL}')
    trace.write_text(HEAD + rows)
    return str(instance), str(trace)


PIECES = """a,0,2,,100,,
b,0,2,,9000,,
c,0,2,,100,,
d,0,2,,9500,,
# e comes when four nodes are free
e,200,4,3,,,
"""


def test_a_ring_in_pieces_makes_a_job_wait_and_switches_do_not(tmp_path: Path) -> None:
    """Four nodes are free, two and two, until b goes at 9 ms."""
    found = {}
    for kind in ("ring", "ocs"):
        record = run_json("jobs", *questions(tmp_path, kind, PIECES))
        found[kind] = record["jobs"][-1]
        assert found[kind]["slow_down"] == 1
        assert record["jobs"][0]["finish_ps"] == 100 * 10**6
    assert found["ring"]["start_ps"] == 9000 * 10**6
    assert found["ocs"]["waiting_ps"] == 0
    e = found["ring"]
    assert e["finish_ps"] == e["start_ps"] + 3 * e["alone_ps"]
    assert e["nodes"] == [0, 1, 2, 3]


def test_the_table_and_the_files_say_the_same(tmp_path: Path) -> None:
    """Jobs and moments as CSV, a row each."""
    jobs, moments = tmp_path / "jobs.csv", tmp_path / "moments.csv"
    asked = questions(tmp_path, "ring", PIECES)
    result = run("jobs", *asked, "--csv", str(jobs), "--timeline", str(moments))
    assert result.exit_code == 0, result.stderr
    assert "5 jobs in" in result.stdout
    with jobs.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["a", "b", "c", "d", "e"]
    assert rows[-1]["waiting_us"] == "8800.0"
    with moments.open(newline="") as file:
        when = {row["time_us"]: row for row in csv.DictReader(file)}
    assert when["200.0"]["waiting"] == "e"
    assert when["200.0"]["longest_block"] == "2"
    assert when["200.0"]["free_outside_longest"] == "0.5"


def test_jobs_on_a_2d_ring_have_whole_rows(tmp_path: Path) -> None:
    """Two nodes are a row, three are none."""
    good, bad = ("a,0,2,1,,,\nb,0,4,1,,,4\n", "a,0,3,1,,,\n")
    record = run_json("jobs", *questions(tmp_path, "ring-2d", good))
    assert [each["nodes"] for each in record["jobs"]] == [[0, 1], [2, 3, 4, 5]]
    result = run("jobs", *questions(tmp_path, "ring-2d", bad))
    assert result.exit_code == 2
    assert "trace.csv:2, a, devices: a job has whole rows" in result.stderr


@pytest.mark.parametrize(
    ("rows", "exit_code", "words"),
    [
        ("a,0,9,1,,,\n", 2, "trace.csv:2, a: job a needs 9 nodes and the fabric has 8"),
        ("a,-1,1,1,,,\n", 2, "trace.csv:2, arrival_us: not a count; found '-1'"),
        ("a,0,0,1,,,\n", 2, "trace.csv:2, devices: not a count"),
        ("a,0,1,0,,,\n", 2, "iterations: not a count"),
        ("a,0,1.5,1,,,\n", 2, "devices: not a count"),
        ("a,0,1,,,,\n", 2, "a job that never goes; found 'a'; give it iterations"),
        ("a,9,1,,9,,\n", 2, "departure_us: a job that goes before it comes"),
        ("a,0,1,1,,,\na,0,1,1,,,\n", 2, "trace.csv:3: a name twice; found 'a'"),
        ("a,0,1,1,,bert-larg,\n", 2, "did you mean bert-large"),
        ("a,0,1,1,,no.onnx,4\n", 2, "no.onnx"),
        ("a,0,1,1\n", 2, "another number of values than columns; found 4"),
        (",0,1,1,,,\n", 2, "a job without a name"),
        ("", 2, "a trace of jobs without rows"),
        ("a,0,2,1,,,99999999999\n", 2, "trace.csv:2, a"),
    ],
)
def test_traces_that_are_wrong(
    tmp_path: Path, rows: str, exit_code: int, words: str
) -> None:
    """One line, with file, line and job; nobody is told to wait for jobs."""
    result = run("jobs", *questions(tmp_path, "ocs", rows))
    assert result.exit_code == exit_code, result.stderr
    last = result.stderr.strip().splitlines()[-1]
    assert words in last
    assert "wait" not in last


def test_other_questions_that_are_wrong(tmp_path: Path) -> None:
    """Columns, files, outputs, and an instance without a model."""
    instance, trace = questions(tmp_path, "ocs", "a,0,1,1,,,\n")
    for options, words in (
        ((instance, "none.csv"), "none.csv: cannot read"),
        ((instance, trace, "--csv", trace), "--csv"),
        ((instance, trace, "--timeline", "-"), "stdout has the result"),
        (("ocs-16/all-reduce-1MiB", trace), "a job without a model"),
        (("ramp-16/all-reduce-1MiB", trace, "--policy", "x"), "--policy"),
    ):
        result = run("jobs", *options)
        assert result.exit_code == 2, result.stderr
        assert words in result.stderr
    (tmp_path / "trace.csv").write_text("name,arrival_us,gpus\na,0,1\n")
    result = run("jobs", instance, trace)
    assert "not the heading of a trace of jobs" in result.stderr
    (tmp_path / "trace.csv").write_text("name,arrival_us\na,0\n")
    assert "a column is missing" in run("jobs", instance, trace).stderr
