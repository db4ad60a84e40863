"""Networks whose links flows share: data that drain at fair shares, in exact integers.

A flow is served at its max-min fair share rounded down to a whole bit per second, and
ends at the picosecond after its last bit. What it is served is counted in bits times
10**12, so that a rate times a number of picoseconds is exact.

Flows of a pair have the same share at all times. So it is counted once for the pair how
much a flow of it would have been served from the beginning: a flow ends when this count
has gone up by the flow's size, and who has least to go ends first.

Max-min fair shares of links, exact, kept up to date as flows come and go.

A flow crosses links, each some number of times. Shares are max-min fair iff every flow
has a *bottleneck*: a link that is full and on which no flow has a greater share. There
is one such allocation in the rationals, so it may be computed from wherever a change
begins, and flows that cross the same links, those of a *pair*, have the same share.
Pairs on changed links are shared out anew and others held as they are; then whoever has
lost its bottleneck joins in, and so does whoever has more of a full link than a flow
that stops there, until nobody does.

Shares are counted in a unit so small that almost all are whole numbers; the others are
fractions. Nothing is rounded here.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.replay.workload.network import RingCollectives

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.replay.timeline import Reconfiguration
    from lightloom.replay.workload.network import CollectiveModel, Jobs


@dataclass(frozen=True, eq=False)
class FlowTable:
    """The flows of all jobs; those of a job lie together, jobs in order.

    `pair`: row of each flow's pair in `pair_src` and `pair_dst`. `job`: the job that
    each flow belongs to. `first`: first flow of each job, and at the end the number of
    flows. `delay_ps`: what each job waits before its flows begin.
    """

    pair: IntArray
    bytes: IntArray
    job: IntArray
    first: IntArray
    delay_ps: list[int]
    pair_src: IntArray
    pair_dst: IntArray


def flow_table(
    jobs: Jobs, node_count: int, delay_ps: int, collectives: CollectiveModel
) -> FlowTable:
    """Return the flows of jobs; a transfer is one flow after `delay_ps`.

    `delay_ps`: what passes before the bytes of a transfer move: alpha and the latency
    of switches.

    Raises `InputError`: more devices than nodes; an operation that `collectives` does
    not know.
    """
    if jobs.device_count > node_count:
        what, allowed = "more devices than nodes", f"1 to {node_count}"
        where, found = "iteration.device_count", jobs.device_count
        raise InputError(what, where=where, found=found, allowed=allowed)
    rows = jobs.collectives
    grouped = [
        collectives.flows(rows.op[row], rows.devices[row], int(rows.bytes[row]))
        for row in range(len(rows))
    ]
    lengths = [1] * len(jobs.src) + [len(each.src) for each in grouped]
    first = np.zeros(len(jobs) + 1, dtype=np.int64)
    np.cumsum(lengths, out=first[1:])
    src = np.concatenate([jobs.src, *(each.src for each in grouped)])
    dst = np.concatenate([jobs.dst, *(each.dst for each in grouped)])
    pairs, pair = np.unique(src * node_count + dst, return_inverse=True)
    return FlowTable(
        pair=pair,
        bytes=np.concatenate([jobs.bytes, *(each.bytes for each in grouped)]),
        job=np.repeat(np.arange(len(jobs), dtype=np.int64), lengths),
        first=first,
        delay_ps=[delay_ps] * len(jobs.src) + [each.delay_ps for each in grouped],
        pair_src=pairs // node_count,
        pair_dst=pairs % node_count,
    )


class FlowNetwork:
    """Links that flows share max-min fairly; see `Network` for what it promises.

    `paths`: path of each pair of the table. `bits_per_s`: rate of every link at the
    start.
    """

    def __init__(
        self,
        jobs: Jobs,
        table: FlowTable,
        paths: list[Path],
        bits_per_s: Mapping[int, int],
    ) -> None:
        self.start_ps: dict[int, int] = {}
        self._jobs = jobs
        self._paths = paths
        self._pair, self._bytes = table.pair.tolist(), table.bytes.tolist()
        self._job, self._first = table.job.tolist(), table.first.tolist()
        self._delay = table.delay_ps
        self._flows = Flows(paths)
        self._flows.update(0, {}, bits_per_s)
        self._waiting: list[tuple[int, int]] = []
        self._unfinished: dict[int, int] = {}

    def release(self, now_ps: int, jobs: list[int]) -> None:
        """Take in jobs whose data are there."""
        for job in jobs:
            self.start_ps[job] = now_ps
            heapq.heappush(self._waiting, (now_ps + self._delay[job], job))

    def next_ps(self) -> int | None:
        """Return when a flow next begins or ends."""
        times = [self._flows.next_ps(), self._waiting[0][0] if self._waiting else None]
        return min((time for time in times if time is not None), default=None)

    def advance(self, now_ps: int) -> list[int]:
        """Move on to now; return the jobs that ended."""
        return self.move(now_ps, {})

    def move(self, now_ps: int, bits_per_s: Mapping[int, int]) -> list[int]:
        """Move on to now, change rates of links, return the jobs that ended.

        `now_ps`: time in picoseconds, at most that of the next event.
        """
        done = []
        gone = self._flows.ended(now_ps)
        for flow in gone:
            job = self._job[flow]
            self._unfinished[job] -= 1
            if not self._unfinished[job]:
                del self._unfinished[job]
                done.append(job)
        come: dict[int, tuple[int, int]] = {}
        while self._waiting and self._waiting[0][0] <= now_ps:
            job = heapq.heappop(self._waiting)[1]
            flows = range(self._first[job], self._first[job + 1])
            crossing = [flow for flow in flows if self._paths[self._pair[flow]]]
            for flow in crossing:
                come[flow] = self._pair[flow], self._bytes[flow]
            if crossing:
                self._unfinished[job] = len(crossing)
            else:
                done.append(job)
        self.arrive(list(come), now_ps)
        if gone or come or bits_per_s:
            self._flows.update(now_ps, come, bits_per_s)
        return sorted(done)

    def arrive(self, flows: list[int], now_ps: int) -> None:
        """Note flows that begin; for those who watch.

        `flows`: numbers of the flows that begin, rows of the flow table.
        """

    @property
    def busy(self) -> bool:
        """Whether flows are under way."""
        return len(self._flows) > 0

    def pair_of(self, flow: int) -> int:
        """Return the pair of a flow, as a row of the table."""
        return int(self._pair[flow])

    def name_of(self, flow: int) -> str:
        """Return a flow in words."""
        return self._jobs.name(self._job[flow])

    def size_bytes(self, flow: int) -> int:
        """Return how many bytes a flow has."""
        return int(self._bytes[flow])

    def left_bytes(self, now_ps: int) -> dict[int, int]:
        """Return what is left of each flow under way, in bytes rounded up."""
        flows = self._flows
        return {flow: flows.left_bytes(flow, now_ps) for flow in flows.underway()}

    @property
    def moving(self) -> bool:
        """Whether data are on the move, not only waiting."""
        return self._flows.moving

    def waiting_for(self) -> str:
        """Say what a flow without rate waits for."""
        return "a link with less than a bit per second for it"

    def stalled(self) -> str:
        """Say what the jobs that never ended wait for."""
        stuck = self._flows.underway()
        if not stuck:
            return "tasks wait for each other"
        return f"{self.name_of(stuck[0])} waits for {self.waiting_for()}"

    def reconfigurations(self) -> tuple[Reconfiguration, ...]:
        """Return none: links are always there."""
        return ()


_PER_BYTE = BITS_PER_BYTE * PS_PER_S
_MOST_STALE = 3
"""Entries of the heap per pair from which it is built anew, without those that no
longer hold: cheaper than to take these out one by one."""


class _Pair:
    """The flows of a pair, and how much one of them would have been served so far."""

    __slots__ = ("order", "rate", "served", "since_ps")

    def __init__(self, now_ps: int) -> None:
        self.order: list[tuple[int, int]] = []
        self.rate = self.served = 0
        self.since_ps = now_ps

    def served_by(self, now_ps: int) -> int:
        """Return how much a flow would have been served from the beginning to now."""
        return self.served + self.rate * (now_ps - self.since_ps)

    def serve(self, rate: int, now_ps: int) -> None:
        """Serve each flow at another rate from now on."""
        self.served = self.served_by(now_ps)
        self.rate, self.since_ps = rate, now_ps

    def next_ps(self) -> int | None:
        """Return when the next flow ends at this rate; ``None`` for never."""
        if not self.order or not self.rate:
            return None
        return self.since_ps + -(-(self.order[0][0] - self.served) // self.rate)


class Flows:
    """Flows under way, each with what is left of it.

    Time only goes forward. A flow on a link without rate waits.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._links = FairShares(paths)
        self._pairs: dict[int, _Pair] = {}
        self._goal: dict[int, tuple[_Pair, int]] = {}
        self._end: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []
        self._changed: set[int] = set()

    def __len__(self) -> int:
        """Return the number of flows that have not ended."""
        return len(self._goal)

    def underway(self) -> list[int]:
        """Return the flows that have not ended, sorted."""
        return sorted(self._goal)

    @property
    def moving(self) -> bool:
        """Whether some flow is served."""
        return any(pair.rate and pair.order for pair in self._pairs.values())

    def left_bytes(self, flow: int, now_ps: int) -> int:
        """Return what is left of a flow, in bytes rounded up.

        `now_ps`: time in picoseconds, not before the last event.
        """
        pair, goal = self._goal[flow]
        return max(0, -(-(goal - pair.served_by(now_ps)) // _PER_BYTE))

    def next_ps(self) -> int | None:
        """Return when the next flow ends, if nothing changes before."""
        heap = self._heap
        while heap and self._end.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def ended(self, now_ps: int) -> list[int]:
        """Remove and return the flows that have ended by now.

        The others take over what these had with the next `update`, which is due
        before time goes on.
        """
        done = []
        while (end := self.next_ps()) is not None and end <= now_ps:
            number = heapq.heappop(self._heap)[1]
            del self._end[number]
            self._changed.add(number)
            pair = self._pairs[number]
            order, served = pair.order, pair.served_by(now_ps)
            while order and order[0][0] <= served:
                flow = heapq.heappop(order)[1]
                del self._goal[flow]
                done.append(flow)
        return done

    def update(
        self,
        now_ps: int,
        come: Mapping[int, tuple[int, int]],
        bits_per_s: Mapping[int, int],
    ) -> None:
        """Let flows begin, links change, and all shares follow.

        `come`: pair and bytes, more than 0, of each new flow; the pair's path is not
        empty.
        """
        touched = [
            link
            for link, rate in bits_per_s.items()
            if self._links.set_capacity(link, rate)
        ]
        pairs, changed = self._pairs, self._changed
        self._changed = set()
        for flow, (number, size_bytes) in come.items():
            if number not in pairs:
                pairs[number] = _Pair(now_ps)
            pair = pairs[number]
            goal = pair.served_by(now_ps) + size_bytes * _PER_BYTE
            self._goal[flow] = pair, goal
            heapq.heappush(pair.order, (goal, flow))
            changed.add(number)
        count = {number: len(pairs[number].order) for number in sorted(changed)}
        shares = self._links.update(count, touched)
        for number, flows in count.items():
            if not flows:
                pairs[number].serve(0, now_ps)
        for number, share in shares.items():
            pair, rate = pairs[number], share // UNITS_PER_BIT_PER_S
            if rate != pair.rate:
                pair.serve(rate, now_ps)
                changed.add(number)
        for number in changed:
            self._foresee(number)
        if len(self._heap) > _MOST_STALE * len(self._end):
            self._heap = [(end, number) for number, end in self._end.items()]
            heapq.heapify(self._heap)

    def _foresee(self, number: int) -> None:
        """Note when the next flow of a pair ends."""
        end = self._pairs[number].next_ps()
        if end is None:
            self._end.pop(number, None)
        elif self._end.get(number) != end:
            self._end[number] = end
            heapq.heappush(self._heap, (end, number))


@dataclass(frozen=True)
class SharedLinks:
    """A packet fabric whose links are shared max-min fairly by all flows.

    A transfer waits alpha and the latency of the switches, and then flows.

    `fabric`: the fabric; device i is node i. `collectives`: how collectives load it; by
    default rings that pay alpha and the latency in each step.
    """

    fabric: PacketFabric
    collectives: CollectiveModel | None = field(default=None)

    def open(self, jobs: Jobs) -> FlowNetwork:
        """Return the network at time 0.

        Raises `InputError`: more devices than nodes; a collective that cannot be
        accounted for.
        """
        fabric = self.fabric
        alpha_ps = fabric.alpha_ps + fabric.latency_ps
        model = self.collectives or RingCollectives(alpha_ps)
        table = flow_table(jobs, fabric.node_count, alpha_ps, model)
        paths, rates = _paths(fabric, table)
        return FlowNetwork(jobs, table, paths, rates)


def _paths(fabric: PacketFabric, table: FlowTable) -> tuple[list[Path], dict[int, int]]:
    """Return the path of each pair, and the rate of every link on a path."""
    usage = fabric.link_usage(table.pair_src, table.pair_dst)
    crossed: list[dict[int, int]] = [{} for _ in range(len(table.pair_src))]
    rows = np.stack([usage.circuit, usage.resource, usage.amount], axis=1).tolist()
    for pair, link, times in rows:
        crossed[pair][link] = crossed[pair].get(link, 0) + times
    links = np.unique(usage.resource)
    rates = fabric.link_bits_per_s(links)
    return (
        [tuple(sorted(links.items())) for links in crossed],
        dict(zip(links.tolist(), rates.tolist(), strict=True)),
    )


Share: TypeAlias = int | Fraction
Path: TypeAlias = tuple[tuple[int, int], ...]
"""The links of a flow, each once, with how many times the flow crosses it."""

_PRIMES_TO_127 = (
    *(23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71),
    *(73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127),
)
UNITS_PER_BIT_PER_S = 232_792_560**6 * prod(_PRIMES_TO_127)
"""Six splits among up to 20 flows, one after another, stay whole numbers, and so do
those among up to 127 that share no large prime: integers of a few words are several
times as fast as fractions."""


class FairShares:
    """Links, the flows on them, and the max-min fair share of each flow.

    `shares` maps pairs that have flows to the share of each flow, in units of
    1 / `UNITS_PER_BIT_PER_S` bit/s. A change costs what lies within its reach: the
    pairs whose shares it touches, and those that share a link with them; how many flows
    a pair has does not matter.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.shares: dict[int, Share] = {}
        self._paths = paths
        self._count: dict[int, int] = {}
        self._crossings: dict[int, Path] = {}
        self._capacity: dict[int, int] = {}
        self._load: dict[int, Share] = {}
        self._on_link: dict[int, set[int]] = {}
        self._bottleneck: dict[int, int] = {}

    def set_capacity(self, link: int, bits_per_s: int) -> bool:
        """Set the rate of a link, new or known; return whether flows may feel it.

        Where it returns true, the link is to be among `touched` of the next `update`.

        `bits_per_s`: its rate from now on, 0 or more.
        """
        capacity = bits_per_s * UNITS_PER_BIT_PER_S
        if link not in self._capacity:
            self._load[link], self._on_link[link] = 0, set()
            self._capacity[link] = capacity
            return False
        changed = self._capacity[link] != capacity
        self._capacity[link] = capacity
        return changed and bool(self._on_link[link])

    def update(
        self, count: Mapping[int, int], touched: Iterable[int] = ()
    ) -> dict[int, Share]:
        """Change numbers of flows, and return the shares that changed.

        `count`: how many flows pairs have from now on, where that has changed; 0 for
        none. Paths of the pairs are not empty, and all their links are known.
        """
        links = set(touched)
        for pair, flows in count.items():
            share, more = self.shares.get(pair, 0), flows - self._count.get(pair, 0)
            if not more:
                continue
            path = self._paths[pair]
            for link, times in path:
                self._load[link] += share * times * more
                if flows:
                    self._on_link[link].add(pair)
                else:
                    self._on_link[link].discard(pair)
                links.add(link)
            if flows:
                self._count[pair], self.shares[pair] = flows, share
                self._crossings[pair] = (
                    path
                    if flows == 1
                    else tuple((link, times * flows) for link, times in path)
                )
                self._bottleneck.setdefault(pair, -1)
            else:
                del self._count[pair], self._crossings[pair]
                del self.shares[pair], self._bottleneck[pair]
        free = {pair for link in links for pair in self._on_link[link]}
        return self._settle(free) if free else {}

    def _settle(self, free: set[int]) -> dict[int, Share]:
        """Share out anew among `free`, and whoever must join them."""
        while True:
            filling = _Filling(self, free)
            joining = filling.held_back(free)
            if not joining:
                break
            free |= joining
        changed = {}
        for pair, share in filling.shares.items():
            self._bottleneck[pair] = filling.bottleneck[pair]
            if share != self.shares[pair]:
                self.shares[pair] = changed[pair] = share
        for link, left in filling.left.items():
            self._load[link] = _whole(self._capacity[link] - left)
        return changed

    # What a filling reads; it changes nothing.

    def crossings(self, pair: int) -> Path:
        """Return the links of a pair, with how often all its flows cross them."""
        return self._crossings[pair]

    def pairs_on(self, link: int) -> set[int]:
        """Return the pairs with flows on a link."""
        return self._on_link[link]

    def spare(self, link: int) -> Share:
        """Return what the flows of a link leave of it.

        Less than nothing where a pair has just been given more of them.
        """
        return self._capacity[link] - self._load[link]

    def bottleneck(self, pair: int) -> int:
        """Return the bottleneck of a pair, -1 for one that has no share yet."""
        return self._bottleneck[pair]


class _Filling:
    """Shares of some pairs, raised together until links are full; others stay."""

    def __init__(self, held: FairShares, free: set[int]) -> None:
        self.shares: dict[int, Share] = {}
        self.bottleneck: dict[int, int] = {}
        self.left: dict[int, Share] = {}
        self._held = held
        self._members: dict[int, list[int]] = {}
        self._weight: dict[int, int] = {}
        left, weight, members = self.left, self._weight, self._members
        shares, crossings = held.shares, held.crossings
        for pair in sorted(free):
            share = shares[pair]
            for link, times in crossings(pair):
                if link not in weight:
                    left[link] = held.spare(link)
                    weight[link], members[link] = 0, []
                if share:
                    left[link] += share * times
                weight[link] += times
                members[link].append(pair)
        self._level: dict[int, Share] = {}
        self._fill()

    def _fill(self) -> None:
        left, weight = self.left, self._weight
        heap = [(_part(left[link], weight[link]), link) for link in weight]
        heapq.heapify(heap)
        while heap:
            level, link = heapq.heappop(heap)
            if not weight[link]:
                continue
            now = _part(left[link], weight[link])
            if now > level:  # flows have stopped elsewhere: there is more for the rest
                heapq.heappush(heap, (now, link))
                continue
            self._level[link] = level
            for pair in self._members[link]:
                if pair in self.shares:
                    continue
                self.shares[pair], self.bottleneck[pair] = level, link
                for crossed, times in self._held.crossings(pair):
                    left[crossed] -= level * times
                    weight[crossed] -= times

    def held_back(self, free: set[int]) -> set[int]:
        """Return the pairs that were held as they are and may not stay so.

        Either someone stops at a link on which they have more, or the link that was
        their bottleneck is none any more.
        """
        joining = set()
        shares, bottleneck = self._held.shares, self._held.bottleneck
        for link, members in self._members.items():
            pairs = self._held.pairs_on(link)
            if len(pairs) == len(members):
                continue
            level = self._level.get(link)
            most = max(self.shares[pair] for pair in members)
            left = self.left[link]
            for pair in pairs - free:
                share = shares[pair]
                if (level is not None and share > level) or (
                    (left or most > share) and bottleneck(pair) == link
                ):
                    joining.add(pair)
        return joining


def _part(whole: Share, parts: int) -> Share:
    """Return the exact quotient, as an integer where it is one."""
    if isinstance(whole, int):
        quotient, rest = divmod(whole, parts)
        return Fraction(whole, parts) if rest else quotient
    return _whole(whole / parts)


def _whole(share: Share) -> Share:
    """Return an integer for a fraction that is one: what is added to it stays fast."""
    if not isinstance(share, int) and share.denominator == 1:
        return share.numerator
    return share
