"""Configurations over which two circuits lead wherever bytes have to go.

All switches change together, and each configuration is used in some steps one after
another. A byte takes one circuit, or two of which the second is in a later step.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.plans.even_lifts import balanced_lifts
from lightloom.plans.lifts import Metacyclic, metacyclic_groups
from lightloom.synth.relays.stage_program import RelayStages

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray

_MOST_GROUPS = 4
_STARTS = 2
_CLIMBS = 300
_SWEEPS = 8
_SWAPS = 3
_ALIKE = 1e-9
_LITTLE = 1e-6


def even_stages(nodes: int, switches: int, turns: tuple[int, ...]) -> RelayStages:
    """Return configurations that look alike from all nodes.

    Generators of some metacyclic groups, drawn at random and exchanged one by one for
    those that leave fewer nodes out of reach.

    `nodes`: number of nodes, 2 or more. `switches`: number of switches, 1 or more.
    """
    if turns == (2,) and switches < nodes:
        for lift in balanced_lifts(nodes, switches):
            if lift.distances().min() >= 0 and lift.distances().max() <= 2:
                return RelayStages(lift.following()[None], turns)
    drawn = _drawn(nodes, switches * len(turns), turns)
    _, group, steps = min(drawn, key=lambda one: one[0])
    node = np.arange(nodes, dtype=np.int64)
    heads = [group.product(node, np.full(nodes, step)) for step in steps]
    return RelayStages(np.reshape(heads, (len(turns), switches, nodes)), turns)


def paired_stages(nodes: int, ports: int, turns: tuple[int, ...]) -> RelayStages:
    """Return configurations of matchings, of which no two have a pair in common.

    They are rounds of a tournament in which everybody meets everybody, in order; where
    there are not enough they begin again. Who is idle leads to itself.

    `nodes`: number of nodes, 2 or more. `ports`: matchings of a configuration, 1 or
    more.
    """
    node, rounds = np.arange(nodes, dtype=np.int64), nodes - 1 + nodes % 2
    heads = []
    for number in range(ports * len(turns)):
        head = (2 * (number % rounds) - node) % rounds
        if nodes % 2 == 0:
            alone = (head == node) & (node < rounds)
            head = np.where(alone, rounds, head)
            head[rounds] = np.flatnonzero(alone)[0]
        heads.append(head)
    return RelayStages(np.reshape(heads, (len(turns), ports, nodes)), turns)


def _drawn(
    nodes: int, ports: int, turns: tuple[int, ...]
) -> Iterator[tuple[int, Metacyclic, list[int]]]:
    """Yield how many elements steps miss, up to the first that miss none."""
    choose = seeded_random(nodes * 1000 + ports)
    for group in metacyclic_groups(nodes)[:_MOST_GROUPS]:
        for _ in range(_STARTS):
            steps = [1 + port % (nodes - 1) for port in range(ports)]
            if ports < nodes:
                steps = choose.sample(range(1, nodes), ports)
            missed = _missed(group, steps, turns)
            for _ in range(_CLIMBS):
                if not missed:
                    break
                other = list(steps)
                other[choose.randrange(ports)] = choose.randrange(1, nodes)
                others = _missed(group, other, turns)
                if others <= missed:
                    steps, missed = other, others
            yield missed, group, steps
            if not missed:
                return


def _missed(group: Metacyclic, steps: list[int], turns: tuple[int, ...]) -> int:
    """Return how many elements neither a step nor two in turn lead to."""
    step = np.array(steps, dtype=np.int64).reshape(len(turns), -1)
    reached = np.zeros(group.order, dtype=np.bool_)
    reached[0] = True
    reached[step] = True
    for place, times in enumerate(turns):
        then = step[place if times > 1 else place + 1 :].ravel()
        reached[group.product(step[place][:, None], then)] = True
    return int(group.order - reached.sum())


def named_stages(stages: RelayStages, size: FloatArray, carried: float) -> RelayStages:
    """Return configurations whose nodes change places so that more goes straight.

    Two nodes change places as long as that leads more straight.

    `size`: what goes from each node to each other one, shape (nodes, nodes).
    """
    count, switches, nodes = stages.heads.shape
    head = stages.heads.reshape(-1, nodes)
    most = np.minimum(size, carried)
    node = np.arange(nodes)
    best = float(most[node, head].sum())
    for _ in range(_SWAPS):
        before = best
        for one, other in combinations(range(nodes), 2):
            swapped = node.copy()
            swapped[[one, other]] = node[[other, one]]
            straight = float(most[swapped, swapped[head]].sum())
            if straight > best * (1 + _LITTLE):
                node, best = swapped, straight
        if best <= before:
            break
    heads = np.empty_like(head)
    heads[:, node] = node[head]
    return RelayStages(heads.reshape(count, switches, nodes), stages.turns)


def fitted_stages(
    stages: RelayStages, size: FloatArray, carried: FloatArray, *, paired: bool = False
) -> RelayStages:
    """Return configurations that lead large entries of a matrix straight.

    One permutation after another is replaced by the one that carries most of what no
    other does, and leads to pairs that are out of reach without it.

    `size`: what goes from each node to each other one, shape (nodes, nodes). `carried`:
    how much a circuit of each configuration is taken to carry.
    """
    from scipy.optimize import linear_sum_assignment

    count, switches, nodes = stages.heads.shape
    fit = _Fit(stages, size, carried)
    node, cost = np.arange(nodes), fit.cost()
    for _ in range(_SWEEPS):
        before = cost
        for place in range(count):
            for switch in range(switches):
                own = fit.heads[place, switch].copy()
                fit.lead(place, switch, np.full(nodes, -1))
                gain = fit.gains(place)
                gain[node, own] += _ALIKE * fit.far  # equals stay as they are
                np.fill_diagonal(gain, -fit.far * nodes)
                if paired:
                    gain += gain.T
                new = linear_sum_assignment(gain, maximize=True)[1]
                if paired:
                    new = _matched(new, gain)
                if (new == own).all():
                    fit.lead(place, switch, own)
                    continue
                fit.lead(place, switch, new)
                now = fit.cost()
                if now > cost:
                    fit.lead(place, switch, own)
                else:
                    cost = now
        if cost >= before * (1 - _LITTLE):
            break
    return RelayStages(fit.heads, stages.turns)


def _matched(head: IntArray, gain: FloatArray) -> IntArray:
    """Return the best matching of neighbours on the cycles of a permutation.

    Where a cycle is odd somebody is left out; those are matched in their order.
    """
    partner = np.arange(len(head))
    seen = np.zeros(len(head), dtype=np.bool_)
    for start in range(len(head)):
        cycle = []
        node = start
        while not seen[node]:
            seen[node] = True
            cycle.append(node)
            node = int(head[node])
        size = len(cycle)
        if size < 2:
            continue
        ways = [np.roll(cycle, -turn) for turn in range(2 if size % 2 == 0 else size)]
        pairs = [np.stack([way[: size - 1 : 2], way[1::2]]) for way in ways]
        one, other = max(pairs, key=lambda pair: float(gain[pair[0], pair[1]].sum()))
        partner[one], partner[other] = other, one
    left = np.flatnonzero(partner == np.arange(len(head)))
    one, other = left[: len(left) // 2 * 2 : 2], left[1::2]
    partner[one], partner[other] = other, one
    return partner


class _Fit:
    """Configurations, and what they leave to relays."""

    def __init__(
        self, stages: RelayStages, size: FloatArray, carried: FloatArray
    ) -> None:
        self.heads, self.turns = stages.heads.copy(), stages.turns
        self._size, self._carried = size, carried
        self._joined = np.stack([_joined(one) for one in self.heads])
        self.far = float(size.sum()) + 1.0
        """What a pair costs that no way leads to: more than all data."""

    def lead(self, place: int, switch: int, head: IntArray) -> None:
        """Let a switch lead elsewhere in a configuration."""
        self.heads[place, switch] = head
        self._joined[place] = _joined(self.heads[place])

    def cost(self) -> float:
        """Return what does not go straight, and far more for what does not go."""
        left, lost = self._left()
        return float(left.sum()) + self.far * float(lost.sum())

    def gains(self, place: int) -> FloatArray:
        """Return what one more circuit of a configuration would save, for each pair."""
        left, lost = self._left()
        gain: FloatArray = np.minimum(left, self._carried[place])
        if not lost.any():
            return gain
        missing = lost.astype(np.float64)
        again = self.turns[place] > 1
        later = (self._joined[place if again else place + 1 :] > 0).sum(axis=0)
        earlier = (self._joined[: place + 1 if again else place] > 0).sum(axis=0)
        covers = missing + missing @ later.T + earlier.T @ missing
        gain += self.far * covers
        return gain

    def _left(self) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return what does not go straight, and the pairs that no way leads to."""
        joined = self._joined
        straight = np.tensordot(self._carried, joined, 1)
        ways = joined.sum(axis=0)
        later = np.zeros_like(ways)
        for place in reversed(range(len(joined))):
            # A configuration of several steps leads on in a later one.
            then = later + joined[place] if self.turns[place] > 1 else later
            ways += joined[place] @ then
            later += joined[place]
        return np.maximum(0.0, self._size - straight), (self._size > 0) & (ways == 0)


def _joined(heads: IntArray) -> FloatArray:
    """Return how many circuits lead from each node to each, shape (nodes, nodes)."""
    nodes = heads.shape[-1]
    count = np.zeros((nodes, nodes))
    for row in heads:
        lit = np.flatnonzero(row >= 0)
        count[lit, row[lit]] += 1.0
    return count
