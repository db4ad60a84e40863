"""Small schedules made by hand from core records, and the tools to break them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Footer,
    Op,
    Schedule,
    SealedSchedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.replay import replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.certificate import Certificate
    from lightloom.core.fabric import FabricTable
    from lightloom.core.task import Task

Circuit = tuple[list[int], list[int]]
"""Route and wavelengths."""
Move = tuple[int, int, int, int]
"""src, dst, chunk_lo, chunk_hi."""


def grid(rows: int, cols: int, **keys: int | str | bool) -> FabricTable:
    """Return the table of a small LIGHTPATH grid: two lasers, one waveguide."""
    table = {"kind": "lightpath", "rows": rows, "cols": cols}
    return load_fabric({**table, "lasers": 2, "waveguides": 1, **keys}).table()


def circuits(rows: Sequence[Circuit]) -> Circuits:
    """Return circuits that run from the first to the last node of their routes."""
    return Circuits(
        column(route[0] for route, _ in rows),
        column(route[-1] for route, _ in rows),
        Ragged.from_lists([lit for _, lit in rows]),
        Ragged.from_lists([route for route, _ in rows]),
    )


def moves(rows: Sequence[Move], op: Op = Op.COPY) -> Transfers:
    """Return transfers of one operation."""
    src, dst, lo, hi = (column(row[place] for row in rows) for place in range(4))
    return Transfers(src, dst, lo, hi, column(int(op) for _ in rows))


def fluid(rows: Sequence[tuple[int, int, int]]) -> FluidTransfers:
    """Return fluid transfers of (src, dst, bytes) rows."""
    return FluidTransfers(*(column(row[place] for row in rows) for place in range(3)))


def sealed(
    schedule: Schedule, certificate: Certificate | None = None
) -> SealedSchedule:
    """Return the schedule with true counts, and replay's time where it has one."""
    try:
        time_ps = replay(schedule).completion_time_ps
    except (ValueError, TypeError, OverflowError):
        time_ps = 1
    footer = Footer(
        len(schedule.segments),
        schedule.step_count,
        schedule.circuit_count,
        schedule.transfer_count,
        time_ps,
        () if certificate is None else (certificate,),
    )
    return SealedSchedule.of(schedule, footer)


def schedule(
    fabric: FabricTable,
    task: Task,
    segments: Sequence[Circuits],
    steps: Sequence[tuple[int | None, Transfers | FluidTransfers]],
) -> Schedule:
    """Return a sealed one-plane schedule; `steps` are (segment, transfers)."""
    plane = 0 if segments else None
    made = Schedule(
        fabric,
        task,
        Algorithm("by-hand"),
        tuple(Segment(0, index, rows) for index, rows in enumerate(segments)),
        tuple(
            StepPart(index, plane, segment, transfers)
            for index, (segment, transfers) in enumerate(steps)
        ),
    )
    return sealed(made)


def all_gather_2x2() -> Schedule:
    """All-gather of 4 KiB on 2x2 tiles in two rounds of neighbour exchange."""
    across = circuits([([0, 1], [0]), ([1, 0], [0]), ([2, 3], [0]), ([3, 2], [0])])
    down = circuits([([0, 2], [0]), ([2, 0], [0]), ([1, 3], [0]), ([3, 1], [0])])
    return schedule(
        grid(2, 2),
        Collective("all-gather", (0, 1, 2, 3), 4096, 4),
        [across, down],
        [
            (0, moves([(0, 1, 0, 1), (1, 0, 1, 2), (2, 3, 2, 3), (3, 2, 3, 4)])),
            (1, moves([(0, 2, 0, 2), (2, 0, 2, 4), (1, 3, 0, 2), (3, 1, 2, 4)])),
        ],
    )


def broadcast_1x3() -> Schedule:
    """Broadcast on a line of three, both circuits held from the start."""
    held = circuits([([0, 1], [0]), ([0, 1, 2], [1])])
    return schedule(
        grid(1, 3),
        Collective("broadcast", (0, 1, 2), 1200, 3),
        [held],
        [(0, moves([(0, 1, 0, 3), (0, 2, 0, 2)])), (0, moves([(0, 2, 2, 3)]))],
    )


def all_reduce_pair() -> Schedule:
    """All-reduce of two tiles by exchange, each chunk both ways at once."""
    held = circuits([([0, 1], [0, 1]), ([1, 0], [0, 1])])
    return schedule(
        grid(1, 2),
        Collective("all-reduce", (0, 1), 1000, 2),
        [held],
        [(0, moves([(0, 1, 0, 2), (1, 0, 0, 2)], Op.REDUCE))],
    )


def all_reduce_ring(ranks: int = 4, *, cols: int | None = None) -> Schedule:
    """Ring all-reduce on a grid of two rows: one segment, 2 (n - 1) steps."""
    width = cols or ranks // 2
    order = [*range(width), *range(2 * width - 1, width - 1, -1)]
    after = dict(zip(order, [*order[1:], order[0]], strict=True))
    held = circuits([([node, after[node]], [0]) for node in order])
    place = {node: index for index, node in enumerate(order)}

    def turn(step: int) -> list[Move]:
        chunk = {node: (place[node] - step) % ranks for node in order}
        return [(n, after[n], chunk[n], chunk[n] + 1) for n in order]

    steps = [(0, moves(turn(step), Op.REDUCE)) for step in range(ranks - 1)]
    steps += [(0, moves(turn(step - 1))) for step in range(ranks - 1)]
    task = Collective("all-reduce", tuple(order), ranks * 256, ranks)
    return schedule(grid(2, width), task, [held], steps)


def demand_2x2() -> Schedule:
    """Three fluid pairs on 2x2 tiles, one of them on a route over two edges."""
    held = circuits([([0, 1], [0]), ([0, 1, 3], [1]), ([3, 2], [0, 1])])
    return schedule(
        grid(2, 2),
        Demand.from_rows([(0, 1, 500), (0, 3, 700), (3, 2, 900)]),
        [held],
        [(0, fluid([(0, 1, 500), (0, 3, 300), (0, 3, 400), (3, 2, 900)]))],
    )


def switch_all_gather() -> Schedule:
    """Direct all-gather of four nodes on an ideal switch, in one step."""
    pairs = [(s, d) for s in range(4) for d in range(4) if s != d]
    fabric = load_fabric({"kind": "ideal-switch", "nodes": 4}).table()
    return schedule(
        fabric,
        Collective("all-gather", (0, 1, 2, 3), 4096, 4),
        [],
        [(None, moves([(s, d, s, s + 1) for s, d in pairs]))],
    )


def split_all_reduce() -> Schedule:
    """All-reduce by exchange on a line of three where each step needs two segments.

    Steps: 0 and 2 send to 1, 1 reduces; 1 sends back. The two circuits of a step
    are held one after another, so each step has two parts.
    """
    singles = [([0, 1], [0]), ([2, 1], [0]), ([1, 0], [0]), ([1, 2], [0])]
    made = schedule(
        grid(1, 3),
        Collective("all-reduce", (0, 1, 2), 300, 1),
        [circuits([single]) for single in singles],
        [],
    )
    ends = [(route[0], route[-1]) for route, _ in singles]
    parts = tuple(
        StepPart(
            index // 2,
            0,
            index,
            moves([(*pair, 0, 1)], Op.REDUCE if index < 2 else Op.COPY),
        )
        for index, pair in enumerate(ends)
    )
    return sealed(replace(made, parts=parts))


def with_bound(made: Schedule, certificate: Certificate) -> Schedule:
    """Return the schedule with a certificate in its footer."""
    assert made.footer is not None
    return replace(made, footer=replace(made.footer, certificates=(certificate,)))


def with_circuits(made: Schedule, index: int, rows: Circuits) -> Schedule:
    """Return the schedule with other circuits in one segment, sealed again."""
    segments = list(made.segments)
    segments[index] = replace(segments[index], circuits=rows)
    return sealed(replace(made, segments=tuple(segments)))


def with_transfers(
    made: Schedule, index: int, rows: Transfers | FluidTransfers
) -> Schedule:
    """Return the schedule with other transfers in one part, sealed again."""
    parts = list(made.parts)
    parts[index] = replace(parts[index], transfers=rows)
    return sealed(replace(made, parts=tuple(parts)))


FAMILIES = (
    all_gather_2x2,
    broadcast_1x3,
    all_reduce_pair,
    all_reduce_ring,
    demand_2x2,
    switch_all_gather,
    split_all_reduce,
)
