"""The search for prices of resources: a list of those that are worth a try.

Ports of the busiest node, and of all; and by what a fabric is: its busiest link, links
by classes, the edges into a rectangle, the spans of an axis, the fullest fibre or bus,
spans at prices of a linear program.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.columns import exact_sums
from lightloom.core.errors import InfeasibleError
from lightloom.core.fabric import CircuitFabric, PacketFabric, SharedWays
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.synth.bounds.link_prices import best_lengths
from lightloom.synth.bounds.rectangles import best_rectangle
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.synth.ring.arcs import RingWays, crossings, ring_ways
from lightloom.synth.ring.demand_turns import grid_ways
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time.prices import BOUND
from lightloom.validate.certificates.completion_time.requirements import (
    DemandNeeds,
    requirements_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.completion_time.requirements import (
        CollectiveNeeds,
    )

_MOST_TILES = 4096
"""Tiles up to which all rectangles are looked at: a second of a processor."""
_MOST_PAIRS = 20_000
"""Pairs up to which spans are priced by a linear program: a second of a processor."""
_BOTH_WAYS = 2
"""Directions of a row's circuits are 0 and 1, those of a column's 2 and 3."""
_MOST_SINGLE = 64
"""Resources of a fabric that is not known here, up to which each is tried alone."""
_FINE = 2**20
"""The dearest span."""


def _find(fabric: AnyFabric, task: Task) -> Certificate | None:
    """Return what the first of the best prices prove."""
    best_ps, best = 0, None
    for witness in _candidates(fabric, task):
        try:
            proven_ps = BOUND.prove(fabric, task, witness)
        except WitnessError:
            continue  # the task is too large for these
        if proven_ps > best_ps:
            best_ps, best = proven_ps, witness
    if best is None:
        return None
    return Certificate(COMPLETION_TIME, BOUND.name, best_ps, None, best)


def _candidates(fabric: AnyFabric, task: Task) -> Iterator[Witness]:
    """Yield prices, in the order in which one of equals is chosen."""
    nodes = fabric.node_count
    needs = requirements_of(task, nodes)
    for first, due in ((nodes, needs.received_bytes()), (0, needs.sent_bytes())):
        if any(due):
            yield priced([first + due.index(max(due))])
    if isinstance(task, Collective):
        yield priced(nodes + node for node in task.nodes)
    if isinstance(fabric, PacketFabric):
        yield from _links(fabric, task)
    elif isinstance(fabric, SharedWays) and isinstance(fabric, CircuitFabric):
        yield from _shared(fabric, task, needs)


def _shared(
    fabric: AnyFabric, task: Task, needs: CollectiveNeeds | DemandNeeds
) -> Iterator[Witness]:
    """Yield prices of what circuits share."""
    own = 2 * fabric.node_count
    if isinstance(fabric, Lightpath):
        edges = _edges_of_rectangle(fabric, needs)
        if edges:
            yield priced(own + edge for edge in edges)
    elif isinstance(fabric, Ring | Ring2d):
        spans = fabric.directions * fabric.node_count
        for axis in range(2 if isinstance(fabric, Ring2d) else 1):
            yield priced(range(own + axis * spans, own + (axis + 1) * spans))
        if isinstance(task, Demand) and task.src and not task.relays:
            yield from _spans_at_prices(fabric, task)
    elif isinstance(fabric, Sipac):
        yield from _levels(fabric, needs)
    elif isinstance(fabric, Ramp):
        yield from _fullest_subnet(fabric, needs)
    elif isinstance(fabric, SharedWays):
        count = len(fabric.shared_lanes())
        yield priced(range(own, own + count))
        if count <= _MOST_SINGLE:
            yield from (priced([own + one]) for one in range(count))


def priced(resources: Iterable[int]) -> Witness:
    """Return a price of 1 for some resources."""
    named = [*resources]
    return {"resources": named, "prices": [1] * len(named)}


def _links(fabric: PacketFabric, task: Task) -> Iterator[Witness]:
    """Yield the busiest link of a demand, or lengths of links of a collective."""
    own = 2 * fabric.node_count
    if isinstance(task, Demand):
        src, dst = (np.array(ends, dtype=np.int64) for ends in (task.src, task.dst))
        usage = fabric.link_usage(src, dst)
        links, place = np.unique(usage.resource, return_inverse=True)
        size_bytes = np.array(task.bytes, dtype=np.int64)[usage.circuit]
        carried = exact_sums(place, size_bytes, len(links))
        rates = fabric.link_bits_per_s(links).tolist()
        busy = [Fraction(size, rate) for size, rate in zip(carried, rates, strict=True)]
        if busy:
            yield priced([own + int(links[busy.index(max(busy))])])
        return
    priced_links = best_lengths(fabric, task)
    if priced_links is not None:
        link, length = priced_links
        yield {"resources": (own + link).tolist(), "prices": length.tolist()}


def _edges_of_rectangle(
    fabric: Lightpath, needs: CollectiveNeeds | DemandNeeds
) -> list[int]:
    """Return the edges into the rectangle that most data must enter for their number.

    None where the nodes in it receive no more than the edges carry.
    """
    few = fabric.node_count <= _MOST_TILES
    inside = best_rectangle(fabric, needs) if few else None
    if inside is None:
        return []
    tail, head = fabric.edges()
    waveguides = fabric.edge_waveguides(tail, head)
    enters = ~inside[tail] & inside[head] & (waveguides > 0)
    if int(waveguides[enters].sum()) > int((inside & needs.members()).sum()):
        return []
    edges: list[int] = fabric.edge_ids(tail[enters], head[enters]).tolist()
    return edges


def _levels(fabric: Sipac, needs: CollectiveNeeds | DemandNeeds) -> Iterator[Witness]:
    """Yield all buses of a level, and of a demand its fullest fibre and bus."""
    fibres = 2 * fabric.node_count
    buses = fibres + fabric.node_count * fabric.levels
    if not isinstance(needs, DemandNeeds):
        nodes = np.array(needs.collective.nodes, dtype=np.int64)
        for level in range(fabric.levels):
            yield priced((buses + nodes * fabric.levels + level).tolist())
        return
    of_pair = fabric.level_of(needs.src, needs.dst)
    for level in range(fabric.levels):
        mine = of_pair == level
        for first, end in ((fibres, needs.src), (buses, needs.dst)):
            due = exact_sums(end[mine], needs.bytes[mine], fabric.node_count)
            node = due.index(max(due))
            yield priced([first + node * fabric.levels + level])


def _fullest_subnet(
    fabric: Ramp, needs: CollectiveNeeds | DemandNeeds
) -> Iterator[Witness]:
    """Yield the wavelength of a subnet by which most data of a demand go straight."""
    count = len(fabric.shared_lanes())
    if not count or not isinstance(needs, DemandNeeds) or not len(needs.src):
        return
    number = np.arange(count)
    taken = fabric.cheapest(number, needs.src, needs.dst, 1)
    due = exact_sums(taken, needs.bytes, count)
    yield priced([2 * fabric.node_count + due.index(max(due))])


def _spans_at_prices(fabric: Ring | Ring2d, task: Demand) -> Iterator[Witness]:
    """Yield spans at prices by which all pairs pay most for data, and as a crowd."""
    prices = _span_prices(fabric, task, np.array(task.bytes, dtype=np.float64))
    crowd = _span_prices(fabric, task, np.ones(len(task.src)))
    if prices is not None and crowd is not None:
        own = 2 * fabric.node_count
        resources = [*range(own, own + len(prices))]
        yield {"resources": resources, "prices": prices, "crowd": crowd}


def _span_prices(
    fabric: Ring | Ring2d, task: Demand, load: FloatArray
) -> list[int] | None:
    """Return prices of spans by which pairs pay most, however they go round.

    They are the dual of the least load of the fullest span, where each pair may be
    divided between its ways; ``None`` where pairs are very many, or out of reach.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    if len(task.src) > _MOST_PAIRS:
        return None
    try:
        ways, way, span = _spans_of_ways(fabric, task)
    except InfeasibleError:
        return None
    room = fabric.shared_lanes()
    spans, width = len(room), len(ways.pair) + 1
    row = np.append(span, np.arange(spans))
    column = np.append(way, np.full(spans, width - 1))
    value = np.append(load[ways.pair[way]] / load.sum(), -room / room.max())
    shares = coo_array(
        (np.ones(width - 1), (ways.pair, np.arange(width - 1))),
        shape=(len(task.src), width),
    )
    found = linprog(
        np.append(np.zeros(width - 1), 1.0),
        A_ub=coo_array((value, (row, column)), shape=(spans, width)).tocsr(),
        b_ub=np.zeros(spans),
        A_eq=shares.tocsr(),
        b_eq=np.ones(len(task.src)),
        method="highs",
    )
    if not found.success:
        return None
    price = np.maximum(0.0, -found.ineqlin.marginals)
    return list(map(int, np.rint(price / price.max() * _FINE)))


def _spans_of_ways(
    fabric: Ring | Ring2d, task: Demand
) -> tuple[RingWays, IntArray, IntArray]:
    """Return the ways of pairs, and of each span of each way the way and the span.

    Spans are numbered as in `shared_lanes`.
    """
    if isinstance(fabric, Ring):
        ways = ring_ways(fabric, task)
        way, place = crossings(ways, fabric.nodes)
        return ways, way, ways.direction[way] * fabric.nodes + place
    ways, direction, line = grid_ways(fabric, task)
    nodes = np.where(direction < _BOTH_WAYS, fabric.cols, fabric.rows)
    way = np.repeat(np.arange(len(ways.pair)), ways.hops)
    step = np.arange(len(way)) - np.repeat(np.cumsum(ways.hops) - ways.hops, ways.hops)
    ring = line * fabric.directions + direction % _BOTH_WAYS
    first = np.where(direction < _BOTH_WAYS, 0, fabric.directions * fabric.node_count)
    place = (ways.begin[way] + step) % nodes[way]
    return ways, way, (first + ring * nodes)[way] + place


SEARCHES = WitnessSearch("prices", _find)
