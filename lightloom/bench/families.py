"""Families of instances: a function each, which a suite calls by name.

Every parameter is an integer or a text; same parameters, same instance: what is random
is drawn from the parameter ``draw``. Parameters that make no sense raise `InputError`.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import msgspec
import numpy as np

from lightloom.core.errors import InputError, nearest, unknown_name
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective, Demand, Workload
from lightloom.core.units import MEGA, PS_PER_US, format_bytes
from lightloom.instances.catalogue import demand_fabrics, fabrics, load_instance
from lightloom.instances.collectives import check_collective
from lightloom.instances.computation_table import computation_graph
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.instances.workloads import default_training, model_named
from lightloom.training.placement.graph_split import split_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import AnyFabric

_COUNTED = ("rows", "cols", "copies", "layers", "width", "width", "nodes", "partners")
"""Parameters in whose product an instance grows, those that pair up among themselves
twice."""
_MOST_COUNTED = 2**20
"""Product of these parameters of the largest instance, which is drawn in memory."""
_KEPT = 0.7
"""Share of the pairs of random permutations that have something to send."""
_SIZES = ("pareto", "uniform")
_PARETO_LEAST_BYTES, _PARETO_SHAPE = 1e5, 1.2
"""Bytes of the least entry, and the exponent of the tail: the mean is finite, the
variance is not."""
_UNIFORM_MOST_BYTES = 10**6
"""Largest entry of a uniform matrix: the mean is near that of the others."""
_RADICES = {"doubling": 2, "quadrupling": 4}
_PATTERNS = ("all-to-all", "random", *_RADICES)
_ORDERS = ("row-major", "morton")
_SHAPES = ("layers", "hubs", "scattered", "rows")
_MOST_OPERATIONS = 2**16
"""Operations, and pairs of them, of the largest graph, which is drawn in memory."""
_BACKWARD = ("apart", "in-place")
_Edges = list[tuple[int, int]]
_Seed = list[int]


@dataclass(frozen=True)
class Family:
    """Instances of one kind: `make` returns one for parameters given by name."""

    name: str
    summary: str
    make: Callable[..., Instance]


FAMILIES: dict[str, Family] = {}
"""Every family of instances, by name."""


def member(name: str, parameters: Mapping[str, object], where: str) -> Instance:
    """Return the instance of a family that has these parameters.

    Raises
    ------
    InputError
        Unknown family or parameter (nearest names suggested), a missing one, one of
        the wrong type, or parameters that make no sense together; with `where`.
    """
    if name not in FAMILIES:
        raise unknown_name("family", name, sorted(FAMILIES), where=where)
    family = FAMILIES[name]
    takes = inspect.signature(family.make).parameters
    for key, value in parameters.items():
        if key not in takes:
            what, allowed = f"family {name} has no parameter {key!r}", ", ".join(takes)
            raise InputError(
                what, where=where, allowed=allowed, fix=nearest(key, takes)
            )
        kind = takes[key].annotation
        if type(value).__name__ != kind:
            what = f"parameter {key} of family {name} has the wrong type"
            raise InputError(what, where=where, found=value, allowed=kind)
    for key, taken in takes.items():
        if taken.default is inspect.Parameter.empty and key not in parameters:
            what = f"family {name} needs the parameter {key!r}"
            raise InputError(what, where=where, allowed=", ".join(takes))
    _refuse_huge(parameters, f"{where}: {name}")
    try:
        return family.make(**parameters)
    except InputError as problem:
        raise InputError(
            problem.what,
            where=f"{where}: {name}",
            found=problem.found,
            allowed=problem.allowed,
            fix=problem.fix,
        ) from None


def _refuse_huge(parameters: Mapping[str, object], where: str) -> None:
    """Raise before an instance is made that would not fit the memory."""
    given = [parameters[key] for key in _COUNTED if key in parameters]
    size = math.prod(value for value in given if isinstance(value, int) and value > 0)
    if size > _MOST_COUNTED:
        factors = " * ".join(key for key in _COUNTED if key in parameters)
        allowed = f"{factors} up to {_MOST_COUNTED}"
        raise InputError("too large an instance", where=where, allowed=allowed)


def _family(
    summary: str,
) -> Callable[[Callable[..., Instance]], Callable[..., Instance]]:
    """Offer a function as the family of its name."""

    def offer(make: Callable[..., Instance]) -> Callable[..., Instance]:
        name = make.__name__.replace("_", "-")
        FAMILIES[name] = Family(name, summary, make)
        return make

    return offer


# Collectives


@_family("a collective that `lightloom instances` lists")
def catalogue(fabric: str, op: str, size: str) -> Instance:
    """Return the instance ``FABRIC/OP-SIZE``."""
    return load_instance(f"{fabric}/{op}-{size}")


@_family("a collective over all tiles of a grid")
def collective(
    rows: int,
    cols: int,
    op: str,
    lasers: int = 16,
    waveguides: int = 64,
    bytes_per_node: int = 1024,
) -> Instance:
    """Return an operation over all tiles; the buffer has `bytes_per_node` for each."""
    fabric = _grid(rows, cols, lasers=lasers, waveguides=waveguides)
    nodes = fabric.node_count
    task = Collective(op, tuple(range(nodes)), bytes_per_node * nodes)
    size = format_bytes(task.buffer_bytes)
    name = f"{op} {rows}x{cols} L={lasers} W={waveguides} {size}"
    check_collective(task, nodes, name)
    return Instance(fabric, task, name)


@_family("a collective of some nodes of a fabric")
def subset(fabric: str, op: str, nodes: str, buffer_bytes: int) -> Instance:
    """Return a collective of `nodes`, which stand in the order of ranks with blanks."""
    known = _fabric(fabric)
    if not all(node.isdecimal() for node in nodes.split()):
        what, allowed = "invalid nodes", "numbers with blanks between them"
        raise InputError(what, found=nodes, allowed=allowed)
    name = f"{fabric}[{nodes}]/{op}-{format_bytes(buffer_bytes)}"
    task = Collective(op, tuple(map(int, nodes.split())), buffer_bytes)
    check_collective(task, known.node_count, name)
    return Instance(known, task, name)


# Demands


@_family("random traffic matrices on LIGHTPATH")
def matrices(
    rows: int,
    cols: int,
    percent: int,
    sizes: str = "pareto",
    waveguides: int = 64,
    draw: int = 0,
) -> Instance:
    """Return a matrix in which `percent` of all pairs, on average, have bytes to send.

    Sizes: ``pareto``, 100 kB or more, of shape 1.2; ``uniform``, up to 1 MB. The grid
    is one wafer.
    """
    if sizes not in _SIZES or not 1 <= percent <= 100 or draw < 0:
        allowed = f"1 to 100 percent; {', '.join(_SIZES)}; draw from 0"
        found = (percent, sizes, draw)
        raise InputError("invalid matrix", found=found, allowed=allowed)
    wafer = {"wafer_rows": rows, "wafer_cols": cols}
    fabric = _grid(rows, cols, **wafer, waveguides=waveguides)
    rng = seeded_random(draw)
    entries = []
    for src in range(fabric.node_count):
        for dst in range(fabric.node_count):
            if src != dst and rng.random() < percent / 100:
                if sizes == "pareto":
                    size = int(_PARETO_LEAST_BYTES * rng.paretovariate(_PARETO_SHAPE))
                else:
                    size = rng.randint(1, _UNIFORM_MOST_BYTES)
                entries.append((src, dst, size))
    name = f"{sizes} {rows}x{cols} {percent}% W={waveguides} #{draw}"
    return Instance(fabric, Demand.from_rows(entries), name)


@_family("random traffic on a fabric of the catalogue")
def traffic(
    fabric: str,
    partners: int,
    most_mb: int = 100,
    draw: int = 0,
    pattern: str = "cyclic",
    *,
    relays: bool = False,
) -> Instance:
    """Return traffic between all nodes of a fabric; `relays`: a byte may take two hops.

    Patterns: those of `switches`; ``lines``, in which nodes in a square send to some of
    their row and column, as SiPAC of level 1 and 2D rings can without relays.
    """
    known = _fabric(fabric)
    seed = [draw, known.node_count, partners]
    demand = _traffic(pattern, known.node_count, partners, most_mb, seed)
    demand = msgspec.structs.replace(demand, relays=relays)
    name = f"traffic {fabric} {pattern} p={partners} {most_mb}MB #{draw}"
    return Instance(known, demand, name + " relays" * relays)


@_family("random traffic on parallel optical switches")
def switches(
    nodes: int,
    switches: int,
    partners: int,
    most_mb: int = 100,
    draw: int = 0,
    pattern: str = "cyclic",
) -> Instance:
    """Return traffic in which a node sends to `partners` others at most.

    Patterns: ``cyclic``, cyclic shifts of shuffled nodes, which share ports evenly;
    ``random``, random permutations, three pairs in ten left out.
    """
    seed = [draw, nodes, switches, partners]
    table = {"kind": "ocs", "nodes": nodes, "switches": switches}
    table["bits_per_second_per_node"] = 10**12
    fabric = load_fabric(table, "switches")
    demand = _traffic(pattern, nodes, partners, most_mb, seed)
    name = f"switches {nodes}x{switches} p={partners} {most_mb}MB #{draw}"
    if pattern != "cyclic":
        name += f" {pattern}"
    return Instance(fabric, demand, name)


@_family("random traffic on a ring of wavelengths")
def ring(
    nodes: int,
    wavelengths: int,
    partners: int,
    directions: int = 1,
    most_mb: int = 100,
    draw: int = 0,
    reach: int = 0,
    *,
    shared: bool = False,
) -> Instance:
    """Return traffic on a ring whose light passes `reach` nodes, 0 for all others.

    Traffic goes no farther than light. `shared`: transceivers are shared by the two
    directions.
    """
    if not 0 <= reach < nodes:
        raise InputError("invalid reach", found=reach, allowed=f"0 to {nodes - 1}")
    table = {"kind": "ring", "nodes": nodes, "wavelengths": wavelengths}
    table |= {"directions": directions, "reach": reach or nodes - 1}
    if shared:
        table["shared_transceivers"] = True
    fabric = load_fabric(table, "ring")
    seed = [draw, nodes, wavelengths, partners, directions]
    if reach:
        steps = list(range(1, reach + 1))
        if directions == 2:
            steps = sorted({way * step % nodes for step in steps for way in (1, -1)})
        demand = _near_demand(nodes, steps, partners, most_mb, seed)
    else:
        demand = _cyclic_demand(nodes, partners, most_mb, seed)
    way = "both ways" if directions == 2 else "one way"
    way += f" reach {reach}" * (reach > 0) + " shared" * shared
    name = f"ring {nodes} W={wavelengths} {way} p={partners} {most_mb}MB #{draw}"
    return Instance(fabric, demand, name)


@_family("an ideal switch, or 16 optical switches")
def network(kind: str, nodes: int, gbit_per_s: int = 8000) -> Instance:
    """Return a byte from each node to the next, where no demand is what is asked."""
    if kind not in ("ideal-switch", "ocs") or nodes < 2:
        what, allowed = "invalid network", "ideal-switch or ocs of 2 nodes or more"
        raise InputError(what, found=f"{kind} of {nodes}", allowed=allowed)
    table = {"kind": kind, "nodes": nodes}
    table["bits_per_second_per_node"] = gbit_per_s * 10**9
    if kind == "ocs":
        table["switches"] = 16
    fabric = load_fabric(table, "network")
    pairs = [(node, (node + 1) % nodes, 1) for node in range(nodes)]
    name = f"{kind} {nodes} at {gbit_per_s} Gb/s"
    return Instance(fabric, Demand.from_rows(pairs), name)


# Circuits to be routed


@_family("random permutations on a grid, to be routed")
def permutations(rows: int, cols: int, copies: int = 1, draw: int = 0) -> Instance:
    """Return the union of `copies` permutations, a request a pair, fixed points out."""
    if copies < 1 or draw < 0:
        what, allowed = "invalid permutations", "copies from 1, draw from 0"
        raise InputError(what, found=(copies, draw), allowed=allowed)
    fabric = _grid(rows, cols)
    rng = np.random.default_rng([draw, copies, rows, cols])
    pairs = tuple(
        (src, dst)
        for _ in range(copies)
        for src, dst in enumerate(rng.permutation(fabric.node_count).tolist())
        if src != dst
    )
    return _requests(fabric, pairs, f"permutations {rows}x{cols} x{copies} #{draw}")


@_family("requests of known patterns on a grid, to be routed")
def requests(
    rows: int,
    cols: int,
    pattern: str,
    count: int = 0,
    step: int = 0,
    order: str = "row-major",
    draw: int = 0,
) -> Instance:
    """Return the requests of a pattern.

    Patterns: ``all-to-all``; ``random``, `count` pairs of any two different tiles;
    ``doubling`` or ``quadrupling``, where ranks differ in the digit `step`, from 0, to
    base 2 or 4. Orders of ranks on tiles: ``row-major``; ``morton`` on a square whose
    side is a power of two.
    """
    fabric = _grid(rows, cols)
    nodes = fabric.node_count
    if pattern not in _PATTERNS or order not in _ORDERS or min(count, step, draw) < 0:
        what, found = "invalid requests", (pattern, order, count, step, draw)
        allowed = f"{', '.join(_PATTERNS)}; {', '.join(_ORDERS)}; numbers from 0"
        raise InputError(what, found=found, allowed=allowed)
    if pattern == "random":
        rng = np.random.default_rng([draw, count, rows, cols])
        src = rng.integers(0, nodes, count)
        dst = (src + rng.integers(1, nodes, count)) % nodes
        detail = f"x{count} #{draw}"
    elif pattern == "all-to-all":
        src, dst = np.divmod(np.arange(nodes**2), nodes)
        src, dst = src[src != dst], dst[src != dst]
        detail = ""
    else:
        src, dst = _pairs_of_digit(nodes, _RADICES[pattern], step)
        if order == "morton":
            tile = _morton_tiles(rows, cols)
            src, dst = tile[src], tile[dst]
        detail = f"step {step} {order}"
    pairs = tuple(zip(src.tolist(), dst.tolist(), strict=True))
    return _requests(fabric, pairs, f"{pattern} {rows}x{cols} {detail}".strip())


# Operations to be placed


@_family("random layered graphs of operations, to be placed")
def layered(
    layers: int, width: int, devices: int, distance: int, draw: int = 0
) -> Instance:
    """Return operations of 1 to 100 us, each fed by one to three of the layer before.

    Devices are in a ring; data may go `distance` down it.
    """
    if min(layers, width, distance + 1, draw + 1) < 1 or devices < 2:
        what, found = "invalid graph", (layers, width, devices, distance, draw)
        allowed = "layers and width from 1, devices from 2, distance and draw from 0"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng([draw, layers, width])
    edges = sorted(
        ((layer - 1) * width + int(heard), layer * width + place)
        for layer in range(1, layers)
        for place in range(width)
        for heard in rng.choice(
            width, min(width, int(rng.integers(1, 4))), replace=False
        )
    )
    times = rng.integers(1, 101, layers * width).tolist()
    table = {"kind": "ring", "nodes": devices, "wavelengths": 1, "reach": devices - 1}
    name = f"layered {layers}x{width} k={devices} distance={distance} #{draw}"
    workload = _operations(times, edges, devices, distance)
    return Instance(load_fabric(table, "devices"), workload, name)


@_family("graphs of operations of several shapes, to be placed")
def graph(
    shape: str,
    depth: int,
    breadth: int,
    devices: int,
    distance: int,
    percent: int = 50,
    reach: int = 1,
) -> Instance:
    """Return operations of 1 to 12 us, as many as `depth` times `breadth` but for hubs.

    Shapes: ``layers``, each operation hears from `percent` of the layer before;
    ``hubs``, one fans out to `breadth` others, which the next gathers, block after
    block; ``scattered``, each hears from up to 3 or 4 of the `reach` before it;
    ``rows``, each hears from `reach` neighbours on each side in the row before. Devices
    are in a ring; data may go `distance` down it.
    """
    if shape not in _SHAPES or min(depth, breadth, devices - 1, reach + 1) < 1:
        what, allowed = "invalid graph", f"{', '.join(_SHAPES)}; sizes from 1"
        raise InputError(what, found=(shape, depth, breadth, devices), allowed=allowed)
    if depth * breadth * (breadth if shape == "layers" else 1) > _MOST_OPERATIONS:
        allowed = f"{_MOST_OPERATIONS} operations or pairs"
        raise InputError("too large a graph", allowed=allowed)
    edges, times = {
        "layers": lambda: _layers(depth, breadth, devices, distance, percent),
        "hubs": lambda: _hubs(depth, breadth, devices, distance),
        "scattered": lambda: _scattered(depth * breadth, devices, distance, reach),
        "rows": lambda: _rows(depth, breadth, reach),
    }[shape]()
    detail = {"layers": f" {percent} %", "hubs": ""}.get(shape, f" reach {reach}")
    name = f"{shape} {depth}x{breadth}{detail} k={devices} distance={distance}"
    workload = _operations(times, edges, devices, distance)
    return Instance(IdealSwitch(nodes=devices), workload, name)


@_family("the parts of a model, to be placed")
def split_model(
    model: str, devices: int, distance: int, backward: str = "in-place"
) -> Instance:
    """Return the parts of a model of the catalogue with its default training.

    `backward`: whether the backward pass is cut ``apart`` or stays ``in-place``.
    Devices are in a ring; data may go `distance` down it.
    """
    if backward not in _BACKWARD:
        what, allowed = "unknown backward pass", ", ".join(_BACKWARD)
        raise InputError(what, found=backward, allowed=allowed)
    parts = split_graph(
        computation_graph(default_training(model_named(model))),
        devices=devices,
        distance=distance,
        backward=cast("Literal['apart', 'in-place']", backward),
    )
    name = f"{model} backward {backward} k={devices} distance={distance}"
    return Instance(IdealSwitch(nodes=devices), parts.workload, name)


# What families are made of


def _fabric(name: str) -> AnyFabric:
    known = {**demand_fabrics(), **fabrics()}
    if name not in known:
        allowed = "a fabric of `lightloom instances`"
        raise InputError("unknown fabric", found=name, allowed=allowed)
    return known[name]


def _grid(rows: int, cols: int, **rest: int) -> AnyFabric:
    table = {"kind": "lightpath", "rows": rows, "cols": cols, **rest}
    return load_fabric(table, "grid")


def _requests(
    fabric: AnyFabric, pairs: tuple[tuple[int, int], ...], name: str
) -> Instance:
    """Return an instance whose pairs are to be routed, a request each."""
    demand = Demand.from_rows([(*pair, 1) for pair in pairs])
    return Instance(fabric, demand, name, pairs)


def _traffic(
    pattern: str, nodes: int, partners: int, most_mb: int, seed: _Seed
) -> Demand:
    """Return traffic of a pattern, as `switches` names them."""
    demands = {
        "cyclic": _cyclic_demand,
        "random": _permuted_demand,
        "lines": _line_demand,
    }
    if pattern not in demands:
        what, allowed = "unknown pattern", ", ".join(demands)
        raise InputError(what, found=pattern, allowed=allowed)
    return demands[pattern](nodes, partners, most_mb, seed)


def _cyclic_demand(nodes: int, partners: int, most_mb: int, seed: _Seed) -> Demand:
    """Return a demand in which a node sends to, and hears from, `partners` others.

    These are random cyclic shifts of a random order of the nodes; sizes are drawn
    uniformly from 1 to `most_mb` megabytes.
    """
    if not (1 <= partners < nodes and most_mb >= 1 and min(seed) >= 0):
        what, found = "invalid demand", (nodes, partners, most_mb)
        allowed = "fewer partners than nodes, at least 1 MB, draw from 0"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(nodes).tolist()
    shifts = rng.choice(np.arange(1, nodes), partners, replace=False).tolist()
    size = iter(rng.integers(1, most_mb, nodes * partners, endpoint=True).tolist())
    return Demand.from_rows(
        [
            (order[place], order[(place + shift) % nodes], next(size) * MEGA)
            for shift in shifts
            for place in range(nodes)
        ]
    )


def _permuted_demand(nodes: int, partners: int, most_mb: int, seed: _Seed) -> Demand:
    """Return a demand over `partners` permutations, three pairs in ten left out.

    Sizes are drawn uniformly from 1 to `most_mb` megabytes.
    """
    if not (nodes >= 2 and partners >= 1 and most_mb >= 1 and min(seed) >= 0):
        what, found = "invalid demand", (nodes, partners, most_mb)
        allowed = "2 nodes, a partner, 1 MB, draw from 0"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng(seed)
    src = np.tile(np.arange(nodes), partners)
    dst = np.concatenate([rng.permutation(nodes) for _ in range(partners)])
    kept = (rng.random(len(src)) < _KEPT) & (src != dst)
    src, dst = np.divmod(np.unique(src[kept] * nodes + dst[kept]), nodes)
    size = rng.integers(1, most_mb, len(src), endpoint=True) * MEGA
    columns = (src.tolist(), dst.tolist(), size.tolist())
    return Demand.from_rows(list(zip(*columns, strict=True)))


def _line_demand(nodes: int, partners: int, most_mb: int, seed: _Seed) -> Demand:
    """Return a demand in which a node of a square sends within its row and column.

    Each to `partners` others; sizes are drawn as for `_cyclic_demand`.
    """
    side = math.isqrt(nodes)
    most = 2 * (side - 1)
    if side**2 != nodes or not (1 <= partners <= most and most_mb >= 1):
        what, found = "invalid demand", (nodes, partners, most_mb)
        allowed = "a square of nodes, as many partners as a node has in line, 1 MB"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng(seed)
    node = np.arange(nodes)
    rows = []
    for src in range(nodes):
        near = (node // side == src // side) != (node % side == src % side)
        chosen = rng.choice(node[near], partners, replace=False).tolist()
        sizes = rng.integers(1, most_mb, partners, endpoint=True).tolist()
        pairs = zip(chosen, sizes, strict=True)
        rows += [(src, dst, size * MEGA) for dst, size in pairs]
    return Demand.from_rows(rows)


def _near_demand(
    nodes: int, steps: Sequence[int], partners: int, most_mb: int, seed: _Seed
) -> Demand:
    """Return a demand in which a node sends to `partners` of those `steps` down a ring.

    Sizes are drawn uniformly from 1 to `most_mb` megabytes.
    """
    if not (1 <= partners <= len(steps) and most_mb >= 1 and min(seed) >= 0):
        what, found = "invalid demand", (nodes, partners, most_mb)
        allowed = "at most as many partners as are in reach, 1 MB, draw from 0"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng(seed)
    return Demand.from_rows(
        [
            (
                node,
                (node + int(step)) % nodes,
                int(rng.integers(1, most_mb, endpoint=True)) * MEGA,
            )
            for node in range(nodes)
            for step in rng.choice(steps, partners, replace=False)
        ]
    )


def _pairs_of_digit(nodes: int, radix: int, step: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of ranks that differ in the digit `step` alone."""
    if radix ** (step + 1) > nodes or nodes & (nodes - 1):
        what, allowed = "invalid step", "one of a power of two of tiles"
        raise InputError(what, found=step, allowed=allowed)
    rank = np.repeat(np.arange(nodes), radix - 1)
    digit = np.tile(np.arange(1, radix), nodes)
    return rank, rank ^ digit * radix**step


def _morton_tiles(rows: int, cols: int) -> IntArray:
    """Return the tile of each rank, bits of row and column by turns."""
    if rows != cols or rows & (rows - 1):
        what, allowed = "invalid order", "a square whose side is a power of two"
        raise InputError(what, found=f"{rows}x{cols}", allowed=allowed)
    rank = np.arange(rows * cols)
    row, col = np.zeros_like(rank), np.zeros_like(rank)
    for bit in range(rows.bit_length() - 1):
        col |= (rank >> 2 * bit & 1) << bit
        row |= (rank >> (2 * bit + 1) & 1) << bit
    return row * cols + col


def _operations(
    times_us: Sequence[int],
    edges: Iterable[tuple[int, int]],
    devices: int,
    distance: int,
) -> Workload:
    """Return operations that exchange a byte along each edge."""
    pairs = list(edges)
    return Workload(
        tuple(f"op{op}" for op in range(len(times_us))),
        tuple(time * PS_PER_US for time in times_us),
        (0,) * len(times_us),
        tuple(src for src, _ in pairs),
        tuple(dst for _, dst in pairs),
        (1,) * len(pairs),
        devices,
        distance,
    )


def _layers(
    depth: int, width: int, devices: int, distance: int, percent: int
) -> tuple[_Edges, list[int]]:
    rng = np.random.default_rng([depth, width, devices, distance, percent])
    edges = [
        (src, dst)
        for dst in range(width, depth * width)
        for src in range((dst // width - 1) * width, dst // width * width)
        if rng.integers(100) < percent
    ]
    return edges, rng.integers(1, 10, depth * width).tolist()


def _hubs(
    blocks: int, fan: int, devices: int, distance: int
) -> tuple[_Edges, list[int]]:
    rng = np.random.default_rng([blocks, fan, devices, distance])
    edges, hub = [], 0
    for _ in range(blocks):
        following = hub + fan + 1
        for op in range(hub + 1, following):
            edges += [(hub, op), (op, following)]
        hub = following
    return edges, rng.integers(8, 13, hub + 1).tolist()


def _scattered(
    ops: int, devices: int, distance: int, back: int
) -> tuple[_Edges, list[int]]:
    most = 3 if ops < 1000 else 4
    rng = np.random.default_rng([ops, most, devices, distance])
    edges = sorted(
        {
            (int(rng.integers(max(0, dst - back), dst)), dst)
            for dst in range(1, ops)
            for _ in range(int(rng.integers(0, most + 1)))
        }
    )
    return edges, rng.integers(1, 10, ops).tolist()


def _rows(rows: int, width: int, reach: int) -> tuple[_Edges, list[int]]:
    rng = np.random.default_rng([rows, width, reach])
    edges = [
        ((row - 1) * width + place + off, row * width + place)
        for row in range(1, rows)
        for place in range(width)
        for off in range(-reach, reach + 1)
        if 0 <= place + off < width
    ]
    return edges, rng.integers(8, 13, rows * width).tolist()
