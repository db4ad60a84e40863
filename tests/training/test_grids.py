"""Trainings on grids: rows for models, columns for sums, and what they take."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.replay.workload import SharedLinks, replay_iteration
from lightloom.training.iteration import twin_sums
from lightloom.training.node_layout import layout
from lightloom.training.planner import Planner
from lightloom.training.strategy import Strategy
from lightloom.training.training_plan import TrainingRequest
from tests.examples.small_trainings import grids, training

if TYPE_CHECKING:
    from lightloom.training.fabric_networks import CircuitMode


@pytest.fixture(scope="module")
def planner() -> Planner:
    """Return one that keeps its placements."""
    return Planner(training(16))


@pytest.mark.parametrize("name", sorted(grids(4)))
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("circuits", ["one-shot", "controlled"])
def test_no_grid_beats_an_ideal_switch_of_its_rate(
    planner: Planner, name: str, k: int, circuits: CircuitMode
) -> None:
    """The same operations and sums; and circuits are not slower beyond their rate."""
    fabric = grids(4)[name]
    plan = planner.plan(
        fabric,
        TrainingRequest(model_parallel=k, circuits=circuits, replayed=1, whole=True),
    )
    ideal = IdealSwitch(
        nodes=16,
        bits_per_second_per_node=fabric.node_bits_per_s,
        alpha_ps=fabric.alpha_ps,
    )
    network = SharedLinks(ideal, plan.layout.collectives())
    least_ps = replay_iteration(plan.iteration, network).iteration_ps
    assert least_ps <= plan.iteration_ps <= 100 * least_ps


@settings(max_examples=6, deadline=None)
@given(
    st.integers(2, 5),
    st.integers(1, 3),
    st.integers(4, 20),
    st.integers(1, 2),
    st.sampled_from(["one-shot", "controlled"]),
)
def test_a_model_on_one_row_takes_what_it_takes_on_a_ring(
    planner: Planner,
    cols: int,
    rows: int,
    wavelengths: int,
    directions: int,
    circuits: CircuitMode,
) -> None:
    """Rings that are not used do not change the time."""
    request = TrainingRequest(
        model_parallel=cols, replicas=1, circuits=circuits, replayed=1
    )
    grid = Ring2d(
        rows=rows,
        cols=cols,
        row_wavelengths=wavelengths,
        column_wavelengths=1,
        directions=directions,
    )
    ring = Ring(
        nodes=cols, wavelengths=wavelengths, directions=directions, reach=grid.reach
    )
    assert (
        planner.plan(grid, request).iteration_ps
        == planner.plan(ring, request).iteration_ps
    )


@pytest.mark.parametrize("rows", [2, 5])
def test_copies_on_one_column_take_what_they_take_on_a_ring(
    planner: Planner, rows: int
) -> None:
    """Data parallelism alone, on a single column."""
    grid = Ring2d(rows=rows, cols=1, row_wavelengths=3, column_wavelengths=8)
    ring = Ring(nodes=rows, wavelengths=8, reach=grid.reach)
    request = TrainingRequest(model_parallel=1, replicas=rows, replayed=1)
    planner = Planner(training(10))
    assert (
        planner.plan(grid, request).iteration_ps
        == planner.plan(ring, request).iteration_ps
    )


@pytest.mark.parametrize("directions", [1, 2])
def test_a_few_rows_take_as_long_as_all(directions: int) -> None:
    """Where a replica fills its row, and only twins use columns."""
    fabric = Ring2d(
        rows=8,
        cols=2,
        row_wavelengths=4,
        column_wavelengths=4,
        directions=directions,
        power_budget_millidb=1300,
        node_loss_millidb=600,
    )
    few, all_of_them = (
        Planner(training(16)).plan(
            fabric,
            TrainingRequest(
                model_parallel=2,
                replicas=8,
                replayed=1,
                whole=whole,
                circuits="one-shot",
            ),
        )
        for whole in (False, True)
    )
    assert (len(few.layout.nodes), len(all_of_them.layout.nodes)) == (5, 8)
    assert few.iteration_ps == all_of_them.iteration_ps


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 50))
def test_sums_over_grids_move_what_one_ring_moves(rings: list[int], part: int) -> None:
    """As many bytes a replica, and every replica has its part in every stage."""
    copies = prod(rings)
    size = part * copies
    stages = twin_sums(rings, size)
    sent = dict.fromkeys(range(copies), 0)
    for stage in stages:
        assert sorted(copy for one in stage for copy in one.copies) == [*range(copies)]
        for one in stage:
            turns = 2 if one.op == "all-reduce" else 1
            moved = turns * one.bytes * (len(one.copies) - 1) // len(one.copies)
            for copy in one.copies:
                sent[copy] += moved
    assert set(sent.values()) == {2 * (copies - 1) * part}
    half = len(stages) // 2
    ops = ["reduce-scatter"] * half + ["all-reduce"] + ["all-gather"] * half
    assert [one[0].op for one in stages] == (ops if stages else [])


@given(st.data())
def test_replicas_stand_in_rows_and_twins_below_each_other(data: st.DataObject) -> None:
    """Twins that follow each other share a ring, and are near on it."""
    rows, cols = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    fabric = Ring2d(rows=rows, cols=cols, row_wavelengths=1, column_wavelengths=1)
    k = data.draw(st.integers(1, cols))
    down = data.draw(st.integers(1, rows))
    across = data.draw(st.integers(1, cols // k))
    strategy = Strategy(k, down * across, down * across)
    laid = layout(fabric, strategy, range(rows * cols), whole=True)
    nodes = [node for replica in laid.nodes for node in replica]
    assert len(set(nodes)) == len(nodes) == strategy.devices
    for replica in laid.nodes:
        assert [*replica] == [*range(replica[0], replica[0] + k)]
        assert replica[0] // cols == replica[-1] // cols
    for stage in twin_sums(laid.rings, 1):
        for one in stage:
            ring = [laid.nodes[copy][0] for copy in one.copies]
            for here, there in zip(ring, [*ring[1:], ring[0]], strict=True):
                far = abs(here // cols - there // cols)
                if here % cols == there % cols:
                    assert min(far, rows - far) <= 2
                else:
                    assert not far


@pytest.mark.parametrize(
    ("strategy", "nodes", "kind", "words"),
    [
        (Strategy(4, 1, 4), None, InfeasibleError, "does not fit a row.*at most 3"),
        (Strategy(1, 5, 5), None, InfeasibleError, "not form a grid.*1 to 4, 1 to 3"),
        (Strategy(2, 6, 6), None, InfeasibleError, "not form a grid.*1 to 4, 1 to 1"),
        (Strategy(1, 3, 3), (0, 1, 2, 3), InputError, "multiples of 3 nodes"),
    ],
)
def test_what_does_not_fit_the_rows(
    strategy: Strategy,
    nodes: tuple[int, ...] | None,
    kind: type[Exception],
    words: str,
) -> None:
    """The error says what would fit the rows."""
    fabric = Ring2d(rows=4, cols=3, row_wavelengths=1, column_wavelengths=1)
    with pytest.raises(kind, match=words):
        layout(fabric, strategy, nodes)


def test_sipac_is_trained_on_as_a_whole() -> None:
    """Four switches of a level and four of the other, and no part of them."""
    fabric = Sipac(radix=4)
    assert layout(fabric, Strategy(2, 8, 8)).rings == (4, 2)
    assert layout(Sipac(radix=2, level=3), Strategy(2, 8, 8)).rings == (2, 2, 2, 1)
    with pytest.raises(InputError, match="all nodes of this fabric"):
        layout(fabric, Strategy(2, 2, 2), range(4))
