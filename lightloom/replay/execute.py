"""Replay: executes a schedule in time.

How schedules take time: one clock for circuits, one for packets.

On circuits planes walk their segments; on packets a step lasts as long as its busiest
link. Steps are barriers on both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.core.units import (
    BITS_PER_BYTE,
    INT64_MAX,
    PS_PER_S,
    transmission_ps_columns,
)
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import load_fabric
from lightloom.replay.circuit_table import circuit_table
from lightloom.replay.timeline import (
    NodeRecord,
    PairTimes,
    Reconfiguration,
    StepTime,
    Timeline,
    TransferTimes,
    Utilisation,
)
from lightloom.replay.transfer_rows import (
    NO_PLANE,
    group_sums,
    run_starts,
    slices,
    stable_order,
    transfer_batches,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.circuit_table import CircuitTable
    from lightloom.replay.transfer_rows import Block, TransferRows

    Loads: TypeAlias = tuple[IntArray, IntArray, IntArray]
    "Columns of step, link and bytes."


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


@dataclass(frozen=True, eq=False)
class Times:
    """Times of the transfers of some whole steps.

    `start_ps`, `end_ps`: of each transfer, sorted by pair (`TransferRows.order`).
    `bits_per_s`: total rate of the circuits of each pair; 0 on packet fabrics.
    """

    start_ps: IntArray
    end_ps: IntArray
    bits_per_s: IntArray


@dataclass
class History:
    """What a clock has seen so far."""

    step_end_ps: list[int] = field(default_factory=list)
    reconfigurations: list[Reconfiguration] = field(default_factory=list)
    every_round_charged_ps: int = 0

    @property
    def now_ps(self) -> int:
        """End of the last step so far."""
        return self.step_end_ps[-1] if self.step_end_ps else 0


class Clock(Protocol):
    """Times a schedule, whole steps at a time, in order."""

    history: History

    def time(self, rows: TransferRows) -> Times:
        """Return the times of the transfers of the next steps.

        Raises
        ------
        InputError
            Transfers that the fabric cannot carry as they are said to.
        OverflowError
            A time does not fit 63 bits.
        """

    def close(self) -> None:
        """Let everything happen that no step waits for."""


_NONE = -1
"""Stands for no transfer; every duration is 0 or more."""


class CircuitClock:
    """Times a schedule on a circuit fabric.

    The plane leaves a segment as soon as it is set and the last transfer assigned
    to it has ended. A transfer of b bytes over a pair's total rate r lasts
    ``alpha + ceil(b / r)``; transfers of a pair in one step and segment go one
    after another in file order and pay alpha once. Where only changed circuits go
    dark, pairs whose light paths all stay may start as soon as the
    reconfiguration into their segment does.

    Raises `InputError`: see `lightloom.replay.circuit_table.circuit_table`.
    """

    def __init__(self, fabric: CircuitFabric, schedule: Schedule) -> None:
        self._fabric = fabric
        self._table = circuit_table(fabric, schedule.segments)
        self.history = History()
        self._walk = _Walk(fabric, schedule, self.history)

    def time(self, rows: TransferRows) -> Times:
        """Return the times of the transfers of the next steps.

        Raises `InputError`: a part without plane and segment or with missing ones, a
        step that goes back to a segment its plane has left, a transfer without circuit;
        `OverflowError`: a time does not fit 63 bits.
        """
        table = self._table
        pair = _pairs_in_table(rows, table, self._fabric.node_count)
        rate = table.pair_bits_per_s[pair]
        kept = table.pair_kept[pair].astype(np.int64)
        begin, finish = _within_pair(rows, rate, self._fabric.alpha_ps)
        pair_ps = finish if rows.single else finish[rows.last]
        longest = np.full((len(rows.blocks), 2), _NONE, dtype=np.int64)
        np.maximum.at(longest, (rows.pair_block, kept), pair_ps)
        base_ps: list[list[int]] = []
        for step, blocks in groupby(
            zip(rows.blocks, longest.tolist(), strict=True),
            key=lambda item: item[0][0],
        ):
            base_ps += self._walk.step(step, list(blocks))
        base = np.array(base_ps, dtype=np.int64).reshape(-1, 2)
        transfer_base = rows.of_transfers(base[rows.pair_block, kept])
        return Times(transfer_base + begin, transfer_base + finish, rate)

    def close(self) -> None:
        """Walk on through the segments that no step uses."""
        self._walk.close()


def _pairs_in_table(
    rows: TransferRows, table: CircuitTable, node_count: int
) -> IntArray:
    """Return the row of each pair in the table, or raise where it has no circuit."""
    segment_row = [_segment_row(block, table) for block in rows.blocks]
    key = np.array(segment_row, dtype=np.int64)[rows.pair_block] * node_count**2
    key += rows.pair_src * node_count + rows.pair_dst
    # Steps use few of the segments: look in the part of the table that has them.
    low, high = (key.min(), key.max()) if len(key) else (0, -1)
    at = int(np.searchsorted(table.pair_key, low))
    near = table.pair_key[at : int(np.searchsorted(table.pair_key, high, "right"))]
    place = np.searchsorted(near, key)
    lit = place < len(near)
    lit[lit] = near[place[lit]] == key[lit]
    if not lit.all():
        pair = int(np.flatnonzero(~lit)[0])
        step, plane, segment = rows.blocks[rows.pair_block[pair]]
        raise InputError(
            "a transfer has no circuit",
            where=f"step {step}",
            found=f"{rows.pair_src[pair]} -> {rows.pair_dst[pair]}",
            allowed=f"pairs of segment {segment} of plane {plane}",
        )
    return place + at


def _segment_row(block: Block, table: CircuitTable) -> int:
    """Return the segment a block uses, or raise if there is none."""
    step, plane, segment = block
    row = table.segment_row.get((plane, segment))
    if row is None:
        found = f"plane {plane}, segment {segment}"
        what = "a step names a segment that does not exist"
        raise InputError(what, where=f"step {step}", found=found)
    return row


def _within_pair(
    rows: TransferRows, rate: IntArray, alpha_ps: int
) -> tuple[IntArray, IntArray]:
    """Return start and end of each transfer, counted from the start of its pair."""
    lasts = transmission_ps_columns(rows.bytes[rows.order], rows.of_transfers(rate))
    if int(lasts.max(initial=0)) + alpha_ps > INT64_MAX:
        raise OverflowError
    if rows.single:
        lasts += alpha_ps
        return np.zeros_like(lasts), lasts
    lasts[rows.first] += alpha_ps
    # Sums of millionths, rounded up, cannot overflow and see any sum that would.
    if int(group_sums((lasts >> 20) + 1, rows.first).max(initial=0)) >= 2**42:
        raise OverflowError
    finish = np.cumsum(lasts)
    before = finish[rows.first] - lasts[rows.first]
    finish -= np.repeat(before, rows.count)
    return finish - lasts, finish


@dataclass
class _Plane:
    """Where a plane stands: its segment, and since when."""

    segment: int
    lit_from_ps: int
    """Start of the reconfiguration into the segment."""
    held_from_ps: int
    """Its end."""
    busy_until_ps: int = 0
    """End of the last transfer assigned to the segment so far."""


@dataclass
class _Walk:
    """Walks the planes through their segments, step by step, in exact integers."""

    fabric: CircuitFabric
    schedule: Schedule
    history: History
    planes: dict[int, _Plane] = field(init=False)

    def __post_init__(self) -> None:
        self.delay_ps = self.fabric.reconfiguration_ps
        self.planes = {}
        for plane in sorted({segment.plane for segment in self.schedule.segments}):
            held_from_ps = 0
            if self.fabric.initial_configuration_charged:
                held_from_ps = self.delay_ps
                first = Reconfiguration(plane, 0, 0, held_from_ps)
                self.history.reconfigurations.append(first)
            self.planes[plane] = _Plane(0, 0, held_from_ps)

    def step(
        self, step: int, blocks: list[tuple[Block, list[int]]]
    ) -> Iterator[list[int]]:
        """Time one step; `blocks` are sorted by (plane, segment).

        Yields, for each block, the start of its changed pairs and of its kept pairs.
        """
        end_ps = release_ps = self.history.now_ps
        charged_ps: dict[int, int] = {}
        for (_, number, segment), (changed_ps, kept_ps) in blocks:
            plane = self.planes[number]
            self._advance(number, plane, segment, step)
            starts = [
                max(release_ps, plane.held_from_ps),
                max(release_ps, plane.lit_from_ps),
            ]
            yield starts
            longest_ps = max(changed_ps, kept_ps)
            if longest_ps == _NONE:
                continue
            for start_ps, lasts_ps in zip(starts, (changed_ps, kept_ps), strict=True):
                if lasts_ps != _NONE:
                    done_ps = start_ps + lasts_ps
                    plane.busy_until_ps = max(plane.busy_until_ps, done_ps)
            end_ps = max(end_ps, plane.busy_until_ps)
            charged_ps[number] = charged_ps.get(number, 0) + self.delay_ps + longest_ps
        self.history.step_end_ps.append(end_ps)
        self.history.every_round_charged_ps += max(charged_ps.values(), default=0)

    def close(self) -> None:
        """Walk on through the segments that no step uses."""
        for segment in self.schedule.segments:
            plane = self.planes[segment.plane]
            if segment.index > plane.segment:
                self._advance(segment.plane, plane, segment.index, step=0)

    def _advance(self, number: int, plane: _Plane, segment: int, step: int) -> None:
        """Reconfigure until the plane holds `segment`."""
        if segment < plane.segment:
            what = "a step goes back to a segment that its plane has left"
            found = f"plane {number}, segment {segment}"
            allowed = f"segment {plane.segment} or later"
            raise InputError(what, where=f"step {step}", found=found, allowed=allowed)
        while plane.segment < segment:
            start_ps = max(plane.held_from_ps, plane.busy_until_ps)
            plane.segment += 1
            plane.lit_from_ps = start_ps
            plane.held_from_ps = start_ps + self.delay_ps
            self.history.reconfigurations.append(
                Reconfiguration(number, plane.segment, start_ps, plane.held_from_ps)
            )


_PLACES_A_ROW = 4
"""With more (step, link) places than this for each row, rows are sorted instead."""


class PacketClock:
    """Times a schedule on a packet fabric.

    A step lasts ``alpha + latency + max over links of ceil(bytes / rate)``; all of
    its transfers last as long. A step without transfers takes no time.

    Raises `InputError` if the schedule has segments.
    """

    def __init__(self, fabric: PacketFabric, schedule: Schedule) -> None:
        if schedule.segments:
            what = "segments on a packet fabric, which has no circuits"
            raise InputError(what, where="segments", found=len(schedule.segments))
        self._fabric = fabric
        self.history = History()

    def time(self, rows: TransferRows) -> Times:
        """Return the times of the transfers of the next steps.

        Raises `InputError`: a part with a plane or a segment; `OverflowError`: a time
        does not fit 63 bits.
        """
        _refuse_circuits(rows)
        first, last = rows.parts[0].index, rows.parts[-1].index
        block_step = np.array([block[0] for block in rows.blocks], np.int64) - first
        step = _each(block_step, rows.pair_block)
        link_step, link, load = self._loads(rows, step)
        link_ps = transmission_ps_columns(load, self._fabric.link_bits_per_s(link))
        lasts = np.full(last - first + 1, -1, dtype=np.int64)
        # A transfer that crosses no link still makes its step happen.
        lasts[step] = 0
        np.maximum.at(lasts, link_step, link_ps)
        ends = self._walk(lasts)
        transfer_step = rows.of_transfers(step)
        return Times(
            start_ps=_each(ends[:-1], transfer_step),
            end_ps=_each(ends[1:], transfer_step),
            bits_per_s=np.broadcast_to(np.int64(0), len(step)),
        )

    def close(self) -> None:
        """Do nothing: there is nothing but steps."""

    def _walk(self, lasts: IntArray) -> IntArray:
        """Return when steps that take so long on links begin, and when the last ends.

        A step that moves nothing has -1.
        """
        now = self.history.now_ps
        ends = [now]
        for link_ps in lasts.tolist():
            if link_ps >= 0:
                now += self._fabric.alpha_ps + self._fabric.latency_ps + link_ps
            ends.append(now)
        self.history.step_end_ps += ends[1:]
        self.history.every_round_charged_ps = now
        return np.array(ends, dtype=np.int64)

    def _loads(self, rows: TransferRows, step: IntArray) -> Loads:
        """Return the bytes that each step puts on each link it uses."""
        # Sums fit 63 bits: no row crosses a link twice, and all bytes together do.
        pieces = []
        for some in slices(len(step)):
            usage = self._fabric.link_usage(rows.pair_src[some], rows.pair_dst[some])
            size = rows.pair_bytes[some][usage.circuit]
            piece = (step[some][usage.circuit], usage.resource, size * usage.amount)
            pieces.append(_summed(*piece))
        if len(pieces) == 1:
            return pieces[0]
        empty = np.empty(0, dtype=np.int64)
        columns = zip((empty,) * 3, *pieces, strict=True)
        return _summed(*(np.concatenate(column) for column in columns))


def _each(values: IntArray, places: IntArray) -> IntArray:
    """Return the values at some places, in no memory if there is but one value."""
    if len(values) == 1:
        return np.broadcast_to(values[0], len(places))
    return values[places]


def _summed(step: IntArray, link: IntArray, load: IntArray) -> Loads:
    """Return the bytes on each link in each step, once for each that has any."""
    span = int(link.max(initial=0)) + 1
    places = (int(step.max(initial=0)) + 1) * span
    if places > INT64_MAX:
        what = "the schedule is too large to replay"
        raise InputError(what, where="schedule", found=f"{span} links")
    key = step * span + link
    if places <= _PLACES_A_ROW * len(key):
        at = np.zeros(places, dtype=np.int64)
        np.add.at(at, key, load)
        key = np.flatnonzero(at)
        load = at[key]
    else:
        order = stable_order(key)
        key = key[order]
        first = run_starts(key)
        key, load = key[first], group_sums(load[order], first)
    return key // span, key % span, load


def _refuse_circuits(rows: TransferRows) -> None:
    """Raise if steps on a packet fabric speak of planes and segments."""
    for step, plane, segment in rows.blocks:
        if (plane, segment) != (NO_PLANE, NO_PLANE):
            what = "a packet fabric has no planes and no segments"
            found = f"plane {plane}, segment {segment}"
            raise InputError(what, where=f"step {step}", found=found)
