"""The plug of fabrics without circuits, on which every round is a step."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from msgspec.structs import replace

from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.schedule import StepPart
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps
from lightloom.instances.fabrics.bcube import BCube
from lightloom.instances.fabrics.electrical_cluster import ElectricalCluster
from lightloom.instances.fabrics.fat_tree import FatTree
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.superpod import SuperPod
from lightloom.instances.fabrics.topoopt import TopoOpt
from lightloom.instances.fabrics.torus import Torus
from lightloom.plans.algorithms.fitted import best_steps, tree_depth
from lightloom.plans.algorithms.rarest_first import pieces_a_step
from lightloom.plans.network import RankNetwork
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Arrangement, Realiser
from lightloom.synth.fabrics.training_plug import TrainingLayout
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.realisation import Realisation
from lightloom.validate.certificates.proofs.link_costs import MOST_RANKS, PairRoutes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.synth.auto.search_space import Proposal
    from lightloom.synth.traffic import TrafficRound


PacketT = TypeVar("PacketT", bound=PacketFabric)

_RINGS = ("all-gather", "all-reduce", "reduce-scatter")
_MOST_ROWS = 2**21
"""Transfers of a plan beyond which whole blocks are preferred to parts of them."""

_SMALL = 128
"""Ranks up to which trees of several depths and swarms are tried."""
_PACKED = (
    (0.05, 0.8, 2, 64),
    (0.3, 2.2, 3, 64),
    (0.8, 4, 4, 64),
    (2.2, 8, 4, 32),
    (2.2, 8, 5, 64),
)
"""Packed trees: how many steps the buffer lasts, steps of the trees, most ranks."""
_PACKED_LINKED = (*_PACKED, (8, 30, 7, 32))
_PACKED_OVER_SWITCHES = (*_PACKED, (8, 30, 6, 32))
_PACKED_ALL = ((0.3, 8, 2, 64), (3, 12, 3, 64), (12, 30, 5, 64))
"""The same where all ranks have blocks."""
_STEPS = (3, 4, 5, 6, 8, 10, 12, 14)
_MOST_PIECES = 256

# What these save, reconfigurations, costs nothing where there are no circuits; their
# plans are the dearest of all.
_ONE_CONFIGURATION = (
    "balanced-digraph",
    "fixed-digraph",
    "hub-relays",
    "hub-sums",
    "section-sums",
)


class PacketRealiser(Realiser[PacketT]):
    """Makes every round a step; links are shared as replay shares them.

    A kind of fabric whose links suggest algorithms says so in `shape`.
    """

    predicts = True

    def __init__(self, fabric: PacketT, seed: int, router: str) -> None:
        super().__init__(fabric, seed, router)
        self._networks: dict[tuple[int, ...], RankNetwork] = {}

    @property
    def ports(self) -> int:
        """All other nodes."""
        return max(1, self.fabric.node_count - 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """The box that the nodes form, the last digit fastest; empty for none."""
        return ()

    @property
    def linked(self) -> bool:
        """Whether links lead from node to node, without switches between."""
        return False

    @property
    def box(self) -> tuple[int, ...]:
        """The box whose translations leave all links as they are; empty for none."""
        return self.shape

    def network(self, task: Collective) -> RankNetwork:
        """Return the links between the ranks of a collective.

        `task`: on this fabric, of few enough ranks for a row for each pair of them.
        """
        key = task.nodes
        if key not in self._networks:
            routes = PairRoutes.of(self.fabric, task.nodes)
            links, place = np.unique(routes.link, return_inverse=True)
            rate = self.fabric.link_bits_per_s(links).astype(np.float64)
            each_ps = BITS_PER_BYTE * PS_PER_S / rate
            whole = task.nodes == tuple(range(self.fabric.node_count))
            self._networks[key] = RankNetwork(
                routes.ranks,
                routes.pair,
                place.astype(np.int64),
                each_ps,
                step_ps(self.fabric),
                self.box if whole else (),
            )
        return self._networks[key]

    def arrange(self, task: Collective) -> Arrangement:
        """Return the order of the task, with the box where all nodes take part.

        No box where they stand in another order than that of their numbers.
        """
        whole = task.nodes == tuple(range(self.fabric.node_count))
        return Arrangement({GIVEN_ORDER: task.nodes}, self.shape if whole else ())

    def proposals(
        self, task: Collective, arrangement: Arrangement
    ) -> Iterator[Proposal]:
        """Yield the algorithms whose peers are neighbours, then those of all fabrics.

        Algorithms that save reconfigurations are left out.
        """
        yield from self._neighbours(task, arrangement.shape)
        yield from self._fitted_to_links(task)
        for proposal in super().proposals(task, arrangement):
            if proposal[0] not in _ONE_CONFIGURATION:
                yield proposal

    def _neighbours(
        self, task: Collective, shape: tuple[int, ...]
    ) -> Iterator[Proposal]:
        """Yield the algorithms whose peers are a fabric's neighbours."""
        if not shape:
            return
        blocks = task.op not in ("all-reduce", "broadcast", "reduce")
        many = blocks and task.rank_count**2 * len(shape) > _MOST_ROWS
        for parts in (1,) if many else sorted({1, len(shape)}, reverse=True):
            box = {"shape": list(shape), "parts": parts}
            if task.op in _RINGS:
                yield "torus-rings", {**box, "both_ways": True}
                yield "torus-rings", {**box}
            yield "levels", {**box}
            if task.op in ("broadcast", "reduce"):
                yield "level-scatter-gather", {**box}
        if task.op == "all-reduce":
            for exchanged in range(1, len(shape) + 1):
                box = {"shape": list(shape), "parts": len(shape)}
                yield "levels", {**box, "exchanged": exchanged}

    def _fitted_to_links(self, task: Collective) -> Iterator[Proposal]:
        """Yield the algorithms that choose arcs and pieces by the links' rates."""
        whole = task.nodes == tuple(range(self.fabric.node_count))
        if not whole or not 2 < task.rank_count <= MOST_RANKS or not self.box:
            return
        network = self.network(task)
        small = task.rank_count <= _SMALL
        if task.op in _RINGS:
            depth = tree_depth(network)
            few = {*range(2, depth), *_STEPS} if small else set()
            for steps in sorted({depth, *few}):
                yield "translated-trees", {"steps": steps}
            yield from self._packed(task, network, _PACKED_ALL)
        elif small and task.op in ("broadcast", "reduce"):
            yield from self._from_one_root(task, network)
        elif small:
            for steps in (2, 3) if task.op == "all-to-all" else (2, *_STEPS):
                yield "one-relay", {"steps": steps}

    def _from_one_root(
        self, task: Collective, network: RankNetwork
    ) -> Iterator[Proposal]:
        """Yield trees of few steps, a swarm between linked nodes, trees over switches.

        Where nodes are linked, few parts of the buffer look alike, and the linear
        program of their trees is large.
        """
        few = _PACKED_LINKED if self.linked else _PACKED_OVER_SWITCHES
        yield from self._packed(task, network, few)
        if self.linked:
            for pieces in self._piece_counts(task, network):
                yield "rarest-first", {"pieces": pieces}
            return
        used = network if task.op == "broadcast" else network.turned()
        chosen = best_steps(used, task.root_rank, task.buffer_bytes)
        if chosen is not None:
            yield "part-trees", {"steps": chosen}

    def _packed(
        self,
        task: Collective,
        network: RankNetwork,
        few: Sequence[tuple[float, float, int, int]],
    ) -> Iterator[Proposal]:
        """Yield trees of few steps, as many as suit how many steps the buffer lasts."""
        data_ps = transmission_ps(task.buffer_bytes, self.fabric.node_bits_per_s)
        steps = data_ps / max(1, network.step_ps)
        fit = {
            count
            for least, most, count, ranks in few
            if least < steps <= most and task.rank_count <= ranks
        }
        for count in sorted(fit):
            yield "packed-trees", {"steps": count}

    def _piece_counts(self, task: Collective, network: RankNetwork) -> list[int]:
        """Return numbers of pieces near the best for a pipeline of this depth.

        P + D steps of which each brings P-th parts of the buffer out of the root cost
        (P + D) (1 + R / P) steps, where the buffer lasts R of them: least at
        P = sqrt(D R).
        """
        at_once, depth = pieces_a_step(network, task.root_rank)
        data_ps = transmission_ps(task.buffer_bytes, self.fabric.node_bits_per_s)
        lasts = data_ps // max(1, network.step_ps)
        best = isqrt(depth * lasts)
        counts = {max(1, best), max(1, best // 2)}
        return [at_once * count for count in sorted(counts) if count <= _MOST_PIECES]

    def least_ps(self, rounds: Sequence[TrafficRound], *, cuts: bool) -> int:
        """Return the time by what nodes send and receive; with `cuts` the exact one."""
        each_ps = links_step_ps if cuts else nodes_step_ps
        return sum(each_ps(self.fabric, round_) for round_ in rounds)

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return the rounds as steps."""
        parts = tuple(
            StepPart(index, None, None, round_.transfers)
            for index, round_ in enumerate(rounds)
        )
        return Realisation((), parts)


class _IdealSwitchRealiser(PacketRealiser[IdealSwitch]):
    @property
    def box(self) -> tuple[int, ...]:
        """All nodes: each can stand for any other."""
        return (self.fabric.node_count,)

    def _fitted_to_links(self, task: Collective) -> Iterator[Proposal]:
        """Yield nothing: no link is shared, so no choice of arcs saves any."""
        del task
        yield from ()


class _BCubeRealiser(PacketRealiser[BCube]):
    @property
    def shape(self) -> tuple[int, ...]:
        """The digits of a node."""
        return (self.fabric.radix,) * self.fabric.levels


class _SuperPodRealiser(PacketRealiser[SuperPod]):
    @property
    def shape(self) -> tuple[int, ...]:
        """Servers and their GPUs, where all servers are full."""
        gpus = self.fabric.gpus_per_server
        servers, rest = divmod(self.fabric.nodes, gpus)
        return (servers, gpus) if not rest and servers > 1 and gpus > 1 else ()


class _TopoOptRealiser(PacketRealiser[TopoOpt]):
    @property
    def linked(self) -> bool:
        """Links lead from node to node."""
        return True

    @property
    def box(self) -> tuple[int, ...]:
        """One ring of all nodes."""
        return (self.fabric.nodes,)


class _TorusRealiser(PacketRealiser[Torus]):
    @property
    def linked(self) -> bool:
        """Links lead from node to node."""
        return True

    @property
    def shape(self) -> tuple[int, ...]:
        """Layers, rows and columns, those of one node left out."""
        return tuple(size for size in reversed(self.fabric.sizes) if size > 1)


class _FatTreeRealiser(PacketRealiser[FatTree]):
    @property
    def box(self) -> tuple[int, ...]:
        """Leaves and their nodes, where all leaves are full and in one pod."""
        leaf = self.fabric.nodes_per_leaf
        leaves, rest = divmod(self.fabric.nodes, leaf)
        one_pod = leaves <= self.fabric.leaves_per_pod
        return (leaves, leaf) if not rest and leaves > 1 and one_pod else ()


def _alike_switch(fabric: IdealSwitch, devices: int) -> IdealSwitch:
    """Return a switch for two replicas: a ring with two different neighbours' links."""
    return replace(fabric, nodes=2 * devices)


def _alike_cluster(fabric: ElectricalCluster, devices: int) -> ElectricalCluster | None:
    """Return two servers, or two replicas, where neither is cut by the other."""
    server = fabric.nodes_per_server
    if fabric.nodes % server or (devices % server and server % devices):
        return None
    return replace(fabric, nodes=2 * max(devices, server))


def _idle_nodes(_fabric: IdealSwitch, _nodes: int) -> bool:
    """Return true: nodes share no link."""
    return True


def _idle_servers(fabric: ElectricalCluster, nodes: int) -> bool:
    """Return whether servers are idle as a whole."""
    return nodes % fabric.nodes_per_server == 0


PLUG = (
    FabricPlug("packet", realiser=PacketRealiser[PacketFabric]),
    FabricPlug("bcube", realiser=_BCubeRealiser),
    FabricPlug(
        "electrical-cluster",
        realiser=PacketRealiser[ElectricalCluster],
        layout=TrainingLayout(alike=_alike_cluster, idle_alike=_idle_servers),
    ),
    FabricPlug(
        "ideal-switch",
        realiser=_IdealSwitchRealiser,
        layout=TrainingLayout(alike=_alike_switch, idle_alike=_idle_nodes),
    ),
    FabricPlug("fat-tree", realiser=_FatTreeRealiser),
    FabricPlug("superpod", realiser=_SuperPodRealiser),
    FabricPlug("topoopt", realiser=_TopoOptRealiser),
    FabricPlug("torus", realiser=_TorusRealiser),
)


_DENSE = 16
"""Numbers of links for each loaded one up to which a table of all is kept."""


def nodes_step_ps(fabric: PacketFabric, round_: TrafficRound) -> int:
    """Return the least that a step lasts by what each node sends and receives."""
    busiest = 0
    for ends in (round_.transfers.src, round_.transfers.dst):
        moved = np.zeros(fabric.node_count, dtype=np.int64)
        np.add.at(moved, ends, round_.size_bytes)
        busiest = max(busiest, int(moved.max()))
    return (
        fabric.alpha_ps
        + fabric.latency_ps
        + transmission_ps(busiest, fabric.node_bits_per_s)
    )


def links_step_ps(fabric: PacketFabric, round_: TrafficRound) -> int:
    """Return how long a step lasts on a fabric without circuits."""
    usage = fabric.link_usage(round_.transfers.src, round_.transfers.dst)
    links, moved = _loads(usage.resource, round_.size_bytes[usage.circuit])
    rates, kind = np.unique(fabric.link_bits_per_s(links), return_inverse=True)
    most = np.zeros(len(rates), dtype=np.int64)
    np.maximum.at(most, kind, moved)
    slowest = max(map(transmission_ps, most.tolist(), rates.tolist()))
    return fabric.alpha_ps + fabric.latency_ps + slowest


def _loads(resource: IntArray, size_bytes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the links that appear in a column, and the bytes that each carries."""
    span = int(resource.max()) + 1
    if span > _DENSE * len(resource):
        links, place = np.unique(resource, return_inverse=True)
        moved = np.zeros(len(links), dtype=np.int64)
        np.add.at(moved, place, size_bytes)
        return links, moved
    # A table of all numbers up to the last is faster than a sort where it is short.
    table = np.zeros(span, dtype=np.int64)
    used = np.zeros(span, dtype=np.bool_)
    np.add.at(table, resource, size_bytes)
    used[resource] = True
    links = np.flatnonzero(used)
    return links, table[links]
