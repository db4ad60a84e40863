"""What no schedule of a collective over all nodes can beat, for claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.task import Collective
from lightloom.core.units import PS_PER_US, format_ps
from lightloom.synth.bounds import all_bounds
from lightloom.validate.certificates.completion_time import proven_ps

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric


_MOST_NODES = 2**12


def best_bound(fabric: AnyFabric, op: str, buffer_bytes: int) -> Certificate:
    """Return the highest lower bound on a collective over all nodes.

    Of large all-to-alls, whose pairs are too many to count, only what a node receives
    counts: as much as in an all-gather, from as many.

    Parameters
    ----------
    fabric
        The network.
    op, buffer_bytes
        The collective.
    """
    nodes = tuple(range(fabric.node_count))
    if op == "all-to-all" and len(nodes) > _MOST_NODES:
        task = Collective("all-gather", nodes, buffer_bytes)
        witness = {"resources": [len(nodes)], "prices": [1]}
        bound_ps = proven_ps("prices", fabric, task, witness)
        return Certificate(COMPLETION_TIME, "prices", bound_ps, None, witness)
    kinds = all_bounds(fabric, Collective(op, nodes, buffer_bytes))
    return max(kinds.values(), key=lambda one: (one.bound, one.kind))


def bound_text(certificate: Certificate) -> str:
    """Return a bound on the completion time with its kind."""
    return f"{format_ps(int(certificate.bound))} ({certificate.kind})"


def bound_us(certificate: Certificate) -> float:
    """Return a bound on the completion time in microseconds."""
    return float(certificate.bound) / PS_PER_US
