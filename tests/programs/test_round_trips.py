"""Schedules that leave and come back: the same data, and the same steps."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lightloom.core.schedule import Algorithm, Schedule, StepPart, Transfers
from lightloom.core.task import Collective
from lightloom.formats.msccl_runtimes import RUNTIMES
from lightloom.formats.msccl_xml import msccl_xml, parse_msccl
from lightloom.formats.transfers_csv import read_transfers, transfers_csv
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.plans.algorithms import make_algorithm
from lightloom.programs.import_schedule import imported, lift, table_collective
from lightloom.programs.lowering import lower
from lightloom.validate import verify
from tests.programs.lowered import OPERATIONS

if TYPE_CHECKING:
    import pytest

BARRIERS = {
    "all-gather": ("direct", "lumorph-2", "lumorph-4", "ring"),
    "all-reduce": ("full-exchange", "lumorph-2", "lumorph-4", "multiport", "ring"),
    "all-to-all": ("direct",),
    "broadcast": ("direct",),
    "reduce": ("direct",),
    "reduce-scatter": ("direct", "lumorph-2", "lumorph-4", "ring"),
}
"""Algorithms in which every step needs the one before."""


@st.composite
def barrier_schedules(draw: st.DrawFn) -> Schedule:
    """Draw a schedule on an ideal switch, its ranks anywhere on it."""
    op = draw(st.sampled_from(OPERATIONS))
    name = draw(st.sampled_from(BARRIERS[op]))
    n = draw(st.integers(2, 9))
    nodes = tuple(draw(st.permutations(range(n + 2)))[:n])
    root = nodes[draw(st.integers(0, n - 1))] if op in ("broadcast", "reduce") else None
    return made_by(name, op, nodes, draw(st.integers(1, 3)), root)


def made_by(
    name: str, op: str, nodes: tuple[int, ...], times: int = 1, root: int | None = None
) -> Schedule:
    """Return what an algorithm does on an ideal switch that has two more nodes."""
    n = len(nodes)
    made = make_algorithm(name, {}, op)
    chunks = made.granularity(n, 2) * times
    task = Collective(op, nodes, 64 * chunks, chunks, root)
    plan = made.plan(task, 2)
    at = np.array(nodes, dtype=np.int64)
    parts = [
        StepPart(
            index,
            None,
            None,
            Transfers(at[one.src], at[one.dst], one.chunk_lo, one.chunk_hi, one.op),
        )
        for index, one in enumerate(plan.rounds)
    ]
    fabric = IdealSwitch(nodes=n + 2).table()
    return Schedule(fabric, plan.collective, Algorithm(name), (), tuple(parts))


def moves(schedule: Schedule) -> list[list[tuple[int, ...]]]:
    """Return what moves in each step, chunk by chunk, between ranks."""
    task = schedule.task
    assert isinstance(task, Collective)
    rank_of = {node: rank for rank, node in enumerate(task.nodes)}
    found = []
    for part in schedule.parts:
        moved = part.transfers
        assert isinstance(moved, Transfers)
        found.append(
            sorted(
                (rank_of[src], rank_of[dst], chunk, op)
                for src, dst, low, high, op in zip(
                    moved.src.tolist(),
                    moved.dst.tolist(),
                    moved.chunk_lo.tolist(),
                    moved.chunk_hi.tolist(),
                    moved.op.tolist(),
                    strict=True,
                )
                for chunk in range(low, high)
            )
        )
    return found


def shares(schedule: Schedule) -> dict[tuple[int, ...], Fraction]:
    """Return the part of the buffer that moves, by source, destination and kind."""
    task = schedule.task
    assert isinstance(task, Collective)
    found = Counter(
        (src, dst, op) for step in moves(schedule) for src, dst, _, op in step
    )
    return {key: Fraction(count, task.chunk_count) for key, count in found.items()}


@settings(max_examples=25, deadline=None)
@example(made_by("full-exchange", "all-reduce", (0, 1, 2, 3)), "scratch")
@given(schedule=barrier_schedules(), buffers=st.sampled_from(["scratch", "direct"]))
def test_by_way_of_xml(schedule: Schedule, buffers: str) -> None:
    """As many steps, and between each two ranks the same part of the buffer.

    Chunks may be coarser, and what is there early may be sent in an earlier step.
    """
    program = lower(schedule, RUNTIMES["msccl"], buffers=buffers)
    read = parse_msccl(msccl_xml(program), "x.xml")
    lifted = lift(read, read.chunks_per_loop * 64)
    back = imported(lifted.collective, lifted.parts, None, source="x.xml")
    assert verify(back).valid
    assert back.step_count == schedule.step_count
    assert shares(back) == shares(schedule)


@settings(max_examples=25, deadline=None)
@given(schedule=barrier_schedules())
def test_by_way_of_a_table(
    tmp_path_factory: pytest.TempPathFactory, schedule: Schedule
) -> None:
    """Chunk for chunk and step for step."""
    task = schedule.task
    assert isinstance(task, Collective)
    path = tmp_path_factory.mktemp("table") / "t.csv"
    path.write_text(transfers_csv(schedule), encoding="utf-8")
    parts = read_transfers(path)
    root = None if task.root is None else task.root_rank
    collective = table_collective(parts, task.op, task.chunk_count, root)
    back = imported(collective, parts, None, source="t.csv")
    assert verify(back).valid
    assert moves(back) == moves(schedule)
