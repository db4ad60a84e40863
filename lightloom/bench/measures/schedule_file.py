"""Making, writing, reading, replaying and verifying schedules of many transfers."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lightloom.bench.measures import Measure
from lightloom.core.circuit import Circuits
from lightloom.core.errors import InputError, NoAnswerError
from lightloom.core.schedule import (
    Algorithm,
    Footer,
    Op,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.task import Collective
from lightloom.formats.schedule_reader import read_schedule
from lightloom.formats.schedule_writer import write_schedule
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay import completion_time_ps, replay
from lightloom.validate import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import Instance

    Step = tuple[IntArray, IntArray, IntArray, Op]


def run(instance: Instance, seed: int, shape: str, transfers: int) -> Iterator[int]:
    """Take a schedule through its life.

    Parameters
    ----------
    instance
        Not used: the schedule names a fabric of the size that it needs.
    seed
        Not used.
    shape
        ``ring``: an all-reduce in many steps, one chunk a transfer. ``direct``: an
        all-to-all in one step. ``doubling``: an all-gather in few steps, every chunk
        a transfer of its own. ``shifts``: an all-to-all on an optical switch, as many
        circuits as transfers.
    transfers
        About how many.
    """
    del instance, seed
    if shape not in _SHAPES:
        what, allowed = "unknown shape", ", ".join(_SHAPES)
        raise InputError(what, found=shape, allowed=allowed)
    schedule = _signed(_SHAPES[shape](transfers))
    yield schedule.transfer_count
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schedule.jsonl"
        write_schedule(schedule, path)
        yield path.stat().st_size
        del schedule
        schedule = read_schedule(path)
    yield schedule.transfer_count
    yield replay(schedule).completion_time_ps
    if not verify(schedule).valid:
        raise NoAnswerError("the schedule breaks a rule", found=shape)
    yield schedule.transfer_count


def _ring(transfers: int) -> Schedule:
    """Return an all-reduce round a ring, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers / 2)))
    rank = np.arange(ranks)
    rounds = [
        (rank, (rank + 1) % ranks, (rank - step) % ranks, op)
        for op in (Op.REDUCE, Op.COPY)
        for step in range(ranks - 1)
    ]
    # What a rank has completed in the first half it hands on in the second.
    shifted = [
        (src, dst, (chunk + 1) % ranks if op is Op.COPY else chunk, op)
        for src, dst, chunk, op in rounds
    ]
    return _on_ideal_switch("all-reduce", ranks, ranks, shifted)


def _direct(transfers: int) -> Schedule:
    """Return an all-to-all in one step, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers)))
    src, dst = np.nonzero(~np.eye(ranks, dtype=bool))
    step = (src, dst, src * ranks + dst, Op.COPY)
    return _on_ideal_switch("all-to-all", ranks, ranks, [step])


def _doubling(transfers: int) -> Schedule:
    """Return an all-gather chunk by chunk, of about as many transfers."""
    ranks = 1 << max(1, round(math.log2(transfers) / 2))
    chunks = max(1, transfers // (ranks * (ranks - 1)))
    steps = []
    for bit in range(ranks.bit_length() - 1):
        size = 1 << bit
        held = np.arange(size * chunks)
        base = np.repeat(np.arange(ranks) >> bit << bit, len(held))
        src = np.repeat(np.arange(ranks), len(held))
        steps.append((src, src ^ size, base * chunks + np.tile(held, ranks), Op.COPY))
    return _on_ideal_switch("all-gather", ranks, ranks * chunks, steps)


def _shifts(transfers: int) -> Schedule:
    """Return an all-to-all on a circuit switch, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers)))
    rank = np.arange(ranks)
    steps = [
        (rank, (rank + hop) % ranks, rank * ranks + (rank + hop) % ranks, Op.COPY)
        for hop in range(1, ranks)
    ]
    plain = _on_ideal_switch("all-to-all", ranks, ranks, steps)
    fabric = Ocs(nodes=ranks, switches=1, bits_per_second_per_node=10**12).table()
    segments = tuple(
        Segment(0, index, Circuits(part.transfers.src, part.transfers.dst))
        for index, part in enumerate(plain.parts)
    )
    parts = tuple(replace(part, plane=0, segment=part.index) for part in plain.parts)
    return replace(plain, fabric=fabric, segments=segments, parts=parts)


def _on_ideal_switch(op: str, ranks: int, chunks: int, steps: list[Step]) -> Schedule:
    """Return the schedule of (src, dst, chunk, op) steps."""
    parts = tuple(
        StepPart(
            index,
            None,
            None,
            Transfers(src, dst, chunk, chunk + 1, np.full(len(src), int(kind))),
        )
        for index, (src, dst, chunk, kind) in enumerate(steps)
    )
    task = Collective(op, tuple(range(ranks)), 1024 * chunks, chunks)
    fabric = IdealSwitch(nodes=ranks).table()
    return Schedule(fabric, task, Algorithm("benchmark"), (), parts)


def _signed(schedule: Schedule) -> Schedule:
    """Return the schedule with a footer that is true."""
    footer = Footer(
        segments=len(schedule.segments),
        steps=schedule.step_count,
        circuits=schedule.circuit_count,
        transfers=schedule.transfer_count,
        completion_time_ps=completion_time_ps(schedule),
    )
    return replace(schedule, footer=footer)


_SHAPES = {"ring": _ring, "direct": _direct, "doubling": _doubling, "shifts": _shifts}

MEASURE = Measure(
    "schedule-file",
    "make, write, read, replay and verify a schedule of many transfers",
    "transfers, bytes, ps",
    ("make", "write", "read", "replay", "verify"),
    run,
)
