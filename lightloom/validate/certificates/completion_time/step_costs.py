"""Portions: what every schedule pays for its steps and configurations alone.

A *portion* is what one step moves in one segment (in all, on a packet fabric). On a
fabric with one plane portions do not overlap: a step ends before the next one is
released, and a plane leaves a segment only when its transfers have ended. A portion
lasts at least alpha plus the time that the data of any node, or across any cut, take
in it, since every transfer spends alpha before its data. So with P portions, and any
quantity of data X that moves at no more than r, in whatever portions,

    T >= first configuration + P alpha + X / r,

and the m - 1 reconfigurations between m segments in use come on top where the whole
plane is dark meanwhile. With several planes portions may overlap; then P counts as 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.fabric import CircuitFabric, PacketFabric
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.task import Collective


def can_carry(fabric: CircuitFabric | PacketFabric) -> bool:
    """Return whether the fabric can carry anything at all."""
    if fabric.node_bits_per_s < 1:
        return False
    return not isinstance(fabric, CircuitFabric) or fabric.ports_per_node >= 1


def require_carrier(fabric: CircuitFabric | PacketFabric) -> None:
    """Raise where no schedule of anything exists, so that no time is a bound."""
    if not can_carry(fabric):
        message = "the fabric carries nothing"
        raise WitnessError(message)


def listeners(fabric: CircuitFabric | PacketFabric) -> int:
    """Return the most nodes that may hear what a node sends on one circuit.

    One, but for circuits with several destinations; on RAMP these are on one
    wavelength, so they have one number in their racks.
    """
    if not isinstance(fabric, CircuitFabric):
        return 1
    if "multicast" not in fabric.circuit_columns:
        return 1
    if isinstance(fabric, Ramp):
        return fabric.groups * fabric.racks
    return fabric.node_count


def heard_reach(fabric: CircuitFabric, reach: int) -> int:
    """Return a reach that takes no more portions without several destinations.

    With k circuits a node, each heard by l nodes, data get to at most (1 + k l)^P
    nodes in P portions. In P portions of one segment they could get to 1 + k + ... +
    k^(P - 1) and one more without several destinations, so that reach costs no more.

    `reach`: nodes that must know something that one knows, itself included; 1 or more.
    """
    portions, grown = 0, 1
    while grown < reach:
        portions += 1
        grown *= 1 + fabric.ports_per_node * listeners(fabric)
    if not portions:
        return reach
    return min(reach, _paths(fabric.ports_per_node, portions - 1) + 1)


def buffer_ps(fabric: CircuitFabric, collective: Collective) -> Fraction:
    """Return the time of a collective's buffer at the rate of a node."""
    bits = collective.buffer_bytes * BITS_PER_BYTE * PS_PER_S
    return Fraction(bits, fabric.node_bits_per_s)


def fixed_ps(fabric: CircuitFabric, portions: int, segments: int) -> int:
    """Return what portions in so many segments of one plane cost without data."""
    moving_ps = portions * fabric.alpha_ps
    between_ps = (segments - 1) * _between_segments_ps(fabric)
    return _first_configuration_ps(fabric) + moving_ps + between_ps


def summed_in_two(ports: int) -> int:
    """Return the most ranks that can all have the sum of all in 2 portions, 1 segment.

    Let every rank start with its own value of a chunk and end with the sum of all n,
    each once, and let A(v) be how many values v adds to its own in the first portion,
    0 if it takes a copy instead. Take a rank v for which A = A(v) is largest. A copy in
    the second portion brings it at most 1 + A values, as does no A but 0 with a copy
    in the first; otherwise it adds what it is sent by nodes j among its k
    neighbours. If v has added j before, then j's own value must be gone from j,
    which only a copy of a single value does; there are at most A such j. The others are
    at most k - A, and bring at most 1 + A values each. So

        n <= (1 + A) + A + (k - A) (1 + A)  for some A from 0 to k.

    `ports`: most circuits that leave, or enter, a node of a segment; 1 or more.
    """
    return max(1 + 2 * a + (ports - a) * (1 + a) for a in {ports // 2, -(-ports // 2)})


def summed_in_three(ports: int) -> int:
    """Return the most ranks that can all have the sum of all in 3 portions, 1 segment.

    As for `summed_in_two`; k neighbours, q = k + 1. Let c(v) be how many values v adds
    in the second portion, 0 if it takes a copy instead. After one portion nobody has
    more than q values. After two nobody has more than q + k c(v): of the neighbours
    that v adds in the second portion, those that it has added in the first, b, have
    copied a single value over their own, which v would count twice; at most k - c + b
    were added in the first; so v has 1 + (k - c + b) + b + q (c - b), which is
    q + k c - b (k - 1).

    Let x be the largest c, and v have it. A copy in the third portion brings v at most
    q + k x. If it adds, then at most k - x of those that it adds are neighbours that it
    has not heard in the second portion, and bring at most q + k x each. The at most x
    others must have lost in the second portion what v heard from them in it, so they
    copied, and have q values at most. With what v had,

        n <= (q - x) (q + k x) + q x = q^2 + k x (q - x)  for some x from 0 to k.

    `ports`: most circuits that leave, or enter, a node of a segment; 1 or more.
    """
    fold = ports + 1
    return fold**2 + ports * (fold // 2) * (fold - fold // 2)


def reach_ps(
    fabric: CircuitFabric | PacketFabric, reach: int, *, summed: bool = False
) -> int:
    """Return the least time for the portions that take one node's data to `reach`.

    A node has at most k ports, so in one segment it talks to at most k others. In p
    portions of one segment the nodes that can know something grow at most
    M(p) = 1 + k + ... + k^p fold (paths of length p and less); segments follow each
    other, so with p_1, ..., p_m portions the product of the M(p_i) must be `reach` or
    more. M is log-concave, so equal p_i are best: for each m the least P is
    found, and the cheapest pair (P, m) is the bound. With time reversed the same
    holds for the nodes that can contribute to one node. `reach` counts the node.

    With `summed`, that many nodes all need the sum of what they have: then two
    portions of one segment are not enough where `summed_in_two` is less.
    """
    if reach <= 1:
        return 0
    if isinstance(fabric, PacketFabric):
        return fabric.alpha_ps + fabric.latency_ps
    first_ps = _first_configuration_ps(fabric)
    if fabric.plane_count > 1:
        return first_ps + fabric.alpha_ps
    between_ps = _between_segments_ps(fabric)
    ports = fabric.ports_per_node
    best: int | None = None
    segments = 0
    while True:
        segments += 1
        portions = least_portions(ports, segments, reach)
        if summed and (segments, portions) == (1, 2) and reach > summed_in_two(ports):
            portions = 3
        cost_ps = portions * fabric.alpha_ps + (segments - 1) * between_ps
        best = cost_ps if best is None else min(best, cost_ps)
        if portions == segments:  # one portion each: more segments only cost more
            return first_ps + best


def way_ps(fabric: CircuitFabric | PacketFabric, circuits: int) -> int:
    """Return the least time for the portions in which data take so many circuits.

    A transfer forwards only what its source held when its step began, so the circuits
    that a byte takes one after another are in different steps, whoever else may hear
    them: on one plane in as many portions.

    `circuits`: that some data take; 0 or more.
    """
    if not circuits or not isinstance(fabric, CircuitFabric) or fabric.plane_count > 1:
        return 0
    return fixed_ps(fabric, circuits, 1)


def fan_ps(fabric: CircuitFabric | PacketFabric, peers: int) -> int:
    """Return the least time for the portions in which a node serves `peers` others.

    For fluid demands, which nobody forwards: each segment has circuits to at most
    k of them, so ceil(peers / k) segments are used, with a portion in each.
    """
    if peers <= 0:
        return 0
    if isinstance(fabric, PacketFabric):
        return fabric.alpha_ps + fabric.latency_ps
    first_ps = _first_configuration_ps(fabric)
    if fabric.plane_count > 1:
        return first_ps + fabric.alpha_ps
    segments = -(-peers // fabric.ports_per_node)
    between_ps = _between_segments_ps(fabric)
    return first_ps + segments * fabric.alpha_ps + (segments - 1) * between_ps


def _first_configuration_ps(fabric: CircuitFabric) -> int:
    charged = fabric.initial_configuration_charged
    return fabric.reconfiguration_ps if charged else 0


def _between_segments_ps(fabric: CircuitFabric) -> int:
    """Time between segments in which nothing can move for sure."""
    dark = fabric.dark_while_reconfiguring == "plane"
    return fabric.reconfiguration_ps if dark else 0


def least_portions(ports: int, segments: int, reach: int) -> int:
    """Return the least portions in `segments` segments, one each or more, to reach.

    `ports`: most circuits that leave, or enter, a node of a segment; 1 or more.
    """
    low, high = segments, segments
    while _growth(ports, segments, high) < reach:
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        if _growth(ports, segments, middle) < reach:
            low = middle + 1
        else:
            high = middle
    return low


def _growth(ports: int, segments: int, portions: int) -> int:
    each, longer = divmod(portions, segments)
    fold: int = _paths(ports, each) ** (segments - longer)
    more: int = _paths(ports, each + 1) ** longer
    return fold * more


def _paths(ports: int, length: int) -> int:
    """Return 1 + k + ... + k^length."""
    if ports == 1:
        return length + 1
    power: int = ports ** (length + 1)
    return (power - 1) // (ports - 1)
