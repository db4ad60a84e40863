"""Line: what a node exchanges, and the configurations that it takes, share its ports.

For demands on parallel optical switches. Witness ``{"node": v, "direction": 0}``: what
v sends; with direction 1, what it receives. Let d_j be the time that the bytes of its
j-th partner take on one circuit, s the switches, delta the reconfiguration delay and
alpha the fixed cost of a transfer. A *use* is a run of configurations of one switch
that all hold the circuit of v and j, and move some of their data. While a switch is
reconfigured for a use, v's port on it is dark (circuits that stay are no new use), and
the first transfer of a use pays alpha. So in a schedule of length T no use moves data
for more than T - delta - alpha, j takes at least ceil(d_j / (T - delta - alpha)) uses,
and as uses of one switch do not overlap,

    sum_j d_j + (delta + alpha) sum_j ceil(d_j / (T - delta - alpha))  <=  s T.

The bound is the least T that meets this; it exists, because with T the left side falls
and the right side rises. Where the first configurations are not charged, the left side
is s delta less, and a use may move data for T - alpha.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.task import Demand
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.witness import WitnessError, keys, number

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    return least_line_ps(*line_sizes("line", fabric, task, witness))


def line_sizes(
    kind: str, fabric: AnyFabric, task: Task, witness: Witness
) -> tuple[Ocs, list[int]]:
    """Return the switches, and the bytes of each partner of a line.

    Raises `WitnessError`: another fabric or task, or no such line.
    """
    if not isinstance(fabric, Ocs) or not isinstance(task, Demand):
        message = f"the kind {kind} is about demands on optical switches"
        raise WitnessError(message)
    keys(witness, "node", "direction")
    node = number(witness, "node", fabric.nodes)
    ends = task.dst if number(witness, "direction", 2) else task.src
    sizes = [size for end, size in zip(ends, task.bytes, strict=True) if end == node]
    return fabric, sizes


def least_line_ps(fabric: Ocs, sizes: list[int]) -> int:
    """Return the least time that leaves room for a line, exact.

    Times are counted in picoseconds times the rate of a circuit, so data are integers.
    """
    if not sizes:
        return 0
    rate, switches = fabric.bits_per_second_per_circuit, fabric.switches
    use_ps, blind_ps, free_ps = use_costs_ps(fabric)
    data = [size * BITS_PER_BYTE * PS_PER_S for size in sizes]

    def needed_ps(time_ps: int) -> int:
        """Return how long a schedule must be if uses last as `time_ps` lets them."""
        most = rate * (time_ps - blind_ps)
        uses = sum(-(-each // most) for each in data)
        needed = sum(data) + rate * (use_ps * uses - free_ps)
        return -(-needed // (rate * switches))

    fewest = sum(data) + rate * (use_ps * len(data) - free_ps)
    low = max(blind_ps + 1, -(-fewest // (rate * switches)))
    # Longer schedules need no more, so what the shortest needs is enough.
    high = max(low, needed_ps(low))
    while low < high:
        middle = (low + high) // 2
        if needed_ps(middle) <= middle:
            high = middle
        else:
            low = middle + 1
    return low


def use_costs_ps(fabric: Ocs) -> tuple[int, int, int]:
    """Return what a use costs, what it cannot use of the time, and what is free.

    Returns all in picoseconds: delta + alpha; what a use of a schedule of length T is
    shorter than T; what all switches together are not charged.
    """
    delay_ps, alpha_ps = fabric.reconfiguration_ps, fabric.alpha_ps
    use_ps = delay_ps + alpha_ps
    if fabric.initial_configuration_charged:
        return use_ps, use_ps, 0
    return use_ps, alpha_ps, fabric.switches * delay_ps


BOUND = BoundKind("line", _prove, straight=True)
