"""Multicast: what is sent once is the same for all who use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import ALONE
from lightloom.core.columns import Ragged
from lightloom.core.schedule import Transfers
from lightloom.core.violation import Violation
from lightloom.validate.checks.circuits import inspect

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import Schedule, StepPart


def check(fabric: CircuitFabric, schedule: Schedule) -> Iterator[Violation]:
    """Yield pairs that would have to get other data than their multicast circuit sends.

    Rule ``multicast-data``. Two pairs that use one multicast circuit in a step must use
    the same circuits, since data are spread over all circuits of a pair, and carry the
    same chunk ranges in the same order; what each destination does with them is its
    own business. Bytes of a demand are nobody else's, so only one pair may use the
    circuit. Destinations that use nothing listen in vain. Transfers must be sound,
    each by itself; circuits that are malformed carry nothing here.
    """
    shared: dict[tuple[int | None, int | None], Circuits] = {}
    for segment in schedule.segments:
        if segment.circuits.multicast is None:
            continue
        sound = inspect(fabric, segment).sound
        if sound is not None:
            circuits = segment.circuits.take(np.flatnonzero(sound))
            shared.setdefault((segment.plane, segment.index), circuits)
    for part in schedule.parts:
        held = shared.get((part.plane, part.segment))
        if held is not None:
            yield from check_part(fabric.node_count, part, held)


def check_part(
    node_count: int, part: StepPart, circuits: Circuits
) -> Iterator[Violation]:
    """Yield the pairs of one part of a step at odds with another of their circuit."""
    moved = part.transfers
    keys, pair_of_row = np.unique(
        moved.src * node_count + moved.dst, return_inverse=True
    )
    circuit, pair, shared = _used(circuits, keys, node_count)
    one, circuit_of_one = pair[shared], circuit[shared]
    order = np.lexsort((one, circuit_of_one))
    one, circuit_of_one = one[order], circuit_of_one[order]
    # The first pair of a circuit speaks for it.
    two = one[np.searchsorted(circuit_of_one, circuit_of_one)]
    odd = one != two
    if isinstance(moved, Transfers):
        differ = _differ(_grouped(pair, circuit, len(keys)), one, two)
        for column in (moved.chunk_lo, moved.chunk_hi):
            differ |= _differ(_grouped(pair_of_row, column, len(keys)), one, two)
        odd &= differ
    clashes = np.unique(np.stack([keys[one[odd]], keys[two[odd]]], axis=1), axis=0)
    for key, with_key in clashes.tolist():
        src, dst = divmod(key, node_count)
        message = (
            f"it shares a multicast circuit with {with_key // node_count} ->"
            f" {with_key % node_count}, but not all its data and circuits"
        )
        yield Violation(
            "multicast-data", part.index, f"transfer {src} -> {dst}", message
        )


def _used(
    circuits: Circuits, keys: IntArray, node_count: int
) -> tuple[IntArray, IntArray, npt.NDArray[np.bool_]]:
    """Return the circuits that pairs use: (transmission, pair, whether multicast).

    `keys` are those of the pairs, sorted; rows come sorted by pair and transmission.
    """
    key = circuits.src * node_count + circuits.dst
    row = np.flatnonzero(np.isin(key, keys))
    circuit, pair = circuits.transmissions()[row], np.searchsorted(keys, key[row])
    order = np.lexsort((circuit, pair))
    shared = np.zeros(len(row), dtype=np.bool_)
    if circuits.multicast is not None:
        shared = circuits.multicast[row] != ALONE
    return circuit[order], pair[order], shared[order]


def _grouped(group: IntArray, values: IntArray, groups: int) -> Ragged:
    """Return the values of each group, in their order."""
    lengths = np.bincount(group, minlength=groups).astype(np.int64)
    return Ragged.from_lengths(lengths, values[np.argsort(group, kind="stable")])


def _differ(rows: Ragged, one: IntArray, two: IntArray) -> npt.NDArray[np.bool_]:
    """Return which of the rows ``one[i]`` and ``two[i]`` differ."""
    differ: npt.NDArray[np.bool_] = rows.lengths[one] != rows.lengths[two]
    same = np.flatnonzero(~differ)
    mine, other = rows.take(one[same]), rows.take(two[same])
    differ[same[mine.row_of_value[mine.values != other.values]]] = True
    return differ
