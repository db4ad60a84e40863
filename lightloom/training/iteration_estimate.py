"""An estimate of the time of an iteration, level by level, without replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.units import PS_PER_S
from lightloom.replay.workload.execute import Launch
from lightloom.training.iteration import pair_demand, twin_sums
from lightloom.training.placement.operation_graph import op_graph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Demand
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.node_layout import NodeLayout
    from lightloom.training.replica import Replica

_BITS_PER_BYTE = 8


@dataclass(frozen=True, eq=False)
class ReplicaProfile:
    """What a replica does on each level of its graph.

    `compute_ps`: time of all levels, each as long as its busiest device takes. `level`,
    `src`, `dst`, `bytes`: bytes that leave a device for another one on a level,
    forward; backward the same bytes go the other way. `gradient_bytes`: what each
    device has to sum with its twins, shape (devices,). `copied`: for each set of
    devices that have copies of parameters: the devices, and the bytes of gradients that
    they sum among themselves.
    """

    compute_ps: int
    level: IntArray
    src: IntArray
    dst: IntArray
    bytes: IntArray
    gradient_bytes: IntArray
    copied: tuple[tuple[tuple[int, ...], int], ...]

    def sums(self, laid: NodeLayout) -> tuple[IntArray, IntArray, IntArray]:
        """Return who sends how much to whom to sum gradients."""
        nodes = np.array(laid.nodes, dtype=np.int64)
        model = laid.collectives()
        flows = []
        for device, size in enumerate(self.gradient_bytes.tolist()):
            for stage in twin_sums(laid.replayed_rings, size):
                for one in stage:
                    twins = nodes[list(one.copies), device]
                    flows.append(model.flows(one.op, twins, one.bytes))
        for devices, size in self.copied:
            for row in nodes:
                members = row[list(devices)]
                flows += [
                    model.flows(op, members, size)
                    for op in ("reduce-scatter", "all-gather")
                ]
        none = np.empty(0, dtype=np.int64)
        return (
            np.concatenate([none, *(flow.src for flow in flows)]),
            np.concatenate([none, *(flow.dst for flow in flows)]),
            np.concatenate([none, *(flow.bytes for flow in flows)]),
        )

    def demand(self, laid: NodeLayout) -> Demand:
        """Return the traffic of all replicas."""
        src, dst, size = ([column] for column in self.sums(laid))
        for row in laid.nodes:
            at = np.array(row, dtype=np.int64)
            one, other = at[self.src], at[self.dst]
            src += [one, other]
            dst += [other, one]
            size += [self.bytes, self.bytes]
        return pair_demand(
            np.concatenate(src), np.concatenate(dst), np.concatenate(size)
        )


class LinkLoads:
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

        Infinite where a pair has no circuit.

        `level`: level of each row, 0 or more; levels follow one another. Shape (rows,).
        `src`, `dst`: nodes that each row's bytes go from and to, shape (rows,).
        `size_bytes`: bytes of each row, shape (rows,).
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
            known = [self._rate.get(key, 0) for key in pairs.tolist()]
            rate = np.array(known, dtype=float)[of]
        if not rate.all():
            return float("inf")
        keys = level[row] * (int(link.max()) + 1) + link
        _, of = np.unique(keys, return_inverse=True)
        load = np.bincount(of, weights=size_bytes[row] / rate)
        on = np.zeros(len(load), dtype=np.int64)
        on[of] = level[row]
        most = np.zeros(int(level.max()) + 1)
        np.maximum.at(most, on, load)
        return float(most.sum()) * _BITS_PER_BYTE * PS_PER_S

    def iteration_ps(
        self, profile: ReplicaProfile, laid: NodeLayout, rounds: int | None = None
    ) -> float:
        """Return about how long an iteration takes.

        Levels wait for each other. Sums of gradients go on beside the backward pass,
        two thirds of the computation; what they take longer is added.

        `profile`: what one replica computes and sends on each level, by device of the
        replica.
        """
        at = np.array(laid.nodes[0], dtype=np.int64)
        src, dst = at[profile.src], at[profile.dst]
        forth = self.longest_ps(profile.level, src, dst, profile.bytes)
        back = self.longest_ps(profile.level, dst, src, profile.bytes)
        levels = len(np.unique(profile.level))
        twins = profile.sums(laid)
        whole = self.longest_ps(np.zeros_like(twins[0]), *twins)
        backward = 2 * profile.compute_ps / 3 + back
        if rounds is None:
            rounds = 2 * sum(length - 1 for length in laid.rings)
        delay = rounds * self.latency_ps
        forward = profile.compute_ps / 3 + forth + 2 * levels * self.latency_ps
        return forward + max(backward, whole) + delay


def replica_profile(replica: Replica, launch: Launch | None = None) -> ReplicaProfile:
    """Return what a replica does on each level, in O(parts + edges).

    `launch`: what starting an operation costs, and the least it lasts; a microsecond
    each where ``None``.
    """
    launch = launch or Launch()
    load = replica.split.workload
    graph = op_graph(load)
    level = np.array(graph.level, dtype=np.int64)
    lasts = np.maximum(np.array(load.duration_ps, np.int64), 2 * launch.minimum_ps)
    lasts += 2 * launch.latency_ps
    busy = np.zeros((int(level.max()) + 1, replica.devices), dtype=np.int64)
    np.add.at(busy, (level, replica.device), lasts)
    tail, head = np.array([load.src, load.dst], dtype=np.int64).reshape(2, -1)
    src, dst = replica.device[tail], replica.device[head]
    away = np.flatnonzero(src != dst)
    count = replica.devices
    keys = (level[head[away]] * count + src[away]) * count + dst[away]
    pairs, of = np.unique(keys, return_inverse=True)
    size = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(size, of, np.array(load.bytes, np.int64)[away])
    held, copied = _gradients(replica)
    return ReplicaProfile(
        int(busy.max(axis=1).sum()),
        pairs // count**2,
        pairs // count % count,
        pairs % count,
        size,
        held,
        copied,
    )


def _gradients(
    replica: Replica,
) -> tuple[IntArray, tuple[tuple[tuple[int, ...], int], ...]]:
    """Return what devices sum with their twins, and with copies in the replica."""
    held = np.zeros(replica.devices, dtype=np.int64)
    copied: dict[tuple[int, ...], int] = {}
    split = replica.split
    for row, (operation, cut) in enumerate(
        zip(split.graph.ops, split.cuts, strict=True)
    ):
        size = operation.gradient_bytes
        if not size:
            continue
        first = int(np.searchsorted(split.op, row))
        devices = replica.device[first : first + cut.parts]
        if not operation.split(cut.dimension).divides_parameters:
            devices = np.unique(devices)
            if len(devices) > 1:
                key = tuple(devices.tolist())
                copied[key] = copied.get(key, 0) + size
        np.add.at(held, devices, -(-size // len(devices)))
    return held, tuple(sorted(copied.items()))


def circuit_rates(
    fabric: CircuitFabric, circuits: Mapping[int, Circuits]
) -> dict[int, int]:
    """Return the bits a second of each pair, by ``src * nodes + dst``.

    `circuits`: of each plane; rates of a pair add up.
    """
    rates: dict[int, int] = {}
    for held in circuits.values():
        keys = (held.src * fabric.node_count + held.dst).tolist()
        for key, rate in zip(
            keys, fabric.circuit_bits_per_s(held).tolist(), strict=True
        ):
            rates[key] = rates.get(key, 0) + rate
    return rates
