"""Small iterations for tests: by hand, at random, and the case of 64 GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from lightloom.core.columns import Ragged, column
from lightloom.core.iteration import Collectives, Dependencies, Iteration, Operations
from lightloom.instances.fabrics.ring import Ring
from tests.examples.rings_and_switches import ring_circuits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.replay.workload.execute import Spans

Op = tuple[int, int]
"""Device and duration in picoseconds; the row is the priority."""
Link = tuple[int, int, int]
"""src, dst, bytes."""
AllReduce = tuple[int, list[int]]
"""Bytes and devices of an all-reduce."""


def iteration(
    devices: int,
    ops: Sequence[Op],
    links: Sequence[Link],
    rings: Sequence[AllReduce] = (),
    *,
    priority: Sequence[int] | None = None,
    call: Sequence[int] | None = None,
) -> Iteration:
    """Return an iteration; operation i is named ``opi``."""
    src, dst, size = (column(link[at] for link in links) for at in range(3))
    return Iteration(
        devices,
        Operations(
            tuple(f"op{row}" for row in range(len(ops))),
            column(op[0] for op in ops),
            column(op[1] for op in ops),
            column([0] * len(ops) if priority is None else priority),
        ),
        Dependencies.plain(src, dst, size)
        if call is None
        else Dependencies(src, dst, size, column(call)),
        Collectives(
            ("all-reduce",) * len(rings),
            column(ring[0] for ring in rings),
            Ragged.from_lists([ring[1] for ring in rings]),
        ),
    )


PAIRS = [(i, (i + 1) % 8) for i in range(8)] + [(i, i + 9) for i in range(8)]


def fluid_case() -> Iteration:
    """Return 64 GPUs that compute 599 us, then the pairs above move 174 MB each."""
    compute = [(gpu, 599_000_000) for gpu in range(64)]
    points = [(gpu, 0) for gpu in range(64)]
    links = [(src, 64 + dst, 174_000_000) for src, dst in PAIRS]
    return iteration(64, compute + points, links)


@st.composite
def iterations(draw: st.DrawFn, devices: int = 4, *, rings: bool = True) -> Iteration:
    """Draw an iteration of up to eight operations and two all-reduces."""
    count = draw(st.integers(1, 8))
    device = st.integers(0, devices - 1)
    ops = [(draw(device), draw(st.sampled_from([0, 1, 3, 1000]))) for _ in range(count)]
    groups = draw(
        st.lists(
            st.tuples(
                st.sampled_from([0, 1, 5, 300]),
                st.lists(device, min_size=1, max_size=devices, unique=True),
            ),
            max_size=2 if rings else 0,
        )
    )
    tasks = count + len(groups)
    # Tasks are topologically sorted by a drawn order, so that collectives lie between.
    order = draw(st.permutations(range(tasks)))
    links = []
    for later in range(1, tasks):
        for earlier in draw(
            st.lists(st.integers(0, later - 1), max_size=2, unique=True)
        ):
            src, dst = order[earlier], order[later]
            size = 0
            if max(src, dst) < count:
                size = draw(st.sampled_from([0, 1, 2, 7, 500]))
            links.append((src, dst, size))
    priority = [draw(st.integers(0, 2)) for _ in ops]
    return iteration(devices, ops, links, groups, priority=priority)


def ring_of_the_fluid_case() -> tuple[Ring, Circuits]:
    """Return the ring, and two wavelengths for each pair, the shorter way."""
    fabric = Ring(nodes=64, wavelengths=40, directions=2, alpha_ps=0)
    rows = [
        (src, dst, int(dst < src), [2 * row % 40, (2 * row + 1) % 40])
        for row, (src, dst) in enumerate(PAIRS)
    ]
    return fabric, ring_circuits(rows)


def spans(rows: Spans) -> list[tuple[int, int]]:
    """Return (start, end) rows."""
    return list(zip(rows.start_ps.tolist(), rows.end_ps.tolist(), strict=True))
