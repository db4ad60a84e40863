"""Replay: executes a schedule in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import load_fabric
from lightloom.replay.circuit_clock import circuit_times
from lightloom.replay.node_times import node_times
from lightloom.replay.packet_clock import packet_times
from lightloom.replay.timeline import (
    PairTimes,
    StepTime,
    Timeline,
    TransferTimes,
    Utilisation,
)
from lightloom.replay.transfer_rows import INT64_MAX, NO_PLANE, transfer_rows

if TYPE_CHECKING:
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.schedule import Schedule
    from lightloom.replay.clock import Times
    from lightloom.replay.transfer_rows import TransferRows


def replay(schedule: Schedule) -> Timeline:
    """Return when everything in a schedule happens, by its semantics alone.

    The footer is ignored. Whether the data are right, and whether the circuits can
    exist, is not asked here: `lightloom.validate` asks. Times are exact integers
    in picoseconds, the result is deterministic, and the work is
    O((T + C) log (T + C)) for T transfers and C circuits.

    Raises
    ------
    InputError
        The fabric or the collective is not acceptable; a part names a missing
        segment or goes back to one; a transfer has no circuit; steps or segments
        do not count from 0; a node, plane or chunk range that cannot be; a sum that
        63 bits cannot hold.
    """
    fabric = load_fabric(schedule.fabric)
    if isinstance(schedule.task, Collective):
        check_collective(schedule.task, fabric.node_count)
    rows = transfer_rows(schedule, fabric.node_count)
    try:
        if isinstance(fabric, CircuitFabric):
            times = circuit_times(fabric, schedule, rows)
        else:
            times = packet_times(fabric, schedule, rows)
        if max(times.step_end_ps, default=0) > INT64_MAX:
            raise OverflowError  # noqa: TRY301  (one message for all of them)
    except OverflowError:
        what = "the schedule lasts longer than 2**63 - 1 ps (106 days)"
        raise InputError(what, where="schedule") from None
    return _timeline(fabric, rows, times)


def _timeline(
    fabric: CircuitFabric | PacketFabric, rows: TransferRows, times: Times
) -> Timeline:
    """Return the timeline of grouped transfers and their times."""
    completion_time_ps = times.step_end_ps[-1] if times.step_end_ps else 0
    pairs = _pair_times(rows, times)
    nodes = node_times(pairs, fabric.node_count, completion_time_ps)
    active = int(np.count_nonzero(nodes.sent_bytes + nodes.received_bytes))
    moved = int(nodes.sent_bytes.sum()) * BITS_PER_BYTE * PS_PER_S
    possible = active * fabric.node_bits_per_s * completion_time_ps
    return Timeline(
        completion_time_ps=completion_time_ps,
        steps=_step_times(rows, times),
        reconfigurations=times.reconfigurations,
        transfers=_transfer_times(rows, times),
        pairs=pairs,
        nodes=nodes,
        utilisation=Utilisation(moved, possible),
        every_round_charged_ps=times.every_round_charged_ps,
    )


def _pair_times(rows: TransferRows, times: Times) -> PairTimes:
    blocks = np.array(rows.blocks, dtype=np.int64).reshape(-1, 3)[rows.pair_block]
    return PairTimes(
        step=blocks[:, 0],
        plane=blocks[:, 1],
        segment=blocks[:, 2],
        src=rows.pair_src,
        dst=rows.pair_dst,
        bytes=rows.pair_bytes,
        chunks=rows.pair_chunks,
        bits_per_s=times.bits_per_s,
        start_ps=times.start_ps[rows.first],
        end_ps=times.end_ps[rows.first + rows.count - 1],
    )


def _step_times(rows: TransferRows, times: Times) -> tuple[StepTime, ...]:
    count = len(times.step_end_ps)
    step = np.array([block[0] for block in rows.blocks], np.int64)[rows.pair_block]
    transfers = np.zeros(count, dtype=np.int64)
    sizes = np.zeros(count, dtype=np.int64)
    np.add.at(transfers, step, rows.count)
    np.add.at(sizes, step, rows.pair_bytes)
    segments: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for index, plane, segment in rows.blocks:
        if plane != NO_PLANE:
            segments[index].append((plane, segment))
    release = (0, *times.step_end_ps)[:count]
    columns = zip(
        release,
        times.step_end_ps,
        transfers.tolist(),
        sizes.tolist(),
        map(tuple, segments),
        strict=True,
    )
    return tuple(StepTime(index, *values) for index, values in enumerate(columns))


def _transfer_times(rows: TransferRows, times: Times) -> tuple[TransferTimes, ...]:
    start, end = np.empty_like(times.start_ps), np.empty_like(times.end_ps)
    start[rows.order], end[rows.order] = times.start_ps, times.end_ps
    bounds = np.cumsum(rows.part_rows)[:-1]
    if not len(rows.part_rows):
        return ()
    return tuple(
        TransferTimes(first, last)
        for first, last in zip(
            np.split(start, bounds), np.split(end, bounds), strict=True
        )
    )
