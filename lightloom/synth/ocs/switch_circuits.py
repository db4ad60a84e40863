"""Circuits of parallel optical switches, optimal at any size (SiP-ML paper, A.2).

With n[pair] the circuits of a pair, summed over the switches, a count matrix is that of
some switches if and only if no row and no column of it sums to more than their number
(König). So the best slowest pair has the largest ratio t for which ceil(t bytes)
circuits a pair respect all sums; what is left is an edge colouring.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.certificate import Certificate
from lightloom.core.circuit import Circuits
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.fluid_schedule import fluid_schedule
from lightloom.core.schedule import Algorithm
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.ocs.ratio_threshold import best_threshold
from lightloom.synth.ocs.spare_circuits import SpareCircuits
from lightloom.validate.certificates.circuits_per_byte import (
    OBJECTIVE,
    SaturatedPort,
    port_witness,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs

ALGORITHM = "saturated-port"
"""Name of the algorithm in schedules, and of its kind of certificate."""


@dataclass(frozen=True, eq=False)
class SwitchPlan:
    """Circuits of all switches, with the proof that the slowest pair is at its best.

    `counts`: circuits of each pair, in the order of the demand; zeros where `ratio` is
    0. `ratio`: circuits a byte of the slowest pair; ``None`` where there is no pair.
    `witness`: why no pair can be promised more; ``None`` where there is no pair.
    `switches`: circuits of each switch, sorted by (src, dst). `pairs`: for the circuits
    of each switch, the row of the demand they serve. `conflicts`: ties of spare
    circuits in which a choice was made. If 0, the sorted ratios of all pairs are
    lexicographically the largest there are.
    """

    demand: Demand
    counts: IntArray
    ratio: Fraction | None
    witness: SaturatedPort | None
    switches: tuple[Circuits, ...]
    pairs: tuple[IntArray, ...]
    conflicts: int


def switch_circuits(fabric: Ocs, demand: Demand, *, spare: bool = True) -> SwitchPlan:
    """Return circuits whose slowest pair has as many circuits a byte as can be.

    Returns plan whose witness `check_saturated_port` of
    `lightloom.validate.certificates.circuits_per_byte` accepts. If some node has more
    partners than switches, the optimum is 0: the witness names the node, and there are
    no circuits. Exact and deterministic.

    Raises `InputError`: bidirectional circuits, or a demand that does not fit the
    fabric.

    For E pairs on Q switches O(E Q log(E Q)) with `spare`, beside the ties.
    """
    if fabric.bidirectional:
        what = "bidirectional circuits are matchings, which counts do not decide"
        fix = (
            "`synth --algorithm decomposition`, or `solve --problem ocs --solver highs`"
        )
        raise InputError(what, where="fabric.bidirectional", found=True, fix=fix)
    src, dst, size_bytes = demand_columns(demand, fabric.nodes)
    if not len(src):
        return SwitchPlan(demand, src, None, None, *_idle(fabric), 0)

    def loads(counts: IntArray) -> IntArray:
        ends = (
            np.bincount(end, weights=counts, minlength=fabric.nodes)
            for end in (src, dst)
        )
        return np.concatenate(list(ends)).astype(np.int64)

    capacity = np.full(2 * fabric.nodes, fabric.switches, dtype=np.int64)
    best = best_threshold(size_bytes, fabric.switches, loads, capacity)
    assert best.line is not None
    side, node = divmod(best.line, fabric.nodes)
    witness = SaturatedPort("column" if side else "row", node, best.ratio)
    if not best.ratio:
        return SwitchPlan(demand, best.counts, best.ratio, witness, *_idle(fabric), 0)
    counts, conflicts = best.counts, 0
    if spare:
        dealer = SpareCircuits(
            src, dst, size_bytes, counts, fabric.nodes, fabric.switches
        )
        dealer.deal()
        counts, conflicts = dealer.counts, dealer.conflicts
    held = _permutations(src, dst, counts, fabric.switches)
    return SwitchPlan(demand, counts, best.ratio, witness, *held, conflicts)


def ocs_schedule(fabric: Ocs, plan: SwitchPlan) -> Schedule:
    """Return the demand of a plan served at once, without footer.

    `plan`: circuits of each switch for a demand, and the pairs that they serve.

    Raises `InfeasibleError` if the plan's ratio is 0, naming the node.
    """
    if plan.witness is not None and not plan.witness.ratio:
        node, column = plan.witness.node, plan.witness.side == "column"
        partners = (plan.demand.dst if column else plan.demand.src).count(node)
        does = "receives from" if column else "sends to"
        raise InfeasibleError(
            f"node {node} {does} {partners} others, and has one circuit on each of"
            f" {fabric.switches} switches",
            where=f"demand, {plan.witness.side} {node}",
            found=partners,
            allowed=f"at most {fabric.switches}",
            fix="more switches, or configurations that take turns:"
            " `lightloom synth --algorithm decomposition`",
        )
    algorithm = Algorithm(ALGORITHM)
    return fluid_schedule(fabric, plan.demand, algorithm, plan.switches, plan.pairs)


def port_certificates(plan: SwitchPlan) -> tuple[Certificate, ...]:
    """Return the proof of a plan's ratio, without value; none without a pair."""
    port = plan.witness
    if port is None:
        return ()
    bound, witness = port.ratio, port_witness(port)
    return (Certificate(OBJECTIVE.name, ALGORITHM, bound, None, witness),)


def _permutations(
    src: IntArray, dst: IntArray, counts: IntArray, switches: int
) -> tuple[tuple[Circuits, ...], tuple[IntArray, ...]]:
    """Return the circuits of each switch, and the pairs they serve."""
    pair = np.repeat(np.arange(len(src)), counts)
    colour = edge_colours(src[pair], dst[pair])
    order = np.lexsort((dst[pair], src[pair], colour))
    pair = pair[order]
    ends = np.searchsorted(colour[order], np.arange(switches + 1))
    pairs = tuple(pair[low:high] for low, high in pairwise(ends.tolist()))
    return tuple(Circuits(src[rows], dst[rows]) for rows in pairs), pairs


def _idle(fabric: Ocs) -> tuple[tuple[Circuits, ...], tuple[IntArray, ...]]:
    """Return switches that hold nothing."""
    none = np.zeros(0, dtype=np.int64)
    count = fabric.switches
    return (Circuits(none, none),) * count, (none,) * count
