"""Times of collectives in closed form, on RAMP and the networks beside it.

RAMP paper, section 7.4: a step lasts its head-to-head time (propagation, and the way
between memory and transceiver at both ends), its head-to-tail time (data over rate),
and the time to compute on what came in, by the roofline model. Replay of a schedule
says the first two; no schedule is needed here: steps that are alike are counted.

Sections 7.5 and 7.6: the other networks are tiers of nodes, and a strategy is a
sequence of rings, one after the other, in which nodes that stand in a ring exchange
what the rings before have left. What the paper leaves open is decided here and listed
in ``docs/spec/estimates.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Literal, TypeAlias

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, GIGA, PS_PER_NS, PS_PER_S
from lightloom.synth.ramp.team import STEPS, per_pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lightloom.synth.ramp.team import Shape


_NOTHING = Fraction(0)


@dataclass(frozen=True)
class Processor:
    """What computes at a node; defaults are those of an A100 at half precision."""

    memory_bytes_per_s: int = 2 * 10**12
    flops_per_s: int = 130 * 10**12
    element_bytes: int = 2

    def reduction_ps(self, sources: int, size_bytes: Fraction) -> Fraction:
        """Return the time to add `sources` buffers of `size_bytes` into one.

        Roofline: all are read and one is written, and each element takes one addition
        less than there are sources; the slower of the two counts.
        """
        moved = (sources + 1) * size_bytes / self.memory_bytes_per_s
        added = (sources - 1) * size_bytes / self.element_bytes / self.flops_per_s
        return max(moved, added) * PS_PER_S


@dataclass(frozen=True)
class Estimate:
    """A completion time in its parts, each summed over the steps, exact."""

    steps: int
    head_to_head_ps: Fraction
    head_to_tail_ps: Fraction
    compute_ps: Fraction

    @property
    def total_ps(self) -> Fraction:
        """Completion time."""
        return self.head_to_head_ps + self.head_to_tail_ps + self.compute_ps


@dataclass(frozen=True)
class RepeatedSteps:
    """Steps that are alike for the slowest node.

    In each it sends `wire_bytes` on average, after `head_to_head_ps`; at its end
    `sources` buffers of `reduced_bytes` are added, its own included (1: none are).
    """

    steps: int
    wire_bytes: Fraction
    bits_per_s: int
    head_to_head_ps: int
    reduced_bytes: Fraction = _NOTHING
    sources: int = 1

    @property
    def wire_ps(self) -> Fraction:
        """Time from the first bit of a step to its last."""
        return self.wire_bytes * BITS_PER_BYTE * PS_PER_S / self.bits_per_s


def total(runs: Iterable[RepeatedSteps], processor: Processor) -> Estimate:
    """Return the completion time of runs that follow each other."""
    steps = 0
    head = tail = compute = _NOTHING
    for run in runs:
        steps += run.steps
        head += run.steps * run.head_to_head_ps
        tail += run.steps * run.wire_ps
        if run.sources > 1:
            added = processor.reduction_ps(run.sources, run.reduced_bytes)
            compute += run.steps * added
    return Estimate(steps, head, tail, compute)


def together(
    left: Iterable[RepeatedSteps], right: Iterable[RepeatedSteps]
) -> list[RepeatedSteps]:
    """Return two sequences of runs that run at once on links of their own.

    Step i of one coincides with step i of the other: the slower counts, and a node
    adds up what came in by both, buffers of equal numbers of sources.
    """
    waiting = [list(left), list(right)]
    merged: list[RepeatedSteps] = []
    while all(waiting):
        first, second = waiting[0][0], waiting[1][0]
        count = min(first.steps, second.steps)
        slower = max(first, second, key=lambda run: run.wire_ps)
        merged.append(
            replace(
                slower,
                steps=count,
                head_to_head_ps=max(first.head_to_head_ps, second.head_to_head_ps),
                reduced_bytes=first.reduced_bytes + second.reduced_bytes,
                sources=max(first.sources, second.sources),
            )
        )
        for runs in waiting:
            rest = runs[0].steps - count
            runs[:1] = [replace(runs[0], steps=rest)] if rest else []
    return merged + waiting[0] + waiting[1]


def ramp_runs(
    shape: Shape,
    op: str,
    size_bytes: int,
    transceivers: int,
    bits_per_s: int,
    head_to_head_ps: int,
    steps: tuple[int, ...] = STEPS,
) -> list[RepeatedSteps]:
    """Return the steps of an operation on all nodes of a shape (Table 8, corrected).

    Subgroups of a step are rings whose members exchange with all others at once, every
    pair on transceivers of its own. It is a collective or ``barrier``, whose buffers go
    whole; for broadcast see `broadcast_run`. `steps` are those whose subgroups are
    whole: all, but where one number of every rack takes part, which leaves out those
    along the numbers.
    """
    rings = []
    for step in steps:
        peers = shape.members(step) - 1
        if peers:
            rate = peers * per_pair(transceivers, shape, step) * bits_per_s
            rings.append(RivalTier(peers + 1, rate, head_to_head_ps))
    whole = Fraction(size_bytes)
    if op == "barrier":
        ways = [[_turn(ring, whole, sources=2) for ring in rings]]
    elif op == "broadcast":
        what = "broadcast on RAMP is no sweep of the steps"
        raise InputError(what, where="op", found=op, fix="see `broadcast_run`")
    else:
        ways = _ways(tuple(rings), "none", op, whole)
    return _at_once(ways)[0]


def broadcast_run(
    size_bytes: int, pieces: int, depth: int, bits_per_s: int, head_to_head_ps: int
) -> RepeatedSteps:
    """Return the steps of a broadcast by a tree (equation 1, corrected).

    The buffer passes in k pieces down s - 1 hops of depth, at the rate of a feeder to
    its class, that of a node where each feeds one.
    """
    piece = Fraction(size_bytes, pieces)
    return RepeatedSteps(pieces + depth - 1, piece, bits_per_s, head_to_head_ps)


Forwarding: TypeAlias = Literal["none", "one-way", "both-ways"]

IO_PS = 100_000
"""Between memory and transceiver, at each end of every step."""


@dataclass(frozen=True)
class RivalTier:
    """Nodes, or groups of nodes of the tier below, that have something in common.

    Each node sends to another member at `bits_per_s` when all do; `head_to_head_ps` is
    what a step between members takes before its last bit sets out.
    """

    members: int
    bits_per_s: int
    head_to_head_ps: int


@dataclass(frozen=True)
class TieredNetwork:
    """Tiers of nodes, the innermost first: of a tree of switches, or a torus.

    Without `forwarding` switches join any two members of a tier; otherwise they stand
    in a ring whose nodes forward. `apart`: tiers have links of their own, so that all
    can work at once.
    """

    name: str
    tiers: tuple[RivalTier, ...]
    forwarding: Forwarding = "none"
    apart: bool = False

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        count = 1
        for tier in self.tiers:
            count *= tier.members
        return count

    def part(self, nodes: int) -> TieredNetwork:
        """Return the network of the first nodes: inner tiers are filled first."""
        left, tiers = nodes, []
        for tier in self.tiers:
            members = min(left, tier.members)
            if members < 1 or left % members:
                what = f"tiers of {[one.members for one in self.tiers]} do not fit"
                raise InputError(what, where="nodes", found=nodes)
            left //= members
            tiers.append(RivalTier(members, tier.bits_per_s, tier.head_to_head_ps))
        if left > 1:
            what, allowed = "more nodes than there are", f"1 to {self.nodes}"
            raise InputError(what, where="nodes", found=nodes, allowed=allowed)
        used = tuple(tier for tier in tiers if tier.members > 1)
        return TieredNetwork(self.name, used, self.forwarding, self.apart)


def apart(network: TieredNetwork, inner: int, nodes: int) -> TieredNetwork:
    """Return the network of so many nodes that stand `inner` places apart.

    All numbers here are powers of two.
    """
    left, tiers = inner, []
    for tier in network.tiers:
        taken = min(left, tier.members)
        left //= taken
        rest = tier.members // taken
        tiers.append(RivalTier(rest, tier.bits_per_s, tier.head_to_head_ps))
    return replace(network, tiers=tuple(tiers)).part(nodes)


def fat_tree(inside_bits_per_s: int, outside_bits_per_s: int) -> TieredNetwork:
    """Return 65,536 GPUs of a SuperPod scaled to four tiers.

    Servers of 8, then 16 servers, 16 of these units and 32 of those pods: the powers
    of two that fit switches of 40 ports, 20 of them down. Between servers a GPU sends
    through its own port; trunks never slow it down. A path crosses NVSwitch (100 ns),
    or 1, 3 or 5 switches of 350 ns; propagation adds up from 10, 50 and 1250 ns.
    """
    inner = 2 * IO_PS + 120 * PS_PER_NS
    leaf = 2 * IO_PS + (350 + 10) * PS_PER_NS
    spine = 2 * IO_PS + (3 * 350 + 60) * PS_PER_NS
    core = 2 * IO_PS + (5 * 350 + 1310) * PS_PER_NS
    return TieredNetwork(
        "fat-tree",
        (
            RivalTier(8, inside_bits_per_s, inner),
            RivalTier(16, outside_bits_per_s, leaf),
            RivalTier(16, outside_bits_per_s, spine),
            RivalTier(32, outside_bits_per_s, core),
        ),
    )


def torus(bits_per_s: int) -> TieredNetwork:
    """Return a torus of 128 x 512 nodes, a quarter of `bits_per_s` for each link.

    The rate of a tier is that of its two links. Propagation is the printed worst case
    of each dimension, and nodes have no switch.
    """
    both_ways = bits_per_s // 2
    return TieredNetwork(
        "2d-torus",
        (
            RivalTier(128, both_ways, 2 * IO_PS + 156 * PS_PER_NS),
            RivalTier(512, both_ways, 2 * IO_PS + 520 * PS_PER_NS),
        ),
        forwarding="both-ways",
        apart=True,
    )


def topoopt(bits_per_s: int) -> TieredNetwork:
    """Return 65,536 nodes in one ring of patched circuits, all links of a node in it.

    The circuits are there before the collective, and never change.
    """
    tier = RivalTier(2**16, bits_per_s, 2 * IO_PS + 260 * PS_PER_NS)
    return TieredNetwork("topoopt", (tier,), forwarding="one-way")


def matched(bits_per_s: int) -> tuple[TieredNetwork, ...]:
    """Return the three at one rate of a node, without oversubscription."""
    return fat_tree(bits_per_s, bits_per_s), torus(bits_per_s), topoopt(bits_per_s)


def as_published() -> tuple[TieredNetwork, ...]:
    """Return the three at the rates of their papers.

    2.4 Tb/s in a server and 200 Gb/s out of it; 2.4 Tb/s; 1.6 Tb/s.
    """
    return (
        fat_tree(2400 * GIGA, 200 * GIGA),
        torus(2400 * GIGA),
        topoopt(1600 * GIGA),
    )


RING = "ring"
HIERARCHICAL = "hierarchical"
GRID = "2d-torus"
STRATEGIES = (RING, GRID, HIERARCHICAL)
"""Those of the paper."""
LEVELS = "levels"
"""Ours: all members of a ring exchange at once, where switches join them."""

OPERATIONS = (
    *("all-gather", "all-reduce", "all-to-all", "barrier", "broadcast"),
    *("gather", "reduce", "reduce-scatter", "scatter"),
)

Rings = tuple[RivalTier, ...]
"""The rings of a strategy, the first first: a tier says all there is to say of one."""


@dataclass(frozen=True)
class StrategyPlan:
    """What a strategy does on a network: members of each ring, and the steps."""

    network: str
    strategy: str
    rings: tuple[int, ...]
    runs: tuple[RepeatedSteps, ...]


def plans(network: TieredNetwork, op: str, size_bytes: int) -> Iterator[StrategyPlan]:
    """Yield what every strategy does for an operation on all nodes of a network.

    ``ring`` is one ring, as slow as its slowest link. ``hierarchical`` has a ring for
    each tier. ``2d-torus`` has two: any two on switches, the two dimensions of a torus,
    where two halves of the buffer begin with one dimension each. A network of circuits
    that cannot change has the ring alone. ``levels``, on switches, is each of these
    with one step a ring, in which everyone exchanges with all others of it.
    """
    tiers, way = network.tiers, network.forwarding
    whole = Fraction(size_bytes)
    whole_ring = (_slowest(tiers, network.nodes),)
    yield _plan(network, RING, whole_ring, _ways(whole_ring, way, op, whole))
    if way == "none" and network.nodes > 1:
        halves = (_grid(tiers, at, network.nodes) for at in _divisors(network.nodes))
        for rings in (whole_ring, tiers, *halves):
            yield _plan(network, LEVELS, rings, _at_once(_ways(rings, way, op, whole)))
    if way == "one-way" or network.nodes < 2:
        return
    if network.apart and len(tiers) == 2:
        first, second = (
            _ways(rings, way, op, whole / 2) for rings in (tiers, tiers[::-1])
        )
        both = [_in_turns(*pair) for pair in zip(first, second, strict=True)]
        yield _plan(network, GRID, tiers, both)
    elif not network.apart:
        for inner in _divisors(network.nodes):
            grid = _grid(tiers, inner, network.nodes)
            yield _plan(network, GRID, grid, _ways(grid, way, op, whole))
    if len(tiers) > 1:
        yield _plan(network, HIERARCHICAL, tiers, _ways(tiers, way, op, whole))


def _plan(
    network: TieredNetwork,
    strategy: str,
    rings: Rings,
    ways: Sequence[Sequence[RepeatedSteps]],
) -> StrategyPlan:
    """Return the plan of the shortest of several ways."""
    sizes = tuple(ring.members for ring in rings)
    return StrategyPlan(network.name, strategy, sizes, tuple(min(ways, key=_moving_ps)))


def _in_turns(
    left: Sequence[RepeatedSteps], right: Sequence[RepeatedSteps]
) -> list[RepeatedSteps]:
    """Return two halves that change dimensions at the same time."""
    turns = zip(left, right, strict=True)
    return [run for first, second in turns for run in together([first], [second])]


def _slowest(tiers: Sequence[RivalTier], members: int) -> RivalTier:
    """Return a ring through all members of some tiers."""
    return RivalTier(
        members,
        min(tier.bits_per_s for tier in tiers),
        max(tier.head_to_head_ps for tier in tiers),
    )


def _grid(tiers: Sequence[RivalTier], inner: int, nodes: int) -> Rings:
    """Return rings of `inner` neighbours, and of those so many places apart.

    The first cross the tiers that neighbours reach, the second the outermost.
    """
    reached, below = [], 1
    for tier in tiers:
        if below < inner:
            reached.append(tier)
        below *= tier.members
    # A member of the second ring is in another innermost group if those are inside.
    far = [tier for tier in tiers[1:] if inner >= tiers[0].members] or list(tiers)
    return _slowest(reached, inner), _slowest(far, nodes // inner)


def _divisors(nodes: int) -> Iterator[int]:
    """Yield the divisors of a number but 1 and itself, ascending."""
    return (inner for inner in range(2, nodes // 2 + 1) if nodes % inner == 0)


def _ways(
    rings: Rings, way: Forwarding, op: str, size_bytes: Fraction
) -> list[list[RepeatedSteps]]:
    """Return the ways to do an operation along rings: runs, one a ring and turn.

    Only broadcast has two: pieces of the whole, or a scatter and an all-gather.
    """
    if op not in OPERATIONS:
        what, allowed = "unknown operation", ", ".join(OPERATIONS)
        raise InputError(what, where="op", found=op, allowed=allowed)
    if op == "all-to-all":
        return [[_exchange(ring, way, size_bytes) for ring in rings]]
    if op == "barrier":
        return [[_turn(ring, Fraction(0)) for ring in rings]]
    portions, portion = [], size_bytes
    for ring in rings:
        portion /= ring.members
        portions.append(portion)
    pairs = list(zip(rings, portions, strict=True))
    gather = [_turn(ring, piece) for ring, piece in reversed(pairs)]
    reduce = [_turn(ring, piece, sources=2) for ring, piece in pairs]
    if op == "broadcast":
        piped = [_pipeline(ring, size_bytes) for ring in rings]
        return [piped, gather[::-1] + gather]
    if op == "reduce-scatter":
        return [reduce]
    return [reduce + gather] if op in ("all-reduce", "reduce") else [gather]


def _at_once(ways: Sequence[Sequence[RepeatedSteps]]) -> list[list[RepeatedSteps]]:
    """Return the last way with one step a run: all that it moves, added up at once."""
    return [
        [
            RepeatedSteps(
                1,
                run.wire_bytes * run.steps,
                run.bits_per_s,
                run.head_to_head_ps,
                run.reduced_bytes,
                run.steps + 1 if run.sources > 1 else 1,
            )
            for run in ways[-1]
        ]
    ]


def _turn(ring: RivalTier, piece: Fraction, sources: int = 1) -> RepeatedSteps:
    """Return the steps in which everyone passes a piece on, once round a ring."""
    added = piece if sources > 1 else Fraction(0)
    return RepeatedSteps(
        ring.members - 1, piece, ring.bits_per_s, ring.head_to_head_ps, added, sources
    )


def _exchange(ring: RivalTier, way: Forwarding, size_bytes: Fraction) -> RepeatedSteps:
    """Return the steps in which each member has something for every other.

    On switches each goes straight there. In a ring it is forwarded: what is for a
    member d places on passes d links, so a link carries the d-th part of the buffer
    0 + 1 + ... + (d - 1) times, or where both ways are open that of the shorter way.
    """
    members = ring.members
    steps, distance = members - 1, Fraction(members - 1)
    if way == "one-way":
        distance = Fraction(members * (members - 1), 2)
    elif way == "both-ways":
        # The rate is that of both links, so is the load.
        steps, distance = members // 2, Fraction(members**2 // 4)
    wire = size_bytes * distance / members / steps
    return RepeatedSteps(steps, wire, ring.bits_per_s, ring.head_to_head_ps)


def _pipeline(ring: RivalTier, size_bytes: Fraction) -> RepeatedSteps:
    """Return the steps in which the buffer passes along a line, in the best pieces.

    With k pieces s + k - 2 steps of m/k for s members, best near
    k = sqrt(m (s - 2) beta / alpha).
    """
    hops = ring.members - 2
    wire_ps = size_bytes * BITS_PER_BYTE * PS_PER_S / ring.bits_per_s
    near = isqrt(int(wire_ps * hops / max(ring.head_to_head_ps, 1)))
    _, pieces = min(
        ((count + hops) * (ring.head_to_head_ps + wire_ps / count), count)
        for count in (max(near, 1), near + 1)
    )
    steps = pieces + hops
    return RepeatedSteps(
        steps, size_bytes / pieces, ring.bits_per_s, ring.head_to_head_ps
    )


def _moving_ps(runs: Iterable[RepeatedSteps]) -> Fraction:
    """Return the time of runs without what is spent on adding."""
    return sum(
        (run.steps * (run.head_to_head_ps + run.wire_ps) for run in runs),
        Fraction(0),
    )
