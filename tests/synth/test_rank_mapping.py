"""Mappings: whichever tile plays a rank, every node ends with its own block."""

from __future__ import annotations

import pytest

from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.task import Collective
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.synth.auto import CandidatePool, CandidateSearch
from lightloom.synth.bounds import LowerBounds
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.fabrics import realiser_of
from lightloom.synth.rank_mapping import (
    GIVEN_ORDER,
    mapped_traffic,
    mappings,
    reordered,
)
from lightloom.validate import verify

FABRIC = Lightpath(rows=3, cols=4)
NODES = (7, 3, 11, 0, 8, 5)


def test_the_given_order_comes_first() -> None:
    """Orders are named, distinct, and hold the same nodes."""
    found = mappings(FABRIC, NODES)
    assert found[GIVEN_ORDER] == NODES
    assert len(set(found.values())) == len(found)
    assert all(sorted(order) == sorted(NODES) for order in found.values())
    assert found["row-major"] == tuple(sorted(NODES))


def test_snake_and_morton_orders_of_a_square() -> None:
    """A snake turns around at every row; Morton goes by squares of four."""
    found = mappings(Lightpath(rows=4, cols=4), tuple(range(16)))
    assert found["snake"][:8] == (0, 1, 2, 3, 7, 6, 5, 4)
    assert found["morton"][:8] == (0, 1, 4, 5, 2, 3, 6, 7)


@pytest.mark.parametrize("op", list(COLLECTIVES))
@pytest.mark.parametrize("name", ["morton", "row-major", "snake"])
def test_every_operation_is_right_in_every_mapping(op: str, name: str) -> None:
    """Blocks are renumbered so that the post-condition is that of the task."""
    task = Collective(op, NODES, 6 * 24)
    algorithm = {"all-to-all": "bruck", "scatter": "tree", "gather": "tree"}.get(op)
    algorithm = algorithm or (
        "scatter-gather" if op in ("broadcast", "reduce") else "multiport"
    )
    maker = make_algorithm(algorithm, {}, op=op)
    chunked = choose_chunks(task, maker.granularity(6, 4))
    plan = maker.plan(reordered(chunked, mappings(FABRIC, NODES)[name]), 4)
    rounds = mapped_traffic(plan, chunked)
    made = realiser_of(FABRIC).realise(rounds)
    schedule = Schedule(
        FABRIC.table(), chunked, Algorithm(algorithm), made.segments, made.parts
    )
    verdict = verify(schedule)
    assert verdict.violations == ()


def test_scarce_waveguides_make_the_search_try_other_orders() -> None:
    """Where a lane is cut in layers, mappings compete."""
    fabric = Lightpath(rows=4, cols=4, lasers=3, waveguides=1)
    task = Collective("all-reduce", tuple(range(16)), 2**20)
    pool = CandidatePool()
    instance, bounds = Instance(fabric, task, "test"), LowerBounds(fabric, task)
    search = CandidateSearch(instance, realiser_of(fabric), pool, bounds)
    search.run("lumorph-4", {})
    assert {candidate.mapping for candidate in pool.compared()} > {GIVEN_ORDER}
