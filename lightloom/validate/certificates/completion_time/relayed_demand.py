"""Relays: bytes that no circuit takes straight take two, in two steps.

For demands on circuits; each byte takes one circuit, or two where the demand allows
relays. No witness is needed.

**Parallel optical switches.** Let there be s switches, n nodes, P steps
in which anything moves, M segments of all switches together in which anything does, r
the rate of a circuit, and T the completion time. `parallel_planes` proves that if some
node, or the average node, sends or receives X bytes,

    s T  >=  lost(M, P) + X / r.

Every node has M circuits out at most over all segments, so the bytes of all but M of
its pairs take two circuits each: all but the M largest at the least. Hence all nodes
together send

    X n  >=  (all bytes) + sum over nodes of (the bytes of all but the M largest pairs),

and the same holds of what they receive. A single node sends what it is asked for.

With M circuits a node sends to M others at most straight, and with a second circuit to
n_2 more at most (`parallel_planes`). So M is as large as that asks for; and where some
node has more than M partners, bytes take two circuits, whose steps follow each other:
P >= 2. The bound is the least over all M from s to the most partners of any node. More
lose more, and save nothing.

**Where only changed circuits go dark** M is the largest sum of the circuits into one
node, or out of one, one that goes and comes back being two, and n_2 is M^2: see there.
What is lost is counted of the node of that sum, which receives, or sends, no less than
any node is asked for; what nodes do on average with d0 and P alpha lost only.

**One plane.** Let there be P portions in m segments, and k the ports of a node, whose
rate is r in all. Of its pairs a node serves at most M = m k straight, one a port and
segment, and none that no circuit can join. All others take two circuits, so the sum
above holds with the M largest of those that one circuit can join. The data time of a
portion is that of its busiest node, and portions do not overlap, so

    T  >=  d0 + P alpha + (m - 1) d1 + X / r.

Where some byte takes two circuits they are in different portions, so P >= 2; and two
circuits lead a node to k^2 others for each choice of two portions, and for each choice
of two segments of which the second is no earlier: to min(C(P, 2), C(m + 1, 2)) k^2 at
most. P = m and P = m + 1 are enough to look at. Where circuits may have several
destinations this is said of what nodes receive, which still is from k others.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import exact_sums
from lightloom.core.fabric import CircuitFabric, NearCircuits
from lightloom.core.task import Demand
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.parallel_planes import SwitchTimes
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    keys(witness)
    circuits = isinstance(fabric, CircuitFabric) and (
        isinstance(fabric, Ocs) or fabric.plane_count == 1
    )
    if not (circuits and isinstance(task, Demand) and task.relays):
        message = "the kind relays is about demands on circuits that allow relays"
        raise WitnessError(message)
    require_carrier(fabric)
    if not task.src:
        return 0
    if not isinstance(fabric, Ocs):
        assert isinstance(fabric, CircuitFabric)
        return _one_plane_ps(fabric, task)
    size_bytes = np.array(task.bytes, dtype=np.int64)
    ends = [np.array(end, dtype=np.int64) for end in (task.src, task.dst)]
    moved = [exact_sums(end, size_bytes, fabric.nodes) for end in ends]
    relayed = [relayed_bytes(end, size_bytes, fabric.nodes) for end in ends]
    partners = [len(side) for side in relayed]
    most, total = max(map(max, moved)), sum(task.bytes)
    if fabric.dark_while_reconfiguring == "plane":
        times = SwitchTimes(fabric, max(partners) + 1, None)
        both = [
            max(side[count] if count < len(side) else 0 for side in relayed)
            for count in range(max(partners))
        ]
        return _least_ps(times, both, most, total)
    return max(
        _least_ps(SwitchTimes(fabric, len(left) + 1, min(own)), left, most, total)
        for left, own in zip(relayed, moved, strict=True)
    )


def relayed_bytes(end: IntArray, size_bytes: IntArray, nodes: int) -> list[int]:
    """Return the bytes of all but the largest k pairs of each node, for k from 0.

    `end`: node that each pair begins at, or ends at, shape (pairs,).

    Returns as many as the most partners of any node; with more circuits there are none.
    """
    order = np.lexsort((-size_bytes, end))
    starts = np.searchsorted(end[order], np.arange(nodes + 1))
    place = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
    by_place = exact_sums(place, size_bytes[order], int(np.diff(starts).max(initial=0)))
    left, totals = 0, list[int]()
    for more in reversed(by_place):
        left += more
        totals.append(left)
    return totals[::-1]


def _least_ps(times: SwitchTimes, relayed: list[int], most: int, total: int) -> int:
    """Return the least time over all numbers of circuits.

    `relayed` are the bytes that take a second circuit where nodes have so many.
    """
    nodes, switches = times.fabric.nodes, times.fabric.switches
    best: int | None = None
    for circuits in range(switches, max(switches, len(relayed)) + 1):
        steps = 1 if circuits >= len(relayed) else 2
        if times.known(circuits, steps) < times.reach:
            continue
        left = relayed[circuits] if circuits < len(relayed) else 0
        mean = max(Fraction(most), Fraction(total + left, nodes))
        time_ps = times.time_ps(circuits, steps, times.byte_ps * mean)
        best = time_ps if best is None else min(best, time_ps)
    assert best is not None
    return best


def _one_plane_ps(fabric: CircuitFabric, task: Demand) -> int:
    """Return the least time on one plane over all numbers of segments."""
    nodes, ports = fabric.node_count, fabric.ports_per_node
    size_bytes = np.array(task.bytes, dtype=np.int64)
    ends = [np.array(end, dtype=np.int64) for end in (task.src, task.dst)]
    far = np.zeros(len(size_bytes), dtype=np.bool_)
    if isinstance(fabric, NearCircuits):
        far = fabric.circuits_apart(*ends) > 1
    if "multicast" in fabric.circuit_columns:
        del ends[0]
    moved = max(max(exact_sums(end, size_bytes, nodes)) for end in ends)
    near = [relayed_bytes(end[~far], size_bytes[~far], nodes) for end in ends]
    partners = max(int(np.bincount(end).max()) for end in ends)
    always = sum(size_bytes[far].tolist())
    best: int | None = None
    for segments in range(1, -(-partners // ports) + 1):
        straight = segments * ports
        left = max(side[straight] if straight < len(side) else 0 for side in near)
        received = sum(task.bytes) + left + always
        data_ps = max(
            transmission_ps(moved, fabric.node_bits_per_s),
            transmission_ps(received, nodes * fabric.node_bits_per_s),
        )
        for portions in (segments, segments + 1):
            if far.any() or partners > straight:
                reached = straight + comb(portions, 2) * ports**2
                if portions < 2 or reached < partners:
                    continue
            time_ps = fixed_ps(fabric, portions, segments) + data_ps
            best = time_ps if best is None else min(best, time_ps)
    assert best is not None
    return best


BOUND = BoundKind("relays", _prove)
