"""Cut: the data that must enter a set of tiles share the edges into it.

Witness ``{"nodes": [...]}``. Let X be the bytes that must enter the set, E the
waveguides and fibres of the directed edges into it and M the nodes inside that may
take part. All data cross those edges on at most `lasers` wavelengths each, and end at
those nodes' photodiodes, so they enter at no more than r = min(E, M) * lasers *
(rate of a wavelength), and T >= (what portions and configurations cost) + ceil(X / r).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.completion_time.cut_search import best_rectangle
from lightloom.validate.certificates.completion_time.kind import (
    BoundKind,
    Witness,
    WitnessError,
)
from lightloom.validate.certificates.completion_time.requirements import (
    base_ps,
    obligations,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    can_carry,
    require_carrier,
)

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.completion_time.requirements import Mask

_MOST_NODES = 4096


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    if not isinstance(fabric, Lightpath) or not can_carry(fabric):
        return None
    if fabric.node_count > _MOST_NODES:
        return None
    inside = best_rectangle(fabric, obligations(task, fabric.node_count))
    return None if inside is None else {"nodes": np.flatnonzero(inside).tolist()}


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    if not isinstance(fabric, Lightpath):
        message = f"the kind cut is about grids, not about a {fabric.kind}"
        raise WitnessError(message)
    inside = _node_set(witness, fabric.node_count)
    needs = obligations(task, fabric.node_count)
    size_bytes = needs.entering_bytes(inside)
    tail, head = fabric.edges()
    enters = ~inside[tail] & inside[head]
    paths = int(fabric.edge_waveguides(tail[enters], head[enters]).sum())
    lanes = min(paths, int((inside & needs.members()).sum()))
    if not size_bytes:
        return base_ps(fabric, needs)
    if not lanes:
        message = "data must enter the set, but no waveguide does"
        raise WitnessError(message)
    rate = lanes * fabric.node_bits_per_s
    return base_ps(fabric, needs) + transmission_ps(size_bytes, rate)


def _node_set(witness: Witness, node_count: int) -> Mask:
    nodes = witness.get("nodes")
    if list(witness) != ["nodes"] or not isinstance(nodes, list):
        message = f"the witness has keys {sorted(witness)}, allowed: a list of nodes"
        raise WitnessError(message)
    inside = np.zeros(node_count, dtype=np.bool_)
    for node in nodes:
        if not 0 <= node < node_count or inside[node]:
            message = f"node {node} is named twice, or not among 0 to {node_count - 1}"
            raise WitnessError(message)
        inside[node] = True
    return inside


BOUND = BoundKind("cut", _find, _prove)
