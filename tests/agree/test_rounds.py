"""Rounds: bound, exhaustive search, every solver and the greedy horizon agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.outcome import Reason
from lightloom.core.task import Collective
from lightloom.instances.instance import Instance
from lightloom.models.candidate_routes import candidate_routes
from lightloom.models.deliveries import copy_question
from lightloom.models.rounds import rounds_that_suffice
from lightloom.problems.fewest_rounds.exact_rounds import Exact, fewest_rounds
from lightloom.validate import verify
from tests.examples.collectives_on_grids import fewest_by_search, grid
from tests.models.available import INTEGER_SOLVERS

ALL_ROUTES = 9
"""More simple routes than any pair has on the grids of this file."""

CASES = (
    grid(2, 2, "all-gather"),
    grid(2, 2, "all-gather", lasers=1),
    grid(2, 2, "all-to-all", lasers=1),
    grid(1, 3, "all-gather", lasers=1),
    grid(1, 3, "all-to-all"),
    grid(1, 4, "all-to-all", lasers=1),
    grid(1, 4, "all-gather", lasers=2),
    grid(1, 4, "all-to-all", lasers=2, waveguides=2),
    grid(2, 3, "broadcast", lasers=1),
    grid(2, 3, "broadcast", lasers=1, chunks=2),
    grid(2, 3, "scatter", lasers=1),
    grid(2, 3, "gather", lasers=2),
    grid(2, 3, "all-gather", lasers=1, nodes=(0, 2, 3, 5)),
    grid(2, 3, "all-to-all", lasers=1, nodes=(0, 2, 4, 5)),
)


def _exact(instance: Instance, **arguments: object) -> Exact:
    """Return an exact answer whose schedule was verified."""
    outcome = fewest_rounds(instance, **arguments)  # type: ignore[arg-type]
    assert outcome.incumbent is not None, outcome
    assert verify(outcome.incumbent.schedule).violations == ()
    assert outcome.incumbent.rounds == outcome.objective
    assert outcome.incumbent.bound.rounds <= outcome.incumbent.rounds
    return outcome.incumbent


@pytest.mark.parametrize("solver", INTEGER_SOLVERS)
@pytest.mark.parametrize("place", range(len(CASES)))
def test_every_solver_meets_the_exhaustive_search(place: int, solver: str) -> None:
    """On tiny instances a solver needs as many rounds as the search of everything."""
    instance = CASES[place]
    outcome = fewest_rounds(instance, solver=solver, paths=ALL_ROUTES)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == outcome.bound == _searched(place)
    assert outcome.incumbent is not None
    assert verify(outcome.incumbent.schedule).violations == ()


_FOUND: dict[int, int] = {}


def _searched(place: int) -> int:
    if place not in _FOUND:
        _FOUND[place] = fewest_by_search(CASES[place])
    return _FOUND[place]


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize(("rows", "cols", "rounds"), [(2, 2, 2), (2, 4, 4), (3, 3, 4)])
def test_known_optima_of_all_gather(
    rows: int, cols: int, rounds: int, solver: str
) -> None:
    """With two lasers and one waveguide every node receives in every round."""
    outcome = fewest_rounds(grid(rows, cols, "all-gather"), solver=solver)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == rounds
    assert outcome.incumbent is not None
    assert verify(outcome.incumbent.schedule).violations == ()


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_known_optimum_on_sixteen_tiles(solver: str) -> None:
    """All-gather on 4x4 takes eight rounds."""
    outcome = fewest_rounds(grid(4, 4, "all-gather"), solver=solver)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == 8
    assert outcome.incumbent is not None
    assert verify(outcome.incumbent.schedule).violations == ()


@st.composite
def instances(draw: st.DrawFn, ops: tuple[str, ...]) -> Instance:
    """Draw a collective on up to five tiles of a small grid."""
    rows, cols = draw(st.sampled_from([(1, 2), (1, 3), (2, 2), (2, 3), (3, 2)]))
    tiles = st.integers(0, rows * cols - 1)
    nodes = draw(st.lists(tiles, min_size=1, max_size=5, unique=True))
    return grid(
        rows,
        cols,
        draw(st.sampled_from(ops)),
        lasers=draw(st.integers(1, 3)),
        waveguides=draw(st.integers(1, 2)),
        nodes=tuple(nodes),
    )


COPYING = ("all-gather", "all-to-all", "broadcast", "gather", "scatter")


@settings(max_examples=20)
@given(instances(COPYING))
def test_statements_agree(instance: Instance) -> None:
    """Explicit, pinned and aggregated models need the same rounds, at most greedy's."""
    explicit = _exact(instance)
    assert _exact(instance, pinned=True).rounds == explicit.rounds
    assert _exact(instance, wavelengths="aggregated").rounds == explicit.rounds
    fabric, deliveries = copy_question(instance)
    routes = candidate_routes(fabric, deliveries.pairs(), 2)
    assert explicit.rounds <= rounds_that_suffice(fabric, deliveries, routes)


@settings(max_examples=20)
@given(instances(("all-reduce", "reduce", "reduce-scatter")))
def test_reversals_reduce(instance: Instance) -> None:
    """What is made by reversal reduces, in as many rounds as what it reverses."""
    task = instance.task
    assert isinstance(task, Collective)
    copied = "broadcast" if task.op == "reduce" else "all-gather"
    dual = Collective(copied, task.nodes, task.buffer_bytes)
    phases = 2 if task.op == "all-reduce" else 1
    rounds = _exact(Instance(instance.fabric, dual, "dual")).rounds
    assert _exact(instance).rounds == phases * rounds
