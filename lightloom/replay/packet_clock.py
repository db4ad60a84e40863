"""Time on packet fabrics: a step lasts as long as its most loaded link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import transmission_ps_columns
from lightloom.replay.clock import Times
from lightloom.replay.transfer_rows import (
    INT64_MAX,
    NO_PLANE,
    column_total,
    group_sums,
    too_many_bytes,
)

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.schedule import Schedule
    from lightloom.replay.transfer_rows import TransferRows


def packet_times(fabric: PacketFabric, schedule: Schedule, rows: TransferRows) -> Times:
    """Return the times of a schedule on a packet fabric.

    A step lasts ``alpha + latency + max over links of ceil(bytes / rate)``; all of
    its transfers last as long. A step without transfers takes no time.

    Raises
    ------
    InputError
        Segments, or a part with a plane or a segment.
    OverflowError
        A time does not fit 63 bits.
    """
    _refuse_circuits(schedule, rows)
    lasts = np.full(schedule.step_count, -1, dtype=np.int64)
    step = np.array([block[0] for block in rows.blocks], np.int64)[rows.pair_block]
    link_step, link_ps = _links(fabric, rows, step)
    # A transfer that crosses no link still makes its step happen.
    lasts[step] = 0
    np.maximum.at(lasts, link_step, link_ps)
    ends, now = [], 0
    for link_time in lasts.tolist():
        if link_time >= 0:
            now += fabric.alpha_ps + fabric.latency_ps + link_time
        ends.append(now)
    end = np.array(ends, dtype=np.int64)
    release = np.concatenate([[0], end[:-1]]).astype(np.int64)
    transfer_step = np.repeat(step, rows.count)
    return Times(
        start_ps=release[transfer_step],
        end_ps=end[transfer_step],
        step_end_ps=tuple(ends),
        bits_per_s=np.zeros(len(step), dtype=np.int64),
        reconfigurations=(),
        every_round_charged_ps=now,
    )


def _links(
    fabric: PacketFabric, rows: TransferRows, step: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the step and the transmission time of every loaded link."""
    usage = fabric.link_usage(rows.pair_src, rows.pair_dst)
    span = int(usage.resource.max(initial=0)) + 1
    if (int(step.max(initial=0)) + 1) * span > INT64_MAX:
        what = "the schedule is too large to replay"
        raise InputError(what, where="schedule", found=f"{span} links")
    key = step[usage.circuit] * span + usage.resource
    order = np.argsort(key, kind="stable")
    load = rows.pair_bytes[usage.circuit][order]
    most = int(usage.amount.max(initial=0))
    if column_total(load) * most > INT64_MAX:
        raise too_many_bytes()
    load = load * usage.amount[order]
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    link = key[order][first]
    rate = fabric.link_bits_per_s(link % span)
    return link // span, transmission_ps_columns(group_sums(load, first), rate)


def _refuse_circuits(schedule: Schedule, rows: TransferRows) -> None:
    """Raise if a schedule on a packet fabric speaks of planes and segments."""
    if schedule.segments:
        what = "segments on a packet fabric, which has no circuits"
        raise InputError(what, where="segments", found=len(schedule.segments))
    for step, plane, segment in rows.blocks:
        if (plane, segment) != (NO_PLANE, NO_PLANE):
            what = "a packet fabric has no planes and no segments"
            found = f"plane {plane}, segment {segment}"
            raise InputError(what, where=f"step {step}", found=found)
