"""Rings: what no wavelengths can beat: spans, long circuits, a node, or prices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias

from lightloom.core.errors import InputError
from lightloom.validate.certificates.proofs.dearest_lap import dearest_lap
from lightloom.validate.certificates.proofs.ocs_ports import exact_ratio
from lightloom.validate.certificates.witness import NotProvenError

if TYPE_CHECKING:
    from fractions import Fraction

    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring


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
    top, bottom = exact_ratio(witness.ratio, where)
    if isinstance(witness, CrowdedSpans):
        room = _room_on_spans(fabric, witness, where)
    elif isinstance(witness, LongCircuits):
        room = _room_for_long(fabric, witness, where)
    elif isinstance(witness, PricedPairs):
        room = _room_at_prices(fabric, demand, witness, where)
    else:
        room = _room_at_node(fabric, witness, where)
    taken, named = 0, _named_before(fabric, witness)
    for row, pair in enumerate(zip(demand.src, demand.dst, strict=True)):
        ways = _ways(fabric, pair)
        if not ways:
            place = f"demand, row {row}"
            raise InputError("a pair is out of reach", where=place, found=pair)
        if isinstance(witness, PricedPairs):
            least = witness.prices[row]
        else:
            least = min(_takes(fabric, witness, named, way) for way in ways)
        taken += least * (top * demand.bytes[row] // bottom + 1)
    if taken <= room:
        what = f"more than the ratio takes {taken}, which fits"
        found, allowed = str(witness.ratio), f"more than {room}"
        raise NotProvenError(what, where=where, found=found, allowed=allowed)


def _ways(fabric: Ring, pair: tuple[int, int]) -> list[_Way]:
    """Return (direction, first span, spans) of the ways of a pair within reach."""
    src, dst = pair
    forth, back = (dst - src) % fabric.nodes, (src - dst) % fabric.nodes
    ways = [(0, src, forth), (1, dst, back)][: fabric.directions]
    return [way for way in ways if way[2] <= fabric.reach]


def _named_before(fabric: Ring, witness: RingWitness) -> list[list[int]]:
    """Return how often spans before each are named, by direction, twice round."""
    if not isinstance(witness, CrowdedSpans):
        return []
    times = [[0] * fabric.nodes for _ in range(fabric.directions)]
    for direction, span in witness.spans:
        times[direction][span] += 1
    return [list(accumulate(each + each, initial=0)) for each in times]


def _takes(
    fabric: Ring,
    witness: CrowdedSpans | LongCircuits | CrowdedNode,
    named: list[list[int]],
    way: _Way,
) -> int:
    """Return how much a circuit takes of what the witness is about."""
    direction, first, hops = way
    if isinstance(witness, CrowdedSpans):
        return named[direction][first + hops] - named[direction][first]
    if isinstance(witness, LongCircuits):
        return int(direction in witness.directions and hops >= witness.hops)
    ends = (first, (first + hops) % fabric.nodes)
    src, dst = ends if direction == 0 else ends[::-1]
    return int((src if witness.side == "row" else dst) == witness.node)


def _room_on_spans(fabric: Ring, witness: CrowdedSpans, where: str) -> int:
    allowed = f"directions to {fabric.directions - 1}, spans to {fabric.nodes - 1}"
    for direction, span in witness.spans:
        if not (0 <= direction < fabric.directions and 0 <= span < fabric.nodes):
            found = (direction, span)
            raise InputError("invalid span", where=where, found=found, allowed=allowed)
    return fabric.wavelengths * len(witness.spans)


def _room_for_long(fabric: Ring, witness: LongCircuits, where: str) -> int:
    hops, directions = witness.hops, witness.directions
    if not 1 <= hops <= fabric.nodes:
        allowed = f"1 to {fabric.nodes}"
        raise InputError("invalid length", where=where, found=hops, allowed=allowed)
    if sorted(set(directions)) != sorted(directions) or not all(
        0 <= direction < fabric.directions for direction in directions
    ):
        allowed = f"different ones of 0 to {fabric.directions - 1}"
        what = "invalid directions"
        raise InputError(what, where=where, found=directions, allowed=allowed)
    return len(directions) * fabric.wavelengths * (fabric.nodes // hops)


def _room_at_node(fabric: Ring, witness: CrowdedNode, where: str) -> int:
    if witness.side not in ("row", "column"):
        allowed = "row, column"
        what = "unknown side"
        raise InputError(what, where=where, found=witness.side, allowed=allowed)
    if not 0 <= witness.node < fabric.nodes:
        allowed = f"0 to {fabric.nodes - 1}"
        raise InputError(
            "unknown node", where=where, found=witness.node, allowed=allowed
        )
    return fabric.ports_per_node


def _room_at_prices(
    fabric: Ring, demand: Demand, witness: PricedPairs, where: str
) -> int:
    prices = witness.prices
    if len(prices) != len(demand.src) or min(prices, default=0) < 0:
        allowed = f"{len(demand.src)} prices, none negative"
        raise InputError(
            "invalid prices", where=where, found=len(prices), allowed=allowed
        )
    arcs: list[list[tuple[int, int, int]]] = [[] for _ in range(fabric.directions)]
    pairs = zip(demand.src, demand.dst, strict=True)
    for pair, price in zip(pairs, prices, strict=True):
        for direction, first, hops in _ways(fabric, pair):
            arcs[direction].append((first, hops, price))
    return fabric.wavelengths * sum(dearest_lap(each, fabric.nodes) for each in arcs)
