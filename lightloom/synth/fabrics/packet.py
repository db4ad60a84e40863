"""The plug of fabrics without circuits, on which every round is a step."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from msgspec.structs import replace

from lightloom.core.fabric import BoxedFabric, PacketFabric, step_ps
from lightloom.core.schedule import StepPart
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps
from lightloom.instances.fabrics.packet_tiers import (
    ElectricalCluster,
    IdealSwitch,
)
from lightloom.plans.network import RankNetwork
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Arrangement, Realiser
from lightloom.synth.fabrics.training_plug import TrainingLayout
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.realisation import Realisation
from lightloom.validate.certificates.completion_time.message_costs import (
    MOST_RANKS,
    PairRoutes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.setting import Setting
    from lightloom.synth.traffic import TrafficRound


PacketT = TypeVar("PacketT", bound=PacketFabric)


class PacketRealiser(Realiser[PacketT]):
    """Makes every round a step; links are shared as replay shares them.

    A fabric whose links suggest algorithms says so as a `BoxedFabric`.
    """

    predicts = True

    def __init__(self, fabric: PacketT, seed: int, router: str) -> None:
        super().__init__(fabric, seed, router)
        self._shape, self._symmetry = _boxes(fabric)

    @property
    def ports(self) -> int:
        """All other nodes."""
        return max(1, self.fabric.node_count - 1)

    def network(self, task: Collective) -> RankNetwork:
        """Return the links between the ranks of a collective.

        `task`: on this fabric, of few enough ranks for a row for each pair of them.
        """
        return _network(_ByTable(self.fabric), task.nodes, self._symmetry)

    def arrange(self, task: Collective) -> Arrangement:
        """Return the order of the task, with the box where all nodes take part.

        No box where they stand in another order than that of their numbers.
        """
        whole = task.nodes == tuple(range(self.fabric.node_count))
        return Arrangement({GIVEN_ORDER: task.nodes}, self._shape if whole else ())

    def setting(self, task: Collective, arrangement: Arrangement) -> Setting:
        """Return what algorithms are told: no circuits, and links if ranks are few."""
        told = dataclasses.replace(super().setting(task, arrangement), circuits=False)
        if 2 < task.rank_count <= MOST_RANKS:
            return told
        return dataclasses.replace(told, find_network=None)

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


class _ByTable:
    """A fabric that equals every other with the same table, whatever its fields."""

    def __init__(self, fabric: PacketFabric) -> None:
        self.fabric = fabric
        self._table = fabric.table()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByTable) and self._table == other._table

    def __hash__(self) -> int:
        return hash(str(self._table))


@functools.lru_cache(maxsize=4)
def _network(
    known: _ByTable, nodes: tuple[int, ...], symmetry: tuple[int, ...]
) -> RankNetwork:
    """Return the links between nodes, the same object for the same ones.

    So operations and sizes share what is searched on it, beyond one synthesis.
    """
    fabric = known.fabric
    routes = PairRoutes.of(fabric, nodes)
    links, place = np.unique(routes.link, return_inverse=True)
    rate = fabric.link_bits_per_s(links).astype(np.float64)
    whole = nodes == tuple(range(fabric.node_count))
    return RankNetwork(
        routes.ranks,
        routes.pair,
        place.astype(np.int64),
        BITS_PER_BYTE * PS_PER_S / rate,
        step_ps(fabric),
        symmetry if whole else (),
    )


def _boxes(fabric: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return shape and symmetry of a fabric, empty where it says none."""
    if isinstance(fabric, BoxedFabric):
        return fabric.shape, fabric.symmetry
    return (), ()


class _IdealSwitchRealiser(PacketRealiser[IdealSwitch]):
    def setting(self, task: Collective, arrangement: Arrangement) -> Setting:
        """Return no links: none is shared, so no choice of arcs saves any."""
        setting = super().setting(task, arrangement)
        return dataclasses.replace(setting, find_network=None)


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
