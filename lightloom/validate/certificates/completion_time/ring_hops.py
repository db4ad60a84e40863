"""Ring hops: where few hops lead round a ring, they are long and take many spans.

For all-gather, reduce-scatter, all-reduce, broadcast and reduce of B bytes among all n
nodes of a fibre ring; no witness is needed. Let g be the number of directions.

Each byte is to be known to all nodes that one node knows it of (a broadcast, or an
all-gather, of its holder's; an all-reduce, of any node's contribution); or, in reduce
and reduce-scatter, the same with time reversed. Look at the transfers through which
each node first comes to know of it: a tree of n - 1 circuits from that node, in which
the ways have at most P circuits, one a portion, where there are P portions in all.

Unroll the ring: the first node is at 0, and a circuit over l spans leads from a place z
to z + l or, in the other direction, to z - l. The n nodes are at places that differ
modulo n, so these are n - 1 apart at least, from the lowest to the highest. The ways to
both ends cross all spans between them; they have at most 2 P circuits, or P where light
runs one way only: g P. So they cross n - 1 - g P more spans than they have circuits,
and all other circuits of the byte cross one span at least. With V for the least bytes
that all nodes together must receive (`CollectiveNeeds.volume_bytes`), the spans that
bytes cross are in sum at least

    V + B max(0, n - 1 - g P).

In a portion with data time t circuits move at most n g W r t bits times spans: W
wavelengths of rate r on each of n g spans. And as a node is ceil(h / reach) circuits
away that is h spans away, the farthest h = n / 2, or n - 1 one way, P is that at least.
So

    T  >=  min over P of  d0 + P alpha + ceil((V + B max(0, n - 1 - g P)) / (n g W r)).

For P up to (n - 1) / g the sum is a straight line, but for the ceiling of its whole;
from there on it rises. So it is least at one of three places.

With two directions, and up to 128 nodes, the fewest spans C(P) that such a tree crosses
are known exactly (`RingTrees`, where each span costs 1 in each of P steps): the
circuits of the tree cross C(P) - (n - 1) more spans than there are of them, all other
circuits one at least. Then max(0, n - 1 - g P) is replaced by C(P) - (n - 1), for all P
up to n / 2, from where on C(P) is n - 1.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import transmission_ps
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.ring import Ring
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.one_plane import narrow_bound
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import fixed_ps
from lightloom.validate.certificates.proofs.ring_trees import RingTrees
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Collective

_MOST_NODES = 128


def _serves(collective: Collective) -> bool:
    """Tell whether every byte spreads to all ranks, or comes from all."""
    op = op_of(collective)
    return not (op.rooted and op.uses_blocks) and collective.op != "all-to-all"


def _least_ps(fabric: CircuitFabric, collective: Collective) -> int:
    if not isinstance(fabric, Ring) or collective.rank_count < fabric.nodes:
        message = "the kind ring-hops is about all nodes of a ring"
        raise WitnessError(message)
    needs = requirements_of(collective, fabric.nodes)
    assert isinstance(needs, CollectiveNeeds)
    nodes, ways = fabric.nodes, fabric.directions
    lit = nodes * ways * fabric.wavelengths * fabric.bits_per_second_per_wavelength
    farthest = nodes // 2 if ways == 2 else nodes - 1
    fewest = -(-farthest // fabric.reach)

    def time_ps(portions: int, more: int) -> int:
        crossed = needs.volume_bytes() + collective.buffer_bytes * more
        return fixed_ps(fabric, portions, 1) + transmission_ps(crossed, lit)

    if ways == 1 or not 3 <= nodes <= _MOST_NODES:
        ends = (fewest, (nodes - 1) // ways, -(-(nodes - 1) // ways))
        some = [max(fewest, portions) for portions in ends]
        return min(time_ps(one, max(0, nodes - 1 - ways * one)) for one in some)
    best = time_ps(max(fewest, farthest), 0)
    for portions in range(fewest, farthest):
        if time_ps(portions, 0) >= best:
            break
        more = _fewest_spans(nodes, fabric.reach, portions) - (nodes - 1)
        best = min(best, time_ps(portions, more))
    return best


@functools.lru_cache(maxsize=256)
def _fewest_spans(nodes: int, reach: int, portions: int) -> int:
    """Return the fewest spans that a tree of so many portions crosses."""
    once = np.ones(portions, dtype=np.int64)
    trees = RingTrees.of(nodes, reach, once, 0 * once)
    return int(trees.first().min())


BOUND = narrow_bound(
    "ring-hops", "gossip, broadcast and reduce on a ring", _serves, _least_ps
)
"""The kind of bound."""
