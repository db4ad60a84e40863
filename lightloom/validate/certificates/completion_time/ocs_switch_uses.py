"""Switch uses: a switch that a line uses twice loses two reconfigurations.

For demands on parallel optical switches. Witness ``{"node": v, "direction": 0}``: what
v sends; with direction 1, what it receives. Data times d_j, uses, s, delta and alpha
are those of `ocs_port_time`, whose bound is the least T for which the line's uses fill
at most s T in all. Here a schedule of length T is looked at switch by switch.

A switch with m uses of the line moves its data for at most T - m (delta + alpha). Let a
switches have two uses or more, and the others one at most. One of these others moves
data for at most C1 = T - delta - alpha. One of the a switches does so for at most
C2 = T - 2 (delta + alpha), and so does each of its uses. Say partner j has x_j of the
single uses, X = s - a at most in all. It needs at least r_j = max(0, d_j - x_j C1) from
the a switches, in at least ceil(r_j / C2) uses. Hence, if a schedule of length T
exists, then for some a

    F  <=  a C2        and        F + (delta + alpha) max(H, ceil(F / C2))  <=  a T,

where F and H are the least that X single uses leave of sum_j r_j and of the number of
partners with r_j > 0 (a = 0 asks for F = 0). Single uses save C1 of a partner, or all
that is left of it: F takes the X largest savings. H takes the partners that are wholly
served by the fewest single uses first. Both fall as T rises, so T is searched by
halving; below the bound of `ocs_port_time` nothing is possible either. Where the first
configurations are not charged, C1 and C2 are delta more, and the right side a delta.

Uses are whole: as each moves some data, a switch with m of them takes longer than
m (delta + alpha). One switch has ceil(U / s) uses or more, where the line has at least
U = sum_j ceil(d_j / C1), so T > (delta + alpha) ceil(U / s). Where the first
configurations are not charged, T is delta more here.

Let one use be enough for each of K partners, at the bound of `ocs_port_time` and so for
any T. If the line has K uses, each serves a partner wholly, and one switch serves
M = ceil(K / s) of them or more. Else it has K + 1 uses at least. So T is at least the
smaller of M (delta + alpha) + the M smallest d_j, and (sum_j d_j + (K + 1) (delta +
alpha)) / s; where the first configurations are not charged, delta less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.ocs_port_time import (
    least_line_ps,
    line_sizes,
    use_costs_ps,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.instances.instance import AnyFabric


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    return least_uses_ps(*line_sizes("switch-uses", fabric, task, witness))


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
