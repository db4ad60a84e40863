"""Ring steps: what leaves the root late has to leave it twice, or to go far at once.

For broadcast and reduce of B bytes among all n nodes of a ring with g directions.
Witness: some numbers of ``steps`` P_1 < P_2 < ..., and for each as many ``prices``, one
after another in a list, of a span in each step, which never fall.

Take one P. In step t a span costs p(t); one that leads out of the root costs q(t) =
S - (n - 1) p(t) more, and one that leads into it nothing. In data time x_t a span
carries W r x_t bits: W wavelengths of rate r. So all bits of a step together pay no
more than g ((n - 1) p(t) + q(t)) W r x_t = g S W r x_t. On the other hand look at the
transfers through which each node first comes to know of a byte: a tree of circuits,
each in a later step than the one that its source heard by. It costs C at least, the
least of all such trees (`RingTrees`). So the data time D of P steps, or of fewer, is at
least

    D  >=  B C / (g S W r).

For more steps than all P_i prices that rise evenly do the same, in closed form
(`rising_cost`); they are looked at for ever more steps at a time, as long as that can
make a difference. A reduce is the same with time and all circuits turned around: of
each rank's contribution the transfers count by which it leaves the rank for the last
time.

**Hops**: where few lead round a ring, they are long and take many spans.

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

**The cheapest tree** round a ring of fibre, where spans have a price in each step.

A root tells all other nodes of a ring with one or two directions. In step t a circuit
pays p(t) for each span that it crosses, but q(t) more for the one that leads out of the
root and nothing for one that leads into it; p never falls. Unroll the ring: the root is
at places 0 and n, and the others are between.

A tree is a circuit, in one step, into each other node, from one that was told before.
Take one that costs least, among these one of least length, and among these one of the
earliest steps. Then no circuit passes a node that was told before it, or the root: it
could start there. No two of one step cross, which ended each at the other's end would
be shorter. And a circuit that does not start at the root is lit in the step after its
source was told: that costs no more.

Look at the nodes between two, a and b, that are told before all of these, and at those
of them that are told first. If some of these hear from the side of a, let x be the
farthest of them from a, else the farthest from b of all. Then x hears from a, or b; and
both between a and x and between x and b the same holds again. So the least cost of all
nodes between a and b depends on how far apart these are and when they were told, and is
the least, over all x, of the circuit to x and of what is left on both sides of it. Only
the root may wait, so all steps count where a circuit comes from it.

Where light runs one way only, all hear from the side of a, and the tree ends with the
last node before the root. The same holds, without the cases in which one hears from b.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.ring import Ring
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.one_plane import narrow_bound
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys, rows

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


WHOLE = 2**20
"""What all prices of a step are together, S."""
MOST_NODES = MOST_STEPS = 128
"""The check takes the cube of nodes times the square of steps: seconds at most."""
_FINE = 24
"""Up to so many steps are looked at one by one."""
_FAR = 1 << 16
"""Steps that stand for any number: prices that rise say hardly more of so many."""


def serves(fabric: AnyFabric, task: Task) -> bool:
    """Tell whether the kind is about a question."""
    if not isinstance(fabric, Ring) or not isinstance(task, Collective):
        return False
    op = op_of(task)
    if not op.rooted or op.uses_blocks:
        return False
    return 3 <= fabric.nodes <= MOST_NODES and task.rank_count == fabric.nodes


def fewest_steps(fabric: Ring) -> int:
    """Return how many circuits lead to the farthest node, one after another."""
    both = fabric.directions > 1
    farthest = fabric.nodes // 2 if both else fabric.nodes - 1
    return -(-farthest // fabric.reach)


def data_ps(fabric: Ring, task: Collective, cost: int, whole: int) -> int:
    """Return the time of the buffer times `cost` at the rate of fibres times `whole`.

    `cost`, `whole`: what a tree costs at least, and what prices of a step are together.
    """
    fibres = fabric.directions * fabric.wavelengths
    rate = fibres * fabric.bits_per_second_per_wavelength
    return transmission_ps(task.buffer_bytes * cost, rate * whole)


def table_ps(
    fabric: Ring, task: Collective, over: int, most: int, cost: int
) -> int | None:
    """Return what steps take at least that one table speaks for.

    The better of what it says and what prices that rise evenly do. ``None`` if there
    are no trees of so few steps.

    `cost`: what a tree costs at least with the prices of the table.
    """
    if cost >= NEVER:
        return None
    own_ps = fixed_ps(fabric, over + 1, 1) + data_ps(fabric, task, cost, WHOLE)
    return max(own_ps, far_ps(fabric, task, over, None, most))


def far_ps(
    fabric: Ring, task: Collective, over: int, best_ps: int | None, most: int = _FAR
) -> int:
    """Return what more than so many steps take at least, `best_ps` if that is less.

    `over`: number of steps, 0 or more. `best_ps`: what fewer steps take at least,
    ``None`` if that is not known. `most`: steps at most; the default stands for any
    number.
    """
    whole_ps = data_ps(fabric, task, 1, 1)
    while over < most:
        before_ps = fixed_ps(fabric, over + 1, 1)
        if best_ps is not None and before_ps + whole_ps >= best_ps:
            break
        over = min(most, over + 1 + over // _FINE)
        cost, whole = rising_cost(fabric.nodes, over, one_way=fabric.directions == 1)
        moving_ps = max(whole_ps, data_ps(fabric, task, cost, whole))
        if over == _FAR or not fabric.alpha_ps:
            moving_ps = whole_ps  # for any number of steps
        now_ps = before_ps + moving_ps
        best_ps = now_ps if best_ps is None else min(best_ps, now_ps)
    assert best_ps is not None
    return best_ps


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    if not serves(fabric, task):
        message = (
            "the kind ring-steps is about broadcast and reduce among all of up to"
            f" {MOST_NODES} nodes of a ring"
        )
        raise WitnessError(message)
    assert isinstance(fabric, Ring)
    assert isinstance(task, Collective)
    keys(witness, "steps", "prices")
    steps, prices = rows(witness, "steps", 0), rows(witness, "prices", 0)
    if (np.diff(steps, prepend=0) < 1).any() or steps.max(initial=0) > MOST_STEPS:
        message = f"steps are not ever more, from 1 to {MOST_STEPS}"
        raise WitnessError(message)
    if len(prices) != steps.sum():
        message = "prices are not as many as the steps"
        raise WitnessError(message)
    best_ps: int | None = None
    last = fewest_steps(fabric) - 1
    for own in np.split(prices, np.cumsum(steps)[:-1]) if len(steps) else ():
        _refuse_wild(fabric, own)
        if len(own) <= last:
            continue
        found_ps = table_ps(fabric, task, last, len(own), _tree_cost(fabric, own))
        if found_ps is not None:
            best_ps = found_ps if best_ps is None else min(best_ps, found_ps)
        last = len(own)
    return far_ps(fabric, task, last, best_ps)


def _tree_cost(fabric: Ring, prices: IntArray) -> int:
    """Return what a tree costs at least; `NEVER` or more for too few steps."""
    egress = WHOLE - (fabric.nodes - 1) * prices
    one_way = fabric.directions == 1
    trees = RingTrees.of(fabric.nodes, fabric.reach, prices, egress, one_way=one_way)
    return int(trees.first().min())


def _refuse_wild(fabric: Ring, prices: IntArray) -> None:
    """Raise where prices fall, or are more than a step has."""
    if (np.diff(prices, prepend=0) < 0).any():
        message = "a price is less than one before it, or than 0"
        raise WitnessError(message)
    if prices[-1] * (fabric.nodes - 1) > WHOLE:
        message = f"a price is more than {WHOLE // (fabric.nodes - 1)}"
        raise WitnessError(message)


def _spreads(collective: Collective) -> bool:
    """Tell whether every byte spreads to all ranks, or comes from all."""
    op = op_of(collective)
    return not (op.rooted and op.uses_blocks) and collective.op != "all-to-all"


def _hops_ps(fabric: CircuitFabric, collective: Collective) -> int:
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

    if ways == 1 or not 3 <= nodes <= MOST_NODES:
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


NEVER = 1 << 52
"""Stands for the cost of what cannot be done in the steps that there are."""


@dataclass(frozen=True, eq=False)
class RingTrees:
    """The least costs of telling nodes between two others, by length and by steps.

    `span`, `egress`: price of a span in each step, never less than before, and of the
    root's span on top, shape (steps,). `reach`: most spans of a circuit. `between`:
    least cost between two nodes so many spans apart that are told after so many steps,
    shape (n, steps + 1, steps + 1). `beside`: least cost between the root and a node,
    shape (n, steps + 1). `one_way`: whether light runs from the root on in one
    direction only.
    """

    span: IntArray
    egress: IntArray
    reach: int
    between: IntArray
    beside: IntArray
    one_way: bool

    @classmethod
    def of(
        cls,
        nodes: int,
        reach: int,
        span: IntArray,
        egress: IntArray,
        *,
        one_way: bool = False,
    ) -> RingTrees:
        """Return the costs on a ring.

        `nodes`: of the ring, three or more. `span`, `egress`: as of the class, whole
        numbers from 0.
        """
        steps = len(span)
        between = np.zeros((nodes, steps + 1, steps + 1), dtype=np.int64)
        beside = np.zeros((nodes, steps + 1), dtype=np.int64)
        trees = cls(span, egress, reach, between, beside, one_way)
        for apart in range(2, nodes):
            least = np.minimum(trees.from_left(apart).min(axis=0), NEVER)
            between[apart] = least if one_way else np.minimum(least, least.T)
            some = np.minimum(trees.from_root(apart).min(axis=(0, 1)), NEVER)
            other = some if one_way else trees.from_node(apart).min(axis=0)
            beside[apart] = np.minimum(some, other)
        return trees

    def away(self, apart: int) -> IntArray:
        """Return how far the first node between may be, 1, 2 and so on."""
        return np.arange(1, min(self.reach, apart - 1) + 1)

    @property
    def _then(self) -> tuple[IntArray, IntArray]:
        """After each number of steps the price of the next, and how many are over."""
        steps = len(self.span)
        price = np.append(self.span, NEVER)
        return price, np.minimum(np.arange(steps + 1) + 1, steps)

    def from_left(self, apart: int) -> IntArray:
        """Return costs where the first between two hears from the left one.

        Of shape (away, steps + 1, steps + 1): by how far that is.
        """
        away, (price, after) = self.away(apart), self._then
        now = np.arange(len(price))
        first = away[:, None] * price + self.between[away[:, None], now, after]
        cost: IntArray = first[:, :, None] + self.between[apart - away][:, after]
        return cost

    def from_node(self, apart: int) -> IntArray:
        """Return costs where the first hears from the node, not the root.

        Of shape (away, steps + 1): by how far it is from the node.
        """
        away, (price, after) = self.away(apart), self._then
        now = np.arange(len(price))
        cost: IntArray = away[:, None] * price + self.beside[apart - away][:, after]
        cost += self.between[away[:, None], now, after]
        return cost

    def _sent(self, away: IntArray) -> IntArray:
        """Return what the root's circuits cost, and what is beside them."""
        cost: IntArray = self.egress + away[:, None] * self.span
        return cost + self.beside[away, 1:]

    def from_root(self, apart: int) -> IntArray:
        """Return costs where the first hears from the root, of whom a node is beside.

        Of shape (away, steps, steps + 1): by how far it is from the root, and the step.
        """
        away = self.away(apart)
        rest = self.between[apart - away][:, 1:]
        cost: IntArray = self._sent(away)[:, :, None] + rest
        return cost

    def first(self) -> IntArray:
        """Return costs by the first node of all, and its step; shape (away, steps)."""
        nodes = len(self.beside)
        away = self.away(nodes)
        behind = self.between[:, :, 0] if self.one_way else self.beside
        cost: IntArray = self._sent(away) + behind[nodes - away, 1:]
        return cost


def rising_cost(nodes: int, steps: int, *, one_way: bool = False) -> tuple[int, int]:
    """Return what a tree costs at least with prices that rise, and what steps cost.

    In step t a span costs p(t) = n - 3 + t, and the root's q(t) more, so much that
    q(t) + (n - 1) p(t) is the same in all steps: the second number.

    Let the farthest node that hears from one side be K spans away, over m circuits in
    steps from s on. They cost K p(s) + m (m - 1) / 2 or more, and q(s); m is no more
    than the steps that are left. Both sides together reach all nodes: K and K' sum to
    n - 1, or to more, where part of a way does no more than a circuit aside. And there
    are n - 1 circuits, so n - 1 - m - m' are on neither way, and cost p(1) or more.
    As p(1) is n - 2, and so no less than any m - 1, most circuits cost least. Where
    light runs one way only, K is n - 1.

    `nodes`: of the ring, n, three or more.
    """
    others = nodes - 1
    left = np.arange(steps, dtype=np.int64)  # after the first circuit's
    price = nodes - 3 + steps - left
    egress = others * left + 1
    far = np.arange(1, nodes)[:, None]
    hops = np.minimum(far, left + 1)
    side = egress + price * far + hops * (hops - 1) // 2 + (far - hops) * (nodes - 2)
    least = np.append(0, side.min(axis=1))
    both = least[-1:] if one_way else least + least[::-1]
    return int(both.min()), others * (nodes - 3 + steps) + 1


BOUND = (
    BoundKind("ring-steps", _prove),
    narrow_bound(
        "ring-hops", "gossip, broadcast and reduce on a ring", _spreads, _hops_ps
    ),
)
"""What spans cost in each step, and what hops of any number of steps must cross."""
