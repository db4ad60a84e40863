"""Circuits, each by itself: what the fabric could build, were it idle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.circuit import COLUMNS
from lightloom.core.violation import Violation
from lightloom.validate.checks.multicast_rows import misplaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import Schedule, Segment

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


def check(fabric: CircuitFabric, schedule: Schedule) -> Iterator[Violation]:
    """Yield every circuit that is malformed.

    Rules ``circuit-columns``, ``node-range``, ``self-circuit``, ``multicast-circuit``
    and those of `CircuitFabric.circuit_faults`.
    """
    for segment in schedule.segments:
        yield from inspect(fabric, segment).violations


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
    found: list[Violation] = []
    src, dst = circuits.src, circuits.dst
    outside = (src < 0) | (src >= count) | (dst < 0) | (dst >= count)
    for row in np.flatnonzero(outside).tolist():
        message = f"circuit {src[row]} -> {dst[row]}, nodes are 0 to {count - 1}"
        found.append(Violation("node-range", None, f"{name}, row {row}", message))
    own = ~outside & (src == dst)
    for row in np.flatnonzero(own).tolist():
        message = f"a circuit from node {src[row]} to itself"
        found.append(Violation("self-circuit", None, f"{name}, row {row}", message))
    sound &= ~outside & ~own
    placed = np.flatnonzero(sound)
    for row in placed[misplaced(circuits.take(placed))].tolist():
        sound[row] = False
        where = f"{name}, circuit {src[row]} -> {dst[row]}"
        found.append(Violation("multicast-circuit", None, where, _ONE_CIRCUIT))
    readable = np.flatnonzero(sound)
    seen: set[tuple[str, int]] = set()
    for fault in fabric.circuit_faults(circuits.take(readable)):
        row = int(readable[fault.row])
        sound[row] = False
        if (fault.rule, row) not in seen:
            seen.add((fault.rule, row))
            where = f"{name}, circuit {src[row]} -> {dst[row]}"
            found.append(Violation(fault.rule, None, where, fault.message))
    return Inspection(tuple(found), sound)


def _columns(fabric: CircuitFabric, circuits: Circuits) -> str:
    """Return what is wrong with the columns, or ''."""
    rows = len(circuits.src)
    if len(circuits.dst) != rows:
        return f"{rows} sources, but {len(circuits.dst)} destinations"
    for each in COLUMNS:
        name, column = each.name, getattr(circuits, each.name)
        known = name in fabric.circuit_columns
        wanted = known and not each.optional
        if (column is None and wanted) or (column is not None and not known):
            verb = "needs" if wanted else "has no"
            return f"a {fabric.kind} fabric {verb} column {name}"
        if column is not None and len(column) != rows:
            return f"{rows} circuits, but {len(column)} rows of {name}"
    return ""
