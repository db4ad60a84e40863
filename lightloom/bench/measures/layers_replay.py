"""Replaying iterations of many layers, in which hardly two events coincide.

Groups of eight devices run layer after layer, forward and backward; every device hears
from two others of its group, with sizes and durations drawn at random. Behind each
backward layer the groups all-reduce their gradients, one ring for each place in a
group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.bench.measures import Measure
from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError
from lightloom.core.iteration import Collectives, Dependencies, Iteration, Operations
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay.workload import (
    HeldCircuits,
    PlaneConfiguration,
    SharedLinks,
    replay_iteration,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import AnyFabric, Instance

_GROUP = 8


def run(
    instance: Instance,
    seed: int,
    layers: int = 20,
    *,
    scattered: bool = False,
) -> Iterator[int]:
    """Make an iteration and a network, and replay.

    Parameters
    ----------
    instance
        Names the fabric: an ideal switch, or 16 optical switches.
    seed
        What sizes and durations are drawn from.
    layers
        Layers, half of them backward.
    scattered
        Whether devices hear from any others, on an eighth of the rate: a change of
        one share is then felt far away.
    """
    devices = instance.fabric.node_count
    made = _iteration(devices, layers, seed, scattered=scattered)
    network = _network(instance.fabric, scattered=scattered)
    yield len(made.operations)
    yield replay_iteration(made, network).iteration_ps


def _iteration(devices: int, layers: int, seed: int, *, scattered: bool) -> Iteration:
    """Return layers of one sub-operation a device, half of them backward."""
    rng = np.random.default_rng(seed)
    here = np.arange(devices, dtype=np.int64)
    group, place = here - here % _GROUP, here % _GROUP
    src, dst, size = [], [], []
    for layer in range(1, layers):
        for step, most in ((0, 0), (1, 4 * 10**6), (2, 10**6)):
            peer = group + (place - step) % _GROUP
            if scattered and step:
                peer = rng.permutation(devices)
            src.append((layer - 1) * devices + peer)
            dst.append(layer * devices + here)
            size.append(rng.integers(most // 4, most + 1, devices))
    operations = layers * devices
    sync = list(range(layers // 2, layers))
    for number, layer in enumerate(sync):
        src.append(layer * devices + here)
        dst.append(operations + number * _GROUP + place)
        size.append(np.zeros(devices, dtype=np.int64))
    rings = [here[place == at].tolist() for at in range(_GROUP)] * len(sync)
    return Iteration(
        devices,
        Operations(
            tuple(f"layer {row // devices}" for row in range(operations)),
            np.tile(here, layers),
            rng.integers(10 * 10**6, 20 * 10**6, operations),
            np.repeat(np.arange(layers, dtype=np.int64), devices),
        ),
        Dependencies.plain(*(np.concatenate(rows) for rows in (src, dst, size))),
        Collectives(
            ("all-reduce",) * len(rings),
            np.full(len(rings), 10**6, dtype=np.int64),
            Ragged.from_lists(rings),
        ),
    )


def _network(fabric: AnyFabric, *, scattered: bool) -> SharedLinks | HeldCircuits:
    """Return a network that carries the iteration."""
    if isinstance(fabric, IdealSwitch):
        rate = fabric.bits_per_second_per_node // (8 if scattered else 1)
        return SharedLinks(
            msgspec.structs.replace(fabric, bits_per_second_per_node=rate)
        )
    if not isinstance(fabric, Ocs) or fabric.switches != 16:
        allowed = "an ideal switch, or 16 optical switches"
        raise InputError("invalid fabric", found=fabric.kind, allowed=allowed)
    here = np.arange(fabric.nodes, dtype=np.int64)
    within = [here - here % _GROUP + (here + step) % _GROUP for step in (1, 2)]
    across = (here + _GROUP) % fabric.nodes
    peers = [within[0]] * 8 + [within[1]] * 4 + [across] * 4
    held = [PlaneConfiguration(k, Circuits(here, dst)) for k, dst in enumerate(peers)]
    return HeldCircuits(fabric, tuple(held))


MEASURE = Measure(
    "layers-replay",
    "replay an iteration of random layers",
    "operations, ps",
    ("make", "replay"),
    run,
)
