"""All circuits of a schedule as one table: rates of pairs, and which stay lit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import COLUMNS, join_circuits
from lightloom.core.errors import InputError
from lightloom.core.units import INT64_MAX
from lightloom.replay.transfer_rows import (
    group_sums,
    run_starts,
    stable_order,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray, Ragged
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import Segment

    BoolArray: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

BATCH_CIRCUITS = 2**16
"""About how many circuits are put into the table at once, to stay in the cache."""


@dataclass(frozen=True, eq=False)
class CircuitTable:
    """Circuits of all segments.

    A *pair key* is ``(segment row * N + src) * N + dst`` for N nodes, where the
    segment row counts the schedule's segments in file order.

    `segment_row`: row of each (plane, segment index). `pair_bits_per_s`: total rate of
    the circuits of each pair. `pair_kept`: whether the segment before, on the same
    plane, has exactly these circuits for the pair: same wavelengths on the same routes.
    """

    segment_row: dict[tuple[int, int], int]
    pair_key: IntArray
    pair_bits_per_s: IntArray
    pair_kept: BoolArray


def circuit_table(fabric: CircuitFabric, segments: tuple[Segment, ...]) -> CircuitTable:
    """Return the table of all circuits; O(C log C) for C circuits.

    `fabric`: who says which columns circuits have, and how fast each circuit is.
    `segments`: all segments of a schedule, in any order; of each plane those numbered
    0, 1, 2, .

    Raises `InputError`: segment indices of a plane that do not count from 0, a plane or
    node outside the fabric, a missing column, a pair without rate.
    """
    segment_row = _segment_rows(fabric, segments)
    for segment in segments:
        _check_columns(fabric, segment)
    nodes = fabric.node_count
    if len(segments) * nodes**2 > INT64_MAX:
        what = "the schedule is too large to replay"
        found = f"{len(segments)} segments on {nodes} nodes"
        raise InputError(what, where="schedule", found=found)
    before = [segment_row.get((part.plane, part.index - 1), -1) for part in segments]
    none = np.empty(0, dtype=np.int64)
    pieces = [(none, none, none.astype(np.bool_))]
    pieces += [_pairs(fabric, segments, rows, before) for rows in _batches(segments)]
    key, rate, kept = zip(*pieces, strict=True)
    return CircuitTable(
        segment_row, np.concatenate(key), np.concatenate(rate), np.concatenate(kept)
    )


def _batches(segments: tuple[Segment, ...]) -> Iterator[range]:
    """Yield the rows of all segments, some with about `BATCH_CIRCUITS` at a time."""
    first = circuits = 0
    for row, segment in enumerate(segments):
        circuits += len(segment.circuits)
        if circuits >= BATCH_CIRCUITS or row == len(segments) - 1:
            yield range(first, row + 1)
            first, circuits = row + 1, 0


def _pairs(
    fabric: CircuitFabric,
    segments: tuple[Segment, ...],
    rows: range,
    before: list[int],
) -> tuple[IntArray, IntArray, BoolArray]:
    """Return key, rate and keeping of the pairs of some segments."""
    circuits = _joined(fabric, [segments[row] for row in rows])
    key = _pair_keys(fabric, circuits, _row_of_circuit(segments, rows, rows))
    order = stable_order(key)
    key = key[order]
    first = run_starts(key)
    _check_widest(fabric, circuits)
    rate = fabric.circuit_bits_per_s(circuits)[order]
    _check_rates(rate, first)
    key = key[first]
    if fabric.dark_while_reconfiguring == "changed-circuits":
        kept = ~np.isin(key, _changed(fabric, segments, rows, before))
    else:
        kept = np.zeros(len(key), dtype=np.bool_)
    return key, group_sums(rate, first), kept


def _row_of_circuit(
    segments: tuple[Segment, ...], sources: Sequence[int], rows: Sequence[int]
) -> IntArray:
    """Return for the circuits of each source segment the row they are taken for."""
    counts = [len(segments[source].circuits) for source in sources]
    return np.repeat(np.array(rows, dtype=np.int64), counts)


def _pair_keys(fabric: CircuitFabric, circuits: Circuits, row: IntArray) -> IntArray:
    """Return the pair key of each circuit."""
    nodes = fabric.node_count
    return (row * nodes + circuits.src) * nodes + circuits.dst


def _segment_rows(
    fabric: CircuitFabric, segments: tuple[Segment, ...]
) -> dict[tuple[int, int], int]:
    """Return the row of each (plane, index), or raise if a plane skips one."""
    rows = {(part.plane, part.index): row for row, part in enumerate(segments)}
    counts: dict[int, int] = {}
    for plane, _ in rows:
        counts[plane] = counts.get(plane, 0) + 1
    for segment in segments:
        where = f"plane {segment.plane}, segment {segment.index}"
        if not 0 <= segment.plane < fabric.plane_count:
            allowed = f"0 to {fabric.plane_count - 1}"
            what = "plane outside the fabric"
            raise InputError(what, where=where, found=segment.plane, allowed=allowed)
        if not 0 <= segment.index < counts[segment.plane]:
            what = "the segments of a plane do not count from 0"
            raise InputError(what, where=where, found=segment.index)
    if len(rows) != len(segments):
        raise InputError("a segment is defined twice", where="segments")
    return rows


def _check_columns(fabric: CircuitFabric, segment: Segment) -> None:
    """Raise if a segment lacks a column, or names a node outside the fabric."""
    circuits = segment.circuits
    where = f"plane {segment.plane}, segment {segment.index}"
    for name in _paths_columns(fabric):
        if getattr(circuits, name) is None:
            raise InputError(f"circuits without {name}", where=where)
    for nodes in (circuits.src, circuits.dst):
        outside = nodes[(nodes < 0) | (nodes >= fabric.node_count)]
        if len(outside):
            allowed = f"0 to {fabric.node_count - 1}"
            what = "node outside the fabric"
            raise InputError(what, where=where, found=int(outside[0]), allowed=allowed)


def _check_widest(fabric: CircuitFabric, circuits: Circuits) -> None:
    """Raise if the rate of the widest circuit could wrap round in 64 bits."""
    widest = 1
    if circuits.wavelengths is not None:
        widest = int(circuits.wavelengths.lengths.max(initial=1))
    ports = max(fabric.ports_per_node, 1)
    if max(widest, ports) * fabric.node_bits_per_s // ports > INT64_MAX:
        what = "the rate of a circuit exceeds 2**63 - 1 bits per second"
        raise InputError(what, where="segments", found=f"{widest} wavelengths")


def _check_rates(rate: IntArray, first: IntArray) -> None:
    """Raise if a circuit has no rate, or a pair one that 63 bits cannot hold."""
    if len(rate) and int(rate.min()) <= 0:
        what, fix = "a circuit has no rate", "give every circuit a wavelength"
        raise InputError(what, where="segments", fix=fix)
    most = int(np.diff(first, append=len(rate)).max(initial=0))
    if most * int(rate.max(initial=0)) > INT64_MAX:
        what = "the rate of a pair exceeds 2**63 - 1 bits per second"
        raise InputError(what, where="segments")


def _paths_columns(fabric: CircuitFabric) -> list[str]:
    """Return the columns of a fabric in which light paths differ."""
    has = fabric.circuit_columns
    return [each.name for each in COLUMNS if each.name in has and not each.optional]


def _joined(fabric: CircuitFabric, segments: Sequence[Segment]) -> Circuits:
    """Return the circuits of segments laid end to end."""
    every = [segment.circuits for segment in segments]
    return join_circuits(every, _paths_columns(fabric))


def _changed(
    fabric: CircuitFabric,
    segments: tuple[Segment, ...],
    rows: range,
    before: list[int],
) -> IntArray:
    """Return pair keys whose light paths differ from those of the segment before.

    A light path is one wavelength on one route, one way round, of one transceiver.
    Which others hear it does not matter. Those of a segment
    count +1 and those of the one before it -1; a pair is unchanged where all cancel.
    """
    after = [row for row in rows if before[row] >= 0]
    sources = [*rows, *(before[row] for row in after)]
    circuits = _joined(fabric, [segments[row] for row in sources])
    row = _row_of_circuit(segments, sources, [*rows, *after])
    sign = np.ones(len(row), dtype=np.int64)
    sign[sum(len(segments[each].circuits) for each in rows) :] = -1
    circuit, path = _light_paths(circuits)
    key, sign = _pair_keys(fabric, circuits, row)[circuit], sign[circuit]
    order = np.lexsort((path, key))
    key, path, sign = key[order], path[order], sign[order]
    fresh = np.diff(key, prepend=-1) != 0
    fresh |= np.diff(path, prepend=-1) != 0
    first = np.flatnonzero(fresh)
    return np.unique(key[first][group_sums(sign, first) != 0])


def _light_paths(circuits: Circuits) -> tuple[IntArray, IntArray]:
    """Return (circuit, id of its way and wavelength), one row per wavelength."""
    way = np.zeros(len(circuits), dtype=np.int64)
    circuit, path = np.arange(len(circuits), dtype=np.int64), way
    for each in COLUMNS:
        values = getattr(circuits, each.name)
        if values is None or each.optional or each.each:
            continue
        _, way = np.unique(way, return_inverse=True)
        kind = _list_ids(values) if each.ragged else values
        _, kind = np.unique(kind, return_inverse=True)
        way = way * len(circuits) + kind
        path = way
    for each in COLUMNS:
        values = getattr(circuits, each.name)
        if values is not None and each.each:
            circuit = values.row_of_value
            names, wavelength = np.unique(values.values, return_inverse=True)
            path = way[circuit] * len(names) + wavelength
    return circuit, path


def _list_ids(lists: Ragged) -> IntArray:
    """Return a number for each list, the same where lists are the same."""
    ids: dict[bytes, int] = {}
    data, ends = lists.values.tobytes(), lists.offsets * 8
    bounds = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    numbers = [ids.setdefault(data[a:b], len(ids)) for a, b in bounds]
    return np.array(numbers, dtype=np.int64)
