"""Circuits: each by itself, what those of a segment share, and what many may hear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.circuit import ALONE, COLUMNS
from lightloom.core.columns import Ragged, distinct
from lightloom.core.schedule import Transfers
from lightloom.core.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import Schedule, Segment, StepPart


_ONE_CIRCUIT = (
    "a multicast circuit has one source, one set of wavelengths, one transceiver, and"
    " different destinations"
)


@dataclass(frozen=True, eq=False)
class Inspection:
    """What became of one segment.

    `violations`: what is wrong, in the order of the rows. `sound`: which circuits are
    well-formed; ``None`` where the columns themselves are not, so that no row can be
    read.
    """

    violations: tuple[Violation, ...]
    sound: npt.NDArray[np.bool_] | None


def inspect(fabric: CircuitFabric, segment: Segment) -> Inspection:
    """Return the faults of a segment and its well-formed rows.

    A row is reported under the first of ``node-range``, ``self-circuit``,
    ``multicast-circuit`` and the fabric's own rules that it breaks in that order;
    faults of the fabric's own rules that follow from another one (a route that leaves
    the grid is no path either) are reported once a row and rule.
    """
    name = f"segment {segment.index} of plane {segment.plane}"
    circuits = segment.circuits
    columns = _columns(fabric, circuits)
    if columns:
        violation = Violation("circuit-columns", None, name, columns)
        return Inspection((violation,), None)
    count = fabric.node_count
    sound = np.ones(len(circuits), dtype=np.bool_)
    violations: list[Violation] = []
    src, dst = circuits.src, circuits.dst
    outside = (src < 0) | (src >= count) | (dst < 0) | (dst >= count)
    for row in np.flatnonzero(outside).tolist():
        message = f"circuit {src[row]} -> {dst[row]}, nodes are 0 to {count - 1}"
        violations.append(Violation("node-range", None, f"{name}, row {row}", message))
    own = ~outside & (src == dst)
    for row in np.flatnonzero(own).tolist():
        message = f"a circuit from node {src[row]} to itself"
        violations.append(
            Violation("self-circuit", None, f"{name}, row {row}", message)
        )
    sound &= ~outside & ~own
    placed = np.flatnonzero(sound)
    for row in placed[_misplaced(circuits.take(placed))].tolist():
        sound[row] = False
        where = f"{name}, circuit {src[row]} -> {dst[row]}"
        violations.append(Violation("multicast-circuit", None, where, _ONE_CIRCUIT))
    readable = np.flatnonzero(sound)
    seen: set[tuple[str, int]] = set()
    for fault in fabric.circuit_faults(circuits.take(readable)):
        row = int(readable[fault.row])
        sound[row] = False
        if (fault.rule, row) not in seen:
            seen.add((fault.rule, row))
            where = f"{name}, circuit {src[row]} -> {dst[row]}"
            violations.append(Violation(fault.rule, None, where, fault.message))
    return Inspection(tuple(violations), sound)


def _columns(fabric: CircuitFabric, circuits: Circuits) -> str:
    """Return what is wrong with the columns, or ''."""
    rows = len(circuits.src)
    if len(circuits.dst) != rows:
        return f"{rows} sources, but {len(circuits.dst)} destinations"
    for each in COLUMNS:
        name, column = each.name, getattr(circuits, each.name)
        has_column = name in fabric.circuit_columns
        wanted = has_column and not each.optional
        if (column is None and wanted) or (column is not None and not has_column):
            verb = "needs" if wanted else "has no"
            return f"a {fabric.kind} fabric {verb} column {name}"
        if column is not None and len(column) != rows:
            return f"{rows} circuits, but {len(column)} rows of {name}"
    return ""


def _misplaced(circuits: Circuits) -> npt.NDArray[np.bool_]:
    """Return which rows cannot belong to the multicast circuit they name.

    A row is misplaced if its id is below `ALONE`, if it differs from the first row of
    its circuit in what a source gives, or leads where an earlier row of it leads.

    `circuits`: of one segment, all columns of one length.
    """
    wrong = np.zeros(len(circuits), dtype=np.bool_)
    ids = circuits.multicast
    if ids is None:
        return wrong
    wrong |= ids < ALONE
    lead, every = circuits.transmissions(), np.arange(len(circuits))
    wrong |= circuits.src != circuits.src[lead]
    for each in COLUMNS:
        values = getattr(circuits, each.name)
        if each.by_source and values is not None:
            wrong |= (
                _differ(values, every, lead) if each.ragged else values != values[lead]
            )
    shared = np.flatnonzero(ids > ALONE)
    order = shared[np.lexsort((shared, circuits.dst[shared], lead[shared]))]
    same = lead[order][1:] == lead[order][:-1]
    same &= circuits.dst[order][1:] == circuits.dst[order][:-1]
    wrong[order[1:][same]] = True
    return wrong


def _differ(rows: Ragged, one: IntArray, two: IntArray) -> npt.NDArray[np.bool_]:
    """Return which of the rows ``one[i]`` and ``two[i]`` differ."""
    differ: npt.NDArray[np.bool_] = rows.lengths[one] != rows.lengths[two]
    same = np.flatnonzero(~differ)
    mine, other = rows.take(one[same]), rows.take(two[same])
    differ[same[mine.row_of_value[mine.values != other.values]]] = True
    return differ


def overused(
    fabric: CircuitFabric, segment: Segment, sound: npt.NDArray[np.bool_]
) -> Iterator[Violation]:
    """Yield every resource that the segment's sound circuits overuse.

    One checker for every fabric: the fabric says what its circuits take, how much
    there is, and which rule limits it. The violation carries the excess.

    `segment`: a segment whose columns are those of the fabric. `sound`: which of its
    circuits are well-formed, shape (circuits,); others take nothing.
    """
    rows = np.flatnonzero(sound)
    usage = fabric.usage(segment.circuits.take(rows))
    if not len(usage.resource):
        return
    order = np.argsort(usage.resource, kind="stable")
    resource = usage.resource[order]
    starts = np.flatnonzero(np.concatenate([[True], resource[1:] != resource[:-1]]))
    taken = np.add.reduceat(usage.amount[order], starts)
    capacity = fabric.capacity(resource[starts])
    ends = np.append(starts[1:], len(resource))
    for group in np.flatnonzero(taken > capacity).tolist():
        number = int(resource[starts[group]])
        users = distinct(rows[usage.circuit[order[starts[group] : ends[group]]]])
        shown = ", ".join(
            f"{segment.circuits.src[row]} -> {segment.circuits.dst[row]}"
            for row in users[:4].tolist()
        )
        more = f" and {len(users) - 4} more" if len(users) > 4 else ""
        message = (
            f"segment {segment.index} of plane {segment.plane} takes {taken[group]} of"
            f" {capacity[group]}: circuits {shown}{more}"
        )
        yield Violation(
            fabric.resource_rule(number),
            None,
            fabric.resource_name(number),
            message,
            int(taken[group] - capacity[group]),
        )


def check_multicast(fabric: CircuitFabric, schedule: Schedule) -> Iterator[Violation]:
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
    user, circuit_of_user = pair[shared], circuit[shared]
    order = np.lexsort((user, circuit_of_user))
    user, circuit_of_user = user[order], circuit_of_user[order]
    # The first pair of a circuit speaks for it.
    first_user = user[np.searchsorted(circuit_of_user, circuit_of_user)]
    odd = user != first_user
    if isinstance(moved, Transfers):
        differ = _differ(_grouped(pair, circuit, len(keys)), user, first_user)
        for column in (moved.chunk_lo, moved.chunk_hi):
            differ |= _differ(
                _grouped(pair_of_row, column, len(keys)), user, first_user
            )
        odd &= differ
    clashes = np.unique(
        np.stack([keys[user[odd]], keys[first_user[odd]]], axis=1), axis=0
    )
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
