"""The search for configurations over which bytes of a demand take one circuit or two.

All ports change together, so that a byte which some circuit has brought to a relay may
go on in any later step. For several numbers of configurations, circuits are chosen that
lead large pairs straight and all others over one relay, and a linear program divides
the bytes of each pair among its ways.

Configurations over which two circuits lead wherever bytes have to go.

All switches change together, and each configuration is used in some steps one after
another. A byte takes one circuit, or two of which the second is in a later step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.even_lifts import balanced_lifts
from lightloom.plans.lifts import Metacyclic, metacyclic_groups
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.relays.relay_moves import RelayMoves, whole_bytes
from lightloom.validate.certificates.completion_time.relayed_demand import relayed_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Demand


@dataclass(frozen=True, eq=False)
class RelayStages:
    """What all switches hold in turn; a stage is a step in a configuration.

    `heads`: where each switch leads from each node, -1 for nowhere; shape
    (configurations, switches, nodes). `turns`: steps in which each configuration is
    used, one after another.
    """

    heads: IntArray
    turns: tuple[int, ...]

    @property
    def configuration(self) -> IntArray:
        """Configuration of each stage, and so of each step."""
        return np.repeat(np.arange(len(self.turns)), self.turns)


@dataclass(frozen=True, eq=False)
class RelayWays:
    """Direct circuits, and two one after the other, by which bytes of pairs may go.

    A circuit is numbered by stage, switch and source. Rows are ways.

    `first`, `second`: circuits; of a direct way `second` is -1.
    """

    pair: IntArray
    first: IntArray
    second: IntArray


@dataclass(frozen=True, eq=False)
class RelayFlows:
    """How much goes each way, and how long that takes.

    `amount`: of each way, in the unit of the demand. `stage`: how long each stage moves
    data.
    """

    amount: FloatArray
    stage: FloatArray


def relay_ways(stages: RelayStages, row_of: IntArray) -> RelayWays:
    """Return all ways of one circuit or two of the pairs of a demand.

    `row_of`: row of the demand of each pair, -1 where nothing is asked; shape (nodes,
    nodes).
    """
    heads = stages.heads[stages.configuration]
    count, switches, nodes = heads.shape
    node = np.arange(nodes)
    pairs, firsts, seconds = [], [], []

    def add(final: IntArray, first: IntArray, second: IntArray) -> None:
        row = np.where(final >= 0, row_of[node, final], -1)
        asked = row >= 0
        pairs.append(row[asked])
        firsts.append(first[asked])
        seconds.append(second[asked])

    for slot in range(count * switches):
        stage, head = slot // switches, heads.reshape(-1, nodes)[slot]
        add(head, slot * nodes + node, np.full(nodes, -1))
        for then in range((stage + 1) * switches, count * switches):
            following = heads.reshape(-1, nodes)[then]
            final = np.where(head >= 0, following[head], -1)
            # A way over the destination itself would be a direct one.
            add(
                np.where(final == head, -1, final),
                slot * nodes + node,
                then * nodes + head,
            )
    return RelayWays(
        np.concatenate(pairs), np.concatenate(firsts), np.concatenate(seconds)
    )


def best_flows(
    stages: RelayStages, ways: RelayWays, need: FloatArray
) -> RelayFlows | None:
    """Return how much goes each way, so that all stages together last least.

    A stage lasts as long as its fullest circuit moves data.

    `need`: how much goes from each pair's source to its destination, shape (pairs,).

    Returns ``None`` where some pair has no way.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    if (np.bincount(ways.pair, minlength=len(need)) == 0).any():
        return None
    count, (_, switches, nodes) = sum(stages.turns), stages.heads.shape
    way, width = np.arange(len(ways.pair)), len(ways.pair)
    over = np.flatnonzero(ways.second >= 0)
    circuit, row = np.unique(
        np.concatenate([ways.first, ways.second[over]]), return_inverse=True
    )
    used = len(circuit)
    # Columns: ways, then stages. Rows: circuits, whose stage lasts as long.
    columns = np.concatenate([way, way[over], width + circuit // (switches * nodes)])
    rows = np.concatenate([row, np.arange(used)])
    values = np.concatenate([np.ones(len(row)), -np.ones(used)])
    loads = csr_array((values, (rows, columns)), shape=(used, width + count))
    shares = csr_array(
        (np.ones(width), (ways.pair, way)), shape=(len(need), width + count)
    )
    found = linprog(
        np.append(np.zeros(width), np.ones(count)),
        A_ub=loads,
        b_ub=np.zeros(used),
        A_eq=shares,
        b_eq=need,
        method="highs-ipm",
    )
    if found.x is None:
        return None
    parts = np.maximum(found.x, 0.0)
    return RelayFlows(parts[:width], parts[width:])


_MOST_WAYS = 2**15
"""Most ways of all pairs; where there are more, nothing is relayed."""
_WORK = 2**18
"""Ways of all linear programs together."""
_STARTS = ((True, 0.5), (False, 1.0), (True, 1.0), (False, 0.25), (True, 0.25))
"""Whether nodes change places, and what circuits carry in all, in busiest lines."""
_DEEPENED = 4
"""Numbers of steps that are tried from all starts."""
_FITS = 2


@dataclass(frozen=True, eq=False)
class StageAnswer:
    """Stages and what goes which way.

    `stages`: what the ports hold in turn. `ways`: of the pairs of the demand. `flows`:
    how much goes each way. `total`: when it ends, in picoseconds, if ports are all
    there is.
    """

    stages: RelayStages
    ways: RelayWays
    flows: RelayFlows
    total: float


class StageSearch:
    """The search for stages, in which every port of a node has a circuit.

    Times are in picoseconds, nodes those of the demand.

    `fabric`: on which any two nodes may have a circuit. `ports`: circuits of a node at
    a time, of equal rates. `demand`: bytes of each pair, one pair or more. `both_ways`:
    whether a port joins two nodes both ways, so that permutations are matchings.
    """

    def __init__(
        self,
        fabric: CircuitFabric,
        ports: int,
        demand: Demand,
        *,
        both_ways: bool = False,
    ) -> None:
        src, dst, size_bytes = demand_columns(demand, fabric.node_count)
        self.fabric, self.nodes = fabric, np.unique(np.concatenate([src, dst]))
        self._ports, self._both_ways = ports, both_ways
        self.src, self.dst = (np.searchsorted(self.nodes, end) for end in (src, dst))
        self.size_bytes = size_bytes
        self._byte_ps = BITS_PER_BYTE * PS_PER_S / (fabric.node_bits_per_s / ports)
        self.need = size_bytes * self._byte_ps
        count = len(self.nodes)
        self._relayed = [
            relayed_bytes(end, size_bytes, count) for end in (self.src, self.dst)
        ]
        self.size = np.zeros((count, count))
        self.size[self.src, self.dst] = self.need
        self.row_of = np.full((count, count), -1)
        self.row_of[self.src, self.dst] = np.arange(len(src))
        self.work = 0
        self._known: dict[tuple[tuple[int, ...], bytes], StageAnswer | None] = {}

    def answers(self, limit_ps: float) -> Iterator[StageAnswer]:
        """Yield answers that end sooner than a limit, and than those before.

        Every number of steps is tried from one start, the best from all.
        """
        turns_left = sorted(self._turns(), key=self._promise)
        totals: dict[tuple[int, ...], float] = {}
        for starts, fits in ((_STARTS[:1], 1), (_STARTS, _FITS)):
            best = sorted(totals, key=lambda turns: totals[turns])[:_DEEPENED]
            for turns in best or turns_left:
                if self._promise(turns) >= limit_ps or self.work > _WORK:
                    continue
                for answer in self._fitted(turns, starts, fits):
                    totals[turns] = min(answer.total, totals.get(turns, math.inf))
                    if answer.total < limit_ps:
                        limit_ps = answer.total
                        yield answer

    def _turns(self) -> Iterator[tuple[int, ...]]:
        """Yield steps of configurations.

        Those from which no circuits could lead to all partners of a node are left out.
        """
        switches, nodes = self._ports, len(self.nodes)
        partners = int(max(np.bincount(end).max() for end in (self.src, self.dst)))
        every: list[tuple[int, ...]] = [(2,)]
        for count in range(2, nodes):
            once = tuple(1 + (place == count // 2) for place in range(count))
            every += [(1,) * count, once, (2,) * count]
        for turns in every:
            steps, count, again = sum(turns), len(turns), turns.count(2)
            if steps * (steps - 1) // 2 * switches**2 * nodes > _MOST_WAYS:
                continue
            ways = switches * count + switches**2 * (count * (count - 1) // 2 + again)
            if ways >= partners:
                yield turns

    def _fixed(self, turns: tuple[int, ...]) -> float:
        fabric = self.fabric
        changes = len(turns) - 1 + fabric.initial_configuration_charged
        return changes * fabric.reconfiguration_ps + sum(turns) * fabric.alpha_ps

    def _promise(self, turns: tuple[int, ...]) -> float:
        """Return when stages end at the earliest, by the ports that relays load."""
        circuits = len(turns) * self._ports
        left = max(side[circuits:][:1] or [0] for side in self._relayed)[0]
        busiest = max(float(self.size.sum(axis=axis).max()) for axis in (0, 1))
        mean = (self.need.sum() + left * self._byte_ps) / len(self.nodes)
        return self._fixed(turns) + max(busiest, float(mean)) / self._ports

    def _fitted(
        self, turns: tuple[int, ...], starts: Sequence[tuple[bool, float]], fits: int
    ) -> Iterator[StageAnswer]:
        """Yield answers of so many steps, none where some pair has no way.

        What circuits are taken to carry is what those of the answer before carried.
        """
        begin = paired_stages if self._both_ways else even_stages
        even = begin(len(self.nodes), self._ports, turns)
        of = even.configuration
        for named, share in starts:
            least = self._promise(turns) - self._fixed(turns)
            data = np.full(len(of), share * least / len(of))
            stages = even
            if named:
                stages = named_stages(even, self.size, float(data[0]))
            for _ in range(fits):
                carried = np.bincount(of, weights=data).astype(np.float64)
                stages = fitted_stages(
                    stages, self.size, carried, paired=self._both_ways
                )
                answer = self._answer(stages)
                if answer is None:
                    break
                data = answer.flows.stage * self.need.max()
                yield answer

    def _answer(self, stages: RelayStages) -> StageAnswer | None:
        """Return the best answer on some circuits, worked out once."""
        told = stages.turns, stages.heads.tobytes()
        if told not in self._known:
            idle = stages.heads == np.arange(len(self.nodes))
            stages = RelayStages(np.where(idle, -1, stages.heads), stages.turns)
            ways = relay_ways(stages, self.row_of)
            self.work += len(ways.pair)
            flows = best_flows(stages, ways, self.need / self.need.max())
            answer = None
            if flows is not None:
                data = float(flows.stage.sum() * self.need.max())
                total = self._fixed(stages.turns) + data
                answer = StageAnswer(stages, ways, flows, total)
            self._known[told] = answer
        return self._known[told]

    def moves(self, answer: StageAnswer) -> RelayMoves:
        """Return what moves by an answer, to the byte; rounds are stages."""
        stages, ways = answer.stages, answer.ways
        _, ports, nodes = stages.heads.shape
        relayed, pairs = ways.second >= 0, len(self.size_bytes)
        moved = whole_bytes(self.size_bytes, ways.pair, answer.flows.amount, relayed)
        some, over = moved > 0, (moved > 0) & relayed
        # Bytes of a pair that take the same circuit on different ways move together.
        told, place = np.unique(
            np.concatenate([ways.first[some], ways.second[over]]) * pairs
            + np.concatenate([ways.pair[some], ways.pair[over]]),
            return_inverse=True,
        )
        size_bytes = np.zeros(len(told), dtype=np.int64)
        np.add.at(size_bytes, place, np.concatenate([moved[some], moved[over]]))
        circuit, pair = np.divmod(told, pairs)
        slot, src = np.divmod(circuit, nodes)
        stage, port = np.divmod(slot, ports)
        dst = stages.heads[stages.configuration[stage], port, src]
        src, dst, origin, final = (
            self.nodes[end] for end in (src, dst, self.src[pair], self.dst[pair])
        )
        return RelayMoves(stage, src, dst, origin, final, size_bytes, port)


_MOST_GROUPS = 4
_CIRCUIT_STARTS = 2
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
        for _ in range(_CIRCUIT_STARTS):
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
