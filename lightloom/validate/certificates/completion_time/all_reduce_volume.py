"""Sums: where portions are few, an all-reduce sends more than twice its buffer.

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
from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.validate.certificates.completion_time.one_plane import narrow_bound
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    least_portions,
    summed_in_two,
)

if TYPE_CHECKING:
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Collective

_THREE = 3
_FOUR = 4
_ENOUGH = 5


def _serves(collective: Collective) -> bool:
    return collective.op == "all-reduce"


def _least_ps(fabric: CircuitFabric, collective: Collective) -> int:
    ports, ranks = fabric.ports_per_node, collective.rank_count
    size_bits = collective.buffer_bytes * BITS_PER_BYTE * PS_PER_S
    times: list[int] = []

    def add(portions: int, segments: int, messages: Fraction) -> None:
        data_ps = messages * size_bits / fabric.node_bits_per_s
        rounded_ps = -(-data_ps.numerator // data_ps.denominator)
        times.append(fixed_ps(fabric, portions, segments) + rounded_ps)

    least = least_portions(ports, 1, ranks)
    for portions in range(least, _ENOUGH):
        messages = least_messages(ports, ranks, portions)
        if messages is not None:
            add(portions, 1, messages)
    plenty = Fraction(2 * (ranks - 1), ranks)
    add(max(least, _ENOUGH), 1, plenty)
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
    if portions == _FOUR:
        return max(Fraction(2 * (ranks - 1), ranks), _in_four(ports, ranks))
    if portions == _THREE:
        return max(Fraction(2 * (ranks - 1), ranks), _in_three(ports, ranks))
    if portions == 1:
        return Fraction(ranks - 1) if ranks <= ports + 1 else None
    if ranks <= ports + 1:
        return Fraction(2 * (ranks - 1), ranks)
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


BOUND = narrow_bound("sums", "all-reduce", _serves, _least_ps)
