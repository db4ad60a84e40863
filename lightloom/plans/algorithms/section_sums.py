"""All-reduce on one configuration in three rounds, of up to 1,071 ranks of 16 ports."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.coloured_ports import coloured_ports
from lightloom.plans.parameters import Degree
from lightloom.plans.plan import Round, RoundOutline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective


class SectionSums(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Roots sum their groups, hubs the roots of a section, all the hubs of a group.

    Ranks are cut into T sections of x groups. A group has C roots, T hubs and a few
    spare ranks, and is of one of C classes, so that a section has groups of each class.
    A class c has T + 1 ranks left out, all of them spare.

    1. Root c of a group adds the whole group but what class c leaves out. Hub t of a
       group copies rank t that its class leaves out, and the first spare one copies
       rank T of these.
    2. Hub t adds the roots of its class in all groups of section t: with its copy, the
       section and one of those left out. All others of the group copy what the first
       spare rank holds.
    3. All add the hubs of their group. To hubs rank T that their class leaves out is
       still unknown; a root that they know in a group of their class holds it.

    So every rank forgets its own values before they come back in a sum. The whole
    buffer goes over arcs in each round, which is for small ones. On k ports there is
    such a shape for 4 to 1,071 ranks if k is 16, to 135 if k is 8; the theorem of
    `lightloom.validate.certificates.completion_time.step_costs.summed_in_three` says
    that there is none beyond 1,441 and 241 ranks.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    degree: Degree = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk: nothing is cut."""
        del ranks, ports
        return 1

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        del op
        if ranks == 1:
            return ()
        shape, whole = self._shape(ranks, ports), Fraction(1)
        known = shape.classes + shape.sections
        streams = (known - 1, shape.groups, known)
        return tuple(RoundOutline(of_round, whole) for of_round in streams)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the three rounds; some 20 rows for each rank."""
        moves = section_moves(self._shape(collective.rank_count, ports))
        src = np.concatenate([one[0] for one in moves])
        dst = np.concatenate([one[1] for one in moves])
        ends = np.cumsum([len(one[0]) for one in moves])[:-1]
        port = np.split(coloured_ports(src, dst), ends)
        return [
            Round(
                tail,
                head,
                np.zeros_like(tail),
                np.full_like(tail, collective.chunk_count),
                op,
                of_round,
            )
            for (tail, head, op), of_round in zip(moves, port, strict=True)
        ]

    def _shape(self, ranks: int, ports: int) -> SectionShape:
        """Return the shape.

        Raises `InputError` if there is none for so many ranks.
        """
        degree = ports if self.degree is None else self.degree
        shape = section_shape(ranks, degree)
        if shape is None:
            raise InputError(
                f"{ranks} ranks of {degree} ports have no shape of three rounds",
                where="algorithm.degree",
                found=degree,
                allowed="4 to 1071 ranks with 16 ports, 4 to 135 with 8",
                fix="use hub-sums, which serves any number of ranks",
            )
        return shape


@dataclass(frozen=True)
class SectionShape:
    """How ranks are cut into groups; rank by rank, group by group, section by section.

    `ports`: most arcs out of, and into, a rank. `sections`, `groups`: sections, and
    groups in each. `classes`: of groups; as many roots has each group. At most
    `groups`.
    """

    ranks: int
    ports: int
    sections: int
    groups: int
    classes: int

    @property
    def group_count(self) -> int:
        """Groups of all sections."""
        return self.sections * self.groups

    @property
    def group_sizes(self) -> IntArray:
        """Ranks of each group, shape (group_count,)."""
        each, longer = divmod(self.ranks, self.group_count)
        index = np.arange(self.group_count, dtype=np.int64)
        return each + (index < longer)

    @property
    def messages(self) -> int:
        """How many messages there are in all rounds, or a few more."""
        roots = self.group_count * self.classes
        hubs = self.group_count * self.sections
        summed = roots * (self.ranks // self.group_count)
        return summed + hubs * (self.groups + 1) + self.ranks * self.sections

    @functools.cached_property
    def left_out(self) -> IntArray | None:
        """The ranks that each class leaves out, shape (classes, sections + 1).

        ``None`` if ports are too few to send to all that copy them: the ranks with most
        arcs to spare serve the classes of most groups.
        """
        sizes = self.group_sizes
        fixed = self.classes + self.sections
        first = np.cumsum(sizes) - sizes + fixed
        if sizes.min() <= fixed:
            return None
        spare = [
            (
                self.classes + (sizes[group] - fixed - 1 if not place else 0),
                rank + place,
            )
            for group, rank in enumerate(first.tolist())
            for place in range(int(sizes[group]) - fixed)
        ]
        served = np.bincount(np.arange(self.group_count) % self.classes)
        wanted = sorted(
            (-int(served[c]), c, part)
            for c in range(self.classes)
            for part in range(self.sections + 1)
        )
        if len(spare) < len(wanted):
            return None
        found = np.zeros((self.classes, self.sections + 1), dtype=np.int64)
        for (minus, c, part), (used, rank) in zip(wanted, sorted(spare), strict=False):
            if used - minus > self.ports:
                return None
            found[c, part] = rank
        return found


@functools.lru_cache(maxsize=64)
def section_shape(ranks: int, ports: int) -> SectionShape | None:
    """Return the shape of fewest messages for so many ranks; ``None`` without one."""
    found = (
        SectionShape(ranks, ports, sections, groups, classes)
        for sections in range(1, ports)
        # Into a hub: what it copies, the roots of a section, the other hubs.
        for groups in range(1, ports - sections + 1)
        # Into a root, and out of a hub: all the group.
        if ranks <= (ports + 1) * sections * groups
        # Out of a root: other roots of its group, and a hub of all groups of a class.
        # A group has roots, hubs and one more.
        for classes in range(
            1, min(groups + 1, ranks // (sections * groups) - sections)
        )
        if classes - 1 - (-sections * groups // classes) <= ports
    )
    cheapest = sorted(found, key=lambda shape: shape.messages)
    return next((shape for shape in cheapest if shape.left_out is not None), None)


def section_moves(shape: SectionShape) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Return sources, destinations and `Op` codes of each of the three rounds."""
    left_out = shape.left_out
    assert left_out is not None, "section_shape returns no other"
    sections, classes, each = shape.sections, shape.classes, shape.groups
    sizes = shape.group_sizes
    first = np.cumsum(sizes) - sizes
    rows: list[list[tuple[int, int, Op]]] = [[], [], []]
    for group, (start, size) in enumerate(
        zip(first.tolist(), sizes.tolist(), strict=True)
    ):
        own = group % classes
        left = left_out[own].tolist()
        members = range(start, start + size)
        hubs = members[classes : classes + sections]
        spare = members[classes + sections]
        for root in range(classes):
            silent = {members[root], *left_out[root].tolist()}
            heard = (rank for rank in members if rank not in silent)
            rows[0] += ((rank, members[root], Op.REDUCE) for rank in heard)
        rows[0] += ((left[part], hub, Op.COPY) for part, hub in enumerate(hubs))
        if spare != left[-1]:
            rows[0].append((left[-1], spare, Op.COPY))
        others = (rank for rank in members if rank not in hubs and rank != spare)
        rows[1] += ((spare, rank, Op.COPY) for rank in others)
        for part, hub in enumerate(hubs):
            roots = first[part * each : (part + 1) * each] + own
            rows[1] += ((root, hub, Op.REDUCE) for root in roots.tolist())
            rows[2] += ((hub, rank, Op.REDUCE) for rank in members if rank != hub)
            of_class = (own - part * each) % classes
            rows[2].append((int(roots[of_class]), hub, Op.REDUCE))
    columns = [np.array(of_round, dtype=np.int64).T for of_round in rows]
    return [(src, dst, op) for src, dst, op in columns]


ALGORITHM = AlgorithmEntry(
    name="section-sums",
    summary="all-reduce in 3 rounds on one configuration, of 1,071 ranks of 16 ports",
    ops=SectionSums.ops,
    make=SectionSums,
)
