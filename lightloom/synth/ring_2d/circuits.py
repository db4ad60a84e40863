"""Circuits of 2D rings: every row and every column is a ring by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits, join_circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.task import Demand
from lightloom.synth.demand_columns import demand_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.instances.fabrics.ring_2d import Ring2d


def grid_circuits(
    fabric: Ring2d, demand: Demand, light: Callable[[Ring, Demand], Circuits]
) -> Circuits:
    """Return the circuits of a 2D ring for a demand, sorted by (src, dst, direction).

    `demand`: bytes of pairs that share a row or a column. `light`: returns the circuits
    of one ring for its part of the demand; asked once for rings that are alike and have
    the same to carry.

    Raises `InputError` if the demand does not fit the fabric; `InfeasibleError` if a
    pair shares neither a row nor a column, naming it; `InfeasibleError, NoAnswerError`:
    by `light`, with the row or column.
    """
    src, dst, size_bytes = demand_columns(demand, fabric.node_count)
    axis = np.where(fabric.line(src, 0) == fabric.line(dst, 0), 0, 1)
    apart = (axis == 1) & (fabric.line(src, 1) != fabric.line(dst, 1))
    for row in np.flatnonzero(apart)[:1].tolist():
        raise InfeasibleError(
            f"nodes {src[row]} and {dst[row]} share neither a row nor a column",
            where=f"demand row {row}",
            found=f"({src[row] // fabric.cols}, {src[row] % fabric.cols}) to"
            f" ({dst[row] // fabric.cols}, {dst[row] % fabric.cols})",
            allowed="pairs of one ring; light does not change rings",
            fix="send in two hops, along the row and along the column, as a demand does"
            " with `relays = true`",
        )
    known: dict[tuple[int, Demand], Circuits] = {}
    found = [_nothing()]
    for which, ring in enumerate(fabric.rings):
        mine = np.flatnonzero(axis == which)
        for line, part in _parts(fabric, which, src[mine], dst[mine], size_bytes[mine]):
            if (which, part) not in known:
                try:
                    known[which, part] = light(ring, part)
                except (InfeasibleError, NoAnswerError) as problem:
                    raise type(problem)(
                        problem.what,
                        where=f"{('row', 'column')[which]} {line}, {problem.where}",
                        found=problem.found,
                        allowed=problem.allowed,
                        fix=problem.fix,
                    ) from problem
            found.append(_placed(fabric, which, line, known[which, part]))
    joined = join_circuits(found, ("wavelengths", "direction"))
    order = np.lexsort((joined.column("direction"), joined.dst, joined.src))
    return joined.take(order)


def _parts(
    fabric: Ring2d, axis: int, src: IntArray, dst: IntArray, size_bytes: IntArray
) -> Iterator[tuple[int, Demand]]:
    """Yield each ring of an axis with its part of the demand, between its places."""
    line = fabric.line(src, axis)
    one, other = (fabric.line(ends, 1 - axis) for ends in (src, dst))
    order = np.lexsort((other, one, line))
    starts = np.flatnonzero(np.diff(line[order], prepend=-1))
    for rows in np.split(order, starts[1:]) if len(order) else ():
        columns = (one[rows], other[rows], size_bytes[rows])
        tail, head, size = (tuple(each.tolist()) for each in columns)
        yield int(line[rows[0]]), Demand(tail, head, size)


def _placed(fabric: Ring2d, axis: int, line: int, circuits: Circuits) -> Circuits:
    """Return circuits between places of a ring as circuits between nodes."""
    stride, first = (fabric.cols, line) if axis else (1, line * fabric.cols)
    return Circuits(
        first + stride * circuits.src,
        first + stride * circuits.dst,
        circuits.wavelengths,
        direction=circuits.column("direction") + 2 * axis,
    )


def _nothing() -> Circuits:
    none = np.empty(0, dtype=np.int64)
    return Circuits(none, none, Ragged.from_lists([]), direction=none)
