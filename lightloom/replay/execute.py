"""Replay: executes a schedule in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import load_fabric
from lightloom.replay.clock.circuit_clock import CircuitClock
from lightloom.replay.clock.packet_clock import PacketClock
from lightloom.replay.clock.step_record import Record
from lightloom.replay.clock.transfer_rows import INT64_MAX, transfer_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.clock.clock import Clock, Times
    from lightloom.replay.clock.transfer_rows import TransferRows
    from lightloom.replay.timeline import Timeline


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
