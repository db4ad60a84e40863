"""Time on circuit fabrics: planes that walk their segments, steps as barriers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import transmission_ps_columns
from lightloom.replay.clock.circuit_table import circuit_table
from lightloom.replay.clock.clock import History, Times
from lightloom.replay.clock.transfer_rows import INT64_MAX, group_sums
from lightloom.replay.timeline import Reconfiguration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import Schedule
    from lightloom.replay.clock.circuit_table import CircuitTable
    from lightloom.replay.clock.transfer_rows import Block, TransferRows

_NONE = -1


class CircuitClock:
    """Times a schedule on a circuit fabric.

    The plane leaves a segment as soon as it is set and the last transfer assigned
    to it has ended. A transfer of b bytes over a pair's total rate r lasts
    ``alpha + ceil(b / r)``; transfers of a pair in one step and segment go one
    after another in file order and pay alpha once. Where only changed circuits go
    dark, pairs whose light paths all stay may start as soon as the
    reconfiguration into their segment does.

    Raises `InputError`: see `lightloom.replay.clock.circuit_table.circuit_table`.
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
    found = place < len(near)
    found[found] = near[place[found]] == key[found]
    if not found.all():
        pair = int(np.flatnonzero(~found)[0])
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
