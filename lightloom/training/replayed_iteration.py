"""Replays of an iteration, its circuits set in one way.

Circuits that follow the bytes of an iteration (SiP-ML, A.2) give to sums of gradients,
which hide behind the backward pass, what tensors need that everyone waits for. By
replaying again and again others are found here: a pair is given circuits for the time
in which its data are, or nearly are, on the critical path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Demand
from lightloom.replay.workload import (
    CallQueue,
    IterationTimeline,
    ScheduledCalls,
    replay_iteration,
)
from lightloom.replay.workload.call_queue import alone
from lightloom.training.call_schedules import calls_demand
from lightloom.training.fabric_networks import (
    circuit_rates,
    controller_time,
    held_network,
    kept_circuits,
    network_for,
)
from lightloom.training.iteration import traffic
from lightloom.training.limits import LIMITS
from lightloom.training.training_plan import ReplayedIteration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.iteration import Iteration
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload import Launch
    from lightloom.replay.workload.call_queue import OpenCallQueue
    from lightloom.replay.workload.network import CollectiveModel, Jobs
    from lightloom.synth.fabrics.training_plug import PlaneCircuits
    from lightloom.training.call_schedules import CallSchedules
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.training_plan import TrainingRequest


def kept_replay(
    iteration: Iteration,
    fabric: AnyFabric,
    collectives: CollectiveModel,
    way: CircuitMode,
    request: TrainingRequest,
) -> ReplayedIteration:
    """Return the replay of an iteration with circuits set in one way.

    `way`: one of `modes`, and not ``per-call``. Where ``critical-path`` finds nothing
    faster than the circuits of ``one-shot``, the replay says ``one-shot``. `request`:
    its period, controller and launch count, and whether circuits are ``auto``: then no
    more is replayed than a fixed amount of work allows.

    Raises `InputError, InfeasibleError, NoAnswerError`: as `network_for`.
    """
    demand = traffic(iteration, collectives)
    stays = way in ("one-shot", "critical-path")
    if stays and demand.src and not isinstance(fabric, PacketFabric):
        refined = way == "critical-path"
        rounds = refining_rounds(request, iteration.task_count) if refined else 0
        timeline, held, other = fastest_held(
            fabric, iteration, collectives, demand, request.launch, rounds
        )
        way = "critical-path" if other else "one-shot"
        return ReplayedIteration(fabric, iteration, way, timeline, demand, held=held)
    if stays:
        way = "one-shot"
    network = network_for(
        *(fabric, demand, collectives, way),
        *(request.period_ps, request.controlled_by),
    )
    timeline = replay_iteration(iteration, network, request.launch)
    return ReplayedIteration(
        *(fabric, iteration, way, timeline, demand), controller=controller_time(network)
    )


class _RecordedQueue:
    """A queue of calls whose record can be asked for once an iteration has ended."""

    opened: OpenCallQueue

    def __init__(self, kind: CallQueue) -> None:
        self._kind = kind

    def open(self, jobs: Jobs) -> OpenCallQueue:
        """Return the queue at time 0, with nothing in it."""
        self.opened = self._kind.open(jobs)
        return self.opened


def called_replay(
    iteration: Iteration,
    schedules: CallSchedules,
    launch: Launch | None,
    every: Callable[[Task], tuple[Task, ...]] = alone,
) -> ReplayedIteration:
    """Return the replay of an iteration with circuits set for each call.

    `every`: what is truly served for a task; see `ScheduledCalls`.

    Raises `InputError, InfeasibleError, NoAnswerError`: a call that is not served.
    """
    calls = ScheduledCalls(schedules.asked(iteration, every), every)
    queue = _RecordedQueue(CallQueue(calls))
    timeline = replay_iteration(iteration, queue, launch)
    served = queue.opened.served
    return ReplayedIteration(
        *(schedules.fabric, iteration, "per-call", timeline, calls_demand(served)),
        calls=served,
    )


def refining_rounds(request: TrainingRequest, tasks: int) -> int:
    """Return how often better circuits are looked for, beyond the first ones.

    `request`: where circuits are ``auto``, no more is replayed than a fixed amount of
    work allows.
    """
    if request.circuits != "auto":
        return LIMITS.rounds
    return min(LIMITS.rounds, LIMITS.auto_tasks // max(1, tasks))


_NEAR = 3
"""How fast what a transfer counts for falls with its slack: by (d / (d + slack))^3 for
a duration of d."""
_SHARES = 10**9
"""What shares of pairs are counted in, as bytes of a demand."""


def fastest_held(
    fabric: CircuitFabric,
    iteration: Iteration,
    collectives: CollectiveModel,
    demand: Demand,
    launch: Launch | None,
    rounds: int = LIMITS.rounds,
) -> tuple[IterationTimeline, PlaneCircuits, bool]:
    """Return the fastest replay over circuits that stay for an iteration.

    Tried are the circuits of the paper's objective, the fabric's coarser ones for it,
    and from the best of these on others, one after another: those for shares halfway
    between the last ones and what the last replay says, in which a pair of n circuits
    on the critical path for a time of a counts sqrt(a n), the optimum where all of its
    transfers are on one path. Deterministic.

    `demand`: bytes of each pair of the iteration. `rounds`: most circuits that are
    tried beyond the first and the coarser ones; 0 for the paper's circuits alone.

    Returns the replay, its circuits, and whether these are others than the paper's.

    Raises `InfeasibleError, NoAnswerError`: there are no circuits for the demand.
    """
    kept = kept_circuits(fabric)
    replays = _HeldReplays(fabric, iteration, collectives, launch)
    held = kept.lasting(fabric, demand)
    first = replays.on(held)
    if not rounds:
        return first, held, False
    best = first, held
    for coarser in kept.coarser(fabric, demand):
        other = replays.on(coarser)
        if other.iteration_ps < best[0].iteration_ps:
            best = other, coarser
    fastest = min(
        chain([best], _refined(replays, demand, *best, rounds)),
        key=lambda one: one[0].iteration_ps,
    )
    return *fastest, fastest[0] is not first


@dataclass(frozen=True, eq=False)
class _HeldReplays:
    """Replays of an iteration, one for each rate that circuits give to its pairs."""

    fabric: CircuitFabric
    iteration: Iteration
    collectives: CollectiveModel
    launch: Launch | None
    known: dict[object, IterationTimeline] = field(default_factory=dict)

    def on(self, held: PlaneCircuits) -> IterationTimeline:
        """Return the replay on some circuits."""
        key = tuple(sorted(circuit_rates(self.fabric, held).items()))
        if key not in self.known:
            network = held_network(self.fabric, held, self.collectives)
            self.known[key] = replay_iteration(self.iteration, network, self.launch)
        return self.known[key]


def _refined(
    replays: _HeldReplays,
    demand: Demand,
    timeline: IterationTimeline,
    held: PlaneCircuits,
    rounds: int,
) -> Iterator[tuple[IterationTimeline, PlaneCircuits]]:
    """Yield replays on circuits for what the replay before waited for."""
    fabric, kept = replays.fabric, kept_circuits(replays.fabric)
    moves = _moves(replays.iteration, replays.collectives, demand)
    rates = _rates(fabric, held, demand)
    shares = rates / rates.sum()
    stale = 0
    for _ in range(rounds):
        wanted = np.sqrt(moves.critical_ps(replays.iteration, timeline) * rates)
        if stale == LIMITS.stale or not wanted.any():
            return
        shares = (shares + wanted / wanted.sum()) / 2
        sizes = np.maximum(1, np.rint(shares * _SHARES)).astype(np.int64).tolist()
        wanted_bytes = Demand(demand.src, demand.dst, tuple(sizes))
        try:
            held = kept.lasting(fabric, wanted_bytes)
        except (InfeasibleError, NoAnswerError):
            return
        rates, before = _rates(fabric, held, demand), len(replays.known)
        timeline = replays.on(held)
        stale = stale + 1 if len(replays.known) == before else 0
        yield timeline, held


def slacks(iteration: Iteration, timeline: IterationTimeline) -> IntArray:
    """Return by how much each job could be longer without delaying the end.

    A job is a transfer between devices, in the order of the dependencies, or a
    collective, behind them. Everything else lasts as long as it did, and operations of
    a device keep their order. O(n) for n tasks and dependencies, as a rule.
    """
    links, operations = iteration.dependencies, iteration.operations
    one, other = timeline.operations, timeline.collectives
    start = np.concatenate([one.start_ps, other.start_ps])
    end = np.concatenate([one.end_ps, other.end_ps])
    ran = np.flatnonzero(operations.duration_ps > 0)
    ran = ran[np.lexsort((start[ran], operations.device[ran]))]
    next_one = operations.device[ran[1:]] == operations.device[ran[:-1]]
    src = np.concatenate([links.src, ran[:-1][next_one]])
    dst = np.concatenate([links.dst, ran[1:][next_one]])
    arrival = np.concatenate([timeline.transfers.end_ps, end[ran[:-1][next_one]]])
    gap = start[dst] - arrival
    left = (timeline.iteration_ps - end).tolist()
    order = np.argsort(-end[src], kind="stable")
    rows = np.stack([src[order], dst[order], gap[order]], axis=1).tolist()
    changed = True
    while changed:  # what takes no time may stand in any order: once more
        changed = False
        for before, after, more in rows:
            if left[after] + more < left[before]:
                left[before], changed = left[after] + more, True
    slack = np.array(left, dtype=np.int64)
    moving = np.flatnonzero(iteration.is_transfer)
    of_transfers = slack[links.dst[moving]] + gap[moving]
    return np.concatenate([of_transfers, slack[len(operations) :]])


@dataclass(frozen=True, eq=False)
class _Moves:
    """Jobs that load pairs, a row for each job and pair of it.

    `job`, `pair`: of each row: the job as in `slacks`, and the row of the demand.
    """

    job: IntArray
    pair: IntArray
    pairs: int

    def critical_ps(
        self, iteration: Iteration, timeline: IterationTimeline
    ) -> FloatArray:
        """Return for how long each pair is critical, or nearly so."""
        moving = np.flatnonzero(iteration.is_transfer)
        one, other = timeline.transfers, timeline.collectives
        of_transfers = (one.end_ps - one.start_ps)[moving]
        lasts = np.concatenate([of_transfers, other.end_ps - other.start_ps])
        slack = slacks(iteration, timeline)
        near = lasts * (lasts / np.maximum(1, lasts + slack)) ** _NEAR
        time_ps = np.zeros(self.pairs)
        np.add.at(time_ps, self.pair, near[self.job])
        return time_ps


def _moves(
    iteration: Iteration, collectives: CollectiveModel, demand: Demand
) -> _Moves:
    """Return which job loads which pair of the demand."""
    links, device = iteration.dependencies, iteration.operations.device
    moving = np.flatnonzero(iteration.is_transfer)
    ends = [np.stack([device[links.src[moving]], device[links.dst[moving]]])]
    jobs = [np.arange(len(moving))]
    table = iteration.collectives
    for row, op in enumerate(table.op):
        flows = collectives.flows(op, table.devices[row], int(table.bytes[row]))
        ends.append(np.stack([flows.src, flows.dst]))
        jobs.append(np.full(len(flows.src), len(moving) + row))
    src, dst = np.concatenate(ends, axis=1)
    count = 1 + max(chain(demand.src, demand.dst, (0,)))
    pairs_of_demand = np.array(demand.src) * count + np.array(demand.dst)
    order = np.argsort(pairs_of_demand)
    pair = order[np.searchsorted(pairs_of_demand[order], src * count + dst)]
    return _Moves(np.concatenate(jobs), pair, len(pairs_of_demand))


def _rates(fabric: CircuitFabric, held: PlaneCircuits, demand: Demand) -> FloatArray:
    """Return the rate of each pair of a demand."""
    rates = circuit_rates(fabric, held)
    ends = zip(demand.src, demand.dst, strict=True)
    keys = [src * fabric.node_count + dst for src, dst in ends]
    return np.array([rates.get(key, 0) for key in keys], dtype=np.float64)
