"""What is known of a strategy before it is replayed: bounds, and an estimate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps
from lightloom.instances.computation_table import computation_graph
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.replay.workload import Launch
from lightloom.training.call_schedules import call_layout, few_replicas
from lightloom.training.fabric_networks import (
    circuit_rates,
    estimated_circuits,
    ports_of,
)
from lightloom.training.iteration import pair_demand, twin_sums
from lightloom.training.node_layout import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.computation import ComputationGraph, Split
    from lightloom.core.task import Demand
    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.node_layout import NodeLayout
    from lightloom.training.replica import Passes, PlacedReplicas, Replica
    from lightloom.training.strategy import Strategy
    from lightloom.training.training_plan import TrainingRequest, Tried

_CALL_ROUNDS = 4
"""Rounds of a sum that estimates reckon with where circuits are set for it."""
_LESS = 1 - 1e-12
"""Far more than what doubles lose when bytes are divided by a rate."""
_TWIN = -1
"""In place of a device: its copies in other replicas."""


@dataclass(frozen=True, eq=False)
class Prospects:
    """Bounds and estimates of strategies on one fabric.

    `fabric`: the fabric, with the times of its controller. `ways`: how circuits may be
    set. `least`: what no iteration of the training is below, on any fabric.
    """

    fabric: AnyFabric
    request: TrainingRequest
    ways: tuple[CircuitMode, ...]
    replicas: PlacedReplicas
    least: IterationBounds

    def bounds(self, tried: Tried) -> dict[CircuitMode, int]:
        """Return what no iteration is below, by the ways that can be run."""
        bounds: dict[CircuitMode, int] = {}
        fabric = self.fabric
        for way in self.ways:
            called = way == "per-call"
            try:
                replica, laid = self.run(tried.strategy, way)
            except (InfeasibleError, NoAnswerError):
                continue
            alpha_ps = fabric.alpha_ps if called else step_ps(fabric)
            bound_ps = self.least.nodes_ps(
                replica, laid, fabric.node_bits_per_s, alpha_ps, rings=not called
            )
            bounds[way] = max(bound_ps, tried.bound_ps)
        return bounds

    def by_links(
        self,
        tried: Tried,
        bounds: dict[CircuitMode, int],
        rules_out: Callable[[Tried], bool],
    ) -> dict[CircuitMode, int]:
        """Return bounds that know the links of a packet network, where they matter.

        `rules_out`: whether a strategy of this bound is no faster than a replay so far.
        """
        if not isinstance(self.fabric, PacketFabric) or "per-call" in bounds:
            return bounds
        raised = dict(bounds)
        for way, bound_ps in bounds.items():
            replica, laid = self.run(tried.strategy, way)
            for coarsely in (True, False):
                if rules_out(replace(tried, bound_ps=raised[way])):
                    break
                links_ps = self.least.links_ps(replica, laid, coarsely=coarsely)
                raised[way] = max(bound_ps, links_ps)
        return raised

    def estimated(self, tried: Tried) -> Tried:
        """Return a strategy with its least estimate, or why it cannot be run."""
        estimates, why = [], ""
        for way in self.ways:
            try:
                estimates.append(self._estimate_ps(tried.strategy, way))
            except (InfeasibleError, NoAnswerError) as problem:
                why = why or str(problem)
        if not estimates:
            return replace(tried, why=why)
        return replace(tried, estimate_ps=round(min(estimates)))

    def run(self, strategy: Strategy, way: CircuitMode) -> tuple[Replica, NodeLayout]:
        """Return the placed replica of a strategy, and where its copies are.

        `way`: how circuits are set; where they are set for each call, any two nodes can
        be joined.

        Raises `InputError, InfeasibleError`: it cannot be placed, see
        `PlacedReplicas.replica` and `layout`.
        """
        fabric, request = self.fabric, self.request
        if way == "per-call":
            replica = self.replicas.replica(strategy, None)
            return replica, call_layout(fabric, strategy, request.nodes)
        replica = self.replicas.replica(strategy, ports_of(fabric))
        return replica, layout(fabric, strategy, request.nodes, whole=request.whole)

    def _estimate_ps(self, strategy: Strategy, way: CircuitMode) -> float:
        """Return about how long an iteration takes with circuits set in one way."""
        fabric = self.fabric
        replica, laid = self.run(strategy, way)
        computing_ps = self.least.computing_ps(replica.passes)
        if way == "per-call":
            alike = few_replicas(laid, whole=False)
            ideal = IdealSwitch(
                nodes=fabric.node_count,
                bits_per_second_per_node=max(1, fabric.node_bits_per_s),
                alpha_ps=step_ps(fabric),
            )
            traffic = _Traffic(replica.passes, alike)
            return traffic.iteration_ps(
                computing_ps, _LinkLoads(ideal, None), rounds=_CALL_ROUNDS
            )
        traffic = _Traffic(replica.passes, laid)
        held = estimated_circuits(laid.fabric, traffic.demand())
        return traffic.iteration_ps(computing_ps, _LinkLoads(laid.fabric, held))


@dataclass(eq=False)
class IterationBounds:
    """Lower bounds on the time of an iteration of a training.

    Of a strategy, whatever its placement: every path of operations takes the fastest
    part of each, forward and backward, and the launch of both. The devices of a replica
    together do at least the least work of any cut. And all of l replicas together
    receive 2 (l - 1) times the gradients: to sum a byte of l replicas takes l - 1
    arrivals, and its sum arrives at l - 1; some node receives its share or more. The
    bound is the largest of the three.

    Of a placed replica: no pass begins before the longest path that leads to it, each
    pass and transfer on it as fast as can be. What a device has to compute, or a link
    to carry, after some time takes as long as its work does, and then comes the
    shortest path that is left: the one-machine bound of shop scheduling (Carlier 1982),
    without its order of jobs. This holds in whatever order operations run and however
    links are shared. A node is a link for all that it receives. The replicas of a sum
    over l copies of S bytes receive 2 (l - 1) S together, and those of a device as much
    on average.

    `launch`: what operations cost beside their durations.
    """

    training: Training
    launch: Launch = field(default_factory=Launch)
    _models: dict[int, _Model] = field(default_factory=dict)
    _by_power: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _paths: dict[tuple[Passes, int, int], _Paths] = field(default_factory=dict)
    _nodes: dict[tuple[object, ...], int] = field(default_factory=dict)

    def strategy_ps(self, strategy: Strategy, node_bits_per_s: int) -> int:
        """Return a time that no iteration of a strategy is below."""
        # Costs lie between those of the powers of two around the number of parts.
        power = 1 << (strategy.model_parallel - 1).bit_length()
        local = strategy.local_batch
        model = self._model(local)
        if (power, local) not in self._by_power:
            self._by_power[power, local] = model.path_and_work(power, self.launch)
        path, work = self._by_power[power, local]
        computing = max(path, -(-work // strategy.model_parallel))
        moved = 2 * (strategy.replicas - 1) * model.gradient_bytes
        share = -(-moved // strategy.devices)
        arriving = transmission_ps(share, node_bits_per_s) if moved else 0
        return max(computing, arriving)

    def nodes_ps(
        self,
        replica: Replica,
        laid: NodeLayout,
        bits_per_s: int,
        alpha_ps: int,
        *,
        rings: bool,
    ) -> int:
        """Return a bound that knows of a fabric what a node receives, and alpha.

        `alpha_ps`: least fixed cost of a transfer, and of each step of a collective.
        `rings`: whether collectives are rings; else little is known of them.
        """
        copies = laid.rings if rings else laid.replicas
        key = replica, copies, bits_per_s, alpha_ps, rings
        if key not in self._nodes:
            paths = self._timed(replica.passes, bits_per_s, alpha_ps)
            arrivals = paths.arrivals(laid, rings=rings)
            took = _took_ps(arrivals.bytes, bits_per_s)
            self._nodes[key] = max(
                paths.longest_ps,
                paths.busiest_device_ps,
                _busiest_ps(arrivals.dst, arrivals.head, took, arrivals.tail),
            )
        return self._nodes[key]

    def links_ps(self, replica: Replica, laid: NodeLayout, *, coarsely: bool) -> int:
        """Return a bound by the links of a packet network, with rings of twins.

        `coarsely`: whether all that a device sends to another is taken to be there when
        the first of it is: less work, and a bound that is no more.
        """
        fabric = laid.fabric
        assert isinstance(fabric, PacketFabric)
        alpha_ps = fabric.alpha_ps + fabric.latency_ps
        paths = self._timed(replica.passes, fabric.node_bits_per_s, alpha_ps)
        rows = paths.arrivals(laid, rings=True)
        if coarsely:
            rows = rows.by_pair()
        if not len(rows.bytes):
            return 0
        nodes = np.array(laid.nodes, dtype=np.int64)
        twin = rows.src == _TWIN
        before = np.where(twin, np.roll(nodes, 1, axis=0)[:, rows.dst], 0)
        src = np.where(twin, before, nodes[:, np.where(twin, 0, rows.src)])
        usage = fabric.link_usage(src.ravel(), nodes[:, rows.dst].ravel())
        row = usage.circuit % len(rows.bytes)
        took = _took_ps(rows.bytes[row], fabric.link_bits_per_s(usage.resource))
        return _busiest_ps(usage.resource, rows.head[row], took, rows.tail[row])

    def computing_ps(self, passes: Passes) -> int:
        """Return the time of all levels, each as long as its busiest device takes.

        No bound: levels need not wait for each other. Estimates begin with it.
        """
        lasts = passes.lasts_ps(self.launch).reshape(2, -1).sum(axis=0)
        level = passes.level[: passes.parts]
        busy = np.zeros((int(level.max()) + 1, passes.devices), dtype=np.int64)
        np.add.at(busy, (level, passes.device[: passes.parts]), lasts)
        return int(busy.max(axis=1).sum())

    def _timed(self, passes: Passes, bits_per_s: int, alpha_ps: int) -> _Paths:
        key = passes, bits_per_s, alpha_ps
        if key not in self._paths:
            lasts = passes.lasts_ps(self.launch)
            self._paths[key] = _Paths(passes, lasts, bits_per_s, alpha_ps)
        return self._paths[key]

    def _model(self, local: int) -> _Model:
        if local not in self._models:
            resized = msgspec.structs.replace(self.training, batch_size=local)
            self._models[local] = _Model(computation_graph(resized))
        return self._models[local]


class _Model:
    """A computation graph, its operations by what they cost."""

    def __init__(self, graph: ComputationGraph) -> None:
        kinds: dict[tuple[Split, ...], int] = {}
        self._kind = [kinds.setdefault(one.splits, len(kinds)) for one in graph.ops]
        self._kinds = tuple(kinds)
        heard: list[list[int]] = [[] for _ in graph.ops]
        for src, dst in zip(graph.src, graph.dst, strict=True):
            heard[dst].append(src)
        rows = TopologicalSorter(dict(enumerate(heard))).static_order()
        self._order = [(row, heard[row]) for row in rows]
        self.gradient_bytes = sum(one.gradient_bytes for one in graph.ops)

    def path_and_work(self, most: int, launch: Launch) -> tuple[int, int]:
        """Return the longest path and the work, in at most so many parts each."""
        least = [_least(splits, most, launch) for splits in self._kinds]
        done = [0] * len(self._kind)
        for row, heard in self._order:
            before = max((done[src] for src in heard), default=0)
            done[row] = before + least[self._kind[row]][0]
        return max(done, default=0), sum(least[kind][1] for kind in self._kind)


def _least(splits: tuple[Split, ...], most: int, launch: Launch) -> tuple[int, int]:
    """Return the fastest part, and the least work of all parts together.

    Between two entries of a table a cost is linear in the share of a part, and
    the work linear in the number of parts: the least is at an end.
    """
    fastest, least = [], []
    for split in splits:
        last = min(most, split.most_parts)
        for parts in {*split.parts, last}:
            if not split.fewest_parts <= parts <= last:
                continue
            times = split.forward_time_ps(parts), split.backward_time_ps(parts)
            lasts = [
                launch.latency_ps + max(time, launch.minimum_ps)
                for time in times
                if time
            ]
            fastest.append(sum(lasts))
            launched = len(lasts) * launch.latency_ps
            least.append(parts * (launched + sum(times)))
    return min(fastest, default=0), min(least, default=0)


@dataclass(frozen=True, eq=False)
class _Arrivals:
    """Bytes that some devices of a replica receive, of shape (rows,) each.

    `src` is `_TWIN` where they come from copies of the device in other replicas, and
    `dst` receives so much on average over these. Nothing moves before `head`, and
    `tail` follows the arrival.
    """

    src: IntArray
    dst: IntArray
    bytes: IntArray
    head: IntArray
    tail: IntArray

    def by_pair(self) -> _Arrivals:
        """Return what each device receives from each other as a row each."""
        ends = np.stack([self.src, self.dst])
        (src, dst), of = np.unique(ends, axis=1, return_inverse=True)
        size = np.zeros(len(src), dtype=np.int64)
        head, tail = np.full((2, len(src)), np.iinfo(np.int64).max)
        np.add.at(size, of, self.bytes)
        np.minimum.at(head, of, self.head)
        np.minimum.at(tail, of, self.tail)
        return _Arrivals(src, dst, size, head, tail)


class _Paths:
    """The longest paths through passes, as fast as a rate and alpha let them be.

    `head`, `tail`: the longest paths that lead to each pass, and from it, without it.
    """

    def __init__(
        self, passes: Passes, lasts: IntArray, bits_per_s: int, alpha_ps: int
    ) -> None:
        self._passes, self._lasts, self._alpha_ps = passes, lasts, alpha_ps
        src, dst, level = passes.src, passes.dst, passes.level
        took = alpha_ps + _took_ps(passes.bytes, bits_per_s)
        took = np.where(passes.moves, took, 0)
        self.head = _longest(src, dst, lasts[src] + took, level)
        self.tail = _longest(dst, src, lasts[dst] + took, -level)

    @property
    def longest_ps(self) -> int:
        """The longest path."""
        return int((self.head + self._lasts + self.tail).max())

    @property
    def busiest_device_ps(self) -> int:
        """What a device computes, between the paths before and behind it."""
        return _busiest_ps(self._passes.device, self.head, self._lasts, self.tail)

    def arrivals(self, laid: NodeLayout, *, rings: bool) -> _Arrivals:
        """Return the transfers between devices, and what sums of gradients move.

        `rings`: whether sums are rings, also those within a replica; else these are
        left out, and only the first step's alpha is known of the others.
        """
        passes, alpha_ps = self._passes, self._alpha_ps
        moving = np.flatnonzero(passes.moves)
        src, dst = passes.src[moving], passes.dst[moving]
        columns = np.stack(
            [
                passes.device[src],
                passes.device[dst],
                passes.bytes[moving],
                self.head[src] + self._lasts[src] + alpha_ps,
                self._lasts[dst] + self.tail[dst],
            ]
        )
        lengths = [length for length in laid.rings if length > 1]
        # A ring through all replicas sums in as many steps before it moves any bytes.
        steps = 2 * (lengths[0] - 1) if rings and len(lengths) == 1 else 1
        rows = self._sums(laid.replicas, steps * alpha_ps, rings=rings)
        summed = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        return _Arrivals(*np.concatenate([columns, summed], axis=1))

    def _sums(
        self, replicas: int, twins_ps: int, *, rings: bool
    ) -> list[tuple[int, int, int, int, int]]:
        """Return what devices receive of sums, which wait so long before they move."""
        parts = self._passes.parts
        done = self.head[parts:] + self._lasts[parts:]
        rows = []
        for gradient in self._passes.sums:
            ends = {
                device: int(done[own].max()) for device, own in gradient.parts.items()
            }
            last = max(ends.values())
            for device, end in ends.items():
                moved = 2 * (replicas - 1) * gradient.share_bytes(device) // replicas
                ready = (end if gradient.divided else last) + twins_ps
                rows.append((_TWIN, device, moved, ready, 0))
            if gradient.copied and rings:
                moved = 2 * (len(ends) - 1) * gradient.bytes // len(ends)
                ready, (first, *others) = last + self._alpha_ps, ends
                rows += [
                    (*pair, moved, ready, 0)
                    for pair in zip(ends, (*others, first), strict=True)
                ]
        return [row for row in rows if row[2]]


def _longest(src: IntArray, dst: IntArray, cost: IntArray, level: IntArray) -> IntArray:
    """Return the longest path to each row; edges go to higher levels."""
    longest = np.zeros(len(level), dtype=np.int64)
    order = np.argsort(level[dst], kind="stable")
    firsts = np.flatnonzero(np.diff(level[dst][order])) + 1
    for edges in np.split(order, firsts):
        np.maximum.at(longest, dst[edges], longest[src[edges]] + cost[edges])
    return longest


def _took_ps(size_bytes: IntArray, bits_per_s: IntArray | int) -> IntArray:
    """Return a time that bytes at least take, a picosecond or so less than it is."""
    took = np.floor(size_bytes * (BITS_PER_BYTE * PS_PER_S / bits_per_s) * _LESS)
    whole: IntArray = took.astype(np.int64)
    return whole


def _busiest_ps(
    machine: IntArray, head: IntArray, work: IntArray, tail: IntArray
) -> int:
    """Return the one-machine bound of jobs; all columns of shape (jobs,).

    Over all machines and times t: t, the work of the jobs whose heads are t or more,
    and the least of their tails.
    """
    if not len(machine):
        return 0
    order = np.lexsort((head, machine))
    machine, head, work, tail = (each[order] for each in (machine, head, work, tail))
    after = np.append(np.cumsum(work[::-1])[::-1], 0)
    last = np.searchsorted(machine, machine, side="right")
    # Machines are told apart by an offset, so that one minimum runs over all of them.
    place = np.searchsorted(np.unique(machine), machine) * (int(tail.max()) + 1)
    least = np.minimum.accumulate((tail + place)[::-1])[::-1] - place
    return int((head + after[:-1] - after[last] + least).max())


class _Traffic:
    """What replicas send on their nodes: level by level, and to sum gradients."""

    def __init__(self, passes: Passes, laid: NodeLayout) -> None:
        self._laid = laid
        self._level, self._src, self._dst, self._bytes = passes.forward_traffic
        held = np.zeros(passes.devices, dtype=np.int64)
        copied: dict[tuple[int, ...], int] = {}
        for gradient in passes.sums:
            for device in gradient.parts:
                held[device] += gradient.share_bytes(device)
            if gradient.copied:
                devices = tuple(gradient.parts)
                copied[devices] = copied.get(devices, 0) + gradient.bytes
        nodes = np.array(laid.nodes, dtype=np.int64)
        model, flows = laid.collectives(), []
        for device, size in enumerate(held.tolist()):
            for stage in twin_sums(laid.replayed_rings, size):
                flows += [
                    model.flows(one.op, nodes[list(one.copies), device], one.bytes)
                    for one in stage
                ]
        for devices, size in copied.items():
            flows += [
                model.flows(op, row[list(devices)], size)
                for row in nodes
                for op in ("reduce-scatter", "all-gather")
            ]
        rows = [np.stack([flow.src, flow.dst, flow.bytes]) for flow in flows]
        none = np.empty((3, 0), dtype=np.int64)
        self._sums: IntArray = np.concatenate([none, *rows], axis=1)

    def demand(self) -> Demand:
        """Return the traffic of all replicas."""
        rows = [self._sums]
        for row in self._laid.nodes:
            nodes = np.array(row, dtype=np.int64)
            src, dst = nodes[self._src], nodes[self._dst]
            rows += [np.stack([src, dst, self._bytes])]
            rows += [np.stack([dst, src, self._bytes])]
        return pair_demand(*np.concatenate(rows, axis=1))

    def iteration_ps(
        self, computing_ps: int, links: _LinkLoads, rounds: int | None = None
    ) -> float:
        """Return about how long an iteration takes.

        Levels wait for each other. Sums of gradients go on beside the backward pass,
        two thirds of the computation; what they take longer is added.

        `rounds`: steps of a sum, those of its rings where ``None``.
        """
        nodes = np.array(self._laid.nodes[0], dtype=np.int64)
        src, dst = nodes[self._src], nodes[self._dst]
        forth = links.longest_ps(self._level, src, dst, self._bytes)
        back = links.longest_ps(self._level, dst, src, self._bytes)
        levels = len(np.unique(self._level))
        whole = links.longest_ps(np.zeros_like(self._sums[0]), *self._sums)
        backward = 2 * computing_ps / 3 + back
        if rounds is None:
            rounds = 2 * sum(length - 1 for length in self._laid.rings)
        delay = rounds * links.latency_ps
        forward = computing_ps / 3 + forth + 2 * levels * links.latency_ps
        return forward + max(backward, whole) + delay


class _LinkLoads:
    """Links that pairs of nodes cross, and how long bytes take on them.

    `circuits`: of each plane, where there are circuits.
    """

    def __init__(
        self, fabric: AnyFabric, circuits: Mapping[int, Circuits] | None
    ) -> None:
        self._fabric = fabric
        self.latency_ps = step_ps(fabric)
        self._rate: dict[int, int] = {}
        if not isinstance(fabric, PacketFabric):
            self._rate = circuit_rates(fabric, circuits or {})

    def longest_ps(
        self, level: IntArray, src: IntArray, dst: IntArray, size_bytes: IntArray
    ) -> float:
        """Return the sum over levels of the time of the busiest link.

        Infinite where a pair has no circuit. All columns of shape (rows,): the level, 0
        or more, the nodes that bytes go from and to, and the bytes.
        """
        if not len(src):
            return 0.0
        fabric = self._fabric
        if isinstance(fabric, PacketFabric):
            usage = fabric.link_usage(src, dst)
            row, link = usage.circuit, usage.resource
            rate = fabric.link_bits_per_s(link).astype(float)
        else:
            row, link = np.arange(len(src)), src * fabric.node_count + dst
            pairs, of = np.unique(link, return_inverse=True)
            rates = [self._rate.get(key, 0) for key in pairs.tolist()]
            rate = np.array(rates, dtype=float)[of]
        if not rate.all():
            return float("inf")
        keys = level[row] * (int(link.max()) + 1) + link
        _, of = np.unique(keys, return_inverse=True)
        load = np.bincount(of, weights=size_bytes[row] / rate)
        on = np.zeros(len(load), dtype=np.int64)
        on[of] = level[row]
        most = np.zeros(int(level.max()) + 1)
        np.maximum.at(most, on, load)
        return float(most.sum()) * BITS_PER_BYTE * PS_PER_S
