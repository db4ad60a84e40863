"""Holders: at first there are few who can send, and at last few who must hear.

For broadcast, reduce and all-reduce of B bytes among n ranks on one plane; broadcast
only where circuits have one destination. Let a node have at most k circuits in and k
out, q = k + 1, r the rate of a node, N = n - 1, and consider P portions whose busiest
nodes spend t_1, ..., t_P on data, D in all.

*Broadcast.* A byte is of class u if it first leaves the root in portion u. Let a_s of
the others hear it first in portion s, c_s of them from the root, so c_u = a_u >= 1 and
a_s = 0 before; they add up to N. Who else sends it has heard it, so

(1) c_s <= k,  a_s - c_s <= k (a_u + ... + a_(s-1)).

Those who hold any byte of class u or later before portion s were reached by circuits
of portions u to s - 1: at most q^(s - u), the root included. They send at most r t_s
each, and N ranks hear at most r t_s each. So in portion s

(2) bytes of class u or later are heard at most min(N, q^(s - u)) r t_s times,
(3) and all bytes from the root at most r t_s times.

Witness: for some numbers of portions P (``portions``) *weights* w(u, s) >= 0 for u <=
s <= P, row after row, *root_weights* z(s) >= 0, and a *multiplier* M for each class.
The price of a byte of class u heard in portion s is p(u, s) = w(1, s) + ... + w(u, s),
and z(s) more if it comes from the root. By (2) and (3) all bytes together cost at most
r D times the largest, of any s, of z(s) + the sum over u of w(u, s) min(N, q^(s - u)).
What one byte of class u costs is least for what (1) allows. Let v(s) bound from below
what it costs from portion s on, as a function of the h others who have heard it: v(P +
1) = M (N - h), which is nothing in the end. If v(s + 1) is A - m h, then v(s) is

    A - k max(0, m - p(u, s) - z(s)) - h (m + k max(0, m - p(u, s))),

for none or as many as can be hear it from the root, and none or as many from others. In
portion u it is 1 to k from the root. So each class costs at least what is computed, and
D at least what the cheapest one says.

*Reduce* is the same backwards. Call a message of a byte live if what it reads gets into
what the root has in the end; each other rank sends a live one, since what it
contributes gets there. Let a_s ranks send their last one in portion s. Who hears a live
one in s sends one later or is the root, and hears from k at most; and those that have a
way to the root in portions s + 1 to u are q^(u - s) at most. What a node sends counts
once, whoever hears it, so circuits may have several destinations. All-reduce reduces to
any rank.

A witness may have no tables, its lists all empty: of broadcast and reduce on one plane
what `streams` proves counts always.

This holds of P portions or fewer, the last ones being empty. So

    T >= min over P' <= P of (what P' portions cost) + D(P), and that for each P;

for more portions than all P what `streams` says counts, in an all-reduce `volume`; and
`volume` counts everywhere.

*Switches that change each by itself*, for broadcast and reduce where all of a switch is
dark meanwhile. Let M be the segments of all k switches in which anything moves. With M
<= k a rank has at most k circuits in and k out, all segments together; steps are
portions, the data of a step take its duration less alpha, so all of this holds with the
first configuration and P alpha as what P' steps cost. For M > k counts what `planes`
says of those M, and the less of both is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.parallel_planes import (
    changing_ps,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    buffer_ps,
    fixed_ps,
    least_portions,
    require_carrier,
)
from lightloom.validate.certificates.completion_time.streams import (
    least_from,
    stream_of,
    stream_ps,
    streams,
)
from lightloom.validate.certificates.witness import WitnessError, keys, numbers, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_OPS = ("all-reduce", "broadcast", "reduce")
_KEYS = ("weights", "root_weights", "multipliers")
_MOST = 2**40
"""Largest weight or multiplier."""


@dataclass(frozen=True)
class Prices:
    """Weights and multipliers for one number of portions.

    `weights`: row u has those of portions u to the last, ``weights[u][s - u]``.
    """

    weights: list[list[int]]
    root_weights: list[int]
    multipliers: list[int]

    def data_time(self, others: int, ports: int) -> Fraction:
        """Return the least data time in units of the buffer at the rate of a node."""
        load, price = list(self.root_weights), [0] * len(self.weights)
        costs = []
        for first, row in enumerate(self.weights):
            for late, weight in enumerate(row):
                load[first + late] += weight * min(others, (ports + 1) ** late)
                price[first + late] += weight
            costs.append(self._cost(first, price, others, ports))
        if min(costs) <= 0 or not max(load):
            return Fraction(0)
        return Fraction(min(costs), max(load))

    def _cost(self, first: int, price: list[int], others: int, ports: int) -> int:
        """Return the least cost of a byte that leaves the root in portion `first`."""
        slope = self.multipliers[first]
        least = slope * others
        for late in range(len(price) - 1, first, -1):
            least -= ports * max(0, slope - price[late] - self.root_weights[late])
            slope += ports * max(0, slope - price[late])
        gain = slope - price[first] - self.root_weights[first]
        return least - max(gain, ports * gain)


def asked(fabric: AnyFabric, task: Task) -> tuple[CircuitFabric, Collective] | None:
    """Return fabric and task if this kind of bound is about them."""
    if not isinstance(fabric, CircuitFabric) or not isinstance(task, Collective):
        return None
    if task.op not in _OPS or task.rank_count < 2:
        return None
    if fabric.plane_count > 1 and not (
        isinstance(fabric, Ocs)
        and fabric.dark_while_reconfiguring == "plane"
        and task.op != "all-reduce"
    ):
        return None
    if task.op == "broadcast" and "multicast" in fabric.circuit_columns:
        return None
    return fabric, task


def portions_ps(fabric: CircuitFabric, ranks: int, portions: int) -> int | None:
    """Return what portions cost without data, ``None`` where they do not reach all."""
    most = portions if fabric.plane_count == 1 else 1
    for segments in range(1, most + 1):
        if least_portions(fabric.ports_per_node, segments, ranks) <= portions:
            return fixed_ps(fabric, portions, segments)
    return None


def far_ps(fabric: CircuitFabric, task: Collective, portions: int) -> int:
    """Return what so many portions or more take at least."""
    if task.op == "all-reduce":
        size_ps = buffer_ps(fabric, task) * _volume(task)
        return fixed_ps(fabric, portions, 1) + ceil(size_ps)
    return least_from(fabric, stream_of(fabric, task), portions)


def _volume(task: Collective) -> Fraction:
    """Return how often a rank hears the buffer on average."""
    ranks = task.rank_count
    sweeps = 2 if task.op == "all-reduce" else 1
    return Fraction(sweeps * (ranks - 1), ranks)


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    keys(witness, "portions", *_KEYS)
    tables, stream = list(_tables(witness)), streams(fabric, task)
    question = asked(fabric, task)
    if question is None and (tables or not stream):
        message = "the kind holders is about broadcast, reduce and all-reduce on one"
        message += " plane, with tables not about broadcast where circuits have several"
        message += " destinations, and about the first two on optical switches that are"
        message += " dark while they change"
        raise WitnessError(message)
    told_ps = 0
    if stream:
        assert isinstance(fabric, CircuitFabric)
        assert isinstance(task, Collective)
        told_ps = stream_ps(fabric, task)
    if question is None or not tables:
        return told_ps
    return max(told_ps, _tables_ps(*question, tables))


def _tables_ps(
    circuits: CircuitFabric, collective: Collective, tables: list[tuple[int, Prices]]
) -> int:
    """Return what tables prove, and what holds of more portions than any."""
    others, ports = collective.rank_count - 1, circuits.ports_per_node
    size_ps, before, times = buffer_ps(circuits, collective), 0, []
    for portions, prices in tables:
        data = max(prices.data_time(others, ports), _volume(collective))
        data_ps = ceil(size_ps * data)
        for fewer in range(before + 1, portions + 1):
            cost_ps = portions_ps(circuits, others + 1, fewer)
            if cost_ps is not None:
                times.append(cost_ps + data_ps)
        before = portions
    if isinstance(circuits, Ocs) and circuits.plane_count > 1:
        times.append(changing_ps(circuits, collective))
    return min([*times, far_ps(circuits, collective, before + 1)])


def _tables(witness: Witness) -> Iterator[tuple[int, Prices]]:
    """Yield the tables for ever more portions, or raise `WitnessError`."""
    portions = rows(witness, "portions", 0)
    if (np.diff(portions, prepend=0) < 1).any():
        message = "portions are not ever more from 1 on"
        raise WitnessError(message)
    columns = {key: numbers(witness, key, 0, _MOST) for key in _KEYS}
    several = int(portions.sum())
    wanted = [int((portions * (portions + 1) // 2).sum()), several, several]
    if [len(column) for column in columns.values()] != wanted:
        message = "weights or multipliers are not as many as the portions"
        raise WitnessError(message)
    weight, root_weight, multiplier = (iter(one.tolist()) for one in columns.values())
    for count in portions.tolist():
        table = [[next(weight) for _ in range(late, count)] for late in range(count)]
        root = [next(root_weight) for _ in range(count)]
        yield count, Prices(table, root, [next(multiplier) for _ in range(count)])


BOUND = BoundKind("holders", _prove)
