"""Decoders: what values of variables stand for, right or nearly so."""

from __future__ import annotations

import pytest

from lightloom.core.outcome import Reason
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.models import rounds, routing
from lightloom.models.rounds import (
    build_colouring,
    copies,
    decode_colouring,
    decode_rounds,
    light_paths,
    round_count,
    rounds_schedule,
    unlit_paths,
)
from lightloom.solvers import run
from tests.examples.collectives_on_grids import grid

GRID = Lightpath(rows=3, cols=3)


def test_cycles_and_detours_are_dropped() -> None:
    """A cycle apart from the route, and one along it, leave no trace."""
    model = routing.build(Instance(GRID, Demand((0,), (2,), (8,)), "t"))
    used = [(0, 1), (1, 2)]
    apart = [(6, 7), (7, 6)]
    along = [(1, 4), (4, 5), (5, 4), (4, 1)]
    for (_, tail, head), variable in model.flow.items():
        variable.value = float((tail, head) in [*used, *apart, *along])
    answer = routing.decode(model)
    assert answer.route.to_lists() == [[0, 1, 2]]
    assert answer.congestion == 1


def test_values_within_tolerance_are_integers() -> None:
    """What a solver leaves at 0.9999999 or -1e-9 is one or zero."""
    model = routing.build(Instance(GRID, Demand((0,), (2,), (8,)), "t"))
    for (_, tail, head), variable in model.flow.items():
        on = (tail, head) in [(0, 3), (3, 4), (4, 5), (5, 2)]
        variable.set_value(1 - 1e-7 if on else -1e-9, skip_validation=True)
    assert routing.decode(model).route.to_lists() == [[0, 3, 4, 5, 2]]


def test_capacity_divides_the_load() -> None:
    """Three routes on an edge of capacity two are congestion two."""
    instance = Instance(Lightpath(rows=1, cols=2), Demand((), (), ()), "t")
    model = routing.build(
        instance, requests=[(0, 1)] * 3, capacity={(0, 1): 2, (1, 0): 1}
    )
    assert run(model, "highs").objective == 2
    assert routing.decode(model).congestion == 2


def test_neighbouring_chunks_are_one_transfer() -> None:
    """Rows are sorted by pair and chunk, and consecutive chunks merged."""
    moved = copies([(1, 0, 3), (0, 1, 5), (0, 1, 4), (0, 1, 7)])
    assert moved.src.tolist() == [0, 0, 1]
    assert moved.chunk_lo.tolist() == [4, 7, 3]
    assert moved.chunk_hi.tolist() == [6, 8, 4]


def test_wavelengths_on_one_route_are_one_circuit() -> None:
    """Parallel wavelengths share a row, other routes do not."""
    circuits = light_paths(
        [(0, 4, (0, 1, 4), 2), (0, 4, (0, 3, 4), 1), (0, 4, (0, 1, 4), 0)]
    )
    assert circuits.wavelengths is not None
    assert circuits.route is not None
    assert circuits.wavelengths.to_lists() == [[0, 2], [1]]
    assert circuits.route.to_lists() == [[0, 1, 4], [0, 3, 4]]


def test_aggregated_answers_have_no_wavelengths_yet() -> None:
    """They become a schedule only once they are coloured."""
    instance = grid(2, 2, "all-gather")
    model = rounds.build(instance, horizon=2, wavelengths="aggregated")
    assert run(model, "highs").incumbent is not None
    answer = decode_rounds(model)
    assert all(one.circuits.wavelengths is None for one in answer.rounds)
    with pytest.raises(ValueError, match="no wavelengths yet"):
        rounds_schedule(instance, answer)


def test_colouring_parts_what_clashes() -> None:
    """Circuits that share a laser, a photodiode or a waveguide get two wavelengths."""
    fabric = Lightpath(rows=1, cols=3, lasers=2, waveguides=1)
    routes = [(0, 1, 2), (0, 1), (1, 2)]
    circuits = unlit_paths((route[0], route[-1], route) for route in routes)
    model = build_colouring(fabric, circuits)
    assert run(model, "highs").incumbent is not None
    lit = decode_colouring(model)
    assert lit.wavelengths is not None
    of_pair = dict(
        zip(
            zip(lit.src.tolist(), lit.dst.tolist(), strict=True),
            lit.wavelengths.to_lists(),
            strict=True,
        )
    )
    assert of_pair[0, 1] != of_pair[0, 2] != of_pair[1, 2]


def test_a_triangle_of_clashes_has_no_two_colours() -> None:
    """Pairwise a laser, a photodiode and an edge in common: no load says so."""
    fabric = Lightpath(rows=2, cols=3, lasers=2, waveguides=1)
    routes = [(0, 1, 2), (1, 2, 5), (0, 3, 4, 5)]
    circuits = unlit_paths((route[0], route[-1], route) for route in routes)
    outcome = run(build_colouring(fabric, circuits), "highs")
    assert outcome.reason is Reason.PROVEN_INFEASIBLE
    fewer = unlit_paths((route[0], route[-1], route) for route in routes[1:])
    assert run(build_colouring(fabric, fewer), "highs").incumbent is not None


def test_rounds_that_keep_their_circuits_share_a_segment() -> None:
    """Two chunks over one laser: two steps, one configuration."""
    instance = grid(1, 2, "broadcast", lasers=1, chunks=2)
    model = rounds.build(instance, horizon=2)
    assert run(model, "highs").objective == 2
    answer = decode_rounds(model)
    assert round_count(answer) == 2
    schedule = rounds_schedule(instance, answer)
    assert len(schedule.parts) == 2
    assert len(schedule.segments) == 1
