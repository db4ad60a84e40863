"""Random layered graphs of operations, to be placed."""

from __future__ import annotations

import numpy as np

from lightloom.bench.families import Family
from lightloom.core.errors import InputError
from lightloom.core.task import Workload
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance

_MICROSECOND_PS = 10**6


def make(
    layers: int, width: int, devices: int, distance: int, draw: int = 0
) -> Instance:
    """Return layers of operations, each fed by one to three of the layer before.

    Parameters
    ----------
    layers, width
        Operations are their product; each lasts 1 to 100 us.
    devices, distance
        Devices in a ring, and how far down it data may go.
    draw
        What the graph is drawn from.
    """
    if min(layers, width, distance + 1, draw + 1) < 1 or devices < 2:
        what, found = "invalid graph", (layers, width, devices, distance, draw)
        allowed = "layers and width from 1, devices from 2, distance and draw from 0"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng([draw, layers, width])
    count = layers * width
    edges = sorted(
        ((layer - 1) * width + int(heard), layer * width + place)
        for layer in range(1, layers)
        for place in range(width)
        for heard in rng.choice(
            width, min(width, int(rng.integers(1, 4))), replace=False
        )
    )
    workload = Workload(
        tuple(f"op{op}" for op in range(count)),
        tuple((rng.integers(1, 101, count) * _MICROSECOND_PS).tolist()),
        (0,) * count,
        tuple(src for src, _ in edges),
        tuple(dst for _, dst in edges),
        (1,) * len(edges),
        devices,
        distance,
    )
    table = {"kind": "ring", "nodes": devices, "wavelengths": 1, "reach": devices - 1}
    fabric = load_fabric(table, "devices")
    name = f"layered {layers}x{width} k={devices} distance={distance} #{draw}"
    return Instance(fabric, workload, name)


FAMILY = Family("layered", "random layered graphs of operations, to be placed", make)
