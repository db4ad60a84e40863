"""Switch uses: what a node exchanges, and the configurations it takes, share its ports.

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

The line's bound is the least T that meets this; it exists, because with T the left
side falls and the right side rises. Where the first configurations are not charged, the
left side is s delta less, and a use may move data for T - alpha.

*Switch by switch.* A switch that the line uses twice loses two reconfigurations. One
with m uses moves its data for at most T - m (delta + alpha). Let a switches have two
uses or more, and the others one at most. One of these others moves data for at most C1
= T - delta - alpha. One of the a switches does so for at most C2 = T - 2 (delta +
alpha), and so does each of its uses. Say partner j has x_j of the single uses, X = s -
a at most in all. It needs at least r_j = max(0, d_j - x_j C1) from the a switches, in
at least ceil(r_j / C2) uses. Hence, if a schedule of length T exists, then for some a

    F  <=  a C2        and        F + (delta + alpha) max(H, ceil(F / C2))  <=  a T,

where F and H are the least that X single uses leave of sum_j r_j and of the number of
partners with r_j > 0 (a = 0 asks for F = 0). Single uses save C1 of a partner, or all
that is left of it: F takes the X largest savings. H takes the partners that are wholly
served by the fewest single uses first. Both fall as T rises, so T is searched by
halving; below the line's bound nothing is possible either. Where the first
configurations are not charged, C1 and C2 are delta more, and the right side a delta.

Uses are whole: as each moves some data, a switch with m of them takes longer than
m (delta + alpha). One switch has ceil(U / s) uses or more, where the line has at least
U = sum_j ceil(d_j / C1), so T > (delta + alpha) ceil(U / s). Where the first
configurations are not charged, T is delta more here.

Let one use be enough for each of K partners, at the line's bound and so for any T. If
the line has K uses, each serves a partner wholly, and one switch serves M = ceil(K / s)
of them or more. Else it has K + 1 uses at least. So T is at least the smaller of M
(delta + alpha) + the M smallest d_j, and (sum_j d_j + (K + 1) (delta + alpha)) / s;
where the first configurations are not charged, delta less.
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
    return least_uses_ps(*_line_sizes(fabric, task, witness))


def _line_sizes(
    fabric: AnyFabric, task: Task, witness: Witness
) -> tuple[Ocs, list[int]]:
    """Return the switches, and the bytes of each partner of a line.

    Raises `WitnessError`: another fabric or task, or no such line.
    """
    if not isinstance(fabric, Ocs) or not isinstance(task, Demand):
        message = "the kind switch-uses is about demands on optical switches"
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


def least_uses_ps(fabric: Ocs, sizes: list[int]) -> int:
    """Return the least time in which switches may serve a line, exact.

    Times are counted in picoseconds times the rate of a circuit, so data are integers.
    """
    low = max(least_line_ps(fabric, sizes), _least_whole_ps(fabric, sizes))
    if not sizes or _may_serve(fabric, sizes, low):
        return low
    high = 2 * low
    while not _may_serve(fabric, sizes, high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _may_serve(fabric, sizes, middle):
            high = middle
        else:
            low = middle
    return high


def _least_whole_ps(fabric: Ocs, sizes: list[int]) -> int:
    """Return the least time if partners are served wholly, or with one more use.

    0 where one use is not enough for each.
    """
    rate, switches = fabric.bits_per_second_per_circuit, fabric.switches
    use_ps, blind_ps, free_ps = use_costs_ps(fabric)
    data = sorted(size * BITS_PER_BYTE * PS_PER_S for size in sizes)
    single = rate * (least_line_ps(fabric, sizes) - blind_ps)
    if not data or data[-1] > single:
        return 0
    most = -(-len(data) // switches)
    whole = switches * (most * use_ps * rate + sum(data[:most]))
    divided = (len(data) + 1) * use_ps * rate + sum(data)
    return -(-(min(whole, divided) - free_ps * rate) // (switches * rate))


def _may_serve(fabric: Ocs, sizes: list[int], time_ps: int) -> bool:
    """Return whether the inequalities hold for some number of switches used twice."""
    rate, switches = fabric.bits_per_second_per_circuit, fabric.switches
    use_ps, blind_ps, free_ps = use_costs_ps(fabric)
    single = rate * (time_ps - blind_ps)
    double = single - rate * use_ps
    room = rate * (time_ps + free_ps // switches)
    if single <= 0:
        return False
    data = [size * BITS_PER_BYTE * PS_PER_S for size in sizes]
    most_ps = time_ps + free_ps // switches - 1
    if use_ps * -(-sum(-(-each // single) for each in data) // switches) > most_ps:
        return False
    whole = sum(min(switches, each // single) for each in data)
    parts = sorted((each % single for each in data), reverse=True)
    uses = sorted(-(-each // single) for each in data)
    for twice in range(switches + 1):
        left = _left(sum(data), single, whole, parts, switches - twice)
        if not left:
            return True
        if double <= 0 or left > twice * double:
            continue
        partners = len(uses) - _served(uses, switches - twice)
        needed = rate * use_ps * max(partners, -(-left // double))
        if left + needed <= twice * room:
            return True
    return False


def _left(total: int, single: int, whole: int, parts: list[int], uses: int) -> int:
    """Return what is left of a line's data after some single uses, at the least."""
    full = min(uses, whole)
    return total - full * single - sum(parts[: uses - full])


def _served(uses: list[int], single: int) -> int:
    """Return how many partners some single uses wholly serve, at the most."""
    served = 0
    for needed in uses:
        single -= needed
        if single < 0:
            break
        served += 1
    return served


BOUND = BoundKind("switch-uses", _prove, straight=True)
