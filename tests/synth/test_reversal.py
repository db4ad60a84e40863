"""Reversal of rounds, and ports by edge colouring."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.schedule import Op
from lightloom.core.task import Collective
from lightloom.plans.algorithms.direct import Direct
from lightloom.plans.algorithms.tree import NomialTree
from lightloom.plans.coloured_ports import coloured_ports
from lightloom.plans.reversal import reversed_rounds


def test_twice_reversed_is_the_same() -> None:
    """Time and arcs turned around twice are as before."""
    plan = NomialTree().plan(Collective("scatter", tuple(range(9)), 9, 9), 2)
    twice = reversed_rounds(reversed_rounds(plan.rounds, Op.COPY), Op.COPY)
    for before, after in zip(plan.rounds, twice, strict=True):
        assert (before.src == after.src).all()
        assert (before.dst == after.dst).all()
        assert (before.op == after.op).all()


def test_reduce_scatter_is_all_gather_reversed() -> None:
    """The direct exchanges are reversals of one another, row for row."""
    nodes = tuple(range(5))
    gather = Direct().plan(Collective("all-gather", nodes, 5, 5), 1)
    scatter = Direct().plan(Collective("reduce-scatter", nodes, 5, 5), 1)
    (turned,) = reversed_rounds(gather.rounds, Op.REDUCE)
    (one,) = scatter.rounds

    def rows(columns: tuple[np.ndarray, ...]) -> list[tuple[int, ...]]:
        return sorted(zip(*(c.tolist() for c in columns), strict=True))

    assert rows((turned.src, turned.dst, turned.chunk_lo, turned.op)) == rows(
        (one.src, one.dst, one.chunk_lo, one.op)
    )


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60))
def test_coloured_ports(rows: list[tuple[int, int]]) -> None:
    """As many ports as the busiest rank has peers; each a partial permutation."""
    src = np.array([s for s, _ in rows], dtype=np.int64)
    dst = np.array([d for _, d in rows], dtype=np.int64)
    ports = coloured_ports(src, dst).tolist()
    port_of = dict(zip(rows, ports, strict=True))
    assert [port_of[row] for row in rows] == ports
    assert len({(s, p) for (s, _), p in port_of.items()}) == len(port_of)
    assert len({(d, p) for (_, d), p in port_of.items()}) == len(port_of)
    degrees = [sum(s == n for s, _ in port_of) for n in range(10)]
    degrees += [sum(d == n for _, d in port_of) for n in range(10)]
    assert max(ports, default=-1) < max(degrees)
