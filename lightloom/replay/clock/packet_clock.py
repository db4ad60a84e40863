"""Time on packet fabrics: a step lasts as long as its most loaded link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import transmission_ps_columns
from lightloom.replay.clock.clock import History, Times
from lightloom.replay.clock.row_order import stable_order
from lightloom.replay.clock.transfer_rows import (
    INT64_MAX,
    NO_PLANE,
    group_sums,
    run_starts,
    slices,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.schedule import Schedule
    from lightloom.replay.clock.transfer_rows import TransferRows

    Loads: TypeAlias = tuple[IntArray, IntArray, IntArray]
    """Columns of step, link and bytes."""

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
