"""Spans: light that goes far takes a wavelength of every span on its way.

For demands, and for collectives whose bytes each go from one rank to one other
(all-to-all, scatter, gather), on a ring or rings along rows and columns. Witness
``{"axis": a}``: 0 for the rings of rows, or a ring by itself, 1 for those of columns.

Let h(u, v) be the least spans along axis a that light crosses on the way from u to v,
forwarded or not: the distance of their places round such a ring, the shorter way if
there are two. A byte from u to v crosses h(u, v) spans of axis a or more, since no
circuit along the other axis brings it nearer. Let X be the sum over pairs of their
bytes times h, S the spans of axis a in all directions, W the wavelengths of each and r
the rate of one. In a portion with data time t a circuit of c wavelengths over s spans
moves at most c r t bits, and the c s of all circuits sum to S W at most. So

    T  >=  (what portions and configurations cost) + ceil(X / (S W r)).

For demands on a ring by itself that do not allow relays a witness may add ``prices``,
one for each span of each direction in turn, and as many for ``crowd``. None of their
bytes is forwarded, so a byte from u to v crosses all spans of one way from u to v, or
of the other, if that is within reach. Let X be the sum over pairs of their bytes times
the price of the cheaper way. As before a portion with data time t moves bits that pay W
r t times the sum of all prices at most. And each pair has a circuit in some
configuration, which pays the crowd prices of its spans: these sum to C or more over all
pairs, and in a configuration to W times the sum of all at most, so there are at least m
= ceil(C / (W sum)) of them, each with a portion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import exact_sums
from lightloom.core.task import Demand
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.requirements import (
    DemandNeeds,
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys, number, rows

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_MOST_PRICE = 2**24
_FAR = 1 << 60


def axes_of(fabric: AnyFabric) -> tuple[Ring, ...]:
    """Return a ring of each axis, empty on other fabrics."""
    if isinstance(fabric, Ring2d):
        return fabric.rings
    return (fabric,) if isinstance(fabric, Ring) else ()


def crossed_bytes(fabric: Ring | Ring2d, task: Task, axis: int) -> int:
    """Return the sum of bytes times the spans of an axis that they must cross.

    `axis`: 0, or 1 for the columns of `Ring2d`.
    """
    needs = requirements_of(task, fabric.node_count)
    size_bytes = 1
    if isinstance(needs, CollectiveNeeds):
        if needs.reduces:
            return 0
        alone = needs.wanted == 1
        nodes = np.array(needs.collective.nodes, dtype=np.int64)
        src, dst = nodes[needs.origin[alone]], nodes[needs.owner[alone]]
        amount = needs.chunks[alone]
        size_bytes = needs.collective.chunk_bytes
    else:
        src, dst, amount = needs.src, needs.dst, needs.bytes
    ring = axes_of(fabric)[axis]
    if isinstance(fabric, Ring2d):
        src, dst = (fabric.line(ends, 1 - axis) for ends in (src, dst))
    spans = ring.least_spans(src, dst)
    by_spans = exact_sums(spans, amount, ring.nodes)
    crossed = sum(count * total for count, total in enumerate(by_spans))
    return size_bytes * crossed


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    if not isinstance(fabric, Ring | Ring2d):
        message = f"the kind spans is about rings, not about a {fabric.kind}"
        raise WitnessError(message)
    demand = isinstance(task, Demand) and not task.relays
    priced = isinstance(fabric, Ring) and demand and len(witness) > 1
    keys(witness, "axis", *(("prices", "crowd") if priced else ()))
    rings = axes_of(fabric)
    axis = number(witness, "axis", len(rings))
    ring = rings[axis]
    lit = ring.directions * fabric.node_count * ring.wavelengths
    rate = lit * ring.bits_per_second_per_wavelength
    needs = requirements_of(task, fabric.node_count)
    if priced:
        assert isinstance(fabric, Ring)
        assert isinstance(needs, DemandNeeds)
        turns_ps, moving_ps = _priced_ps(fabric, needs, witness)
        return max(base_ps(fabric, needs), turns_ps) + moving_ps
    crossed = crossed_bytes(fabric, task, axis)
    return base_ps(fabric, needs) + transmission_ps(crossed, rate)


def _priced_ps(fabric: Ring, needs: DemandNeeds, witness: Witness) -> tuple[int, int]:
    """Return what turns cost at least, and data; or raise `WitnessError`."""
    some = needs.bytes > 0
    src, dst, size_bytes = needs.src[some], needs.dst[some], needs.bytes[some]
    paid, prices = _cheapest(fabric, src, dst, witness, "prices")
    least, crowd = _cheapest(fabric, src, dst, witness, "crowd")
    bits = sum(int(a) * b for a, b in zip(paid, size_bytes.tolist(), strict=True))
    rate = fabric.wavelengths * fabric.bits_per_second_per_wavelength
    moving_ps = transmission_ps(bits, rate * prices) if prices else 0
    turns = -(-int(least.sum()) // (fabric.wavelengths * crowd)) if crowd else 1
    return fixed_ps(fabric, max(1, turns), max(1, turns)), moving_ps


def _cheapest(
    fabric: Ring, src: IntArray, dst: IntArray, witness: Witness, key: str
) -> tuple[IntArray, int]:
    """Return the price of the cheaper way of each pair, and the sum of all prices."""
    price, nodes = rows(witness, key, 0), fabric.nodes
    if len(price) != fabric.directions * nodes or price.min() < 0:
        message = f"{key} are not {fabric.directions * nodes} numbers from 0 on"
        raise WitnessError(message)
    if price.max() > _MOST_PRICE:
        message = f"{key} are more than {_MOST_PRICE}"
        raise WitnessError(message)
    best = np.full(len(src), _FAR)
    for direction, own in enumerate(price.reshape(-1, nodes)):
        before = np.append(0, np.cumsum(np.tile(own, 2)))
        hops = fabric.hops(src, dst, np.full(len(src), direction))
        begin = dst if direction else src
        way = before[begin + hops] - before[begin]
        best = np.where(hops <= fabric.reach, np.minimum(best, way), best)
    return np.where(best == _FAR, 0, best), int(price.sum())


BOUND = BoundKind("spans", _prove)
"""The kind of bound."""
