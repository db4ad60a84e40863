"""Link stream: what leaves the root in the last step still goes to one receiver only.

For broadcast and reduce of B bytes on packet fabrics, by links ``out`` and links
``into``. Groups of ranks are those that reach one another over none of the
links `into`; S is the root's group, N the number of the others. It is checked that
each message from S to another rank crosses a link of `out`, and each one into another
group a link of `into`. Let the links of `out` carry r in all, and those of `into` N r'
in all; rates are bits per second, B stands for bits, and steps have t_1, ..., t_P of
data time.

Fix a step k. What leaves S for the first time before k is at most r times the sum of
the t_j before k. Let b be what leaves it first in k: the messages that bring it to
groups in k come from S, at most r t_k in all. What leaves later, a, and b have to
enter N groups, so N (a + b) - r t_k <= N r' (sum of the t_j after k). Together

    B  <=  r (sum before k) + r t_k / N + r' (sum after k)  <=  R (T - t_k (1 - 1 / N))

with R the larger of r and r' and T the sum of all. On average over all k

    T  >=  (B / R) P / (P - 1 + 1 / N).

So the completion time is at least the least of P (alpha + latency) plus this over all
P >= 2, or what a single step takes. A reduce is the same backwards: `out` are links
into S, and `into` are links out of the other groups.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.collectives import op_of
from lightloom.validate.certificates.completion_time.message_costs import (
    LinkLengths,
    PairRoutes,
    free_groups,
)
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.validate.certificates.completion_time.collective_needs import (
        CollectiveNeeds,
    )


def streams(task: Task) -> bool:
    """Return whether all of the buffer goes from, or to, one root of several ranks."""
    if not isinstance(task, Collective) or task.rank_count < 2:
        return False
    op = op_of(task)
    return op.rooted and not op.uses_blocks


def stream_ps(
    fabric: PacketFabric,
    needs: CollectiveNeeds,
    routes: PairRoutes,
    witness: Witness,
    steps: int,
) -> int:
    """Return what schedules of so many steps or more take at least.

    `witness`: with the links ``out`` and ``into``.

    Raises `WitnessError`: the links are not right.
    """
    out, into = (
        LinkLengths.read(witness, (key, None), fabric, routes)
        for key in ("out", "into")
    )
    away, toward = out.costs(routes), into.costs(routes)
    if needs.reduces:
        away, toward = away.T, toward.T
    others = _checked_groups(needs.collective, away, toward)
    rate = max(Fraction(out.rate), Fraction(into.rate, others))
    bits = needs.collective.buffer_bytes * BITS_PER_BYTE * PS_PER_S
    return _least_ps(step_ps(fabric), bits / rate, others, steps)


def _checked_groups(collective: Collective, away: IntArray, toward: IntArray) -> int:
    """Return the number of groups beside the root's, or raise `WitnessError`.

    `away`, `toward`: how many links of each kind a message crosses, shape (n, n).
    """
    group = free_groups(toward)
    inside = group == group[collective.root_rank]
    if inside.all():
        message = "the links of into part no ranks from the root"
        raise WitnessError(message)
    if not away[np.ix_(inside, ~inside)].all():
        message = "a message from the root's group crosses no link of out"
        raise WitnessError(message)
    apart = (group[:, None] != group) & ~inside
    if not toward[apart].all():
        message = "a message from group to group crosses no link of into"
        raise WitnessError(message)
    return int(group.max())


def _least_ps(base_ps: int, data_ps: Fraction, others: int, least: int) -> int:
    """Return the least of P base + data P / (P - 1 + 1 / N), rounded up, P from least.

    It is convex in P, so its least stands beside the root of its derivative.
    """
    lost = 1 - Fraction(1, others)
    if not base_ps:
        return _up(data_ps)
    ratio = data_ps * lost / base_ps
    near = isqrt(ratio.numerator // ratio.denominator)
    return min(
        steps * base_ps + _up(data_ps * steps / (steps - lost))
        for steps in {max(least, near + more) for more in range(3)}
    )


def _up(value: Fraction) -> int:
    """Return the value rounded up."""
    return -(-value.numerator // value.denominator)
