"""Partitions in exact arithmetic, and rounds that are turned around."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.schedule import Op
from lightloom.core.task import Collective
from lightloom.plans.algorithms.direct import Direct
from lightloom.plans.algorithms.tree import NomialTree
from lightloom.plans.edge_colouring import coloured_ports
from lightloom.plans.plan import Partition, reversed_rounds


@settings(deadline=None)
@given(st.integers(1, 2**20), st.integers(1, 2**60), st.data())
def test_boundaries_are_floors(parts: int, chunks: int, data: st.DataObject) -> None:
    """Boundary i is floor(i C / p), also where i C does not fit 63 bits."""
    position = data.draw(st.integers(0, parts))
    found = Partition(parts, chunks).boundary(np.array([position], dtype=np.int64))
    assert found.tolist() == [position * chunks // parts]


@settings(deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 50),
    st.integers(-40, 40),
    st.data(),
)
def test_circular_ranges(
    parts: int, chunks: int, start: int, data: st.DataObject
) -> None:
    """The rows of a range hold the chunks of its parts, each once, in no empty row."""
    length = data.draw(st.integers(0, parts))
    ends = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    made = Partition(parts, chunks).round(
        *ends, start, length, port=3, op=Op.REDUCE, base=100
    )
    wanted = [
        100 + chunk
        for part in sorted((start + i) % parts for i in range(length))
        for chunk in range(part * chunks // parts, (part + 1) * chunks // parts)
    ]
    if made is None:
        assert not wanted
        return
    ranges = sorted(zip(made.chunk_lo.tolist(), made.chunk_hi.tolist(), strict=True))
    assert [chunk for lo, hi in ranges for chunk in range(lo, hi)] == wanted
    assert all(lo < hi for lo, hi in ranges)
    assert set(made.port.tolist()) == {3}
    assert set(made.op.tolist()) == {1}


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
