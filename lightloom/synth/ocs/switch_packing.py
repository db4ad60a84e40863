"""Configurations of given durations put on switches, and cut where that saves time."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray

_HALVINGS = 40


def levelled(weight: FloatArray, room: FloatArray, cost: float) -> IntArray:
    """Return the switch of each configuration: none is cut, the longest come first.

    `room`: by how much each switch begins sooner than others, shape (switches,).
    `cost`: of each configuration, beside its duration.
    """
    left = room.copy()
    switch = np.zeros(len(weight), dtype=np.int64)
    for one in np.argsort(-weight, kind="stable").tolist():
        switch[one] = int(left.argmax())
        left[switch[one]] -= weight[one] + cost
    return switch


def wrapped(
    weight: FloatArray,
    room: FloatArray,
    cost: float,
    *,
    tight: bool = True,
    waits: bool = False,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return pieces of configurations on switches, which end as soon as is found.

    For a given end the longest come first. Where no switch has room for all of one, the
    switch with most room takes what it can. Every piece pays the cost.

    `waits`: whether the rest of one that is cut waits for its turn among the others.

    The end is found by bisection. At ``(sum of weights + (configurations + switches -
    1) cost) / switches`` everything has room.
    """
    least = (float(weight.sum()) + cost * len(weight) - float(room.sum())) / len(room)
    low, high = least, least + float(weight.max()) + 2 * cost
    best = None
    while best is None:
        best = _filled(weight, room + high, cost, tight=tight, waits=waits)
        high += 0.0 if best else high - low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        pieces = _filled(weight, room + middle, cost, tight=tight, waits=waits)
        if pieces is None:
            low = middle
        else:
            best, high = pieces, middle
    which, switch, lasts = zip(*best, strict=True)
    return np.array(which), np.array(switch), np.array(lasts)


def _filled(
    weight: FloatArray, room: FloatArray, cost: float, *, tight: bool, waits: bool
) -> list[tuple[int, int, float]] | None:
    """Return pieces that fit the room of each switch, ``None`` if some do not."""
    pieces: list[tuple[int, int, float]] = []
    waiting = [(-rest, one, rest) for one, rest in enumerate(weight.tolist())]
    heapify(waiting)
    while waiting:
        _, one, rest = waiting[0]
        fits = np.flatnonzero(room >= rest + cost)
        if len(fits):
            left = room[fits]
            switch = int(fits[left.argmin() if tight else left.argmax()])
            pieces.append((one, switch, rest))
            room[switch] -= rest + cost
            heappop(waiting)
            continue
        switch = int(room.argmax())
        part = float(room[switch]) - cost
        if part <= 0:
            return None
        pieces.append((one, switch, part))
        room[switch] = 0.0
        rest -= part
        heapreplace(waiting, (-rest if waits else -inf, one, rest))
    return pieces
