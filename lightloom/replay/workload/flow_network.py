"""Networks whose links flows share: data that drain at fair shares, in exact integers.

A flow is served at its max-min fair share rounded down to a whole bit per second, and
ends at the picosecond after its last bit. What it is served is counted in bits times
10**12, so that a rate times a number of picoseconds is exact.

Flows of a pair have the same share at all times. So it is counted once for the pair how
much a flow of it would have been served from the beginning: a flow ends when this count
has gone up by the flow's size, and who has least to go ends first.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.replay.workload.collective_flows import RingCollectives
from lightloom.replay.workload.fair_shares import UNITS_PER_BIT_PER_S, FairShares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.replay.timeline import Reconfiguration
    from lightloom.replay.workload.collective_flows import CollectiveModel
    from lightloom.replay.workload.fair_shares import Path
    from lightloom.replay.workload.network import Jobs


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
