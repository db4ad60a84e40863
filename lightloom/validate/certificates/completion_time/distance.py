"""Distance: what has far to go is under way for several portions.

For broadcast and reduce of B bytes on one plane of SiPAC or of a ring or rings, where
circuits join near nodes only. Witness ``{"node": v}``: v and the root are L circuits
apart, L >= 2.

Consider P portions whose busiest nodes spend t_1, ..., t_P on data, in all D, and let
r be the rate of a node, X = B / r. Of each byte some copy (for reduce, what v
contributes) goes from one of the two ends to the other by L circuits or more. It leaves
the first end in some portion p, and reaches the other in portion p + L - 1 or later,
since a transfer forwards only what its source held when its step began. So given any
w = L - 1 consecutive portions, each byte leaves the one end before them or reaches the
other after them. An end sends, and receives, at most r t_i bytes of the buffer in
portion i, also where others listen in. Hence B <= r (D - the data time of those w).

The portions 1, ..., P fall into m = ceil(P / w) such windows, the last cut short. Each
spends at most D - X on data, so D <= m (D - X), which takes m >= 2 and gives
D >= X m / (m - 1). With m = k + 1 there are k w + 1 portions at least:

    T  >=  min over k >= 1 of  d0 + (k w + 1) alpha + ceil(X (k + 1) / k)

It falls and then rises in k, but for rounding, which the ceiling bears alone: it is
taken at the k where the sum without it is least.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import CircuitFabric, NearCircuits
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.collectives import op_of
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys, number

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def circuits_apart(fabric: AnyFabric, task: Task) -> IntArray | None:
    """Return how many circuits at least are between the root and every node.

    Returns shape (nodes,); ``None`` where the kind has nothing to say about fabric or
    task.
    """
    if not isinstance(task, Collective) or not isinstance(fabric, CircuitFabric):
        return None
    op = op_of(task)
    if not op.rooted or op.uses_blocks or not isinstance(fabric, NearCircuits):
        return None
    node = np.arange(fabric.node_count, dtype=np.int64)
    return fabric.circuits_apart(np.full_like(node, task.nodes[task.root_rank]), node)


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    apart = circuits_apart(fabric, task)
    if apart is None:
        message = "the kind distance is about broadcast and reduce on SiPAC and rings"
        raise WitnessError(message)
    assert isinstance(fabric, CircuitFabric)
    assert isinstance(task, Collective)
    keys(witness, "node")
    node = number(witness, "node", fabric.node_count)
    if node not in task.nodes:
        message = f"node {node} takes no part"
        raise WitnessError(message)
    window = int(apart[node]) - 1
    if window < 1:
        message = f"a circuit may join node {node} and the root"
        raise WitnessError(message)
    bits = task.buffer_bytes * BITS_PER_BYTE
    whole_ps = Fraction(bits * PS_PER_S, fabric.node_bits_per_s)

    def time_ps(windows: int) -> Fraction:
        moving_ps = fixed_ps(fabric, windows * window + 1, 1)
        return moving_ps + whole_ps * (windows + 1) / windows

    if not fabric.alpha_ps:
        return fixed_ps(fabric, 0, 1) + ceil(whole_ps)
    # k (k + 1) = X / (w alpha) is where one more window begins to cost more.
    least = max(1, isqrt(int(whole_ps / (window * fabric.alpha_ps))))
    return min(ceil(time_ps(windows)) for windows in (least, least + 1))


BOUND = BoundKind("distance", _prove)
"""The kind of bound."""
