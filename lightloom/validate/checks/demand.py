"""Demand: every pair is served the bytes it asks for, over a relay where it allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import exact_sums
from lightloom.core.schedule import FluidTransfers
from lightloom.core.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Demand

_SRC, _DST, _BYTES, _ORIGIN, _FINAL, _STEP = range(6)


def check(node_count: int, schedule: Schedule, demand: Demand) -> Iterator[Violation]:
    """Yield pairs that get, or give, more or fewer bytes than they ask for.

    Rule ``demand-bytes``; the excess is negative where bytes are missing. Rule
    ``demand-relays``: bytes that a relay has not received when their step is released,
    that take a third circuit, or are relayed although the demand does not allow it.
    Transfers must be sound, each by itself.

    `schedule`: with sound transfers of bytes, its steps in order.
    """
    moved = _moved(schedule)
    yield from _bytes(node_count, moved, demand)
    relayed = (moved[_ORIGIN] != moved[_SRC]) | (moved[_FINAL] != moved[_DST])
    if not relayed.any():
        return
    if not demand.relays:
        message = "the demand does not allow relays: bytes go from origin to final node"
        yield from _violations(moved, relayed, message)
        return
    third = (moved[_ORIGIN] != moved[_SRC]) & (moved[_FINAL] != moved[_DST])
    yield from _violations(moved, third, "a byte takes two circuits at most")
    yield from _sent_before(moved[:, relayed & ~third])


def _moved(schedule: Schedule) -> IntArray:
    """Return all transfers, a column each, in the order of the constants above."""
    parts = []
    for part in schedule.parts:
        rows = part.transfers
        if isinstance(rows, FluidTransfers):
            origin = rows.src if rows.origin is None else rows.origin
            final = rows.dst if rows.final is None else rows.final
            step = np.full(len(rows), part.index)
            parts.append((rows.src, rows.dst, rows.bytes, origin, final, step))
    if not parts:
        return np.zeros((_STEP + 1, 0), dtype=np.int64)
    return np.stack([np.concatenate(each) for each in zip(*parts, strict=True)])


def _bytes(node_count: int, moved: IntArray, demand: Demand) -> Iterator[Violation]:
    """Yield pairs whose bytes do not leave the one end, or reach the other."""
    demanded = np.array(demand.src, dtype=np.int64) * node_count
    demanded += np.array(demand.dst, dtype=np.int64)
    served = moved[_ORIGIN] * node_count + moved[_FINAL]
    pairs, where = np.unique(np.concatenate([demanded, served]), return_inverse=True)
    due = [0] * len(pairs)
    for place, wanted in zip(
        where[: len(demanded)].tolist(), demand.bytes, strict=True
    ):
        due[place] = wanted
    place = where[len(demanded) :]
    # What leaves, or arrives, on the other end's circuit is counted there.
    arrives, leaves = (
        exact_sums(place[own], moved[_BYTES, own], len(pairs))
        for own in (moved[_DST] == moved[_FINAL], moved[_SRC] == moved[_ORIGIN])
    )
    for pair, got, left, wanted in zip(
        pairs.tolist(), arrives, leaves, due, strict=True
    ):
        src, dst = divmod(pair, node_count)
        if got != wanted:
            message = f"{got} bytes are served, {wanted} are asked for"
            name = f"pair {src} -> {dst}"
            yield Violation("demand-bytes", None, name, message, got - wanted)
        elif left != wanted:
            message = f"{left} bytes leave {src}, {wanted} are asked for"
            name = f"pair {src} -> {dst}"
            yield Violation("demand-bytes", None, name, message, left - wanted)


def _sent_before(moved: IntArray) -> Iterator[Violation]:
    """Yield transfers by which a relay has sent more of a pair than it received.

    Columns are first and second circuits. What a step brings may be sent in the next.
    """
    out = moved[_ORIGIN] != moved[_SRC]
    relay = np.where(out, moved[_SRC], moved[_DST])
    order = np.lexsort((~out, moved[_STEP], moved[_FINAL], moved[_ORIGIN], relay))
    held = np.stack([relay, moved[_ORIGIN], moved[_FINAL]])[:, order]
    first = np.append(True, (held[:, 1:] != held[:, :-1]).any(axis=0))
    # Sums of Python's integers: what is wrong may be more than 64 bits hold.
    change = np.where(out, -moved[_BYTES], moved[_BYTES])[order].astype(object)
    total = np.cumsum(change)
    before = np.append(0, total[:-1])[np.flatnonzero(first)][np.cumsum(first) - 1]
    wrong = np.zeros(len(out), dtype=np.bool_)
    wrong[order] = np.less(total, before).astype(np.bool_) & out[order]
    message = "the relay has not received so many bytes of the pair before the step"
    yield from _violations(moved, wrong, message)


def _violations(
    moved: IntArray, rows: npt.NDArray[np.bool_], message: str
) -> Iterator[Violation]:
    for src, dst, _, origin, final, step in moved[:, rows].T.tolist():
        where = f"transfer {src} -> {dst} of pair {origin} -> {final}"
        yield Violation("demand-relays", step, where, message)
