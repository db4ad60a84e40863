"""Streams: what leaves the root takes portions to get around, and so does the rest.

For broadcast and reduce of B bytes among n ranks on one plane.
Let a node have at most k circuits in and k out, q = k + 1, r the rate of a node,
N = n - 1, and consider a broadcast in P portions, whose busiest nodes spend t_1, ...,
t_P on data; T(s) is the sum of the first s of them, all of them B / r + e.

A rank that is not the root receives at most r (T(P) - T(s)) bytes after portion s, so
it holds at least r (T(s) - e) of the B bytes by then. On the other hand a message
from the root in portion u is the origin of at most q^(s - u) copies by the end of
portion s, since holders multiply by q at most, and of no more than N copies that
matter; and the root sends at most r t_u bytes in portion u. Hence for every s

    N (T(s) - e)  <=  sum over u <= s of  t_u min(q^(s - u), N).

(1) With s = P: N B / r <= sum of t_u min(q^(P - u), N) <= T(P) min(q^(P - 1), N).

(2) Let w be the number of powers q^0, q^1, ... that are N or less, and D the sum of
1 - q^j / N over them. Taking t_u N for all u <= s - w leaves, for s = 1 .. P + w - 1
(nothing moves after P, and what is held stays),

    sum over j < w of (1 - q^j / N) t_(s - j)  <=  e.

Weigh them with y(s) >= 0 such that every t_u counts at least once, that is, the sum
over j < w of (1 - q^j / N) y(u + j) is 1 or more for u = 1 .. P. Then T(P) <= Y e for
the sum Y of the weights, and T(P) >= (B / r) Y / (Y - 1). Two choices: all y(s) are
1 / D, which sum to (P + w - 1) / D; or y(s) = 0 after P, the others as small as that
allows, last first.

Where a circuit has up to l destinations, what the root sends in portion u has at most
l copies by the end of it, and holders multiply by q = 1 + k l; so q^j becomes l q^j in
all of this.

A reduce is the same backwards: each rank's contribution to a byte leaves that rank
once for all; a message to the root in portion u brings the contributions of at most
q^(u - s) ranks that they left in portion s or later. This counts what nodes hear, so
it holds with l = 1 where circuits have several destinations, of which one at most
passes a contribution on.

The bound is the least, over P and the least number of segments with which P portions
reach n ranks (see `step_costs`), of what these cost and of the largest of (1) and (2).
With equal weights alone, which do nearly as well for many portions, it is convex in P,
so the search is short.

**Distance.** Where circuits join near nodes only, let v, the farthest rank of all, and
the root be L circuits apart, L >= 2.

Consider P portions whose busiest nodes spend t_1, ..., t_P on data, in all D, and let
r be the rate of a node, X = B / r. Of each byte some copy (for reduce, what v
contributes) goes from one of the two ends to the other by L circuits or more. It leaves
the first end in some portion p, and reaches the other in portion p + L - 1 or later,
since a transfer forwards only what its source held when its step began. So given any
w = L - 1 consecutive portions, each byte leaves the one end before them or reaches the
other after them. An end sends, and receives, at most r t_i bytes of the buffer in
portion i, also where others listen in. Hence B <= r (D - the data time of those w).

The portions 1, ..., P fall into m = ceil(P / w) such windows, the last cut short. Each
spends at most D - X on data, so D <= m (D - X), which takes m >= 2 and gives
D >= X m / (m - 1). With m = k + 1 there are k w + 1 portions at least:

    T  >=  min over k >= 1 of  d0 + (k w + 1) alpha + ceil(X (k + 1) / k)

It falls and then rises in k, but for rounding, which the ceiling bears alone: it is
taken at the k where the sum without it is least.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import CircuitFabric, NearCircuits
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.validate.certificates.completion_time.step_costs import (
    buffer_ps,
    fixed_ps,
    least_portions,
    listeners,
)

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_FEW = 33
"""Portions for which weights are chosen last to first; equal ones do for more."""


@dataclass(frozen=True)
class Stream:
    """The data time as a function of the number of portions, in picoseconds.

    `others` is N, `fold` is q, `size_ps` is B / r, `window` is w and `delay` is D;
    ``sums[P]`` is Y of the second choice, for few portions; `heard` is l.
    """

    others: int
    fold: int
    size_ps: Fraction
    window: int
    delay: Fraction
    sums: tuple[Fraction, ...]
    heard: int = 1

    @classmethod
    def of(cls, ranks: int, ports: int, size_ps: Fraction, heard: int = 1) -> Stream:
        """Return the data time of a buffer that a root sends to all other ranks.

        `ranks`: number of ranks, at least 2.
        """
        others, fold = ranks - 1, ports * heard + 1
        parts: list[Fraction] = []
        while heard * fold ** len(parts) <= others:
            parts.append(1 - Fraction(heard * fold ** len(parts), others))
        delay, sums = sum(parts, Fraction(0)), _sums(parts)
        return cls(others, fold, size_ps, len(parts), delay, sums, heard)

    def data_ps(self, portions: int) -> Fraction:
        """Return the largest of (1) and (2)."""
        if not self.window:
            return self.size_ps
        reached = self.others
        if portions <= self.window:
            reached = min(reached, self.heard * self.fold ** (portions - 1))
        length = portions + self.window - 1
        times = [Fraction(self.others, reached), length / (length - self.delay)]
        if portions < len(self.sums):
            weight = self.sums[portions]
            times.append(weight / (weight - 1))
        return self.size_ps * max(times)


def _sums(parts: list[Fraction]) -> tuple[Fraction, ...]:
    """Return Y for 0, 1, ... portions, the weights being chosen last to first."""
    if not parts or not parts[0]:
        return ()
    weights: list[Fraction] = []
    sums = [Fraction(0)]
    while len(sums) < _FEW:
        later = zip(parts[1:], reversed(weights), strict=False)
        covered = sum((part * weight for part, weight in later), Fraction(0))
        weights.append(max(Fraction(0), (1 - covered) / parts[0]))
        sums.append(sums[-1] + weights[-1])
    return tuple(sums)


def streams(fabric: AnyFabric, task: Task) -> bool:
    """Tell whether all of a buffer goes from, or to, one root on one plane."""
    if not isinstance(fabric, CircuitFabric) or fabric.plane_count > 1:
        return False
    if not isinstance(task, Collective):
        return False
    op = op_of(task)
    return op.rooted and not op.uses_blocks


def stream_of(fabric: CircuitFabric, collective: Collective) -> Stream:
    """Return the data time of a broadcast, or a reduce."""
    size_ps = buffer_ps(fabric, collective)
    heard = 1 if op_of(collective).reduces else listeners(fabric)
    return Stream.of(collective.rank_count, fabric.ports_per_node, size_ps, heard)


def least_from(fabric: CircuitFabric, stream: Stream, portions: int) -> int:
    """Return the least time of so many portions or more."""
    return _least_in(fabric, stream, 1, portions, None)


def stream_ps(fabric: CircuitFabric, collective: Collective) -> int:
    """Return the least over all numbers of portions and segments."""
    if collective.rank_count == 1:
        return 0
    stream, ranks = stream_of(fabric, collective), collective.rank_count
    ports = fabric.ports_per_node * stream.heard
    first = least_portions(ports, 1, ranks)
    best = _least_in(fabric, stream, 1, first, None)
    segments = 1
    while segments < first:
        segments += 1
        # So many segments are only needed for fewer portions than before.
        before, first = first, least_portions(ports, segments, ranks)
        if first < before:
            best = min(best, _least_in(fabric, stream, segments, first, before - 1))
    return max(best, distance_ps(fabric, collective))


def distance_ps(fabric: CircuitFabric, collective: Collective) -> int:
    """Return what the distance of the farthest rank from the root takes, 0 if near."""
    if not isinstance(fabric, NearCircuits):
        return 0
    ranks = np.array(collective.nodes, dtype=np.int64)
    root = np.full_like(ranks, ranks[collective.root_rank])
    window = int(fabric.circuits_apart(root, ranks).max()) - 1
    if window < 1:
        return 0
    whole_ps = buffer_ps(fabric, collective)

    def time_ps(windows: int) -> int:
        moving_ps = fixed_ps(fabric, windows * window + 1, 1)
        return moving_ps + ceil(whole_ps * (windows + 1) / windows)

    if not fabric.alpha_ps:
        return fixed_ps(fabric, 0, 1) + ceil(whole_ps)
    # k (k + 1) = X / (w alpha) is where one more window begins to cost more.
    least = max(1, isqrt(int(whole_ps / (window * fabric.alpha_ps))))
    return min(time_ps(windows) for windows in (least, least + 1))


def _least_in(
    fabric: CircuitFabric, stream: Stream, segments: int, first: int, last: int | None
) -> int:
    """Return the least for `first` to `last` portions, ``None`` for any number."""
    if not fabric.alpha_ps and last is None:
        return fixed_ps(fabric, 0, segments) + ceil(stream.size_ps)

    def time_ps(portions: int) -> int:
        data_ps = stream.data_ps(portions)
        return fixed_ps(fabric, portions, segments) + ceil(data_ps)

    def rises(portions: int) -> bool:
        gain = stream.data_ps(portions) - stream.data_ps(portions + 1)
        return gain <= fabric.alpha_ps

    # Past the first few the time is convex: find where it begins to rise.
    low = max(first, stream.window + 1, len(stream.sums))
    few = range(first, low if last is None else min(low, last + 1))
    times = [time_ps(portions) for portions in few]
    if last is None or low <= last:
        high = low if last is None else last
        while last is None and not rises(high):
            low, high = high + 1, 2 * high
        while low < high:
            middle = (low + high) // 2
            if rises(middle):
                high = middle
            else:
                low = middle + 1
        times.append(time_ps(low))
    return min(times)
