"""Cut: the data that must enter a set of tiles share the edges into it.

Witness ``{"nodes": [...]}``. Let X be the bytes that must enter the set, E the
waveguides and fibres of the directed edges into it and M the nodes inside that may
take part. All data cross those edges on at most `lasers` wavelengths each, and end at
those nodes' photodiodes, so they enter at no more than r = min(E, M) * lasers *
(rate of a wavelength), and T >= (what portions and configurations cost) + ceil(X / r).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.requirements import (
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys, node_mask

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    if not isinstance(fabric, Lightpath):
        message = f"the kind cut is about grids, not about a {fabric.kind}"
        raise WitnessError(message)
    keys(witness, "nodes")
    inside = node_mask(witness, "nodes", fabric.node_count)
    needs = requirements_of(task, fabric.node_count)
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


BOUND = BoundKind("cut", _prove)
