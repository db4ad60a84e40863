"""The nodes that do a collective together on RAMP, and the steps they take.

The subgroups of the four steps of a RAMP network, and its information map.

RAMP paper, Tables 5 to 7. As printed they do not work (``docs/spec/errata.md``); the
formulas here do, and every collective of this package is checked to.

The transceivers that a pair uses in a step, so that no two pairs collide.

RAMP paper, equations (2) to (5), corrected (``docs/spec/errata.md``). Transceivers
stand in *places* of K neighbours, and a pair uses all of one place. No two pairs may
collide in the transmitters of a source, in the receivers of a destination, or in a
subnet, where pairs meet that agree in both groups and in the number of the destination,
whatever their racks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ramp import Ramp


STEPS = (1, 2, 3, 4)
"""The paper's four steps."""

# Columns of communication group, rack, and number in the rack.
Places = tuple["IntArray", "IntArray", "IntArray"]


@dataclass(frozen=True)
class Shape:
    """x groups of J racks of L numbers, where x divides L, J <= x and L <= x * x.

    In what follows a node is (g, j, lam), d = lam mod x and q = lam div x: it is the
    d-th device of device group q, one of D = L / x.
    """

    groups: int
    racks: int
    numbers: int

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.groups * self.racks * self.numbers

    @property
    def device_groups(self) -> int:
        """D, the device groups of a rack."""
        return self.numbers // self.groups

    def members(self, step: int) -> int:
        """Return the size of a subgroup of a step; a step with one is not active."""
        return (self.groups, self.groups, self.racks, self.device_groups)[step - 1]

    def number_of(self, places: Places) -> IntArray:
        """Return ``(g J + j) L + lam``."""
        group, rack, lam = places
        return (group * self.racks + rack) * self.numbers + lam

    def places_of(self, number: IntArray) -> Places:
        """Return the places of numbers: the inverse of `number_of`."""
        rack, lam = number // self.numbers, number % self.numbers
        return rack // self.racks, rack % self.racks, lam

    def subgroup(self, step: int, places: Places) -> IntArray:
        """Return the id of the subgroup that each node is in (Table 5, corrected).

        `places`: group, rack and number of each node, shape (nodes,) each.
        """
        group, rack, lam = places
        x, numbers = self.groups, self.numbers
        quotient = lam // x
        if step == 1:
            return lam + numbers * rack
        if step == 2:
            return (lam - group) % x + numbers * rack + quotient * x
        if step == 3:
            return (lam + numbers * (rack - group)) % (numbers * x)
        return x * x * rack + x * ((group - quotient) % x) + lam % x

    def peer(self, step: int, places: Places, offset: IntArray | int) -> Places:
        """Return the member `offset` places after each node, itself after 0 places.

        Table 6, corrected. Offsets are below `members`; the information portion of
        the peer is that of the node plus the offset, modulo `members`.

        `places`: group, rack and number of each node, shape (nodes,) each. `offset`: 0
        to ``members(step) - 1``, one for all or one for each node.
        """
        group, rack, lam = places
        x = self.groups
        if step == 1:
            return (group + offset) % x, rack + 0 * offset, lam + 0 * offset
        if step == 2:
            device = (lam % x + offset) % x
            return (group + offset) % x, rack + 0 * offset, device + lam // x * x
        if step == 3:
            other = (rack + offset) % self.racks
            return (group + other - rack) % x, other, lam + 0 * offset
        quotient = lam // x
        other = (quotient + offset) % self.device_groups
        return (group + other - quotient) % x, rack + 0 * offset, lam % x + other * x

    def portion(self, step: int, places: Places) -> IntArray:
        """Return which portion each node takes in a step (Table 7, corrected).

        `places`: group, rack and number of each node, shape (nodes,) each.
        """
        group, rack, lam = places
        quotient = lam // self.groups
        if step == 1:
            return (group - lam - rack - quotient) % self.groups
        if step == 2:
            return (group - rack - quotient) % self.groups
        return rack if step == 3 else quotient


_MOST_NAMED = 16
"""Most nodes that an error lists."""


@dataclass(frozen=True, eq=False)
class Team:
    """Nodes numbered by the information they take; member i is ``nodes[i]``.

    The digits of i, in base `sizes`, are the portions of the active steps, the first
    most significant: so members of a subgroup differ in the digit of their step, and
    agree in all before.

    `shape`: the network, or the smaller one that the nodes form. `nodes`: nodes of the
    fabric, shape (members,). `places`: where members are in `shape`.
    """

    fabric: Ramp
    shape: Shape
    steps: tuple[int, ...]
    nodes: IntArray
    places: Places
    _member: IntArray
    """Member at each number of `shape`, -1 where there is none."""

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.nodes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Subgroup size of each active step."""
        return tuple(self.shape.members(step) for step in self.steps)

    def width(self, step: int) -> int:
        """Return how many members share the digits up to that of `step`."""
        width = len(self)
        for active, size in zip(self.steps, self.sizes, strict=True):
            if active <= step:
                width //= size
        return width

    def at(self, members: IntArray) -> Places:
        """Return the places of some members."""
        group, rack, lam = self.places
        return group[members], rack[members], lam[members]

    def peers(self, step: int, members: IntArray, offset: IntArray | int) -> IntArray:
        """Return the peers of members, -1 where there are none: see `Shape.peer`.

        `offset`: 0 to ``members(step) - 1``, one for all or one for each member.
        """
        places = self.shape.peer(step, self.at(members), offset)
        return self._member[self.shape.number_of(places)]


def team_of(fabric: Ramp, nodes: Sequence[int]) -> Team:
    """Return the team of some nodes.

    Nodes make a team if they are whole subgroups of their active steps and nothing
    more: in the network itself, or in the smaller one of the groups, racks and numbers
    that occur among them, which keeps all that makes the plans free of contention.

    Raises `InputError` if no choice of steps serves these nodes.
    """
    column = np.sort(np.array(nodes, dtype=np.int64))
    for shape, places in _views(fabric, column):
        team = team_in(fabric, shape, places, column)
        if team is not None:
            return team
    raise _unserved(fabric, column)


def _views(fabric: Ramp, nodes: IntArray) -> Iterator[tuple[Shape, Places]]:
    """Yield the smaller networks that nodes may form, then the whole."""
    places = fabric.coordinates(nodes)
    found = [np.unique(column, return_inverse=True) for column in places]
    x, racks, numbers = (len(values) for values, _ in found)
    rounded = -(-numbers // x) * x
    if racks <= x and rounded <= x * x:
        group, rack, lam = (inverse for _, inverse in found)
        yield Shape(x, racks, rounded), (group, rack, lam)
    yield Shape(fabric.groups, fabric.racks, fabric.nodes_per_rack), places


def team_in(fabric: Ramp, shape: Shape, places: Places, nodes: IntArray) -> Team | None:
    """Return the team of nodes at places, or ``None`` if they are none.

    `places`: group, rack and number of each node in `shape`, shape (nodes,) each.
    `nodes`: the nodes in the network, shape (nodes,).
    """
    here = np.full(shape.size, -1, dtype=np.int64)
    here[shape.number_of(places)] = np.arange(len(nodes))
    steps = tuple(
        step
        for step in STEPS
        if shape.members(step) > 1
        and all(
            (here[shape.number_of(shape.peer(step, places, offset))] >= 0).all()
            for offset in range(1, shape.members(step))
        )
    )
    rank = np.zeros(len(nodes), dtype=np.int64)
    reached = 1
    for step in steps:
        rank = rank * shape.members(step) + shape.portion(step, places)
        reached *= shape.members(step)
    if reached != len(nodes):
        return None
    order = np.argsort(rank, kind="stable")
    group, rack, lam = (column[order] for column in places)
    member = np.full(shape.size, -1, dtype=np.int64)
    member[shape.number_of((group, rack, lam))] = np.arange(len(nodes))
    return Team(fabric, shape, steps, nodes[order], (group, rack, lam), member)


def _unserved(fabric: Ramp, nodes: IntArray) -> InputError:
    """Return the error for nodes that are no team, naming one of nearly their size."""
    present = [np.unique(column) for column in fabric.coordinates(nodes)]
    counts = x, racks, numbers = [len(values) for values in present]
    groups = f"{x} group" + "s" * (x > 1)
    failed = "they are not whole subgroups of any steps"
    if racks > x:
        failed = (
            f"they lie in {racks} racks of {groups}, and racks may not exceed groups"
        )
    elif numbers > x * x:
        failed = f"they have {numbers} numbers in {groups}, and {x * x} is the most"
    elif numbers > 1 and numbers % x:
        failed = f"they have {numbers} numbers in {groups}, which does not divide them"
    elif x * racks * numbers != len(nodes):
        failed = f"they are {len(nodes)} of the {x * racks * numbers} at these places"
    nearest = min(boxes_of(fabric), key=lambda box: _distance(box, counts, len(nodes)))
    fix = f"nearest (groups, racks, numbers) that are: {nearest}, {prod(nearest)} nodes"
    if prod(nearest) <= _MOST_NAMED:
        named = _nodes_of(fabric, nearest, present)
        fix += f", for example {', '.join(map(str, named.tolist()))}"
    return InputError(
        f"no steps of RAMP serve these {len(nodes)} nodes: {failed}",
        where="collective.nodes",
        fix=fix,
    )


def _nodes_of(
    fabric: Ramp, box: tuple[int, int, int], present: Sequence[IntArray]
) -> IntArray:
    """Return nodes of a box of places, those that are present before others."""
    sizes = (fabric.groups, fabric.racks, fabric.nodes_per_rack)
    chosen = []
    for count, size, here in zip(box, sizes, present, strict=True):
        order = np.append(here, np.setdiff1d(np.arange(size), here))
        chosen.append(np.sort(order[:count]))
    group, rack, number = np.meshgrid(*chosen, indexing="ij")
    return fabric.node(group, rack, number).reshape(-1)


def boxes_of(fabric: Ramp) -> Iterator[tuple[int, int, int]]:
    """Yield counts of groups, racks and numbers of which all nodes make a team."""
    for x in range(1, fabric.groups + 1):
        for racks in range(1, min(x, fabric.racks) + 1):
            most = min(x * x, fabric.nodes_per_rack)
            for numbers in sorted({1, *range(x, most + 1, x)}):
                yield x, racks, numbers


def _distance(
    box: tuple[int, int, int], counts: Sequence[int], size: int
) -> tuple[int, int, tuple[int, int, int]]:
    """Return how far a box is from what was asked: in places, then in size."""
    x, racks, numbers = box
    apart = sum(abs(a - b) for a, b in zip(box, counts, strict=True))
    return apart, abs(x * racks * numbers - size), box


def per_pair(transceivers: int, shape: Shape, step: int) -> int:
    """Return K, how many transceivers a pair uses in a step.

    `transceivers`: of a node, at least ``shape.groups``.

    Equation (3), as printed, takes only the d - 1 peers of a node into account, but
    the J racks of a group share their subnets: with K for each pair, both K J and
    K (d - 1) must find room. Step 3 leads from rack to rack and is tighter still.
    """
    if step == 3:
        return max(transceivers // shape.groups, _across_racks(transceivers, shape))
    peers = max(shape.members(step) - 1, 1)
    return min(transceivers // shape.racks, transceivers // peers)


def transceivers_of(
    transceivers: int, shape: Shape, step: int, src: Places, dst: Places
) -> IntArray:
    """Return the transceivers of (source, destination) pairs, shape (pairs, K).

    With one for each pair, it is ``g_src + g_dst + j_src`` modulo `transceivers`, which
    is equation (2), and ``g_dst + j_src`` in step 3. Else it is a place:

    - in steps 1, 2 and 4 the offset in the subgroup plus j_src. Peers of a node have
      different offsets, from the same rack; pairs that meet in a subnet agree in their
      offset and differ in j_src;
    - in step 3 ``g_dst + j_src``, where there are as many places as groups: peers
      differ in group and in rack, and pairs that meet in a subnet in j_src;
    - or ``j_src + j_dst``, where 2 J - 1 groups or more leave a pair of groups one
      difference of racks, modulo an odd number not below J, so that doubles differ.

    `src`, `dst`: group, rack and number of both ends, shape (pairs,) each.
    """
    count = per_pair(transceivers, shape, step)
    places = transceivers // count
    if step == 3 and count > transceivers // shape.groups:
        place = (src[1] + dst[1]) % _odd(places)
    elif step == 3:
        place = (dst[0] + src[1]) % places
    elif count == 1:
        place = (src[0] + dst[0] + src[1]) % places
    else:
        apart = dst[0] - src[0]
        if step == 4:
            apart = dst[2] // shape.groups - src[2] // shape.groups
        place = (apart % shape.members(step) + src[1]) % places
    return place[:, None] * count + np.arange(count)


def _across_racks(transceivers: int, shape: Shape) -> int:
    """Return how many a pair can use in step 3 by the sum of its racks."""
    if 2 * shape.racks - 1 > shape.groups:
        return 0
    count = transceivers // shape.racks
    while count and _odd(transceivers // count) < shape.racks:
        count -= 1
    return count


def _odd(places: int) -> int:
    """Return the largest odd number up to `places`."""
    return places - 1 + places % 2
