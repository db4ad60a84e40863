"""Kinds of bound by the names that earlier versions wrote: what they are called now.

Every file ever written verifies. What a former kind said, one of today's kinds says of
a witness made from that of the file; it proves no less than it did. Refused is a
witness that had not the form of its kind, as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import NearCircuits, PacketFabric
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
)
from lightloom.validate.certificates.completion_time.streams import streams
from lightloom.validate.certificates.witness import (
    WitnessError,
    keys,
    node_mask,
    number,
    numbers,
    rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class FormerKind:
    """A kind that another one has taken the place of.

    `now`: the name of that one. `witness`: returns its witness, or raises
    `WitnessError`.
    """

    now: str
    witness: Callable[[AnyFabric, Task, Witness], Witness]


def _priced(resources: Iterable[int]) -> Witness:
    """Return a price of 1 for some resources."""
    named = [*resources]
    return {"resources": named, "prices": [1] * len(named)}


def _received(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    del task
    keys(witness, "node")
    return _priced([fabric.node_count + number(witness, "node", fabric.node_count)])


def _sent(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    del task
    keys(witness, "node")
    return _priced([number(witness, "node", fabric.node_count)])


def _growth(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return the ports of a node: growth is what portions cost without data."""
    del task
    keys(witness, "node", "direction")
    node = number(witness, "node", fabric.node_count)
    return _priced([node + fabric.node_count * number(witness, "direction", 2)])


def _volume(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    keys(witness)
    if not isinstance(task, Collective):
        message = "the kind volume is about collectives"
        raise WitnessError(message)
    return _priced(fabric.node_count + node for node in task.nodes)


def _cut(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return prices of the edges into a set, or of what fewer nodes in it receive."""
    keys(witness, "nodes")
    if not isinstance(fabric, Lightpath):
        message = f"the kind cut is about grids, not about a {fabric.kind}"
        raise WitnessError(message)
    count = fabric.node_count
    inside = node_mask(witness, "nodes", count)
    tail, head = fabric.edges()
    waveguides = fabric.edge_waveguides(tail, head)
    enters = ~inside[tail] & inside[head] & (waveguides > 0)
    needs = requirements_of(task, count)
    receivers = np.flatnonzero(inside & needs.members())
    if not needs.entering_bytes(inside):
        return _priced([count])
    if int(waveguides[enters].sum()) > len(receivers):
        return _priced(count + int(node) for node in receivers)
    if not enters.any():
        message = "data must enter the set, but no waveguide does"
        raise WitnessError(message)
    edges = fabric.edge_ids(tail[enters], head[enters])
    return _priced((2 * count + edges).tolist())


def _busiest_link(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    if not isinstance(fabric, PacketFabric) or not isinstance(task, Demand):
        message = "the kind busiest-link is about demands on packet fabrics"
        raise WitnessError(message)
    if task.relays:
        message = "the kind busiest-link takes a byte to take one route"
        raise WitnessError(message)
    keys(witness, "link")
    return _priced([2 * fabric.node_count + number(witness, "link", 2**62)])


def _link_lengths(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    keys(witness, "links", "lengths")
    if not isinstance(fabric, PacketFabric) or not isinstance(task, Collective):
        message = "the kind link-lengths is about collectives on packet fabrics"
        raise WitnessError(message)
    links, lengths = numbers(witness, "links", 0, 2**62), rows(witness, "lengths", 0)
    named = (2 * fabric.node_count + links).tolist()
    return {"resources": named, "prices": lengths.tolist()}


def _spans(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return a price of 1 for all spans of an axis, or those of a ring's spans."""
    del task
    if not isinstance(fabric, Ring | Ring2d):
        message = f"the kind spans is about rings, not about a {fabric.kind}"
        raise WitnessError(message)
    priced = len(witness) > 1
    keys(witness, "axis", *(("prices", "crowd") if priced else ()))
    axes = 2 if isinstance(fabric, Ring2d) else 1
    axis = number(witness, "axis", axes)
    count, spans = fabric.node_count, fabric.directions * fabric.node_count
    first = 2 * count + axis * spans
    if not priced:
        return _priced(range(first, first + spans))
    prices, crowd = rows(witness, "prices", 0), rows(witness, "crowd", 0)
    if axes > 1 or not len(prices) == len(crowd) == spans:
        message = f"prices are not {spans} numbers, those of the spans of one ring"
        raise WitnessError(message)
    return {
        "resources": [*range(first, first + spans)],
        "prices": prices.tolist(),
        "crowd": crowd.tolist(),
    }


def _level(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return a price of 1 for all buses of a level, or for one fibre or bus."""
    if not isinstance(fabric, Sipac):
        message = f"the kind level is about SiPAC, not about a {fabric.kind}"
        raise WitnessError(message)
    fibres = 2 * fabric.node_count
    buses = fibres + fabric.node_count * fabric.levels
    if isinstance(task, Collective):
        keys(witness, "level")
        level = number(witness, "level", fabric.levels)
        return _priced(buses + node * fabric.levels + level for node in task.nodes)
    keys(witness, "node", "direction", "level")
    node = number(witness, "node", fabric.node_count)
    level = number(witness, "level", fabric.levels)
    first = buses if number(witness, "direction", 2) else fibres
    return _priced([first + node * fabric.levels + level])


def _stream(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return no tables."""
    del fabric, task
    keys(witness)
    return {"portions": [], "weights": [], "root_weights": [], "multipliers": []}


def _distance(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return no tables: of the farthest rank that says no less."""
    keys(witness, "node")
    node = number(witness, "node", fabric.node_count)
    if not streams(fabric, task) or not isinstance(fabric, NearCircuits):
        message = "the kind distance is about broadcast and reduce on SiPAC and rings"
        raise WitnessError(message)
    assert isinstance(task, Collective)
    ends = (np.array([end]) for end in (task.nodes[task.root_rank], node))
    if node not in task.nodes or int(fabric.circuits_apart(*ends)[0]) < 2:
        message = f"node {node} takes no part, or a circuit may join it and the root"
        raise WitnessError(message)
    return _stream(fabric, task, {})


def _few_holders(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return the same tables, of which there was one at least."""
    del fabric, task
    keys(witness, "portions", "weights", "root_weights", "multipliers")
    if not len(rows(witness, "portions", 0)):
        message = "portions are none"
        raise WitnessError(message)
    return witness


def _line(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return the same line."""
    del fabric, task
    keys(witness, "node", "direction")
    return witness


def _link_stream(fabric: AnyFabric, task: Task, witness: Witness) -> Witness:
    """Return no steps at all, and a length of 1 for the links out of a root."""
    del task
    keys(witness, "out", "into")
    if not isinstance(fabric, PacketFabric):
        message = "the kind link-stream is about broadcast and reduce on packet fabrics"
        raise WitnessError(message)
    out = rows(witness, "out", 0).tolist()
    none = ("links", "groups", "places", "shape", "times", "lengths", "potentials")
    far = {"all_links": out, "all_lengths": [1] * len(out), **witness}
    return {**{key: [] for key in none}, **far}


FORMER_KINDS = {
    "busiest-link": FormerKind("prices", _busiest_link),
    "cut": FormerKind("prices", _cut),
    "distance": FormerKind("holders", _distance),
    "few-holders": FormerKind("holders", _few_holders),
    "growth": FormerKind("prices", _growth),
    "level": FormerKind("prices", _level),
    "line": FormerKind("switch-uses", _line),
    "link-lengths": FormerKind("prices", _link_lengths),
    "link-stream": FormerKind("link-steps", _link_stream),
    "receive": FormerKind("prices", _received),
    "send": FormerKind("prices", _sent),
    "spans": FormerKind("prices", _spans),
    "stream": FormerKind("holders", _stream),
    "volume": FormerKind("prices", _volume),
}
"""What has taken the place of each former kind."""
