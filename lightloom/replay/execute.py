"""Replay: executes a schedule in time."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import load_fabric
from lightloom.replay.clock import CircuitClock, PacketClock
from lightloom.replay.timeline import (
    NodeRecord,
    PairTimes,
    StepTime,
    Timeline,
    TransferTimes,
    Utilisation,
)
from lightloom.replay.transfer_rows import INT64_MAX, NO_PLANE, slices, transfer_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.clock import Clock, History, Times
    from lightloom.replay.transfer_rows import TransferRows


def replay(schedule: Schedule) -> Timeline:
    """Return when everything in a schedule happens, by its semantics alone.

    The footer is ignored. Whether the data are right, and whether the circuits can
    exist, is not asked here: `lightloom.validate` asks. Times are exact integers
    in picoseconds, the result is deterministic, and the work is
    O((T + C) log (T + C)) for T transfers and C circuits.

    Raises `InputError`: the fabric or the collective is not acceptable; a part names a
    missing segment or goes back to one; a transfer has no circuit; steps or segments do
    not count from 0; a node, plane or chunk range that cannot be; a sum that 63 bits
    cannot hold.
    """
    fabric = _fabric(schedule)
    clock = _clock(fabric, schedule)
    record = Record(fabric.node_count, schedule.transfer_count)
    for rows, times in _run(fabric, schedule, clock):
        record.add(rows, times, clock.history)
    return record.timeline(clock.history, fabric.node_bits_per_s)


def completion_time_ps(schedule: Schedule) -> int:
    """Return `replay`'s completion time, in less memory: nothing else is kept.

    Raises `InputError`: as `replay`.
    """
    fabric = _fabric(schedule)
    clock = _clock(fabric, schedule)
    for _ in _run(fabric, schedule, clock):
        pass
    return clock.history.now_ps


def _fabric(schedule: Schedule) -> AnyFabric:
    """Return the fabric of a schedule, or raise if its collective cannot be on it."""
    fabric = load_fabric(schedule.fabric)
    if isinstance(schedule.task, Collective):
        check_collective(schedule.task, fabric.node_count)
    return fabric


def _clock(fabric: AnyFabric, schedule: Schedule) -> Clock:
    """Return the clock of a fabric, before the first step."""
    if isinstance(fabric, CircuitFabric):
        return CircuitClock(fabric, schedule)
    return PacketClock(fabric, schedule)


def _run(
    fabric: AnyFabric, schedule: Schedule, clock: Clock
) -> Iterator[tuple[TransferRows, Times]]:
    """Yield the transfers of all steps and their times, some whole steps at a time."""
    try:
        for rows in transfer_batches(schedule, fabric.node_count):
            yield rows, clock.time(rows)
        clock.close()
        if clock.history.now_ps > INT64_MAX:
            raise OverflowError  # noqa: TRY301  (one message for all of them)
    except OverflowError:
        what = "the schedule lasts longer than 2**63 - 1 ps (106 days)"
        raise InputError(what, where="schedule") from None


_PAIR_COLUMNS = tuple(field.name for field in fields(PairTimes))


class Record:
    """What happens, some whole steps after others.

    `transfer_count`: transfers of the schedule. Columns are as long from the start;
    what is never written of them takes no memory.
    """

    def __init__(self, node_count: int, transfer_count: int) -> None:
        self._nodes = NodeRecord(node_count)
        self._steps: list[StepTime] = []
        self._transfers: list[TransferTimes] = []
        self._transfer_count = self._pair_count = 0
        self._transfer_columns = _columns(2, transfer_count)
        self._pair_columns = _columns(len(_PAIR_COLUMNS), transfer_count)

    def add(self, rows: TransferRows, times: Times, history: History) -> None:
        """Add the next steps, which the history ends with.

        `rows`: transfers of some whole steps that follow those added before, grouped by
        pair. `times`: when each of their pairs and transfers starts and ends, in
        picoseconds. `history`: when steps were released and planes reconfigured so far;
        its last steps are those of `rows`.
        """
        begin = self._pair_count
        end = self._pair_count = begin + len(rows.first)
        pairs = PairTimes(*(column[begin:end] for column in self._pair_columns))
        _write_pairs(pairs, rows, times)
        self._nodes.add(pairs)
        self._steps += _step_times(rows, history)
        self._add_transfers(rows, times)

    def _add_transfers(self, rows: TransferRows, times: Times) -> None:
        """Add the times of transfers, in file order, part by part."""
        begin = self._transfer_count
        end = self._transfer_count = begin + len(rows.order)
        for column, values in zip(
            self._transfer_columns, (times.start_ps, times.end_ps), strict=True
        ):
            if rows.in_order:
                column[begin:end] = values
            else:
                column[begin:end][rows.order] = values
        for count in rows.part_rows.tolist():
            columns = [each[begin : begin + count] for each in self._transfer_columns]
            self._transfers.append(TransferTimes(*columns))
            begin += count

    def timeline(self, history: History, node_bits_per_s: int) -> Timeline:
        """Return everything that happened."""
        nodes = self._nodes.times(history.now_ps)
        pairs = [column[: self._pair_count] for column in self._pair_columns]
        active = int(np.count_nonzero(nodes.sent_bytes + nodes.received_bytes))
        moved = int(nodes.sent_bytes.sum()) * BITS_PER_BYTE * PS_PER_S
        possible = active * node_bits_per_s * history.now_ps
        return Timeline(
            completion_time_ps=history.now_ps,
            steps=tuple(self._steps),
            reconfigurations=tuple(
                sorted(
                    history.reconfigurations,
                    key=lambda done: (done.start_ps, done.plane),
                )
            ),
            transfers=tuple(self._transfers),
            pairs=PairTimes(*pairs),
            nodes=nodes,
            utilisation=Utilisation(moved, possible),
            every_round_charged_ps=history.every_round_charged_ps,
        )


def _columns(count: int, rows: int) -> list[IntArray]:
    """Return columns to be written."""
    return [np.empty(rows, dtype=np.int64) for _ in range(count)]


def _write_pairs(pairs: PairTimes, rows: TransferRows, times: Times) -> None:
    """Write what the pairs of some steps do into columns as long."""
    step, plane, segment = np.array(rows.blocks, dtype=np.int64).T
    written = (
        (pairs.step, step, rows.pair_block),
        (pairs.plane, plane, rows.pair_block),
        (pairs.segment, segment, rows.pair_block),
        (pairs.start_ps, times.start_ps, rows.first),
        (pairs.end_ps, times.end_ps, rows.last),
    )
    for column, values, places in written:
        # In turns: else it would be buffered, which takes as much memory again.
        for some in slices(len(places)):
            column[some] = values[places[some]]
    pairs.src[:], pairs.dst[:] = rows.pair_src, rows.pair_dst
    pairs.bytes[:], pairs.chunks[:] = rows.pair_bytes, rows.pair_chunks
    pairs.bits_per_s[:] = times.bits_per_s


def _step_times(rows: TransferRows, history: History) -> Iterator[StepTime]:
    first = rows.parts[0].index
    ends = history.step_end_ps[first:]
    release = [history.step_end_ps[first - 1] if first else 0, *ends[:-1]]
    transfers, sizes = [0] * len(ends), [0] * len(ends)
    for part, count in zip(rows.parts, rows.part_rows.tolist(), strict=True):
        transfers[part.index - first] += count
    block_bytes = np.zeros(len(rows.blocks), dtype=np.int64)
    np.add.at(block_bytes, rows.pair_block, rows.pair_bytes)
    for block, size in zip(rows.blocks, block_bytes.tolist(), strict=True):
        sizes[block[0] - first] += size
    segments: list[list[tuple[int, int]]] = [[] for _ in ends]
    for index, plane, segment in rows.blocks:
        if plane != NO_PLANE:
            segments[index - first].append((plane, segment))
    columns = zip(
        release,
        ends,
        transfers,
        sizes,
        map(tuple, segments),
        strict=True,
    )
    for index, values in enumerate(columns, start=first):
        yield StepTime(index, *values)
