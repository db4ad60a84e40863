"""Congestion: circuits on the most loaded directed edge of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.objective import (
    InapplicableError,
    Objective,
)
from lightloom.validate.certificates.proofs.congestion import check_cut, congestion_of
from lightloom.validate.certificates.proofs.edge_lengths import (
    EdgeLengths,
    check_edge_lengths,
)
from lightloom.validate.certificates.witness import (
    WitnessError,
    keys,
    node_mask,
    require,
    rows,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Number, Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True, eq=False)
class CongestionQuestion:
    """Least congestion of routes between given ends.

    `fabric`: the grid; all its open edges count alike. `src`, `dst`: ends of the
    routes, shape (requests,); repeated rows count each.
    """

    fabric: Lightpath
    src: IntArray
    dst: IntArray

    @property
    def capacity(self) -> IntArray:
        """Of each edge in the order of ``fabric.edges()``: 1, or 0 if it is closed."""
        waveguides = self.fabric.edge_waveguides(*self.fabric.edges())
        return (waveguides > 0).astype(np.int64)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Edge lengths, and their special case, cuts."""
        return ("cut", "edge-lengths")

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `Question.prove`; one shortest-path search for each distinct source."""
        by_cut = kind == "cut"
        proven = self._by_cut(witness) if by_cut else self._by_lengths(witness)
        require(bound, proven)

    def _by_cut(self, witness: Witness) -> int:
        keys(witness, "nodes")
        nodes = node_mask(witness, "nodes", self.fabric.node_count)
        return check_cut(self.fabric, self.src, self.dst, np.flatnonzero(nodes))

    def _by_lengths(self, witness: Witness) -> int:
        keys(witness, "edges", "denominator")
        denominator = witness["denominator"]
        if not isinstance(denominator, int):
            message = f"denominator {denominator} is not an integer"
            raise WitnessError(message)
        tail, head = self.fabric.edges()
        length = _lengths(self.fabric, rows(witness, "edges", 3), len(tail))
        return check_edge_lengths(
            self.fabric.node_count,
            (tail, head, self.capacity),
            self.src,
            self.dst,
            EdgeLengths(length, denominator),
        )


def lengths_witness(fabric: Lightpath, lengths: EdgeLengths) -> Witness:
    """Return edge lengths as a file holds them: (tail, head, numerator) rows.

    `lengths`: one for each edge, in the order of ``fabric.edges()``.
    """
    tail, head = fabric.edges()
    used = np.flatnonzero(lengths.length)
    table = np.stack([tail[used], head[used], lengths.length[used]], axis=1)
    return {"edges": table.tolist(), "denominator": lengths.denominator}


def _lengths(fabric: Lightpath, given: IntArray, count: int) -> IntArray:
    """Return the length of every edge of a grid, 0 where none is given."""
    nodes = fabric.node_count
    ends = given[:, :2]
    ids = np.full(len(given), -1, dtype=np.int64)
    inside = ((ends >= 0) & (ends < nodes)).all(axis=1)
    ids[inside] = fabric.edge_ids(given[inside, 0], given[inside, 1])
    known = fabric.edge_ids(*fabric.edges())
    if (ids < 0).any() or len(np.unique(ids)) != len(ids):
        message = "a row of edges names no edge of the grid, or one named before"
        raise WitnessError(message)
    length = np.zeros(count, dtype=np.int64)
    length[np.searchsorted(known, ids)] = given[:, 2]
    return length


def measure(fabric: AnyFabric, schedule: Schedule) -> tuple[CongestionQuestion, int]:
    """Return the ends of a schedule's circuits, and how crowded their routes are.

    Each wavelength of a row is a route of its own.

    Raises `InapplicableError` if it is no schedule of one segment on a grid.
    """
    if not isinstance(fabric, Lightpath) or len(schedule.segments) != 1:
        message = "congestion is that of light paths that are all held at once"
        raise InapplicableError(message)
    circuits = schedule.segments[0].circuits
    row = circuits.lists("wavelengths").row_of_value
    question = CongestionQuestion(fabric, circuits.src[row], circuits.dst[row])
    value, _ = congestion_of(fabric, circuits.lists("route").take(row))
    return question, value


OBJECTIVE = Objective("congestion", largest=False, measure=measure)
