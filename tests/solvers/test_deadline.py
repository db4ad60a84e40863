"""Deadlines: code is stopped in time, and nothing of the timer stays."""

from __future__ import annotations

import signal
import threading
import time

import pyomo.environ as pyo
import pytest

from lightloom.core.outcome import Limit, Reason
from lightloom.isolation.child_process import TimeIsOverError, deadline
from lightloom.solvers import SolveOptions, build_and_run, built
from tests.examples.small_models import knapsack, require
from tests.hang_guard import HUNG_S


def test_a_block_that_takes_too_long_is_left() -> None:
    """In the middle of it, and the timer and its handler are gone."""
    before = signal.getsignal(signal.SIGALRM)
    with (
        pytest.raises(TimeIsOverError, match="over while it slept"),
        deadline(0.05, "it slept"),
    ):
        time.sleep(3600)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_block_that_is_in_time() -> None:
    """It ends as it would; the alarm does not ring later."""
    with deadline(600.0, "it was quick"):
        done = signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
    assert done
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with deadline(None, "there was no limit"):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_no_time_at_all() -> None:
    """With a limit of 0 the block is not begun."""
    with pytest.raises(TimeIsOverError), deadline(0.0, "it began"):
        pytest.fail("begun")


def test_other_threads_are_told_at_the_end() -> None:
    """Outside the main thread the error is raised after the block."""
    said: list[str] = []

    def work() -> None:
        try:
            with deadline(0.01, "it worked"):
                time.sleep(0.05)
                said.append("all of it")
        except TimeIsOverError as over:
            said.append(over.what)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said == ["all of it", "the time limit was over while it worked"]


def test_building_counts(capfd: pytest.CaptureFixture[str]) -> None:
    """A model that is not built in time is an outcome; Pyomo does not log it."""
    require("highs", "integer")

    def build() -> pyo.ConcreteModel:
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(100))
        model.slow = pyo.Constraint(range(100), rule=lambda m, i: _slow(m.x[i]))
        return model

    model, outcome = build_and_run(build, "highs", SolveOptions(time_limit_s=0.2))
    assert model is None
    assert outcome.reason is Reason.STOPPED_WITHOUT_ANSWER
    assert outcome.limit is Limit.TIME
    assert outcome.detail == ("the time limit was over while the model was built",)
    assert outcome.provenance is not None
    assert outcome.provenance.time_limit_s == 0.2
    assert capfd.readouterr() == ("", "")


def _slow(variable: object) -> object:
    time.sleep(0.05)
    return variable == 1


def test_a_model_built_in_time_is_solved() -> None:
    """The model comes back with its answer."""
    require("highs", "integer")
    small = knapsack(5, 2, 1)
    model, outcome = build_and_run(
        lambda: small, "highs", SolveOptions(time_limit_s=HUNG_S)
    )
    assert model is small
    assert outcome.reason is Reason.PROVEN_OPTIMAL


def test_errors_of_building_are_raised() -> None:
    """An exception of the function that builds is raised as it is."""

    def broken() -> object:
        message = "no model"
        raise LookupError(message)

    with pytest.raises(LookupError, match="no model"):
        built(broken)
