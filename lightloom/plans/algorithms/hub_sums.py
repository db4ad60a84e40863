"""All-reduce on circuits that are kept, in few rounds.

Few ranks sum what all others hold, and spread it: hubs, relays between them, sections;
or subspaces that overlap exchange.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.edge_colouring import coloured_ports
from lightloom.plans.kautz import DeBruijn
from lightloom.plans.parameters import DeBruijnDegree, Degree
from lightloom.plans.plan import Partition, Round, RoundOutline, merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.setting import Setting


_MOST_TURNS = 64


class HubSums(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Trees sum into d roots, all d roots send to the same hubs, hubs spread totals.

    On a De Bruijn digraph of d ports with n = q d^(D - 1) ranks, q <= d, that takes
    D - 1 rounds up, one across and D - 1 down, all on one configuration:
    2 D - 1, where a reduce-scatter and an all-gather take 2 D. The
    roots and hubs of a part of the buffer are one of the n / d groups in which d
    ranks have arcs to the same d ranks; every group has a part, so arcs are loaded
    evenly.

    A hub has sent its own values to the trees, so what the roots send contains them
    and would count twice. It therefore forgets: in the last round up it takes a copy
    of what one root holds, and later hears from the other roots only. That *idle* root
    must be complete by then, so its own tree is lower; mostly it has none.

    Ranks beyond the largest such n first add their buffers to another's, and
    get the total last: two rounds more.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    degree: DeBruijnDegree = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per group and turn."""
        graph = self._graph(ranks, ports)
        return graph.groups * _turns(graph)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; up to 3 n rows for each of n / d groups and its turns."""
        ranks = collective.rank_count
        graph = self._graph(ranks, ports)
        turns = _turns(graph)
        forest = HubForest(graph)
        found = [
            forest.trees(group, turn)
            for group in range(graph.groups)
            for turn in range(turns)
        ]
        trees = [one for one in found if one is not None]
        assert trees, "all that has an arc to rank 0 is a root of group 0: it can idle"
        cut = Partition(len(trees), collective.chunk_count)
        rounds = _rounds(graph, trees, cut)
        if graph.ranks < ranks:
            other = np.arange(graph.ranks, ranks, dtype=np.int64)
            kept, port = other - graph.ranks, graph.degree
            whole, length = np.zeros_like(other), len(trees)
            first = cut.round(other, kept, whole, length, port=port, op=Op.REDUCE)
            last = cut.round(kept, other, whole, length, port=port, op=Op.COPY)
            rounds = [first, *rounds, last]
        return [one for one in rounds if one is not None]

    def _graph(self, ranks: int, ports: int) -> DeBruijn:
        """Return the largest digraph of its kind on no more than these ranks."""
        degree = min(max(2, ports if self.degree is None else self.degree), ranks)
        if degree == ranks:
            return DeBruijn(ranks, 1)
        tail = 1
        while tail * degree * degree <= ranks:
            tail *= degree
        return DeBruijn(degree, ranks // (tail * degree) * tail)


def _turns(graph: DeBruijn) -> int:
    """Return how many parts of the buffer a group has in turn.

    As many as there are equally short ways, so that all are used; where groups are
    fewer than ports, times as many idle roots to copy from as a power of two allows.
    """
    twins = graph.degree // graph.groups
    if not twins:
        return 1
    spare = graph.degree - graph.groups
    copies = 1 << (spare.bit_length() - 1) if spare else 1
    return max(twins, min(twins * copies, _MOST_TURNS // graph.groups))


def _rounds(
    graph: DeBruijn, trees: list[HubTrees], cut: Partition
) -> list[Round | None]:
    """Return the rounds of all parts together."""
    up = max(int(one.height.max()) for one in trees)
    if all(one.idle is None for one in trees):
        copied_in = None
    else:
        up = max(up, 1)
        copied_in = up - 1
    down = max(int(one.depth.max()) for one in trees)
    moves: list[list[PartMoves]] = [[] for _ in range(up + 1 + down)]
    for part, one in enumerate(trees):
        rising = one.up != np.arange(graph.ranks)
        for height in range(1, up + 1):
            src = np.flatnonzero(rising & (one.height == height))
            moves[up - height].append(PartMoves.of(src, one.up[src], part, Op.REDUCE))
        if one.idle is not None and copied_in is not None:
            forgetful = np.setdiff1d(one.hubs, one.roots)
            src = np.full(len(forgetful), one.idle, dtype=np.int64)
            moves[copied_in].append(PartMoves.of(src, forgetful, part, Op.COPY))
        src, dst = (c.reshape(-1) for c in np.meshgrid(one.roots, one.hubs))
        heard = src != dst
        if one.idle is not None:
            heard &= (src != one.idle) | np.isin(dst, one.roots)
        moves[up].append(PartMoves.of(src[heard], dst[heard], part, Op.REDUCE))
        for depth in range(1, down + 1):
            dst = np.flatnonzero(one.depth == depth)
            moves[up + depth].append(PartMoves.of(one.down[dst], dst, part, Op.COPY))
    return [round_of(graph, of_round, cut) for of_round in moves]


_NEVER = np.int64(1) << 40


@dataclass(frozen=True, eq=False)
class HubTrees:
    """How one part of a buffer is summed and spread; see `HubSums`.

    `roots`: ranks that sum trees, each its own. `idle`: the root that hubs copy from,
    complete a round before the others; ``None`` where all hubs are roots. `hubs`: ranks
    that add up the roots. `up`, `height`: the rank that each rank's sum goes to, and
    how many arcs it is to a root; a root has height 0, or 1 if it is idle, and goes to
    itself. `down`, `depth`: the rank that each rank gets the total from, and how many
    arcs it is from a hub; a hub has depth 0.
    """

    roots: IntArray
    idle: int | None
    hubs: IntArray
    up: IntArray
    height: IntArray
    down: IntArray
    depth: IntArray


class ArcLoads:
    """How often arcs have been used so far, by how far from the end they are.

    ``of(level)[rank, slot]`` counts the arc in that slot of a rank.
    """

    def __init__(self, graph: DeBruijn) -> None:
        self._shape = (graph.ranks, graph.degree)
        self._levels: dict[int, IntArray] = {}

    def of(self, level: int) -> IntArray:
        """Return the counts at a level, to be read or added to."""
        return self._levels.setdefault(level, np.zeros(self._shape, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _Layers:
    """Each rank's next rank, by the slot of its arc, and its distance."""

    following: IntArray
    height: IntArray
    slot: IntArray

    def use(self, loads: ArcLoads) -> None:
        """Count the arcs."""
        for level in range(1, int(self.height.max()) + 1):
            rank = np.flatnonzero((self.height == level) & (self.slot >= 0))
            loads.of(level)[rank, self.slot[rank]] += 1


class HubForest:
    """Makes the trees of one part after another, so that arcs are loaded evenly."""

    def __init__(self, graph: DeBruijn) -> None:
        self._graph = graph
        self._after, self._before = graph.after(), graph.before()
        self._up, self._down = ArcLoads(graph), ArcLoads(graph)

    def trees(self, group: int, turn: int) -> HubTrees | None:
        """Return trees whose roots and hubs are the tails and heads of a group.

        Returns the trees, as low as they can be; ``None`` where, whichever root is
        idle, some rank cannot reach the others.
        """
        roots = self._graph.tails(group)
        hubs, down = self._spread(group, turn)
        idle, up = None, None
        if np.isin(hubs, roots).all():
            up = _layers(self._after, roots, None, self._up)
        else:
            least = _layers(self._after, roots, None, self._up)
            assert least is not None
            for spared in np.roll(roots, -(turn % len(roots))).tolist():
                found = _layers(self._after, roots, spared, self._up)
                if found is None:
                    continue
                if up is None or found.height.max() < up.height.max():
                    idle, up = spared, found
                if up.height.max() <= max(1, least.height.max()):
                    break
        if up is None:
            return None
        up.use(self._up)
        down.use(self._down)
        return HubTrees(
            roots, idle, hubs, up.following, up.height, down.following, down.height
        )

    def _spread(self, group: int, turn: int) -> tuple[IntArray, _Layers]:
        """Return hubs that reach all ranks in the fewest rounds, and how.

        Either all heads of the group or, where each has several twins with arcs to
        the same ranks, one of each.
        """
        heads, groups = self._graph.heads(group), self._graph.groups
        everywhere = _layers(self._before, heads, None, self._down)
        assert everywhere is not None
        if groups < len(heads):
            few = np.sort(heads[(turn * groups + np.arange(groups)) % len(heads)])
            enough = _layers(self._before, few, None, self._down)
            least = max(1, int(everywhere.height.max()))
            if enough is not None and enough.height.max() <= least:
                return few, enough
        return heads, everywhere


def _layers(
    towards: IntArray, roots: IntArray, idle: int | None, loads: ArcLoads
) -> _Layers | None:
    """Return each rank's next rank to the nearest root, over its least loaded arc.

    The idle root counts as one farther away. ``None`` where ranks reach no root.
    """
    ranks = len(towards)
    height, slot = (np.full(ranks, -1, dtype=np.int64) for _ in range(2))
    height[roots] = 0
    if idle is not None:
        height[idle] = 1
    level = 0
    while (height < 0).any():
        level += 1
        rank = np.flatnonzero(height < 0)
        fits = height[towards[rank]] == level - 1
        rank, fits = rank[fits.any(axis=1)], fits[fits.any(axis=1)]
        if not len(rank) and not (height == level).any():
            return None
        slot[rank] = np.where(fits, loads.of(level)[rank], _NEVER).argmin(axis=1)
        height[rank] = level
    following = np.arange(ranks, dtype=np.int64)
    going = np.flatnonzero(slot >= 0)
    following[going] = towards[going, slot[going]]
    return _Layers(following, height, slot)


_ROUNDS = 4
_LEAST_PARTS = 512
_COMPARED = 4


class HubRelays(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Roots sum what is one arc away, relays sum roots, hubs sum relays and spread it.

    On a De Bruijn digraph of d ports with n = q d^2 ranks, a divisor q of d and
    1 < q < d / 2: one round up, two across and one down, where `HubSums` takes five.

    Of the n / d groups in which d ranks have arcs to the same d ranks, q *base* groups
    have a tail in every block of d ranks with the same in-neighbours: these tails are
    the roots of a part, and sum up all ranks. Of the d heads of a base group, which
    hear from all its roots, q are relays; and each of n / d hubs hears from a relay of
    every group, if the groups are all the same modulo q. Hubs have arcs to all ranks.

    Relays and hubs have sent their own values up, and must forget them before they add.
    A relay gets a copy of one *idle* tail of its group in the first round, which sums
    nothing. The block of that tail is summed by the only root of an *extra* group,
    which has relays and an idle tail as well. Hubs copy the value of one more rank, the
    *source*, in the second round, from heads of its group that have copied it in the
    first.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    degree: DeBruijnDegree = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per part."""
        return 1 if ranks == 1 else len(relay_parts(self._graph(ranks, ports)))

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        if ranks == 1:
            return ()
        del op
        # Ranks send equally much over all parts, and parts differ in nothing but who.
        moves = [0] * _ROUNDS
        for turn, src, _, _ in _part(self._graph(ranks, ports), 0, 0, 0, 0, 0).moves():
            moves[turn] += len(src)
        return tuple(RoundOutline(1, Fraction(sent, ranks)) for sent in moves)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the four rounds: some 3 n rows for each of a few hundred parts."""
        graph = self._graph(collective.rank_count, ports)
        parts = relay_parts(graph)
        moves: list[list[PartMoves]] = [[] for _ in range(_ROUNDS)]
        for number, part in enumerate(parts):
            for turn, src, dst, op in part.moves():
                moves[turn].append(PartMoves.of(src, dst, number, op))
        cut = Partition(len(parts), collective.chunk_count)
        rounds = [round_of(graph, of_round, cut) for of_round in moves]
        return [one for one in rounds if one is not None]

    def _graph(self, ranks: int, ports: int) -> DeBruijn:
        """Return the digraph.

        Raises `InputError` if there are no relays on it.
        """
        degree = min(max(2, ports if self.degree is None else self.degree), ranks)
        if not relays_fit(ranks, degree):
            raise InputError(
                f"{ranks} ranks of {degree} ports have no relays",
                where="algorithm.degree",
                found=degree,
                allowed="d with n = q d^2, a divisor q of d, and 1 < q < d / 2",
            )
        return DeBruijn(degree, ranks // degree)


def relays_fit(ranks: int, degree: int) -> bool:
    """Return whether hub relays work for so many ranks, of so many ports each.

    `ranks`, `degree`: there must be n = q d^2 ranks for a divisor q of d, 1 < q < d /
    2.
    """
    folds, rest = divmod(ranks, degree**2)
    return not rest and folds > 1 and 2 * folds < degree and degree % folds == 0


@dataclass(frozen=True, eq=False)
class RelayPart:
    """How one part of the buffer is summed and spread.

    `groups`: its groups that have roots, then the one whose tails are sources. `idle`:
    the tail of each group that its relays copy, shape (groups,). `roots`, `of_root`:
    the tails that sum blocks, shape (roots,), and the place of the group of each.
    `window`: the places among the heads of every group that are relays, shape (q,).
    `hubs`: the ranks that sum relays, shape (hubs,).
    """

    graph: DeBruijn
    groups: IntArray
    idle: IntArray
    roots: IntArray
    of_root: IntArray
    window: IntArray
    hubs: IntArray

    def moves(self) -> Iterator[tuple[int, IntArray, IntArray, Op]]:
        """Yield round, sources, destinations and what they do."""
        graph, degree, hubs = self.graph, self.graph.degree, self.hubs
        rank = np.arange(graph.ranks, dtype=np.int64)
        root_of_block = np.full(graph.groups, -1, dtype=np.int64)
        root_of_block[self.roots // degree] = self.roots
        silent = np.zeros(graph.ranks, dtype=np.bool_)
        silent[self.roots] = silent[self.idle] = True
        rising = rank[~silent]
        yield 0, rising, root_of_block[rising % graph.groups], Op.REDUCE
        relays = self.groups[:, None] * degree + self.window
        group_of = np.full(graph.ranks, -1, dtype=np.int64)
        group_of[relays] = self.groups[:, None]
        each = len(self.window)
        yield 0, np.repeat(self.idle, each), relays.reshape(-1), Op.COPY
        summed = relays[self.of_root].reshape(-1)
        yield 1, np.repeat(self.roots, each), summed, Op.REDUCE
        mine, place = group_of[hubs], hubs // degree % degree
        source = int(self.groups[-1])
        yield 1, (source * degree + place)[mine < 0], hubs[mine < 0], Op.COPY
        # A hub that is a relay has the sum of its own group, and no source yet.
        lacks = mine != self.groups[:, None]
        lacks[-1] &= mine >= 0
        heads = self.groups[:, None] * degree + place
        yield 2, heads[lacks], np.broadcast_to(hubs, lacks.shape)[lacks], Op.REDUCE
        hub_of_block = np.zeros(graph.groups, dtype=np.int64)
        hub_of_block[hubs % graph.groups] = hubs
        waits = np.ones(graph.ranks, dtype=np.bool_)
        waits[hubs] = False
        others = rank[waits]
        yield 3, hub_of_block[others // degree], others, Op.COPY


@functools.lru_cache(maxsize=4)
def relay_parts(graph: DeBruijn) -> tuple[RelayPart, ...]:
    """Return parts in which every rank is a hub, and every group a base, in turn.

    Which tails are idle is chosen part after part so that arcs are loaded evenly, by
    the squares of what they carry in each round.
    """
    degree, folds = graph.degree, graph.groups // graph.degree
    windows = degree // folds
    turns = windows * -(-_LEAST_PARTS // (folds * windows**2))
    load = np.zeros((_ROUNDS, graph.ranks, degree), dtype=np.int64)
    parts: list[RelayPart] = []

    def cost(part: RelayPart) -> int:
        return sum(
            int((load[turn, src, dst % degree] ** 2).sum())
            for turn, src, dst, _ in part.moves()
        )

    for residue, window, turn in np.ndindex(folds, windows, turns):
        make = functools.partial(_part, graph, residue, window, turn)
        spared = range(len(parts), len(parts) + degree, -(-degree // _COMPARED))
        idle = min(spared, key=lambda idle: cost(make(idle, 0)))
        sources = range(degree - 2 * folds - 1)
        part = min((make(idle, source) for source in sources), key=cost)
        parts.append(part)
        for at, src, dst, _ in part.moves():
            np.add.at(load[at], (src, dst % degree), 1)
    return tuple(parts)


def _part(
    graph: DeBruijn, residue: int, window: int, turn: int, idle: int, source: int
) -> RelayPart:
    """Return a part whose groups are `residue` modulo q.

    Its relays are in a `window` of q places among the heads of groups. Groups take
    `turn`s as base and extra, and their tails as the `idle` one; of all that are
    neither, `source` says which is that of the source.
    """
    degree, groups = graph.degree, graph.groups
    folds = groups // degree
    chosen: list[int] = []
    idles: list[int] = []
    roots: list[IntArray] = []
    unused: list[int] = []
    for place in range(folds):
        # Relays are tails of groups themselves: these have no roots.
        free = [
            degree * place + folds * step + residue
            for step in range(degree // folds)
            if not (place == residue and step == window)
        ]
        shift = (turn + window) % len(free)
        base, extra, *rest = free[shift:] + free[:shift]
        spared, other = (idle + place) % degree, (idle + place + 1) % degree
        tails = graph.tails(base)
        chosen += [base, extra]
        idles += [base + groups * spared, extra + groups * other]
        roots += [tails[np.arange(degree) != spared], tails[spared : spared + 1]]
        roots[-1] = roots[-1] - base + extra
        unused += rest
    last = unused[source]
    lengths = [len(of_group) for of_group in roots]
    return RelayPart(
        graph,
        groups=np.array([*chosen, last], dtype=np.int64),
        idle=np.array([*idles, last + groups * (idle % degree)], dtype=np.int64),
        roots=np.concatenate(roots),
        of_root=np.repeat(np.arange(len(chosen)), lengths),
        window=window * folds + np.arange(folds, dtype=np.int64),
        hubs=np.arange(groups) + degree * degree * residue + groups * window,
    )


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


class OverlappingSubspaces(
    CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True
):
    """Two rounds of exchange among n = 2^(2 a - 1) ranks: 8, 32, 128, ...

    As vectors of bits, let U be the span of the first a bits and V that of the last
    a: both have the bit z. A rank has circuits to those that differ by an element of U
    or V. An exchange in U and one in a complement of z in V, in any order, sum up all
    ranks, and so do V and a complement of z in U. There are 2^(a - 1) complements, in
    which every other element of V (or U) is as often as another. A part of the buffer
    for each of them, and for each order, loads the ports of all but z evenly in both
    rounds.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per part."""
        del ports
        return 1 if ranks == 1 else len(subspace_parts(_bits(ranks)))

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the two rounds, of some 2^a rows for each rank and part."""
        del ports
        parts = subspace_parts(_bits(collective.rank_count))
        differences = np.unique(np.concatenate([whole for whole, _ in parts]))
        cut = Partition(len(parts), collective.chunk_count)
        rank = np.arange(collective.rank_count, dtype=np.int64)[:, None]
        made = []
        for turn in range(2):
            peers = np.concatenate([part[turn] for part in parts])
            lengths = [len(part[turn]) for part in parts]
            number = np.repeat(np.arange(len(parts), dtype=np.int64), lengths)
            port = np.searchsorted(differences, peers)
            one = cut.round(rank, rank ^ peers, number, 1, port=port, op=Op.REDUCE)
            made += [] if one is None else [one]
        return made


def overlapping_bits(ranks: int) -> int | None:
    """Return the a with n = 2^(2 a - 1), at least 2, if there is one."""
    bits = ranks.bit_length()
    return (
        bits // 2 if ranks == 1 << (bits - 1) and bits >= 4 and not bits % 2 else None
    )


def subspace_parts(bits: int) -> list[tuple[IntArray, IntArray]]:
    """Return what ranks exchange with in the first round and in the second, by part."""
    size = 1 << (bits - 1)
    shared = size
    low, high = np.arange(size), np.arange(size) << bits
    parts = []
    for rest, complemented in ((low, high), (high, low)):
        whole = np.concatenate([rest, rest | shared])[1:]
        for weights in range(size):
            parity = np.bitwise_count(np.arange(size) & weights) % 2
            complement = (complemented | parity.astype(np.int64) * shared)[1:]
            parts += [(whole, complement), (complement, whole)]
    return parts


def _bits(ranks: int) -> int:
    """Return the bits of each subspace.

    Raises `InputError` if so many ranks have no such subspaces.
    """
    bits = overlapping_bits(ranks)
    if bits is None:
        raise InputError(
            f"{ranks} ranks have no subspaces that overlap",
            where="algorithm",
            found=ranks,
            allowed="2^(2 a - 1) ranks, a at least 2: 8, 32, 128, ...",
        )
    return bits


class PartMoves(NamedTuple):
    """What moves in a round: source, destination and part of each row."""

    src: IntArray
    dst: IntArray
    part: IntArray
    op: Op

    @classmethod
    def of(cls, src: IntArray, dst: IntArray, part: int, op: Op) -> PartMoves:
        """Return moves of one part."""
        return cls(src, dst, np.full(len(src), part, dtype=np.int64), op)


def round_of(
    graph: DeBruijn, moves: Sequence[PartMoves], cut: Partition
) -> Round | None:
    """Return moves as one round; consecutive parts of a pair in one row."""
    rounds: list[Round | None] = []
    for op in (Op.COPY, Op.REDUCE):
        columns = [(one.src, one.dst, one.part) for one in moves if one.op == op]
        if not columns:
            continue
        src, dst, part = (np.concatenate(c) for c in zip(*columns, strict=True))
        order = np.lexsort((part, dst, src))
        src, dst, part = src[order], dst[order], part[order]
        same = (src[1:] == src[:-1]) & (dst[1:] == dst[:-1])
        same &= part[1:] == part[:-1] + 1
        first = np.flatnonzero(np.concatenate([[True], ~same])[: len(src)])
        length = np.diff(first, append=len(src))
        port = graph.ports(src[first], dst[first])
        src, dst, part = src[first], dst[first], part[first]
        if len(src):
            rounds.append(cut.round(src, dst, part, length, port=port, op=op))
    return merged(rounds)


_MOST_HUB_DEGREES = 3


def _hub_sums(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose De Bruijn digraphs of least diameter on just these ranks.

    The largest few degrees; the largest of all where there is none.
    """
    if not setting.circuits:
        return
    ranks, most = setting.ranks, max(1, min(setting.ports, setting.ranks))
    rounds, reached = 1, most
    while reached < ranks and most > 1:
        rounds, reached = rounds + 1, reached * most
    exact = [
        degree
        for degree in range(most, 1, -1)
        if not ranks % degree ** (rounds - 1) and ranks <= degree**rounds
    ]
    for degree in exact[:_MOST_HUB_DEGREES] or [max(2, most)]:
        yield {"degree": degree}


def _hub_relays(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the most ports; with fewer ranks hub sums take three rounds anyway."""
    if setting.circuits and setting.ranks > setting.ports**2:
        for degree in range(setting.ports, 1, -1):
            if relays_fit(setting.ranks, degree):
                yield {"degree": degree}
                return


def _section_sums(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose all ports, where they are fewer than peers."""
    ranks, ports = setting.ranks, setting.ports
    fewer = setting.circuits and ports < ranks - 1
    if fewer and section_shape(ranks, ports) is not None:
        yield {"degree": ports}


def _subspaces(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose it where ports suffice for both subspaces."""
    bits = overlapping_bits(setting.ranks)
    if bits is not None and 2 ** (bits + 1) - 3 <= setting.ports:
        yield {}


ALGORITHM = (
    AlgorithmEntry(
        name="hub-sums",
        summary="all-reduce in 2 D - 1 rounds on one configuration of diameter D",
        ops=HubSums.ops,
        make=HubSums,
        proposals=_hub_sums,
    ),
    AlgorithmEntry(
        name="hub-relays",
        summary="all-reduce in 4 rounds on one configuration of diameter 3",
        ops=HubRelays.ops,
        make=HubRelays,
        proposals=_hub_relays,
    ),
    AlgorithmEntry(
        name="section-sums",
        summary="all-reduce in 3 rounds on one configuration: 1,071 ranks of 16 ports",
        ops=SectionSums.ops,
        make=SectionSums,
        proposals=_section_sums,
    ),
    AlgorithmEntry(
        name="overlapping-subspaces",
        summary="all-reduce in two rounds on 8, 32, 128, ... ranks, ports even",
        ops=OverlappingSubspaces.ops,
        make=OverlappingSubspaces,
        proposals=_subspaces,
    ),
)
