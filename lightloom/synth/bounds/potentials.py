"""The linear program of potentials over steps, equal messages taken together.

Places of data that are alike: by how ranks stand to each other, or refined colours.

Two places keep the same colour as long as the same kinds of messages leave and reach
them, and messages as long as they carry the same kinds of data over links of the same
classes. A linear program in which what has a colour has one value is then worth as
much as the whole one (Grohe, Kersting, Mladenov and Selman, Dimension reduction via
colour refinement, 2014).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.fabrics.sipac import Sipac

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.validate.certificates.completion_time.link_steps import Lifts, Ways


__all__ = ["FEWEST_ENDS", "PotentialProgram"]

FEWEST_ENDS, _MOST_ENDS = 4, 16
"""First and last steps of spans: with fewer no span tells steps apart enough, and the
program grows with each up to the most."""
_MOST_WORK = 9_000
"""Largest linear program: a second or two of a processor."""
_NEAR_ENOUGH = 1e-5
"""Gap of the interior point, below what rounding potentials to whole numbers loses."""


@dataclass(frozen=True, eq=False)
class PotentialProgram:
    """The linear program: rises between two places, and messages that have them.

    `before`, `after`: the places of each rise, shape (rises,). `message`, `rise`,
    `times`: rows: how often a kind of message has a rise, shape (rows,). `usage`: links
    of each group that a kind of message uses, shape (messages, groups). `first`,
    `last`: places where data are at first, and must be at last, one for each datum.
    """

    before: IntArray
    after: IntArray
    message: IntArray
    rise: IntArray
    times: FloatArray
    usage: IntArray
    first: IntArray
    last: IntArray
    places: int

    @classmethod
    def of(cls, lifts: Lifts) -> PotentialProgram:
        """Return the rises of all messages, those of equal messages once."""
        ranks, width = len(lifts.joined), lifts.place_count
        src, dst = np.nonzero(lifts.joined)
        each = []
        for source, place in zip(lifts.sources, lifts.places, strict=True):
            away = np.delete(place, source, axis=0)
            each.append((away[:, src] * width + away[:, dst]).T)
        if lifts.flow.summed:
            code, usage = cls._of_sums(lifts, src, dst, np.hstack(each))
        else:
            code = np.vstack(each)
            usage = np.vstack([lifts.usage[src, dst]] * len(each))
        usages, kind = np.unique(usage, axis=0, return_inverse=True)
        kind = kind.reshape(-1, 1)
        if lifts.flow.same:
            rows = np.unique(np.hstack([np.sort(code, axis=1), kind]), axis=0)
            code, usage = rows[:, :-1], usages[rows[:, -1]]
        else:
            both = np.unique(code * len(usages) + kind)
            code, usage = both[:, None] // len(usages), usages[both % len(usages)]
        both, rise = np.unique(code, return_inverse=True)
        pair = np.repeat(np.arange(len(code)), code.shape[1]) * len(both)
        pair, times = np.unique(pair + rise.reshape(-1), return_counts=True)
        ends = [
            (place[others, source], place[others, others])
            for source, place in zip(lifts.sources, lifts.places, strict=True)
            for others in [np.delete(np.arange(ranks), source)]
        ]
        return cls(
            both // width,
            both % width,
            pair // len(both),
            pair % len(both),
            times.astype(np.float64),
            usage,
            np.concatenate([first for first, _ in ends]),
            np.concatenate([last for _, last in ends]),
            width,
        )

    @staticmethod
    def _of_sums(
        lifts: Lifts, src: IntArray, dst: IntArray, code: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return all that messages between ranks equally far apart lift, in a row."""
        if not len(lifts.sums):
            return code, lifts.usage[src, dst]
        back = np.argsort(lifts.sums, axis=1)
        apart = back[src, dst]
        order = np.argsort(apart, kind="stable")
        far = np.flatnonzero(lifts.joined[0])
        return code[order].reshape(len(far), -1), lifts.usage[0, far]

    @property
    def work(self) -> int:
        """How large a linear program is for each end of a span."""
        return len(self.before) + len(self.times) // 50

    @property
    def most_ends(self) -> int:
        """First and last steps of spans that it may have."""
        return min(_MOST_ENDS, _MOST_WORK // max(1, self.work))

    def times_of(self, steps: int) -> list[int]:
        """Return times at which potentials are chosen, dense at both ends."""
        near, most = [0, 1], self.most_ends
        while len(near) <= most // 4 and most > FEWEST_ENDS + 1:
            near.append(2 * near[-1] - near[-2] // 2)
        if steps <= most:
            return list(range(steps + 1))
        some = {one for one in near if 2 * one < steps}
        return sorted(some | {steps - one for one in some})

    def solve(
        self, times: Sequence[int], share: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return lengths and potentials that prove most, each step's lengths one.

        Parameters
        ----------
        times
            After how many steps potentials are chosen, ascending from 0; between two
            times they, and lengths, lie on straight lines.
        share
            What a length of 1 takes of a step's lengths, by group, shape (groups,).

        Returns
        -------
        Lengths of the first and the last step of each span, in spans of one step once,
        and potentials of each time; ``None`` where the solver fails.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        rises, groups, high = len(self.before), len(share), len(times) * self.places
        ends = list(_ends(times))
        # Unknowns: potentials of each time, rises and lengths of each end of a span.
        length_at = high + len(ends) * rises
        unknowns = length_at + len(ends) * groups
        entries = list(self._rows(ends, len(times) - 1, length_at, share))
        row, column, value = map(np.concatenate, zip(*entries, strict=True))
        count = int(row.max()) + 1
        allowed = np.zeros(count)
        allowed[count - len(ends) :] = 1.0
        gain = np.zeros(unknowns)
        np.add.at(gain, high - self.places + self.last, -1.0)
        np.add.at(gain, self.first, 1.0)
        matrix = coo_array((value, (row, column)), shape=(count, unknowns)).tocsr()
        found = linprog(
            gain / len(self.first),
            A_ub=matrix,
            b_ub=allowed,
            method="highs-ipm",
            options={"ipm_optimality_tolerance": _NEAR_ENOUGH},
        )
        if not found.success:
            return None
        potential = found.x[:high].reshape(len(times), self.places)
        return found.x[length_at:].reshape(len(ends), groups), potential

    def _rows(
        self,
        ends: Sequence[tuple[int, float, float]],
        spans: int,
        length_at: int,
        share: FloatArray,
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield rows, columns and values of the linear program, the shares last."""
        rises, groups = len(self.before), len(share)
        number, place = np.arange(rises), np.arange(self.places)
        kind, group = np.nonzero(self.usage)
        used = self.usage[kind, group].astype(np.float64)
        once, row = np.ones(rises), 0
        for span in range(spans):
            now, then = span * self.places, (span + 1) * self.places
            yield row + place, then + place, np.ones(self.places)
            yield row + place, now + place, -np.ones(self.places)
            row += self.places
        for end, (span, before, after) in enumerate(ends):
            now, then = span * self.places, (span + 1) * self.places
            mine = (spans + 1) * self.places + end * rises
            lengths = length_at + end * groups
            yield row + number, then + self.after, after * once
            yield row + number, now + self.after, (1 - after) * once
            yield row + number, then + self.before, -before * once
            yield row + number, now + self.before, (before - 1) * once
            yield row + number, mine + number, -once
            row += rises
            yield row + self.message, mine + self.rise, self.times / len(self.first)
            yield row + kind, lengths + group, -used
            row += len(self.usage)
        for end in range(len(ends)):
            many = np.full(groups, row + end)
            yield many, length_at + end * groups + np.arange(groups), share


def _ends(times: Sequence[int]) -> Iterator[tuple[int, float, float]]:
    """Yield the first and the last step of each span, one step once.

    As the span, and how far through it time is before and after the step.
    """
    for span, (start, end) in enumerate(itertools.pairwise(times)):
        steps = end - start
        for step in sorted({0, steps - 1}):
            yield span, step / steps, (step + 1) / steps


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
