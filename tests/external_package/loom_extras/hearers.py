"""Hearers: each node that must hear something does so on a wavelength of its own.

For a star coupler of W wavelengths of rate r. Let each of h nodes have to hear at least
a byte that it does not hold. A circuit ends at one node and takes a wavelength that no
other circuit of its segment takes, so at most W nodes hear anything in one segment: at
least ceil(h / W) segments are in use, each with a portion of its own. What the nodes
hear all crosses the coupler, which carries W r in every portion.

Witness: the *nodes*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loom_extras.star import Star

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.requirements import requirements_of
from lightloom.validate.certificates.completion_time.step_costs import fixed_ps
from lightloom.validate.certificates.witness import keys, node_mask

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    """Return the picoseconds that the nodes of a witness need."""
    if not isinstance(fabric, Star):
        message = "the kind hearers is about stars"
        raise WitnessError(message)
    keys(witness, "nodes")
    inside = node_mask(witness, "nodes", fabric.node_count).nonzero()[0].tolist()
    received = requirements_of(task, fabric.node_count).received_bytes()
    silent = [node for node in inside if not received[node]]
    if silent or not inside:
        message = f"nodes {silent} need not hear anything" if silent else "no nodes"
        raise WitnessError(message)
    segments = -(-len(inside) // fabric.wavelengths)
    rate = fabric.wavelengths * fabric.bits_per_second_per_wavelength
    bits = BITS_PER_BYTE * sum(received[node] for node in inside)
    return fixed_ps(fabric, segments, segments) + -(-bits * PS_PER_S // rate)


BOUND = BoundKind("hearers", prove)
