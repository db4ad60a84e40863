"""Networks that share out links among flows; what links there are, others say."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.replay.workload.flows import Flows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.columns import IntArray
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
