"""Prices: what all data pay for what they must use, and all there is can earn.

Witness ``{"resources": [...], "prices": [...]}``: distinct resources, and for each a
whole number from 0. Resources 0 to n - 1 are what each of the n nodes of the fabric
sends with, n to 2 n - 1 what it receives with, at the rate of a node; from 2 n on they
are the fabric's own: links of a packet fabric, and what the circuits of a
`SharedWays` share (spans of a fibre, edges of a grid, fibres and buses of a switch).

*What is earned.* In a portion whose data last t (in a step, on a packet fabric) a
resource e of rate r_e carries at most r_e t bits. Portions do not overlap where there
is one plane. So if every bit pays y_e for each resource e that carries it, all bits of
D of data time pay at most D R, with R the sum of y_e r_e. Where planes are several,
only ports of nodes have prices, and one portion is counted: before its data begin no
port has carried any.

*What is paid.* Let c(u, v) be the least that a bit pays from node u to node v by one
message. Then all data pay at least C, the sum over bytes of

- a demand without relays: c(u, v); one with relays: that, or the least sum of two;
- a collective, of what one rank has and one other needs: the least sum of messages from
  the one to the other;
- of what all need: a tree from the rank that has it (`tree_costs`), of what is summed
  up at one rank a tree to it; of what all need the sum of: `gossip_cost`.

On a `SharedWays` only of the first kind where a circuit may have several destinations:
what many hear at once pays once for what it was sent with, but the circuits that bring
a byte to its only destination are one after another. And as all of them lie on a way
from u to v, the least that any way through the fabric pays is no more than their sum.

What is paid for sending and receiving is counted without c: node v receives the bytes
of `received_bytes` at least, and all ranks together those of `volume_bytes`, which are
paid for at the price of the cheapest rank if they are more; it sends those of
`sent_bytes` at least, once for all who hear them. These are other payments than those
for the fabric's own resources, so both are added up.

So D R >= C, and with what portions and configurations cost at least (`base_ps`)

    T  >=  base + ceil(C / R).

A collective on a packet fabric either takes one step, which `one_step_ps` knows
exactly, or two and more: then base is what two steps cost. That counts where links have
prices, of `MOST_RANKS` ranks at most.

*Crowds.* For demands without relays on a `SharedWays` without circuits of several
destinations a witness may add ``crowd``, a second price of each resource, all of them
the fabric's own. Each pair has a circuit in some configuration, of one lane at least,
which pays for one lane of each resource on its way. All lanes of a configuration
together pay at most L, the sum of crowd prices times lanes. So with K the least that
all pairs pay there are m >= K / L configurations with a portion in each, and base is
what these cost, if that is more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import CircuitFabric, PacketFabric, SharedWays, step_ps
from lightloom.core.units import transmission_ps
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.message_costs import (
    MOST_LENGTH,
    MOST_RANKS,
    LinkLengths,
    PairRoutes,
    least_cost,
    one_step_ps,
    shared_cost,
    sum_products,
)
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    DemandNeeds,
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys, numbers

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_MOST_GROUPS = 64
"""Groups of more ranks than `MOST_RANKS` up to which trees between them are priced."""


@dataclass(frozen=True, eq=False)
class _Prices:
    """The prices of a witness.

    `send`, `receive`: of nodes, shape (n,). `own`: resources of the fabric that have a
    price, from 0, and `price` and `crowd` of each, shape (rows,).
    """

    send: IntArray
    receive: IntArray
    own: IntArray
    price: IntArray
    crowd: IntArray

    @classmethod
    def read(cls, fabric: AnyFabric, witness: Witness) -> _Prices:
        """Return the prices, or raise `WitnessError`."""
        crowded = "crowd" in witness
        keys(witness, "resources", "prices", *(("crowd",) if crowded else ()))
        resource = numbers(witness, "resources", 0, 2**62)
        price = numbers(witness, "prices", 0, MOST_LENGTH)
        crowd = np.zeros_like(price)
        if crowded:
            crowd = numbers(witness, "crowd", 0, MOST_LENGTH)
        if not len(resource) == len(price) == len(crowd) or not len(resource):
            message = "resources and prices are not equally many, or none"
            raise WitnessError(message)
        ordered = np.sort(resource)
        if (ordered[1:] == ordered[:-1]).any():
            message = "resources names one twice"
            raise WitnessError(message)
        count = fabric.node_count
        port = resource < 2 * count
        ports = np.zeros(2 * count, dtype=np.int64)
        ports[resource[port]] = price[port]
        if crowd[port].any():
            message = "crowd is about the fabric's own resources"
            raise WitnessError(message)
        own = (resource[~port] - 2 * count, price[~port], crowd[~port])
        return cls(ports[:count], ports[count:], *own)

    def ports_cost(self, needs: CollectiveNeeds | DemandNeeds) -> int:
        """Return what nodes pay at least, bytes times price."""
        received, sent = needs.received_bytes(), needs.sent_bytes()
        priced = ((self.receive, received), (self.send, sent))
        total = sum(
            int(price[node]) * moved[node]
            for price, moved in priced
            for node in np.flatnonzero(price).tolist()
        )
        if isinstance(needs, CollectiveNeeds) and self.receive.any():
            cheapest = int(self.receive[list(needs.collective.nodes)].min())
            if cheapest:
                total += cheapest * max(0, needs.volume_bytes() - sum(received))
        return total


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    prices = _Prices.read(fabric, witness)
    needs = requirements_of(task, fabric.node_count)
    cost, rate = prices.ports_cost(needs), 0
    if len(prices.own):
        own_cost, rate = _own_cost(fabric, needs, prices)
        cost += own_cost
    rate += int(prices.send.sum() + prices.receive.sum()) * fabric.node_bits_per_s
    data_ps = transmission_ps(cost, rate) if rate else 0
    least_ps = base_ps(fabric, needs)
    if prices.crowd.any():
        least_ps = max(least_ps, _turns_ps(fabric, needs, prices))
    least_ps += data_ps
    if (
        len(prices.own)
        and isinstance(fabric, PacketFabric)
        and isinstance(needs, CollectiveNeeds)
        and needs.collective.rank_count > 1
    ):
        several_ps = 2 * step_ps(fabric) + data_ps
        return max(least_ps, min(one_step_ps(fabric, needs), several_ps))
    return least_ps


def _own_cost(
    fabric: AnyFabric, needs: CollectiveNeeds | DemandNeeds, prices: _Prices
) -> tuple[int, int]:
    """Return what is paid for the fabric's own resources, and earned in a second.

    In bytes times price, and in bits a second times price.
    """
    if isinstance(fabric, PacketFabric):
        return _links_cost(fabric, needs, prices)
    ways, own = _ways_of(fabric, prices)
    pairs = zip(
        ways.shared_lanes()[prices.own].tolist(), prices.price.tolist(), strict=True
    )
    rate = sum(lanes * price for lanes, price in pairs)
    rate *= ways.bits_per_second_per_wavelength
    if isinstance(needs, DemandNeeds):
        circuits = 2 if needs.forwarded else 1
        paid = ways.cheapest(own, needs.src, needs.dst, circuits)
        return sum_products(paid, needs.bytes), rate
    assert isinstance(fabric, CircuitFabric)
    total = _told_cost(ways, needs, own)
    if "multicast" not in fabric.circuit_columns:
        total += _spread_cost(ways, needs, own)
    return total * needs.collective.chunk_bytes, rate


def _ways_of(fabric: AnyFabric, prices: _Prices) -> tuple[SharedWays, IntArray]:
    """Return the fabric, and the prices of all its resources, shape (resources,)."""
    if not isinstance(fabric, SharedWays) or not isinstance(fabric, CircuitFabric):
        message = f"a {fabric.kind} has no resources but ports of nodes"
        raise WitnessError(message)
    if fabric.plane_count > 1:
        message = "only resources of one plane are used one portion after another"
        raise WitnessError(message)
    count = len(fabric.shared_lanes())
    if prices.own.max() >= count:
        message = f"resources are not below {2 * fabric.node_count + count}"
        raise WitnessError(message)
    own = np.zeros(count, dtype=np.int64)
    own[prices.own] = prices.price
    return fabric, own


def _told_cost(ways: SharedWays, needs: CollectiveNeeds, own: IntArray) -> int:
    """Return what is paid for chunks that one rank has and one other needs."""
    alone = needs.wanted == 1
    if needs.reduces or not alone.any():
        return 0
    node = np.array(needs.collective.nodes, dtype=np.int64)
    ends = node[needs.origin[alone]], node[needs.owner[alone]]
    return sum_products(ways.cheapest(own, *ends, nodes=node), needs.chunks[alone])


def _spread_cost(ways: SharedWays, needs: CollectiveNeeds, own: IntArray) -> int:
    """Return what is paid for chunks that all need, or that are summed up.

    Ranks that reach one another for nothing count as one; 0 where there are very many
    ranks, and many groups of them.
    """
    if not needs.reduces and not (needs.wanted > 1).any():
        return 0
    node = np.array(needs.collective.nodes, dtype=np.int64)
    first, group = node, np.arange(len(node), dtype=np.int64)
    if len(node) > MOST_RANKS:
        group = np.full(len(node), -1, dtype=np.int64)
        heads: list[int] = []
        while (group < 0).any():
            if len(heads) == _MOST_GROUPS:
                return 0
            head = np.full_like(node, node[np.flatnonzero(group < 0)[0]])
            apart = ways.cheapest(own, head, node, nodes=node)
            apart += ways.cheapest(own, node, head, nodes=node)
            group[(group < 0) & (apart == 0)] = len(heads)
            heads.append(int(head[0]))
        first = np.array(heads, dtype=np.int64)
    count = len(first)
    if count == 1:
        return 0
    src, dst = np.repeat(first, count), np.tile(first, count)
    cost = ways.cheapest(own, src, dst, nodes=node)
    return shared_cost(needs, cost.reshape(count, count), group)


def _links_cost(
    fabric: PacketFabric, needs: CollectiveNeeds | DemandNeeds, prices: _Prices
) -> tuple[int, int]:
    """Return what `_own_cost` does, of links."""
    priced = prices.price > 0
    witness = {
        "resources": prices.own[priced].tolist(),
        "prices": prices.price[priced].tolist(),
    }
    if isinstance(needs, CollectiveNeeds):
        routes = PairRoutes.of(fabric, needs.collective.nodes)
    elif needs.forwarded:
        routes = PairRoutes.of(fabric, tuple(range(fabric.node_count)))
    else:
        usage = fabric.link_usage(needs.src, needs.dst)
        routes = PairRoutes(0, usage.circuit, usage.resource)
    lengths = LinkLengths.read(witness, ("resources", "prices"), fabric, routes)
    if isinstance(needs, CollectiveNeeds):
        cost = least_cost(needs, lengths.costs(routes))
        return cost * needs.collective.chunk_bytes, lengths.rate
    if needs.forwarded:
        straight = lengths.costs(routes)
        paid = straight[needs.src, needs.dst]
        for middle in range(fabric.node_count):
            relayed = straight[needs.src, middle] + straight[middle, needs.dst]
            np.minimum(paid, relayed, out=paid)
    else:
        paid = np.zeros(len(needs.src), dtype=np.int64)
        np.add.at(paid, routes.pair, lengths.of_rows(routes.link))
    return sum_products(paid, needs.bytes), lengths.rate


def _turns_ps(
    fabric: AnyFabric, needs: CollectiveNeeds | DemandNeeds, prices: _Prices
) -> int:
    """Return what the configurations cost that crowds need, or raise `WitnessError`."""
    ways, own = _ways_of(fabric, prices)
    assert isinstance(fabric, CircuitFabric)
    if (
        not isinstance(needs, DemandNeeds)
        or needs.forwarded
        or "multicast" in fabric.circuit_columns
    ):
        message = "crowd is about demands that allow no relays, each circuit for one"
        raise WitnessError(message)
    own[:] = 0
    own[prices.own] = prices.crowd
    lanes = sum(
        int(count) * int(crowd)
        for count, crowd in zip(
            ways.shared_lanes()[prices.own], prices.crowd, strict=True
        )
    )
    some = needs.bytes > 0
    crowd = ways.cheapest(own, needs.src[some], needs.dst[some], 1)
    turns = max(1, -(-int(crowd.sum()) // lanes)) if lanes else 1
    return fixed_ps(fabric, turns, turns)


BOUND = BoundKind("prices", _prove)
