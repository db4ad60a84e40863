"""Places of data that are alike: by how ranks stand to each other, or refined colours.

Two places keep the same colour as long as the same kinds of messages leave and reach
them, and messages as long as they carry the same kinds of data over links of the same
classes. A linear program in which what has a colour has one value is then worth as
much as the whole one (Grohe, Kersting, Mladenov and Selman, Dimension reduction via
colour refinement, 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.fabrics.sipac import Sipac

if TYPE_CHECKING:
    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.validate.certificates.proofs.step_potentials import Lifts, Ways


def relations(
    fabric: PacketFabric | Sipac, nodes: tuple[int, ...], ways: Ways
) -> IntArray:
    """Return how ranks stand to each other, shape (n, n): 0 for a rank to itself.

    On packet fabrics two pairs stand alike if their routes have equally many links of
    each rate; fewer links of the lowest rates have lower numbers. On SiPAC they do if
    they are equally many circuits apart.
    """
    routes, count = ways.routes, len(nodes)
    if isinstance(fabric, Sipac):
        node = np.repeat(np.array(nodes, dtype=np.int64)[:, None], count, axis=1)
        apart = fabric.circuits_apart(node.reshape(-1), node.T.reshape(-1))
        return apart.reshape(count, count)
    rate = fabric.link_bits_per_s(routes.link)
    rates, kind = np.unique(rate, return_inverse=True)
    links = np.zeros((count**2, len(rates)), dtype=np.int64)
    np.add.at(links, (routes.pair, kind), 1)
    _, number = np.unique(links, axis=0, return_inverse=True)
    return number.reshape(count, count).astype(np.int64)


def related_places(
    lifts: Lifts, relation: IntArray, *, rough: bool = False
) -> IntArray:
    """Return places that are alike if they stand alike to source and destination.

    `relation`: how ranks stand to each other, shape (n, n).

    Returns numbers from 0, shape (sources, v, a).
    """
    if lifts.flow.turned:
        relation = relation.T
    width = int(relation.max()) + 1
    to_v, to_a = (0 * relation, np.minimum(relation, 1)) if rough else (relation,) * 2
    rows = [
        (to_v[source][:, None] * width + to_a[source]) * width + relation.T
        for source in lifts.sources
    ]
    return _numbered(np.stack(rows))


def refined_places(lifts: Lifts, most: int) -> IntArray | None:
    """Return places by colours, shape (1, v, a), ``None`` if there are too many rises.

    `lifts`: of a collective one source of which stands for all; their places do not
    matter. `most`: kinds of rises, from place to place by a message, up to which to go
    on.
    """
    shift = None
    if lifts.flow.summed and len(lifts.sums):
        shift = np.argsort(lifts.sums, axis=1)
    found = _Refinement(lifts.usage, lifts.joined, lifts.sources[0], shift)
    return found.place[None] if found.refined(most) else None


@dataclass(eq=False)
class _Refinement:
    """Colours of the places that data of one source pass, and of messages.

    `usage`: links of each class between two ranks, shape (n, n, classes). `joined`:
    whether there can be a message from rank to rank, shape (n, n). `source`: the rank
    that has the data. `shift`: for each pair of ranks a number: messages of the same
    number can carry data of several sources together; ``None`` where there is one
    source.
    """

    usage: IntArray
    joined: npt.NDArray[np.bool_]
    source: int
    shift: IntArray | None

    def __post_init__(self) -> None:
        ranks = len(self.usage)
        at_source = np.broadcast_to(np.arange(ranks) == self.source, (ranks, ranks))
        self.place = _numbered(at_source, np.eye(ranks))
        number = _mixed(np.arange(self.usage.shape[2]))
        self.message = _numbered(self.joined, self.usage.astype(np.uint64) @ number)

    def refined(self, most: int) -> bool:
        """Refine colours until they stay; false if there are too many rises.

        `most`: kinds of rises, from place to place by a message, up to which to go on.
        """
        known = 0
        while True:
            rises = self._refine()
            if rises in (known, *range(most + 1, rises + 1)):
                return rises <= most
            known = rises

    def _refine(self) -> int:
        """Refine the colours of messages and places once, and return the rises."""
        rise = self._rises()
        served = np.delete(rise, self.source, axis=0).sum(axis=0)
        if self.shift is not None:
            total = np.zeros(int(self.shift.max()) + 1, dtype=np.uint64)
            np.add.at(total, self.shift, served)
            served = total[self.shift]
        self.message = _numbered(self.message, served)
        rise = self._rises()
        self.place = _numbered(self.place, rise.sum(axis=2), rise.sum(axis=1))
        return len(np.unique(self._rises()))

    def _rises(self) -> npt.NDArray[np.uint64]:
        """Return the colours of rises as [v, from, to], 0 where nothing is sent."""
        place, message = self.place, self.message
        width = int(place.max()) + 1
        both = place[:, :, None] * width + place[:, None, :]
        colour = _mixed(both * (int(message.max()) + 1) + message)
        ranks = np.arange(len(message))
        colour[:, ranks, ranks] = 0
        return colour


def _numbered(*columns: npt.NDArray[np.number | np.bool_]) -> IntArray:
    """Return the same number where all columns, of one shape, are the same."""
    number = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        _, one = np.unique(column, return_inverse=True)
        width = int(one.max()) + 1
        _, number = np.unique(number * width + one.reshape(-1), return_inverse=True)
    return number.reshape(columns[0].shape).astype(np.int64)


def _mixed(colour: IntArray) -> npt.NDArray[np.uint64]:
    """Return numbers whose sums tell collections of colours apart (splitmix64)."""
    mixed = colour.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
