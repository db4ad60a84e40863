"""Link lengths: what must move over links, whatever its way, and how far.

For packet fabrics, where the route between two nodes is given. Witness
``{"links": [...], "lengths": [...]}``, the lengths positive integers. In a step whose
data last t, the bits on the links, each times the length of its link, are at most t D,
with D the sum of rate times length over the links. So all steps together spend at least
C / D on data, if the messages of any schedule cost C or more, bits times the lengths of
their routes. Per bit at least

- the distance between two ranks, over any others, for what one has and one other
  needs;
- a tree from the rank that has it, for what all need (`tree_costs`), and a tree to the
  rank that needs it, for what is summed up there;
- a tree to a rank, and a message to each other one, for what all need the sum of
  (`gossip_cost`).

A schedule of one step takes what `one_step_ps` says; any other pays for two steps:

    T  >=  min(one step, 2 (alpha + latency) + ceil(C / D)).

Lengths 1 on the links into a set of nodes are the bound of that cut, lengths on the
links into several sets count the messages between sets, and lengths in all places
count hops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import exact_sums
from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import require_carrier
from lightloom.validate.certificates.proofs.link_costs import (
    LinkLengths,
    PairRoutes,
    distances,
    distances_to,
    gossip_cost,
    one_step_ps,
    tree_costs,
)
from lightloom.validate.certificates.witness import WitnessError, keys

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    keys(witness, "links", "lengths")
    if not isinstance(fabric, PacketFabric):
        message = f"the kind link-lengths is about links, which {fabric.kind} has not"
        raise WitnessError(message)
    needs = requirements_of(task, fabric.node_count)
    if not isinstance(needs, CollectiveNeeds):
        message = "the kind link-lengths is about collectives"
        raise WitnessError(message)
    routes = PairRoutes.of(fabric, needs.collective.nodes)
    several_ps = lengths_ps(fabric, needs, routes, witness, ("links", "lengths"), 2)
    return min(one_step_ps(fabric, needs), several_ps)


def lengths_ps(
    fabric: PacketFabric,
    needs: CollectiveNeeds,
    routes: PairRoutes,
    witness: Witness,
    keys: tuple[str, str],
    steps: int,
) -> int:
    """Return what schedules of so many steps or more take at least.

    Raises `WitnessError`: the links and lengths are not right.
    """
    lengths = LinkLengths.read(witness, keys, fabric, routes)
    cost = least_cost(needs, lengths.costs(routes)) * needs.collective.chunk_bytes
    return steps * step_ps(fabric) + lengths.data_ps(cost)


def least_cost(needs: CollectiveNeeds, cost: IntArray) -> int:
    """Return the least cost of the messages of a collective, in chunks times length.

    Chunks that several ranks need, but not all, are left out, which keeps the answer
    a lower bound.

    `cost`: of a message between two ranks, shape (n, n), 0 on the diagonal.
    """
    ranks = len(cost)
    if ranks == 1:
        return 0
    to_all, to_one = needs.wanted == ranks, needs.wanted == 1
    total = 0
    if needs.reduces:
        if to_all.any():
            total += gossip_cost(cost) * int(needs.chunks[to_all].sum())
        if to_one.any():
            back = np.ascontiguousarray(cost.T)
            total += _trees(back, needs.owner[to_one], needs.chunks[to_one])
        return total
    if to_all.any():
        total += _trees(cost, needs.origin[to_all], needs.chunks[to_all])
    if to_one.any():
        each = _ways(cost, needs.origin[to_one], needs.owner[to_one])
        total += _sum_products(each, needs.chunks[to_one])
    return total


def _ways(cost: IntArray, src: IntArray, dst: IntArray) -> IntArray:
    """Return the least costs of ways, at once where all end or begin at one rank."""
    if (dst == dst[0]).all():
        return distances_to(cost, int(dst[0]))[src]
    if (src == src[0]).all():
        return distances_to(np.ascontiguousarray(cost.T), int(src[0]))[dst]
    return distances(cost)[src, dst]


def _trees(cost: IntArray, source: IntArray, chunks: IntArray) -> int:
    """Return the cost of trees from the sources of some chunks."""
    only = int(source[0]) if (source == source[0]).all() else None
    return _sum_products(tree_costs(cost, only)[source], chunks)


def _sum_products(cost: IntArray, chunks: IntArray) -> int:
    """Return the sum of costs times chunks, exactly."""
    if chunks.max() == chunks.min():
        return int(chunks[0]) * exact_sums(np.zeros_like(cost), cost, 1)[0]
    pairs = zip(cost.tolist(), chunks.tolist(), strict=True)
    return sum(each * count for each, count in pairs)


BOUND = BoundKind("link-lengths", _prove)
