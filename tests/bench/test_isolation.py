"""Isolation: whatever a run does is a row, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from lightloom.bench import isolation
from lightloom.bench.isolation import run_isolated
from lightloom.bench.results import Ending, Proof
from lightloom.isolation.child_process import idle_processes
from tests.bench.suites import job_of, suite_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("solver", "ending", "words"),
    [
        ("honest", Ending.OPTIMAL, "bound by edge lengths"),
        ("chatty", Ending.OPTIMAL, ""),
        ("liar", Ending.WRONG, "but the schedule has"),
        ("abort", Ending.CRASHED, "SIGABRT"),
        ("segfault", Ending.CRASHED, "SIGSEGV"),
        ("leave", Ending.CRASHED, "exit code 3 during the search: ... these are my"),
        ("raises", Ending.FAILED, "LookupError: nobody expects this"),
        ("missing", Ending.REFUSED, "cannot import the solver"),
    ],
)
def test_whatever_happens_is_a_row(
    solver: str, ending: Ending, words: str, tmp_path: Path
) -> None:
    """The row says how the run ended and its last words."""
    row = run_isolated(job_of(tmp_path, solver))
    assert row.finding.ending is ending, row.finding
    assert words in row.finding.detail
    assert row.peak_bytes
    assert row.machine is not None
    assert row.solved == (ending is Ending.OPTIMAL)


def test_memory_has_a_limit(tmp_path: Path) -> None:
    """A run that takes more is killed."""
    row = run_isolated(job_of(tmp_path, "hog", memory_limit_mib=300))
    assert row.finding.ending is Ending.OUT_OF_MEMORY
    assert row.peak_bytes is not None
    assert row.peak_bytes > 300 * 2**20


def test_time_has_a_limit(tmp_path: Path) -> None:
    """A run that takes longer is killed, and no other process stays."""
    row = run_isolated(job_of(tmp_path, "sleeper", time_limit_s=0.5))
    assert row.finding.ending is Ending.TIMED_OUT


def test_processes_of_a_run_end_with_it(tmp_path: Path) -> None:
    """One that a run left behind, in another group, is gone."""
    row = run_isolated(job_of(tmp_path, "parent"))
    assert row.finding.ending is Ending.ANSWER
    with pytest.raises(ProcessLookupError):
        os.kill(int(row.finding.detail), 0)


def test_bounds_of_others_are_claims(tmp_path: Path) -> None:
    """A user's bound is worth what its witness is: here none, then one."""
    assert run_isolated(job_of(tmp_path, "tiny")).finding.proof is Proof.CLAIMED
    row = run_isolated(job_of(tmp_path, "honest"))
    assert row.finding.proof is Proof.CHECKED
    assert row.finding.witness == "edge-lengths"
    assert row.finding.verified


@pytest.mark.parametrize(
    ("problem", "instance"),
    [
        ("routing", {"family": "permutations", "rows": 2, "cols": 3}),
        (
            "rounds",
            {
                "family": "collective",
                "rows": 2,
                "cols": 2,
                "op": "all-gather",
                "lasers": 2,
                "waveguides": 1,
            },
        ),
        ("ocs", {"family": "switches", "nodes": 4, "switches": 4, "partners": 2}),
        (
            "ring",
            {
                "family": "ring",
                "nodes": 4,
                "wavelengths": 8,
                "partners": 1,
            },
        ),
        (
            "placement",
            {
                "family": "layered",
                "layers": 2,
                "width": 2,
                "devices": 3,
                "distance": 1,
            },
        ),
    ],
)
def test_every_problem_is_answered_and_verified(
    problem: str, instance: dict[str, object], tmp_path: Path
) -> None:
    """Our algorithm and HiGHS agree, and each answer is checked by rules of its own."""
    suite = suite_of(
        tmp_path, problem=problem, by=["lightloom", "highs"], instances=[instance]
    )
    ours, theirs = (run_isolated(job) for job in suite.jobs)
    assert ours.finding.verified
    assert theirs.finding.verified
    assert ours.finding.proof is Proof.CHECKED
    assert ours.finding.witness
    assert theirs.finding.ending is Ending.OPTIMAL
    if ours.finding.ending is Ending.OPTIMAL:
        assert ours.finding.answer == theirs.finding.answer
    for row in (ours, theirs):
        told = row.finding
        assert told.first_answer_s is not None
        assert told.solve_s is not None
        assert 0 < told.first_answer_s <= told.solve_s < row.wall_s
        assert told.cpu_s is not None
        assert told.cpu_s > 0
        assert told.trace
    assert theirs.finding.build_s is not None or problem == "rounds"


def test_completion_times_are_certified(tmp_path: Path) -> None:
    """An algorithm's schedule is verified with the bound that it carries."""
    (job,) = suite_of(
        tmp_path,
        problem="completion-time",
        by=["ring"],
        instances=[{"name": "lightpath-4/all-reduce-1MiB"}],
    ).jobs
    row = run_isolated(job)
    assert row.finding.verified
    assert row.finding.proof is Proof.CHECKED
    assert row.finding.gap is not None
    assert row.finding.gap > 0


def test_a_solver_that_is_not_for_the_model_is_refused(tmp_path: Path) -> None:
    """PDLP takes no integers."""
    (job,) = suite_of(tmp_path, by=["pdlp"]).jobs
    row = run_isolated(job)
    assert row.finding.ending is Ending.REFUSED
    assert "pdlp" in row.finding.detail


def test_a_solver_keeps_its_time_limit(tmp_path: Path) -> None:
    """It stops by itself, with the best it found, and the trace tells how it went."""
    (job,) = suite_of(
        tmp_path,
        by=["cp-sat"],
        time_limit_s=1.0,
        instances=[{"family": "permutations", "rows": 6, "cols": 6, "copies": 2}],
    ).jobs
    row = run_isolated(job)
    assert row.finding.ending in {Ending.ANSWER, Ending.NO_ANSWER}, row.finding


def test_a_fork_server_that_was_ended_is_replaced(tmp_path: Path) -> None:
    """The next job starts another one."""
    job = job_of(tmp_path, "tiny")
    run_isolated(job)
    server = idle_processes.take(isolation._SERVER)  # noqa: SLF001
    assert server is not None
    os.kill(server.pid, signal.SIGKILL)
    idle_processes.keep(isolation._SERVER, server)  # noqa: SLF001
    assert run_isolated(job).finding.ending is Ending.OPTIMAL
