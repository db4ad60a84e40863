"""Circuits per byte of the slowest pair, on optical switches and on rings."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.validate.certificates.witness import (
    InapplicableError,
    NotProvenError,
    Objective,
    keys,
    number,
    rows,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.certificate import Number, Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


_NEAR = 1e-9
"""Far above the error of a quotient of doubles."""


@dataclass(frozen=True)
class PortsQuestion:
    """Most circuits per byte of the slowest pair, one configuration a switch."""

    fabric: Ocs
    demand: Demand

    @property
    def kinds(self) -> tuple[str, ...]:
        """Saturated ports alone."""
        return ("saturated-port",)

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `Question.prove`."""
        del kind
        side, node = _line(witness, self.fabric.nodes)
        port = SaturatedPort(side, node, Fraction(bound))
        check_saturated_port(self.fabric, self.demand, port)


@dataclass(frozen=True)
class WavelengthsQuestion:
    """Most wavelengths per byte of the slowest pair of a ring."""

    fabric: Ring
    demand: Demand

    @property
    def kinds(self) -> tuple[str, ...]:
        """One for each form of `RingWitness`."""
        return ("crowded-node", "crowded-spans", "long-circuits", "priced-pairs")

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `Question.prove`."""
        claimed = self._told(kind, witness, Fraction(bound))
        check_ring_witness(self.fabric, self.demand, claimed)

    def _told(self, kind: str, witness: Witness, ratio: Fraction) -> RingWitness:
        if kind == "crowded-node":
            side, node = _line(witness, self.fabric.nodes)
            return CrowdedNode(ratio, side, node)
        if kind == "crowded-spans":
            keys(witness, "spans")
            named = rows(witness, "spans", 2).tolist()
            return CrowdedSpans(ratio, tuple((way, span) for way, span in named))
        if kind == "priced-pairs":
            keys(witness, "prices")
            return PricedPairs(ratio, tuple(rows(witness, "prices", 0).tolist()))
        keys(witness, "hops", "directions")
        hops = number(witness, "hops", self.fabric.nodes + 1)
        directions = rows(witness, "directions", 0).tolist()
        return LongCircuits(ratio, hops, tuple(directions))


def port_witness(port: SaturatedPort | CrowdedNode) -> Witness:
    """Return a saturated line of ports as a certificate states it."""
    return {"side": port.side, "node": port.node}


def ring_witness(witness: RingWitness) -> tuple[str, Witness]:
    """Return the kind of a ring's witness, and how a certificate states it."""
    if isinstance(witness, CrowdedNode):
        return "crowded-node", port_witness(witness)
    if isinstance(witness, CrowdedSpans):
        return "crowded-spans", {"spans": [list(span) for span in witness.spans]}
    if isinstance(witness, PricedPairs):
        return "priced-pairs", {"prices": [*witness.prices]}
    directions: list[int | list[int]] = list(witness.directions)
    return "long-circuits", {"hops": witness.hops, "directions": directions}


def _line(witness: Witness, nodes: int) -> tuple[Literal["row", "column"], int]:
    keys(witness, "side", "node")
    side = word(witness, "side", "row", "column")
    return cast("Literal['row', 'column']", side), number(witness, "node", nodes)


def measure(
    fabric: AnyFabric, schedule: Schedule
) -> tuple[PortsQuestion | WavelengthsQuestion, Fraction]:
    """Return the question, and the circuits per byte of the slowest pair.

    Raises `InapplicableError` if it is of no demand on switches or a ring, nothing is
    asked for, it allows relays, or a plane holds more than one segment.
    """
    demand = schedule.task
    if not isinstance(fabric, Ocs | Ring) or not isinstance(demand, Demand):
        message = "circuits per byte are those of a demand on switches or a ring"
        raise InapplicableError(message)
    if demand.relays:
        message = "bytes may take two circuits, so no count of one pair's says enough"
        raise InapplicableError(message)
    planes = [segment.plane for segment in schedule.segments]
    if len(set(planes)) != len(planes):
        message = "a plane holds several segments, so circuits take turns"
        raise InapplicableError(message)
    if not demand.src:
        message = "nothing is asked for, so no pair is the slowest"
        raise InapplicableError(message)
    ratio = _least_ratio(_counts(fabric.node_count, schedule, demand), demand)
    if isinstance(fabric, Ocs):
        return PortsQuestion(fabric, demand), ratio
    return WavelengthsQuestion(fabric, demand), ratio


def _counts(nodes: int, schedule: Schedule, demand: Demand) -> IntArray:
    """Return the circuits of each pair of a demand, a wavelength counting as one."""
    demanded = np.array(demand.src, dtype=np.int64) * nodes + np.array(demand.dst)
    count = np.zeros(len(demanded), dtype=np.int64)
    for segment in schedule.segments:
        circuits = segment.circuits
        pair = circuits.src * nodes + circuits.dst
        width = np.ones(len(pair), dtype=np.int64)
        if circuits.wavelengths is not None:
            width = circuits.wavelengths.lengths
        # The pairs of a sound demand are sorted.
        place = np.minimum(np.searchsorted(demanded, pair), len(demanded) - 1)
        serves = demanded[place] == pair
        np.add.at(count, place[serves], width[serves])
    return count


def _least_ratio(count: IntArray, demand: Demand) -> Fraction:
    """Return the least of ``count / bytes``, exact."""
    size = np.array(demand.bytes, dtype=np.int64)
    rough = count / size
    near = np.flatnonzero(rough <= rough.min() * (1 + _NEAR))
    kinds = np.unique(np.stack([count[near], size[near]]), axis=1)
    return min(Fraction(*pair) for pair in kinds.T.tolist())


OBJECTIVE = Objective("circuits-per-byte", largest=True, measure=measure)


@dataclass(frozen=True)
class CrowdedSpans:
    """A witness: spans that take what the pairs must send across them.

    `ratio`: circuits a byte that the slowest pair cannot exceed. `spans`: (direction,
    span) of each; one that is named twice counts twice.
    """

    ratio: Fraction
    spans: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        """Return what is crowded, in words."""
        named = (f"span {span} in direction {way}" for way, span in self.spans)
        return " and ".join(named)


@dataclass(frozen=True)
class LongCircuits:
    """A witness: circuits so long that a wavelength holds but a few of them.

    `ratio`: circuits a byte that the slowest pair cannot exceed. `hops`: fewest spans
    of a long circuit. `directions`: the fibres it is about.
    """

    ratio: Fraction
    hops: int
    directions: tuple[int, ...]

    def __str__(self) -> str:
        """Return what is crowded, in words."""
        where = " and ".join(map(str, self.directions))
        return f"circuits of {self.hops} spans or more in direction {where}"


@dataclass(frozen=True)
class CrowdedNode:
    """A witness: a node whose lasers, or photodiodes, are all taken.

    `ratio`: circuits a byte that the slowest pair cannot exceed. `side`: ``row``: what
    the node sends; ``column``: what it receives.
    """

    ratio: Fraction
    side: Literal["row", "column"]
    node: int

    def __str__(self) -> str:
        """Return what is crowded, in words."""
        return (
            f"{'lasers' if self.side == 'row' else 'photodiodes'} of node {self.node}"
        )


@dataclass(frozen=True)
class PricedPairs:
    """A witness: prices of circuits, of which a wavelength can hold only so much.

    `ratio`: circuits a byte that the slowest pair cannot exceed. `prices`: of a circuit
    of each pair, in the order of the demand, not negative.
    """

    ratio: Fraction
    prices: tuple[int, ...]

    def __str__(self) -> str:
        """Return what is crowded, in words."""
        priced = sum(price > 0 for price in self.prices)
        return f"wavelengths, by prices of {priced} pairs"


RingWitness: TypeAlias = CrowdedSpans | LongCircuits | CrowdedNode | PricedPairs
_Way: TypeAlias = tuple[int, int, int]
"""Direction, first span and number of spans."""
_Room: TypeAlias = tuple[list[int], int]
"""What a circuit of each pair takes at least, and how much there is."""


def check_ring_witness(fabric: Ring, demand: Demand, witness: RingWitness) -> None:
    """Refuse a witness that does not prove its ratio.

    With t the ratio, a pair of b bytes that has more than t b circuits has at least
    n = floor(t b) + 1. So some pair has a ratio of t or less if all these together take
    more than there is:

    - of the named spans, which have W wavelengths each: n times the fewest of them on
      any way of the pair within reach;
    - of room for long circuits: those of one wavelength in one direction do not
      overlap, so at most floor(N / h) of them have h spans or more. Counted are pairs
      that have no other way within reach than long ones in the named directions;
    - of the lasers, or photodiodes, of a node;
    - of W times what the circuits of one wavelength can cost in each direction, which
      do not overlap, where a circuit costs the price of its pair.

    Raises `InputError`: a span, length, direction or node there is not, a negative or
    floating ratio, or a pair out of reach; `NotProvenError`: a witness with room.

    Integers alone; O(pairs + nodes + named spans), and with prices as often as pairs
    cross the span that fewest cross. About one configuration of the ring.
    """
    where = "ring witness"
    ways = [_ways(fabric, pair) for pair in zip(demand.src, demand.dst, strict=True)]
    if isinstance(witness, CrowdedSpans):
        room = _on_spans(fabric, ways, witness, where)
    elif isinstance(witness, LongCircuits):
        room = _for_long(fabric, ways, witness, where)
    elif isinstance(witness, PricedPairs):
        room = _at_prices(fabric, ways, witness, where)
    else:
        room = _at_node(fabric, demand, witness, where)
    if [] in ways:
        row = ways.index([])
        place, pair = f"demand, row {row}", (demand.src[row], demand.dst[row])
        raise InputError("a pair is out of reach", where=place, found=pair)
    _require_crowd(demand, room, witness.ratio, where)


def _require_crowd(demand: Demand, room: _Room, ratio: Fraction, where: str) -> None:
    """Raise unless circuits of more than a ratio take more than there is."""
    top, bottom = exact_ratio(ratio, where)
    least, most = room
    taken = sum(
        units * (top * size // bottom + 1)
        for units, size in zip(least, demand.bytes, strict=True)
    )
    if taken <= most:
        what = f"more than the ratio takes {taken}, which fits"
        allowed = f"more than {most}"
        raise NotProvenError(what, where=where, found=str(ratio), allowed=allowed)


def _ways(fabric: Ring, pair: tuple[int, int]) -> list[_Way]:
    """Return the ways of a pair within reach."""
    src, dst = pair
    forth, back = (dst - src) % fabric.nodes, (src - dst) % fabric.nodes
    ways = [(0, src, forth), (1, dst, back)][: fabric.directions]
    return [way for way in ways if way[2] <= fabric.reach]


def _on_spans(
    fabric: Ring, ways: list[list[_Way]], witness: CrowdedSpans, where: str
) -> _Room:
    """Return how often circuits cross named spans."""
    allowed = f"directions to {fabric.directions - 1}, spans to {fabric.nodes - 1}"
    times = [[0] * fabric.nodes for _ in range(fabric.directions)]
    for direction, span in witness.spans:
        if not (0 <= direction < fabric.directions and 0 <= span < fabric.nodes):
            found = (direction, span)
            raise InputError("invalid span", where=where, found=found, allowed=allowed)
        times[direction][span] += 1
    before = [list(accumulate(each + each, initial=0)) for each in times]
    crossed = [
        min(
            (before[way][first + hops] - before[way][first] for way, first, hops in of),
            default=0,
        )
        for of in ways
    ]
    return crossed, fabric.wavelengths * len(witness.spans)


def _for_long(
    fabric: Ring, ways: list[list[_Way]], witness: LongCircuits, where: str
) -> _Room:
    """Return which pairs have long circuits only."""
    hops, directions = witness.hops, witness.directions
    if not 1 <= hops <= fabric.nodes:
        allowed = f"1 to {fabric.nodes}"
        raise InputError("invalid length", where=where, found=hops, allowed=allowed)
    if sorted(set(directions)) != sorted(directions) or not all(
        0 <= direction < fabric.directions for direction in directions
    ):
        what, allowed = (
            "invalid directions",
            f"different ones of 0 to {fabric.directions - 1}",
        )
        raise InputError(what, where=where, found=directions, allowed=allowed)
    long = [
        int(all(way in directions and far >= hops for way, _, far in of)) for of in ways
    ]
    return long, len(directions) * fabric.wavelengths * (fabric.nodes // hops)


def _at_prices(
    fabric: Ring, ways: list[list[_Way]], witness: PricedPairs, where: str
) -> _Room:
    """Return the prices of circuits, and what all wavelengths can cost."""
    prices = witness.prices
    if len(prices) != len(ways) or min(prices, default=0) < 0:
        what, allowed = "invalid prices", f"{len(ways)} prices, none negative"
        raise InputError(what, where=where, found=len(prices), allowed=allowed)
    arcs: list[list[_Way]] = [[] for _ in range(fabric.directions)]
    for of, price in zip(ways, prices, strict=True):
        for direction, first, hops in of:
            arcs[direction].append((first, hops, price))
    dearest = sum(dearest_lap(each, fabric.nodes) for each in arcs)
    return list(prices), fabric.wavelengths * dearest


def _at_node(
    fabric: Ring | Ocs,
    demand: Demand,
    witness: CrowdedNode | SaturatedPort,
    where: str,
) -> _Room:
    """Return which circuits begin, or end, at a node."""
    side, node = witness.side, witness.node
    if side not in ("row", "column"):
        what, allowed = "unknown side", "row, column"
        raise InputError(what, where=where, found=side, allowed=allowed)
    if type(node) is not int or not 0 <= node < fabric.nodes:
        what, allowed = "unknown node", f"0 to {fabric.nodes - 1}"
        raise InputError(what, where=where, found=node, allowed=allowed)
    ends = demand.src if side == "row" else demand.dst
    return [int(end == node) for end in ends], fabric.ports_per_node


@dataclass(frozen=True)
class SaturatedPort:
    """A witness: a node whose circuits are all taken, one way.

    `side`: ``row``: what the node sends; ``column``: what it receives. `ratio`:
    circuits a byte that the slowest pair cannot exceed; 0: not all pairs of the line
    can be served.
    """

    side: Literal["row", "column"]
    node: int
    ratio: Fraction


def check_saturated_port(fabric: Ocs, demand: Demand, witness: SaturatedPort) -> None:
    """Refuse a witness that does not prove its ratio.

    As on a ring (`check_ring_witness`), of the circuits of a node: it has one a switch
    each way, whatever the switches hold. The argument is about one configuration of
    each switch; it holds for bidirectional circuits too.

    Raises `InputError`: no such side or node, or a negative or floating ratio;
    `NotProvenError`: a line with room.

    Integers alone; O(pairs).
    """
    where = "saturated port"
    room = _at_node(fabric, demand, witness, where)
    _require_crowd(demand, room, witness.ratio, where)


def exact_ratio(ratio: Fraction, where: str) -> tuple[int, int]:
    """Return numerator and denominator of a ratio, refused unless it is exact.

    Raises `InputError` if it is no fraction of integers, or negative.
    """
    top = getattr(ratio, "numerator", None)
    bottom = getattr(ratio, "denominator", None)
    if type(top) is not int or type(bottom) is not int or bottom < 1 or top < 0:
        allowed = "a non-negative fraction of integers"
        raise InputError(
            "invalid ratio", where=where, found=str(ratio), allowed=allowed
        )
    return top, bottom


def dearest_lap(arcs: Sequence[tuple[int, int, int]], nodes: int) -> int:
    """Return the most that arcs of a ring can cost together without overlap.

    `arcs`: (first span, spans, price) of each; 1 to `nodes` spans, prices not negative.

    The ring is cut at the span that fewest arcs cross: a lap has one of these or none,
    and the rest of it lies on a line. Exact; O(crossing arcs * (arcs + nodes)).
    """
    dear = [arc for arc in arcs if arc[2]]
    change = [0] * (2 * nodes + 1)
    for first, spans, _ in dear:
        change[first] += 1
        change[first + spans] -= 1
    load, loads = 0, [0] * nodes
    for place in range(2 * nodes):
        load += change[place]
        loads[place % nodes] += load
    cut = loads.index(min(loads))
    # Positions after the cut: the cut span is the last one.
    ending: dict[int, list[tuple[int, int]]] = defaultdict(list)
    crossing = []
    for first, spans, price in dear:
        begin = (first - cut - 1) % nodes
        if begin + spans >= nodes:
            crossing.append((begin, begin + spans - nodes, price))
        else:
            ending[begin + spans].append((begin, price))
    most = _on_line(ending, 0, nodes - 1)
    for begin, end, price in crossing:
        most = max(most, price + _on_line(ending, end, begin))
    return most


def _on_line(ending: dict[int, list[tuple[int, int]]], low: int, high: int) -> int:
    """Return the most that arcs between two places of a line can cost."""
    best = [0] * (high + 1)
    for place in range(low + 1, high + 1):
        best[place] = max(
            best[place - 1],
            *(
                best[begin] + price
                for begin, price in ending.get(place, ())
                if begin >= low
            ),
            0,
        )
    return best[high] if high >= low else 0
