"""The catalogue of named instances: ``FABRIC/TASK-SIZE``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lightloom.core.errors import InputError, nearest
from lightloom.core.task import Collective, Demand
from lightloom.core.units import GIB, KIB, MIB
from lightloom.formats.compression import STANDARD_STREAM
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.electrical_cluster import ElectricalCluster
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.hybrid_parallel import hybrid_parallel
from lightloom.instances.instance import AnyFabric, Instance
from lightloom.instances.instance_file import read_instance
from lightloom.instances.sipac_clusters import cluster_sizes, clusters
from lightloom.instances.workloads import MODELS, default_training

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lightloom.core.training import Training

_GRIDS = {
    "4": (2, 2),
    "8": (2, 4),
    "16": (4, 4),
    "32": (4, 8),
    "48": (6, 8),
    "64": (8, 8),
    "128": (8, 16),
    "256": (16, 16),
    "512": (16, 32),
    "1024": (32, 32),
}
_MOST_IN_ALL_TO_ALL = 4096
_TRAINED_ON = (
    "ideal-switch-16",
    "lightpath-16",
    "ocs-16",
    "ring-16",
    "ring-2d-16",
    "sipac-16",
)
_SWITCHES = {64: (4, 2 * 10**11), 256: (8, 10**11), 1024: (16, 2 * 10**11)}
_RING_16 = Ring(nodes=16, wavelengths=8, directions=2, reach=8)
_RING_64 = Ring(nodes=64, wavelengths=64, directions=2)
_NETWORKS = ((2, 2, 4), (4, 4, 8), (8, 8, 16), (32, 32, 64))
_SIZES = {
    f"{count}{unit}": count * size
    for unit, size in (("KiB", KIB), ("MiB", MIB))
    for count in (1, 4, 16, 64, 256)
} | {"1GiB": GIB}


def fabrics() -> dict[str, AnyFabric]:
    """Return the fabrics of collectives: LIGHTPATH, RAMP, SiPAC, SiP-ML's, rivals."""
    named: dict[str, AnyFabric] = {
        f"lightpath-{size}": Lightpath(rows=rows, cols=cols)
        for size, (rows, cols) in _GRIDS.items()
    }
    for size, (rows, cols) in _GRIDS.items():
        named[f"ideal-switch-{size}"] = IdealSwitch(nodes=rows * cols)
    for groups, racks, numbers in _NETWORKS:
        network = Ramp(groups=groups, racks=racks, nodes_per_rack=numbers)
        named[f"ramp-{network.node_count}"] = network
    for nodes in cluster_sizes():
        for kind, cluster in clusters(nodes).items():
            named[f"{kind}-{nodes}"] = cluster
    named["ring-2d-16"] = Ring2d(
        rows=4, cols=4, row_wavelengths=16, column_wavelengths=16, directions=2
    )
    return {**named, **_switches(), "ring-16": _RING_16, "ring-64": _RING_64}


def _switches() -> dict[str, AnyFabric]:
    """Return parallel switches: the SiP-ML paper's, and larger ones of 0.2 ms."""
    named: dict[str, AnyFabric] = {
        "ocs-16": Ocs(nodes=16, switches=16, bits_per_second_per_node=10**12)
    }
    for nodes, (switches, bits_per_s) in _SWITCHES.items():
        named[f"ocs-{nodes}"] = Ocs(
            nodes=nodes,
            switches=switches,
            bits_per_second_per_node=switches * bits_per_s,
            alpha_ps=20_000_000,
            reconfiguration_ps=200_000_000,
        )
    return named


def named_instances() -> Iterator[Instance]:
    """Yield every named instance, fabric by fabric, task by task."""
    for name, entry in _entries().items():
        yield entry.instance(name)


def instance_names() -> tuple[str, ...]:
    """Return the names of all named instances, of which none is built."""
    return tuple(_entries())


class _Entry(NamedTuple):
    """A named instance before it is built."""

    fabric: AnyFabric
    task: Callable[[], Collective | Demand | Training]

    def instance(self, name: str) -> Instance:
        return Instance(self.fabric, self.task(), name)


@functools.cache
def _entries() -> dict[str, _Entry]:
    """Return what every named instance is made of, by name; some milliseconds."""
    return {**_collectives(), **_demands(), **_computations()}


def _collectives() -> dict[str, _Entry]:
    """Return collectives; a size that an operation cannot cut in blocks is left out."""
    found: dict[str, _Entry] = {}
    for fabric_name, fabric in fabrics().items():
        count = fabric.node_count
        for op in COLLECTIVES.values():
            if op.chunks_per_rank and count > _MOST_IN_ALL_TO_ALL:
                continue
            for size_name, size_bytes in _SIZES.items():
                if op.uses_blocks and size_bytes % count:
                    continue
                task = functools.partial(Collective, op.name, (), size_bytes)
                found[f"{fabric_name}/{op.name}-{size_name}"] = _Entry(fabric, task)
    return found


def demand_fabrics() -> dict[str, AnyFabric]:
    """Return the named fabrics of the SiP-ML paper, which serve demands."""
    return {
        "ocs-8": Ocs(nodes=8, switches=4, bits_per_second_per_node=10**12),
        "electrical-cluster-16": ElectricalCluster(nodes=16),
        "ocs-16": _switches()["ocs-16"],
        "ring-8": Ring(nodes=8, wavelengths=16, reach=7),
        "ring-16": _RING_16,
    }


def _demands() -> dict[str, _Entry]:
    """Return demands whose pairs ask for different amounts, a whole number of MB each.

    In ``neighbours`` a node sends to the next one round, and a quarter as much to the
    one after that; in ``groups`` blocks of four exchange, nearer ones more. On SiPAC
    the traffic of ``hybrid-parallel`` training, 100 MB a node and collective.
    """
    found: dict[str, _Entry] = {}
    for fabric_name, fabric in demand_fabrics().items():
        nodes = range(fabric.node_count)
        near = [(node, step) for node in nodes for step in (1, 2)]
        patterns = {
            "neighbours": [
                (node, (node + step) % fabric.node_count, (8 // step**2) * 10**6)
                for node, step in near
            ],
            "groups": [
                (src, dst, (4 - abs(src - dst)) * 10**6)
                for src in nodes
                for dst in range(src - src % 4, src - src % 4 + 4)
                if src != dst
            ],
        }
        for pattern, rows in patterns.items():
            most = max(size for _, _, size in rows) // 10**6
            task = functools.partial(Demand.from_rows, rows)
            found[f"{fabric_name}/{pattern}-{most}MB"] = _Entry(fabric, task)
    for count in cluster_sizes():
        cluster = clusters(count)["sipac"]
        assert isinstance(cluster, Sipac)
        made = functools.partial(hybrid_parallel, cluster, 100 * 10**6)
        found[f"sipac-{count}/hybrid-parallel-100MB"] = _Entry(cluster, made)
    return found


def _computations() -> dict[str, _Entry]:
    """Return models to train on fabrics of each kind, each at its own batch."""
    known = {**fabrics(), **demand_fabrics()}
    return {
        f"{fabric_name}/{model.name}-batch{model.batch_size}": _Entry(
            known[fabric_name], functools.partial(default_training, model)
        )
        for fabric_name in _TRAINED_ON
        for model in MODELS.values()
    }


def load_instance(name: str) -> Instance:
    """Return a named instance, or the one in a TOML file; ``-`` is standard input.

    Raises `InputError`: there is no such name (nearest names suggested), or the file is
    not right.
    """
    if is_instance_file(name):
        return read_instance(Path(name))
    known = _entries()
    if name not in known:
        raise InputError(
            "unknown instance",
            found=name,
            allowed="a name that `lightloom instances` lists, or a .toml file",
            fix=_names_of_fabric(name, known) or nearest(name, known),
        )
    return known[name].instance(name)


def is_instance_file(name: str) -> bool:
    """Return whether a name is that of a TOML file, or ``-`` for standard input."""
    if name == STANDARD_STREAM or name.endswith(".toml"):
        return True
    try:
        return Path(name).is_file()
    except OSError:  # too long for a name
        return False


def _names_of_fabric(name: str, known: Iterable[str]) -> str:
    """Return how to list the instances of a fabric if it is one that is named."""
    fabric = name.rstrip("/")
    if not any(other.startswith(f"{fabric}/") for other in known):
        return ""
    return f"`lightloom instances --fabric {fabric} --names` lists those of this fabric"
