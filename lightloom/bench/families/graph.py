"""Graphs of operations of several shapes, to be placed."""

from __future__ import annotations

import numpy as np

from lightloom.bench.families import Family
from lightloom.core.errors import InputError
from lightloom.core.task import Workload
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.instance import Instance

_US = 10**6
_SHAPES = ("layers", "hubs", "scattered", "rows")
_MOST = 2**16
Edges = list[tuple[int, int]]


def make(
    shape: str,
    depth: int,
    breadth: int,
    devices: int,
    distance: int,
    percent: int = 50,
    reach: int = 1,
) -> Instance:
    """Return operations of 1 to 12 us.

    Parameters
    ----------
    shape
        ``layers``: each operation hears from some of the layer before. ``hubs``: one
        fans out to `breadth` others, which the next gathers, block after block.
        ``scattered``: each hears from up to 3 or 4 of the `reach` before it.
        ``rows``: each hears from `reach` neighbours on each side in the row before.
    depth, breadth
        Operations are their product, but for hubs.
    devices, distance
        Devices in a ring, and how far down it data may go.
    percent
        Of the edges between layers, how many there are.
    reach
        See `shape`.
    """
    if shape not in _SHAPES or min(depth, breadth, devices - 1, reach + 1) < 1:
        what, allowed = "invalid graph", f"{', '.join(_SHAPES)}; sizes from 1"
        raise InputError(what, found=(shape, depth, breadth, devices), allowed=allowed)
    if depth * breadth * (breadth if shape == "layers" else 1) > _MOST:
        raise InputError("too large a graph", allowed=f"{_MOST} operations or pairs")
    edges, times = {
        "layers": lambda: _layers(depth, breadth, devices, distance, percent),
        "hubs": lambda: _hubs(depth, breadth, devices, distance),
        "scattered": lambda: _scattered(depth * breadth, devices, distance, reach),
        "rows": lambda: _rows(depth, breadth, reach),
    }[shape]()
    count = len(times)
    workload = Workload(
        tuple(f"op{op}" for op in range(count)),
        tuple(time * _US for time in times),
        (0,) * count,
        tuple(src for src, _ in edges),
        tuple(dst for _, dst in edges),
        (1,) * len(edges),
        devices,
        distance,
    )
    told = {"layers": f" {percent} %", "hubs": ""}.get(shape, f" reach {reach}")
    name = f"{shape} {depth}x{breadth}{told} k={devices} distance={distance}"
    return Instance(IdealSwitch(nodes=devices), workload, name)


def _layers(
    depth: int, width: int, devices: int, distance: int, percent: int
) -> tuple[Edges, list[int]]:
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
) -> tuple[Edges, list[int]]:
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
) -> tuple[Edges, list[int]]:
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


def _rows(rows: int, width: int, reach: int) -> tuple[Edges, list[int]]:
    rng = np.random.default_rng([rows, width, reach])
    edges = [
        ((row - 1) * width + place + off, row * width + place)
        for row in range(1, rows)
        for place in range(width)
        for off in range(-reach, reach + 1)
        if 0 <= place + off < width
    ]
    return edges, rng.integers(8, 13, rows * width).tolist()


FAMILY = Family("graph", "graphs of operations of several shapes, to be placed", make)
