"""Lower bounds on the number of rounds, where a circuit carries one chunk a round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.certificate import Certificate
from lightloom.synth.bounds.rectangles import best_rectangle
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    requirements_of,
)
from lightloom.validate.certificates.rounds import prove_rounds
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath

OBJECTIVE = "rounds"


@dataclass(frozen=True)
class RoundBound:
    """No schedule has fewer rounds, whatever its routes, and the reason why.

    `kind`: ``receive``, ``send``, ``growth``, ``volume``, ``cut``, ``direct`` or
    ``middle``. `nodes`: the node, or the node set, that it is about; all for ``volume``
    and ``middle``. `reason`: the argument in words, with its numbers.
    """

    kind: str
    rounds: int
    nodes: tuple[int, ...]
    reason: str
    witness: Witness = field(hash=False)

    @property
    def certificate(self) -> Certificate:
        """The bound as a schedule carries it, without value."""
        return Certificate(OBJECTIVE, self.kind, self.rounds, None, self.witness)


def round_bound(fabric: Lightpath, collective: Collective) -> RoundBound:
    """Return the best bound, the first of equals in the order of `RoundBound.kind`.

    Exact integers; O((rows cols)^2) for the cuts.
    """
    bounds = round_bounds(fabric, collective)
    return max(bounds, key=lambda bound: bound.rounds)


def round_bounds(fabric: Lightpath, collective: Collective) -> list[RoundBound]:
    """Return the best bound of every kind that has something to say.

    `collective`: what is to be done, one chunk a rank; its nodes are the ranks in
    order.
    """
    needs = requirements_of(collective, fabric.node_count)
    assert isinstance(needs, CollectiveNeeds)
    bounds = []
    for kind, nodes, witness in _witnesses(fabric, collective, needs):
        try:
            proof = prove_rounds(fabric, collective, kind, witness)
        except WitnessError:
            # A set that nothing enters: an algorithm will say so better. Or nothing
            # is proven.
            continue
        bounds.append(RoundBound(kind, proof.rounds, nodes, proof.reason, witness))
    return bounds


def _best_band(fabric: Lightpath, collective: Collective) -> list[int]:
    """Return the tiles whose bound by a round that forwards nothing is best.

    They are some first or last rows, or columns, or the whole grid.
    """
    tile = np.arange(fabric.node_count)
    row, col = np.divmod(tile, fabric.cols)
    bands = [row < rows for rows in range(1, fabric.rows + 1)]
    bands += [row >= rows for rows in range(1, fabric.rows)]
    bands += [col < cols for cols in range(1, fabric.cols)]
    bands += [col >= cols for cols in range(1, fabric.cols)]
    sets = [np.flatnonzero(band).tolist() for band in bands]
    return max(
        sets,
        key=lambda nodes: (
            prove_rounds(fabric, collective, "direct", {"nodes": [*nodes]}).rounds
        ),
    )


def _witnesses(
    fabric: Lightpath, collective: Collective, needs: CollectiveNeeds
) -> Iterator[tuple[str, tuple[int, ...], Witness]]:
    """Yield kind, nodes and the best witness found."""
    for kind, by_node in (
        ("receive", needs.received_bytes()),
        ("send", needs.sent_bytes()),
    ):
        node = by_node.index(max(by_node))
        yield kind, (node,), {"node": node}
    sides = needs.spread()
    most = max(max(side) for side in sides)
    direction = 0 if most in sides[0] else 1
    node = sides[direction].index(most)
    yield "growth", (node,), {"node": node, "direction": direction}
    yield "volume", tuple(sorted(collective.nodes)), {}
    inside = best_rectangle(fabric, needs)
    if inside is not None:
        nodes = tuple(np.flatnonzero(inside).tolist())
        yield "cut", nodes, {"nodes": [*nodes]}
    band = _best_band(fabric, collective)
    yield "direct", tuple(band), {"nodes": [*band]}
    yield "middle", tuple(sorted(collective.nodes)), {}
