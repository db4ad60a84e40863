"""The exact synthesiser: what it proves, what it does not, and how it stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.circuit import Circuits
from lightloom.core.errors import InputError
from lightloom.core.outcome import Limit, Outcome, Reason
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.models.rounds import build_colouring
from lightloom.problems.fewest_rounds import exact_rounds as exact
from lightloom.problems.fewest_rounds.exact_rounds import fewest_rounds
from lightloom.problems.fewest_rounds.round_bounds import RoundBound, round_bounds
from lightloom.replay import replay
from lightloom.solvers import SolveOptions
from lightloom.validate import verify
from tests.examples.collectives_on_grids import fewest_by_search, grid

if TYPE_CHECKING:
    from lightloom.models.linear_expression import Model

ABOVE_THE_BOUND = grid(1, 6, "all-gather", lasers=3, nodes=(5, 0, 1, 3))
"""One round would do for lasers, but no wavelengths fit together."""


@pytest.fixture
def _lasers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the bound that what a tile receives proves, and no better one."""

    def receive(fabric: Lightpath, collective: Collective) -> RoundBound:
        return round_bounds(fabric, collective)[0]

    monkeypatch.setattr(exact, "round_bound", receive)


@pytest.mark.usefixtures("_lasers_alone")
def test_infeasible_horizons_prove_an_optimum_above_the_bound() -> None:
    """On a line every simple route is a candidate, so the solver's no is a proof."""
    outcome = fewest_rounds(ABOVE_THE_BOUND)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == outcome.bound == 2
    assert outcome.incumbent is not None
    assert outcome.incumbent.bound.rounds == 1
    trials = [(trial.rounds, trial.reason) for trial in outcome.incumbent.trials]
    assert trials == [(1, Reason.PROVEN_INFEASIBLE), (2, Reason.PROVEN_OPTIMAL)]
    assert fewest_by_search(ABOVE_THE_BOUND) == 2


def test_few_candidate_routes_prove_nothing_above_the_bound() -> None:
    """With one route a pair, more rounds than the bound may be for want of routes."""
    instance = grid(2, 3, "all-to-all", lasers=1)
    one = fewest_rounds(instance, paths=1)
    assert one.incumbent is not None
    assert one.objective == 6
    assert one.reason is Reason.STOPPED_WITH_ANSWER
    assert one.bound == one.incumbent.bound.rounds == 5
    assert fewest_rounds(instance, paths=4).objective == 5


def test_a_wider_horizon_is_no_proof() -> None:
    """Where only one horizon is asked for, its answer need not be the best."""
    outcome = fewest_rounds(grid(2, 2, "all-gather", lasers=1), horizon=5)
    assert outcome.incumbent is not None
    assert verify(outcome.incumbent.schedule).violations == ()
    assert 3 <= outcome.incumbent.rounds <= 5
    assert outcome.bound == 3


def test_too_short_a_horizon_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the certified bound the argument is given instead."""
    monkeypatch.delattr(exact, "build_and_run")
    outcome = fewest_rounds(grid(2, 2, "all-gather"), horizon=1)
    assert outcome.reason is Reason.PROVEN_INFEASIBLE
    assert outcome.incumbent is None
    assert "must receive 3 chunks with 2 photodiodes" in outcome.detail[0]


@pytest.mark.usefixtures("_lasers_alone")
def test_an_infeasible_horizon_above_the_bound() -> None:
    """The solver's no is passed on, with the certified bound beside it."""
    outcome = fewest_rounds(ABOVE_THE_BOUND, horizon=1)
    assert outcome.reason is Reason.PROVEN_INFEASIBLE
    assert outcome.bound == 1
    assert outcome.provenance is not None


def test_out_of_time_is_an_outcome() -> None:
    """Without time there is no answer, and it says so with the bound."""
    options = SolveOptions(time_limit_s=0.0)
    outcome = fewest_rounds(grid(4, 4, "all-gather"), options=options)
    assert outcome.reason is Reason.STOPPED_WITHOUT_ANSWER
    assert outcome.limit is Limit.TIME
    assert outcome.bound == 8


@pytest.mark.parametrize("colourable", [True, False])
def test_where_colours_fail_wavelengths_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, *, colourable: bool
) -> None:
    """An aggregated answer that cannot be coloured is no answer; an explicit one is."""
    if not colourable:
        monkeypatch.setattr(exact, "build_colouring", _uncolourable)
    outcome = fewest_rounds(grid(2, 2, "all-gather"), wavelengths="aggregated")
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == 2
    assert outcome.incumbent is not None
    assert verify(outcome.incumbent.schedule).violations == ()


def _uncolourable(fabric: Lightpath, circuits: Circuits) -> Model:
    """Return the colouring of some circuits, each of them too often."""
    assert circuits.route is not None
    rows = np.repeat(np.arange(len(circuits)), fabric.lasers + 1)
    twice = Circuits(
        circuits.src[rows], circuits.dst[rows], None, circuits.route.take(rows)
    )
    return build_colouring(fabric, twice)


def test_the_footer_is_what_replay_says() -> None:
    """The schedule carries its completion time, its makers and a certificate."""
    outcome = fewest_rounds(grid(2, 2, "all-reduce"), options=SolveOptions(seed=3))
    assert outcome.incumbent is not None
    schedule = outcome.incumbent.schedule
    assert schedule.footer is not None
    time_ps = replay(schedule).completion_time_ps
    assert schedule.footer.completion_time_ps == time_ps
    assert schedule.footer.certificate is not None
    assert schedule.algorithm.name == "exact"
    assert schedule.algorithm.seed == 3


def test_all_reduce_claims_no_more_than_its_bound() -> None:
    """Two optimal phases are an answer; the bound is of the whole."""
    outcome: Outcome[exact.Exact] = fewest_rounds(grid(2, 3, "all-reduce"))
    assert outcome.objective == 6
    assert outcome.bound == 5
    assert outcome.reason is Reason.STOPPED_WITH_ANSWER


def test_the_same_question_has_the_same_answer() -> None:
    """Circuits and transfers do not change from run to run."""
    one, two = (fewest_rounds(grid(2, 3, "all-gather")).incumbent for _ in range(2))
    assert one is not None
    assert two is not None
    for mine, other in zip(one.schedule.parts, two.schedule.parts, strict=True):
        assert mine.transfers.src.tolist() == other.transfers.src.tolist()
        assert mine.transfers.dst.tolist() == other.transfers.dst.tolist()
    for left, right in zip(one.schedule.segments, two.schedule.segments, strict=True):
        assert left.circuits.route is not None
        assert right.circuits.route is not None
        assert left.circuits.route.to_lists() == right.circuits.route.to_lists()


def test_a_demand_is_no_question() -> None:
    """Demands have no chunks."""
    task = Demand((0,), (1,), (8,))
    with pytest.raises(InputError, match="chunks of a collective"):
        fewest_rounds(Instance(Lightpath(rows=1, cols=2), task, "d"))
