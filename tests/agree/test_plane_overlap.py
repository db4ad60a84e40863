"""The exact model of overlap: equal to brute force over used sets, by both solvers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lightloom.core.outcome import Reason
from lightloom.core.seed import seeded_random
from lightloom.solvers import SOLVERS, run
from lightloom.synth.ocs.plane_walks import (
    LaneJobs,
    best_timing,
    every_step,
    exact_timing,
)
from tests.oracle.plane_overlap_model import OverlapQuestion, build_overlap, used_planes


def _question(seed: int) -> OverlapQuestion:
    rng = seeded_random(seed)
    jobs = rng.randint(2, 4)
    return OverlapQuestion(
        step=tuple(range(jobs)),
        lane=tuple(rng.randint(0, 2) for _ in range(jobs)),
        data=tuple(60 * rng.randint(1, 9) for _ in range(jobs)),
        planes=2,
        delay=60 * rng.randint(0, 6),
        alpha=rng.choice([0, 30]),
        first=60 * rng.randint(0, 3),
    )


def _jobs(question: OverlapQuestion) -> LaneJobs:
    return LaneJobs(
        np.array(question.step),
        np.array(question.lane),
        np.array(question.data, dtype=float),
        float(question.delay),
        float(question.alpha),
        float(question.first),
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_model_is_brute_force(seed: int) -> None:
    """Over all used sets of two planes; the search is never better."""
    question = _question(seed)
    jobs = _jobs(question)
    ends = []
    for bits in itertools.product([False, True], repeat=2 * len(question.step)):
        timing = exact_timing(jobs, np.array(bits).reshape(2, -1))
        if timing is not None:
            ends.append(timing.end)
    model = build_overlap(question, whole=False)
    outcome = run(model, "highs")
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == pytest.approx(min(ends), rel=1e-6)
    exact = exact_timing(jobs, np.array(used_planes(model)))
    assert exact is not None
    assert exact.end <= float(outcome.objective) * (1 + 1e-6)
    found = best_timing(jobs, [every_step(jobs, 2)], 0)
    assert found.end >= min(ends) * (1 - 1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_integers_lose_a_tick_a_step_at_most(seed: int) -> None:
    """CP-SAT and HiGHS agree on whole times."""
    if not SOLVERS["cp-sat"].status().availability:
        pytest.skip("OR-Tools is not installed")
    question = _question(seed)
    real = run(build_overlap(question, whole=False), "highs").objective
    ends = [
        run(build_overlap(question), name).objective for name in ("highs", "cp-sat")
    ]
    assert real is not None
    assert ends[0] is not None
    assert ends[0] == ends[1]
    assert real * (1 - 1e-6) <= ends[0] <= real + len(question.step)
