"""Demand: every pair is served the bytes it asks for, no more, no less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.exact_sums import exact_sums
from lightloom.core.schedule import FluidTransfers
from lightloom.core.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Demand


def check(node_count: int, schedule: Schedule, demand: Demand) -> Iterator[Violation]:
    """Yield pairs that get more or fewer bytes than they ask for.

    Rule ``demand-bytes``; the excess is negative where bytes are missing. Transfers
    must be sound, each by itself.

    Parameters
    ----------
    node_count
        Nodes of the fabric.
    schedule
        With sound transfers of bytes.
    demand
        Its task.
    """
    parts = [
        part.transfers
        for part in schedule.parts
        if isinstance(part.transfers, FluidTransfers)
    ]
    empty = np.zeros(0, dtype=np.int64)
    moved = [part.src * node_count + part.dst for part in parts]
    asked = np.array(demand.src, dtype=np.int64) * node_count
    asked += np.array(demand.dst, dtype=np.int64)
    pairs, where = np.unique(
        np.concatenate([asked, empty, *moved]), return_inverse=True
    )
    size = np.concatenate([empty, *(part.bytes for part in parts)])
    served = exact_sums(where[len(asked) :], size, len(pairs))
    due = [0] * len(pairs)
    for place, wanted in zip(where[: len(asked)].tolist(), demand.bytes, strict=True):
        due[place] = wanted
    for pair, got, wanted in zip(pairs.tolist(), served, due, strict=True):
        if got != wanted:
            src, dst = divmod(pair, node_count)
            message = f"{got} bytes are served, {wanted} are asked for"
            name = f"pair {src} -> {dst}"
            yield Violation("demand-bytes", None, name, message, got - wanted)
