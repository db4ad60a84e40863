"""``lightloom bench``: from a suite to a table, and every refusal a line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lightloom.bench import sweep as workers_module
from lightloom.bench.results import Ending, ResultsFile, read_results
from lightloom.bench.suite import load_suite
from tests.bench.rows import row_of
from tests.bench.suites import TEXT, forget_code_version, write_suite
from tests.cli.program import START, child, one_error, run, run_json

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def results(tmp_path: Path) -> str:
    """Return the path of a results file of four rows."""
    path = tmp_path / "results.jsonl"
    with ResultsFile(path) as file:
        for name in "ab":
            for solver, seconds in (("highs", 1.0), ("scip", 2.0)):
                trace = ((seconds / 2, 5.0, 1.0), (seconds, 5.0, 5.0))
                file.append(row_of(name, solver, seconds=seconds, trace=trace))
    return str(path)


SMOKE = [job.problem for job in load_suite("smoke").jobs]


@pytest.mark.parametrize(
    "problems",
    [
        ["ocs", "completion-time"],
        pytest.param(sorted(set(SMOKE)), marks=pytest.mark.slow),
    ],
    ids=["one problem", "all"],
)
def test_the_smoke_suite_runs_resumes_and_is_sound(
    tmp_path: Path, problems: list[str]
) -> None:
    """Every run answers or says why not; a second sweep has nothing to do."""
    path = str(tmp_path / "smoke.jsonl")
    forget_code_version()
    asked = [word for problem in problems for word in ("--problem", problem)]
    done = child(
        "bench", "smoke", *asked, "--results", path, "--workers", "2", "--json"
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["faults"] == []
    assert told["made"] == told["runs"] == sum(map(SMOKE.count, problems))
    rows = read_results(path)
    assert {row.finding.ending for row in rows} <= {Ending.OPTIMAL, Ending.ANSWER}
    assert all(row.finding.verified for row in rows)
    again = run_json("bench", "run", "smoke", *asked, "--results", path)
    assert again["made"] == 0
    assert read_results(path) == rows


def test_a_wrong_answer_is_an_exit_code(tmp_path: Path) -> None:
    """A wrong answer, and one that contradicts a bound, exit with code 1."""
    for solver in ("liar", "braggart"):
        suite = write_suite(tmp_path, by=["lightloom", f"tests.bench.faulty:{solver}"])
        path = str(tmp_path / f"{solver}.jsonl")
        done = child("bench", suite, "--results", path)
        assert done.returncode == 1, done.stderr.decode()
        assert b"FAULT: routing" in done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Ctrl-C keeps the rows, leaves no process, and the same command runs the rest."""
    tiny = "tests.bench.faulty:tiny"
    suite = write_suite(tmp_path, by=[tiny], seeds=list(range(120)))
    path = tmp_path / "results.jsonl"
    command = [sys.executable, "-c", START, "bench", suite, "--results", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as sweep:
        while not path.exists() or len(read_results(path)) < 20:
            assert sweep.poll() is None
            time.sleep(0.1)
        sweep.send_signal(signal.SIGINT)
        _, words = sweep.communicate(timeout=600)
    assert sweep.returncode == 130
    assert "the same command runs the rest" in words
    assert "Traceback" not in words
    kept = read_results(path)
    assert 20 <= len(kept) < 120
    done = child("bench", suite, "--results", str(path), "--json")
    assert json.loads(done.stdout)["made"] == 120 - len(kept)
    rows = read_results(path)
    assert rows[: len(kept)] == kept
    assert len({row.key for row in rows}) == len(rows) == 120


def test_the_report_shows_every_solver(results: str, tmp_path: Path) -> None:
    """As a table, in Markdown, as JSON, as plots and as CSV."""
    assert "scip" in run("bench", "report", results).stdout
    page = run("bench", "report", results, "--markdown").stdout
    assert page.count("\n") == 4
    assert page.startswith("| problem | solver |")
    out = tmp_path / "out"
    record = run_json("bench", "report", results, "--out", str(out))
    assert [one["solver"] for one in record["summary"]] == ["highs", "scip"]
    names = sorted(path.name for path in out.iterdir())
    assert names == ["routing.png", "routing.svg", "rows.csv"]
    assert len((out / "rows.csv").read_text().splitlines()) == 5


def test_comparing_a_file_with_itself_shows_nothing(results: str) -> None:
    """No answer changes, and without repetitions no speed does."""
    record = run_json("bench", "compare", results, results)
    assert record["changes"] == []
    assert {one["verdict"] for one in record["speeds"]} == {"not repeated"}
    assert "no ending, answer" in run("bench", "compare", results, results).stdout


def test_suites_and_families_are_listed() -> None:
    """The lists are printed as text and as JSON."""
    record = run_json("bench", "list")
    assert "smoke" in record["suites"]
    assert "draw=0" in record["families"]["ring"]["parameters"]
    assert "permutations" in run("bench", "list").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "smok"), "did you mean smoke?"),
        (("smokey",), "unknown command"),
        (("run", "smoke", "--problem", "rooting"), "unknown problem"),
        (("run", "smoke", "--workers", "0"), "workers"),
        (("run", "smoke", "--workers", "1", "--scheduler", "tcp://a:1"), "--workers"),
        (("report", "missing.jsonl"), "cannot read the results"),
        (("compare", "missing.jsonl", "missing.jsonl"), "cannot read the results"),
    ],
)
def test_refusals_are_one_line(
    arguments: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert words in one_error(run("bench", *arguments))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_results_file_is_left_alone(results: str, tmp_path: Path) -> None:
    """A cut line and another version stop a sweep before it starts."""
    path = tmp_path / "results.jsonl"
    whole = path.read_bytes()
    for damaged in (whole[:-5], whole.replace(b'"version":1', b'"version":9', 1)):
        path.write_bytes(damaged)
        result = run("bench", "run", "smoke", "--results", results)
        assert "results.jsonl line" in one_error(result)
        assert path.read_bytes() == damaged


def test_a_scheduler_that_does_not_answer_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the scheduler's address."""
    monkeypatch.setattr(workers_module, "_ANSWER_S", 1.0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.toml").write_text(TEXT, encoding="utf-8")
    result = run("bench", "suite.toml", "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "does not answer" in result.stderr.splitlines()[-1]
