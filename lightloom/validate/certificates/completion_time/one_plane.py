"""Narrow questions: a collective on one plane, whose circuits have one destination.

Portions do not overlap there, and a node sends to at most ``ports_per_node`` others in
a portion. Where circuits may have several destinations it still hears from at most so
many, which is enough for some. Bounds about that need no witness: fabric and task say
it all.

**Hops**: what cannot go straight to its destination is sent again on the way.

For all-to-all on one plane; no witness is needed. Consider P portions in m segments.
In a segment, and so in a portion, a node hears from at most k others. The circuits by
which a byte gets to its destination, one after another, are in different portions, and
in segments in their order. So at most min(C(P, h), C(m + h - 1, h)) k^h others are h
circuits from a destination, one choice of k for each, and at most

    N(h) = 1 + ... + min(C(P, h), C(m + h - 1, h)) k^h

ranks, itself included, are within h. Each of the other n - 1 ranks has B / n bytes for
it, and each byte is received as often as its way has circuits, by one rank each time,
whoever else may hear the same circuit. So all ranks together receive at least

    n (B / n) H(P, m),    H(P, m) = sum over h >= 0 of max(0, n - N(h)),

since H counts a rank once for every h that it is farther away than. The data time of
portions is that of the rank that receives most, no less than the average. So

    T >= min over m <= P that reach n of  d0 + P alpha + (m - 1) d1 + B H(P, m) / (n r).

A circuit with several destinations changes nothing in this.

**Sums**: where portions are few, an all-reduce sends more than twice its buffer.

For all-reduce of B bytes among n ranks on one plane; no witness is needed. Consider
one segment, in which a rank has at most k neighbours that it hears from and k that it
speaks to.

One portion: every rank hears from the n - 1 others directly, (n - 1) B bytes.

Two portions, more than k + 1 ranks. For one chunk let A(v) be the number of values that
rank v adds in the first portion, and c(v) and f(v) how many in the second, from those
that it has heard from before and from others. A copy in the second portion would
bring k + 1 values at most, so the second portion adds. As shown for `summed_in_two`,
what comes from those heard before is a single value each; so

    n  <=  1 + A(v) + c(v) + sum over its f(v) others j of (1 + A(j)),

and the largest A there is, a, satisfies n <= 1 + 2a + (k - a)(1 + a). Sum this over all
ranks, once with A(j) <= a, once counting each j for the at most k ranks that it speaks
to; for A, c and f on average over ranks,

    n - 1 <= A + c + (1 + a) f,        n - 1 <= (k + 1) A + c + f.

Weighing the first with k and the second with a gives, for the messages per rank,

    A + c + f  >=  (n - 1) (a + k) / ((k + 1)(1 + a) - 1).

Three portions. For one chunk let A(v), c(v) and f(v) be how many messages rank v gets
in the first, second and third, and h(v) how many ranks' values it has after two; A, c,
f and h are their averages. After one portion v has 1 + A(v) values at most, and never
more than k + 1, so

    (a)  h  <=  1 + A + (k + 1) c.

In the end v has what it had and what came from at most k others that speak to at most
k each; summed over all v, n^2 <= (k + 1) n h. Whoever has less than n after two needs
a message in the third:

    (b)  h >= n / (k + 1),        f >= 1 - h / n.

All n - 1 others send something that ends up in v: in the third portion to v, in the
second to v or one of those that v hears from in the third, or else in the first. So
the first has n - 1 - f(v) - (the c of v and of these) messages or more; averaged over
v, where again each rank counts at most k + 1 times, and with all others added,

    (c)  n (A + c + f)  >=  n - 1 + (n - 1) f + (n - k - 1) c.

Adding x times A + c + f itself, A replaced by (a), and 1 - x times (c) divided by n,
with x (n - k - 1 + n k) = n - k - 1, so that c cancels, gives by (b)

    A + c + f  >=  x (n / (k + 1) - 1) + (1 - x) (n - 1) / n
                   + (x + (1 - x) (n - 1) / n) k / (k + 1),

as long as x >= (x + (1 - x) (n - 1) / n) / n, so that h counts for more than what it
saves in f; else nothing new follows.

Four portions. With e for the messages of the third, f for those of the fourth, q = k +
1 and M = 1 + k + k^2; h(v) now is what v has after three. Whoever has less than n then
needs a message in the fourth; and as above, but for the portion more,

    (d)  h >= n / q,        f >= 1 - h / n.

Nobody has more than M after two, and on average no more than 1 + A + q c. So

    (e)  h  <=  1 + A + q c + M e.

What each j sends in the third portion, to at most k ranks, it has from after one
portion, q at most, and from each of its c(j) messages, q at most; with k for how often
these are sent on,

    (g)  h  <=  1 + A + q c + q e + k q c.

All n - 1 others send something that ends up in v: in the fourth portion to v, in the
third to one of q ranks, in the second to one of M, or else in the first. Each rank is
one of so many for as many v at most, so on average

    (i)  n A  >=  n - 1 - f - q e - M c.

Weighing (e), (g) and (i) / n with u, w and z such that A, c and e count once each, and
(d) with what then makes up for f and h,

    A + c + e + f  >=  z (n - 1) / n - u - w + y + (u + w - y / n) n / q

with y = 1 - z / n, as long as no weight is negative; else nothing new follows.

More portions, or several segments: 2 (n - 1) / n, see `volume`. As portions last at
least as long as they do for the average rank, the data time is messages times B / r.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb
from typing import TYPE_CHECKING

from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.step_costs import (
    buffer_ps,
    fixed_ps,
    least_portions,
    require_carrier,
    summed_in_two,
)
from lightloom.validate.certificates.witness import WitnessError, keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def narrow_bound(
    name: str,
    about: str,
    serves: Callable[[Collective], bool],
    least_ps: Callable[[CircuitFabric, Collective], int],
    *,
    heard: Callable[[Collective], bool] = lambda _: False,
) -> BoundKind:
    """Return a kind of bound on narrow questions.

    `least_ps`: the bound, of two ranks or more. `heard`: whether, of a collective, it
    counts only what nodes hear, and so holds where circuits have several destinations.
    """

    def asked(fabric: AnyFabric, task: Task) -> tuple[CircuitFabric, Collective] | None:
        if not isinstance(fabric, CircuitFabric) or fabric.plane_count > 1:
            return None
        if not isinstance(task, Collective) or not serves(task):
            return None
        several = "multicast" in fabric.circuit_columns
        return None if several and not heard(task) else (fabric, task)

    def prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
        require_carrier(fabric)
        keys(witness)
        question = asked(fabric, task)
        if question is None:
            message = f"the kind {name} is about {about} on one plane"
            raise WitnessError(message)
        _, collective = question
        return 0 if collective.rank_count == 1 else least_ps(*question)

    return BoundKind(name, prove)


def _exchanges(collective: Collective) -> bool:
    return collective.op == "all-to-all"


def _hops_ps(fabric: CircuitFabric, collective: Collective) -> int:
    ports, ranks = fabric.ports_per_node, collective.rank_count
    block_bytes = collective.buffer_bytes // ranks
    rate = fabric.node_bits_per_s

    def time_ps(portions: int, segments: int) -> int:
        """Return the least time where that many segments are used, or more."""
        received = block_bytes * total_hops(ports, portions, segments, ranks)
        return fixed_ps(fabric, portions, 1) + transmission_ps(received, rate)

    best: int | None = None
    # With more segments all are one circuit away; more portions do not shorten ways.
    most = -(-(ranks - 1) // ports)
    for portions in range(1, most + ranks):
        if best is not None and fixed_ps(fabric, portions, 1) >= best:
            break
        if best is not None and time_ps(portions, portions) >= best:
            continue  # and no fewer segments are better
        for segments in range(1, min(portions, most) + 1):
            between_ps = fixed_ps(fabric, portions, segments)
            if best is not None and between_ps >= best:
                break
            if least_portions(ports, segments, ranks) <= portions:
                less_ps = between_ps - fixed_ps(fabric, portions, 1)
                cost_ps = less_ps + time_ps(portions, segments)
                best = cost_ps if best is None else min(best, cost_ps)
    assert best is not None
    return best


def total_hops(ports: int, portions: int, segments: int, ranks: int) -> int:
    """Return the least sum of the circuits from all other ranks, H(P, m).

    `ports`: most circuits that enter a node of a segment; 1 or more. `portions`,
    `segments`: 1 or more, and segments at most as many as portions.
    """
    hops, within, total = 0, 1, 0
    while within < ranks:
        total += ranks - within
        hops += 1
        orders = min(comb(portions, hops), comb(segments + hops - 1, hops))
        if not orders:
            break
        within += orders * ports**hops
    return total


MOST_COUNTED = 4
"""Portions of which the least messages are counted; more take twice the buffer."""


def _sums_up(collective: Collective) -> bool:
    return collective.op == "all-reduce"


def _sums_ps(fabric: CircuitFabric, collective: Collective) -> int:
    ports, ranks = fabric.ports_per_node, collective.rank_count
    size_ps = buffer_ps(fabric, collective)
    times: list[int] = []

    def add(portions: int, segments: int, messages: Fraction) -> None:
        times.append(fixed_ps(fabric, portions, segments) + ceil(messages * size_ps))

    least = least_portions(ports, 1, ranks)
    for portions in range(least, MOST_COUNTED + 1):
        messages = least_messages(ports, ranks, portions)
        if messages is not None:
            add(portions, 1, messages)
    plenty = Fraction(2 * (ranks - 1), ranks)
    add(max(least, MOST_COUNTED + 1), 1, plenty)
    segments = 1
    while least_portions(ports, segments, ranks) > segments:
        segments += 1
        add(least_portions(ports, segments, ranks), segments, plenty)
    return min(times)


def least_messages(ports: int, ranks: int, portions: int) -> Fraction | None:
    """Return the least messages per rank in 1 to 4 portions of one segment.

    ``None`` if so few cannot do it at all.

    `ports`: most circuits that leave, or enter, a node of a segment; 1 or more.
    `ranks`: of the all-reduce, 2 or more.
    """
    twice = Fraction(2 * (ranks - 1), ranks)
    if portions in _COUNTED:
        return max(twice, _COUNTED[portions](ports, ranks))
    if portions == 1:
        return Fraction(ranks - 1) if ranks <= ports + 1 else None
    if ranks <= ports + 1:
        return twice
    if ranks > summed_in_two(ports):
        return None
    # From its maximum on, what a allows falls.
    most = -(-ports // 2)
    while 1 + 2 * (most + 1) + (ports - most - 1) * (2 + most) >= ranks:
        most += 1
    return Fraction((ranks - 1) * (most + ports), (ports + 1) * (1 + most) - 1)


def _in_three(ports: int, ranks: int) -> Fraction:
    """Return the least messages per rank in 3 portions, 0 where nothing follows."""
    rest = ranks - ports - 1
    if rest <= 0:
        return Fraction(0)
    others = Fraction(ranks - 1, ranks)
    weight = Fraction(rest, rest + ranks * ports)
    last = weight + (1 - weight) * others
    if weight * ranks < last:
        return Fraction(0)
    held = Fraction(ranks, ports + 1)
    return weight * (held - 1) + (1 - weight) * others + last * (1 - held / ranks)


def _in_four(ports: int, ranks: int) -> Fraction:
    """Return the least messages per rank in 4 portions, 0 where nothing follows."""
    fold, near = ports + 1, 1 + ports + ports**2
    one, two = Fraction(fold, ranks), Fraction(near, ranks)
    # u + w + z = 1, q u + q^2 w + (M / n) z = 1 and M u + q w + (q / n) z = 1.
    rows = (fold - two, fold**2 - two), (near - one, fold - one)
    area = rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]
    if not area:
        return Fraction(0)
    u = ((1 - two) * rows[1][1] - (1 - one) * rows[0][1]) / area
    w = ((1 - one) * rows[0][0] - (1 - two) * rows[1][0]) / area
    z = 1 - u - w
    last = 1 - z / ranks
    held = u + w - last / ranks
    if min(u, w, z, last, held) < 0:
        return Fraction(0)
    return z * Fraction(ranks - 1, ranks) - u - w + last + held * Fraction(ranks, fold)


_COUNTED = {3: _in_three, 4: _in_four}
"""What is known of three portions, and of four."""

BOUND = (
    narrow_bound("hops", "all-to-all", _exchanges, _hops_ps, heard=_exchanges),
    narrow_bound("sums", "all-reduce", _sums_up, _sums_ps),
)
