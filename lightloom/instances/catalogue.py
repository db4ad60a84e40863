"""The catalogue of named instances: ``FABRIC/TASK-SIZE``."""

from __future__ import annotations

import copy
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lightloom.core.errors import InputError, nearest
from lightloom.core.task import Collective, Demand
from lightloom.core.units import GIB, KIB, MIB
from lightloom.formats.compression import STANDARD_STREAM
from lightloom.formats.json_file import read_toml
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_forwarding import BCube, TopoOpt, Torus
from lightloom.instances.fabrics.packet_tiers import (
    ElectricalCluster,
    FatTree,
    IdealSwitch,
    SuperPod,
)
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.instance import AnyFabric, Instance
from lightloom.instances.instance_file import parse_instance, read_instance
from lightloom.instances.workloads import MODELS, default_training

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
"""Ranks of a named all-to-all: it has 16 million pairs."""
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
"""Groups, racks and nodes of a rack of the named RAMP networks."""
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


BUFFER_BYTES = "collective.buffer_bytes"
"""The key that a size of a collective is about."""

_SIZE = re.compile(r"(?P<count>[0-9_]+) ?(?P<unit>[A-Za-z]*)")
_UNITS = {
    "": 1,
    "B": 1,
    "KiB": KIB,
    "MiB": MIB,
    "GiB": GIB,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}


def load_changed(name: str, changes: Mapping[str, object]) -> Instance:
    """Return an instance with some keys of its file changed.

    Keys that are not stated keep their defaults, which may follow from those that are
    changed: with ``fabric.waveguides`` the ``fibers`` of a grid change as well, unless
    the file gives them.

    `name`: a name of the catalogue, a TOML file, or ``-`` for TOML on standard input.
    `changes`: values by key with its table, for example ``{"fabric.lasers": 8}``. The
    name of the instance says them, behind the one that it has.

    Raises `InputError`: there is no such instance, table or key, or the changed one is
    not right.
    """
    if not changes:
        return load_instance(name)
    if is_instance_file(name):
        tables, folder = read_toml(name), Path(name).parent
    else:
        tables, folder = _stated(load_instance(name)), Path()
    tables = copy.deepcopy(tables)
    for key, value in changes.items():
        table, dot, inner = key.partition(".")
        there = tables.get(table)
        if not dot or not isinstance(there, dict):
            known = [name for name, of in tables.items() if isinstance(of, dict)]
            what, allowed = "not a key of the instance", ", ".join(known)
            allowed = f"TABLE.KEY with one of the tables {allowed}"
            raise InputError(what, where=name, found=key, allowed=allowed)
        there[inner] = value
    said = " ".join(f"{key}={value}" for key, value in changes.items())
    return parse_instance(tables, name=f"{name} {said}", folder=folder)


def parse_size(text: str, where: str) -> int:
    """Return a size in bytes as people write it, for example ``3MiB`` or ``250 MB``.

    `text`: a whole number with a unit: B (or none), KiB, MiB, GiB, kB, MB, GB.

    Raises `InputError`: it is not of this form.
    """
    parts = _SIZE.fullmatch(text.strip())
    if parts is None or parts["unit"] not in _UNITS:
        allowed = f"a whole number with {', '.join(filter(None, _UNITS))}"
        raise InputError("not a size", where=where, found=text, allowed=allowed)
    return int(parts["count"].replace("_", "")) * _UNITS[parts["unit"]]


def _stated(instance: Instance) -> dict[str, Any]:
    """Return the tables of an instance with no key that says what is the default."""
    tables: dict[str, Any] = {**instance.table()}
    tables["fabric"] = _stated_fabric(instance.fabric)
    everybody = list(range(instance.fabric.node_count))
    if tables.get("collective", {}).get("nodes") == everybody:
        tables["collective"] = {**tables["collective"]}
        del tables["collective"]["nodes"]
    return tables


def _stated_fabric(fabric: AnyFabric) -> dict[str, object]:
    """Return the keys of a fabric without which it would be another one."""
    table: dict[str, object] = dict(fabric.table())
    for key in list(table):
        fewer = {other: value for other, value in table.items() if other != key}
        try:
            same = load_fabric(fewer, "fabric") == fabric
        except InputError:  # a key that must be there
            continue
        if same:
            table = fewer
    return table


def hybrid_parallel(fabric: Sipac, buffer_bytes: int) -> Demand:
    """Return what the nodes of a SiPAC cluster send in a step of training.

    The r nodes on a switch of level 0 share a model and do an all-to-all; nodes with
    the same port there hold the same part of it and do an all-reduce over the other
    levels, l of them, in which an l-th of the buffer begins at each. So a pair on a
    switch of level 0 asks for B / r, and one of a higher level for
    2 B / l (1/r + ... + 1/r^l), each rounded up to the byte. Every pair shares a
    switch, so nothing is forwarded.

    `buffer_bytes`: B, what a node has to exchange in each of the two collectives.
    """
    r, levels = fabric.radix, fabric.levels
    node = np.arange(fabric.node_count, dtype=np.int64)
    above = levels - 1
    powers = sum(r**power for power in range(above))
    # 1/r + ... + 1/r^l over a common denominator.
    replicas = -(-2 * buffer_bytes * powers // (above * r**above)) if above else 0
    rows: list[tuple[int, int, int]] = []
    for level in range(levels):
        size = replicas if level else -(-buffer_bytes // r)
        for further in range(1, r):
            port = node // r**level % r
            peer = node + ((port + further) % r - port) * r**level
            pairs = zip(node.tolist(), peer.tolist(), strict=True)
            rows += [(src, dst, size) for src, dst in pairs]
    return Demand.from_rows(rows)


BITS_PER_SECOND_PER_NODE = 2_048_000_000_000
"""Rate of all links of a node together, in every cluster."""

_CLUSTERS = {16: (4, 1, 4, 4), 64: (8, 1, 8, 8), 512: (8, 2, 16, 32)}
"""Nodes: radix and level of SiPAC and BCube, rows and columns of the torus."""


def cluster_sizes() -> tuple[int, ...]:
    """Return the numbers of nodes there are clusters of."""
    return tuple(_CLUSTERS)


def clusters(
    nodes: int, bits_per_second_per_node: int = BITS_PER_SECOND_PER_NODE
) -> dict[str, AnyFabric]:
    """Return the clusters of a size by kind, SiPAC first.

    The servers of SuperPod have 8 GPUs, 12 times as fast inside as outside; leaves of
    the fat tree have as many nodes as a SiPAC switch, and a trunk a quarter as fast;
    TopoOpt has 4 rings.
    """
    radix, level, rows, cols = _CLUSTERS[nodes]
    rate = bits_per_second_per_node
    return {
        "sipac": Sipac(radix=radix, level=level, bits_per_second_per_node=rate),
        "torus": Torus(rows=rows, cols=cols, bits_per_second_per_node=rate),
        "bcube": BCube(radix=radix, level=level, bits_per_second_per_node=rate),
        "superpod": SuperPod(nodes=nodes, bits_per_second_per_node=rate),
        "fat-tree": FatTree(
            nodes=nodes,
            nodes_per_leaf=radix,
            oversubscription=4,
            bits_per_second_per_node=rate,
        ),
        "topoopt": TopoOpt(nodes=nodes, degree=4, bits_per_second_per_node=rate),
    }
