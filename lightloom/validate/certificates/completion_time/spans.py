"""Spans: light that goes far takes a wavelength of every span on its way.

For demands, and for collectives whose bytes each go from one rank to one other
(all-to-all, scatter, gather), on a ring or rings along rows and columns. Witness
``{"axis": a}``: 0 for the rings of rows, or a ring by itself, 1 for those of columns.

Let h(u, v) be the least spans along axis a that light crosses on the way from u to v,
forwarded or not: the distance of their places round such a ring, the shorter way if
there are two. A byte from u to v crosses h(u, v) spans of axis a or more, since no
circuit along the other axis brings it nearer. Let X be the sum over pairs of their
bytes times h, S the spans of axis a in all directions, W the wavelengths of each and r
the rate of one. In a portion with data time t a circuit of c wavelengths over s spans
moves at most c r t bits, and the c s of all circuits sum to S W at most. So

    T  >=  (what portions and configurations cost) + ceil(X / (S W r)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.exact_sums import exact_sums
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.requirements import (
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import require_carrier
from lightloom.validate.certificates.witness import WitnessError, keys, number

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

__all__ = ["BOUND", "axes_of", "crossed_bytes"]


def axes_of(fabric: AnyFabric) -> tuple[Ring, ...]:
    """Return a ring of each axis, empty on other fabrics.

    Parameters
    ----------
    fabric
        Any fabric.
    """
    if isinstance(fabric, Ring2d):
        return fabric.rings
    return (fabric,) if isinstance(fabric, Ring) else ()


def crossed_bytes(fabric: Ring | Ring2d, task: Task, axis: int) -> int:
    """Return the sum of bytes times the spans of an axis that they must cross.

    Parameters
    ----------
    fabric
        A ring, or rings.
    task
        Sound for it.
    axis
        0, or 1 for the columns of `Ring2d`.
    """
    needs = requirements_of(task, fabric.node_count)
    size_bytes = 1
    if isinstance(needs, CollectiveNeeds):
        if needs.reduces:
            return 0
        alone = needs.wanted == 1
        nodes = np.array(needs.collective.nodes, dtype=np.int64)
        src, dst = nodes[needs.origin[alone]], nodes[needs.owner[alone]]
        amount = needs.chunks[alone]
        size_bytes = needs.collective.chunk_bytes
    else:
        src, dst, amount = needs.src, needs.dst, needs.bytes
    ring = axes_of(fabric)[axis]
    if isinstance(fabric, Ring2d):
        src, dst = (fabric.line(ends, 1 - axis) for ends in (src, dst))
    spans = ring.least_spans(src, dst)
    by_spans = exact_sums(spans, amount, ring.nodes)
    crossed = sum(count * total for count, total in enumerate(by_spans))
    return size_bytes * crossed


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    if not isinstance(fabric, Ring | Ring2d):
        message = f"the kind spans is about rings, not about a {fabric.kind}"
        raise WitnessError(message)
    keys(witness, "axis")
    rings = axes_of(fabric)
    axis = number(witness, "axis", len(rings))
    ring = rings[axis]
    lit = ring.directions * fabric.node_count * ring.wavelengths
    rate = lit * ring.bits_per_second_per_wavelength
    needs = requirements_of(task, fabric.node_count)
    crossed = crossed_bytes(fabric, task, axis)
    return base_ps(fabric, needs) + transmission_ps(crossed, rate)


BOUND = BoundKind("spans", _prove)
"""The kind of bound."""
