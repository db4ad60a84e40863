"""Max-min fair shares of links, exact, kept up to date as flows come and go.

A flow crosses links, each some number of times. Shares are max-min fair iff every flow
has a *bottleneck*: a link that is full and on which no flow has a greater share. There
is one such allocation in the rationals, so it may be computed from wherever a change
begins, and flows that cross the same links, those of a *pair*, have the same share.
Pairs on changed links are shared out anew and others held as they are; then whoever has
lost its bottleneck joins in, and so does whoever has more of a full link than a flow
that stops there, until nobody does.

Shares are counted in a unit so small that almost all are whole numbers; the others are
fractions. Nothing is rounded here.
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Share: TypeAlias = int | Fraction
Path: TypeAlias = tuple[tuple[int, int], ...]
"""The links of a flow, each once, with how many times the flow crosses it."""

_PRIMES_TO_127 = (
    *(23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71),
    *(73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127),
)
UNITS_PER_BIT_PER_S = 232_792_560**6 * prod(_PRIMES_TO_127)
"""Six splits among up to 20 flows, one after another, stay whole numbers, and so do
those among up to 127 that share no large prime: integers of a few words are several
times as fast as fractions."""


class FairShares:
    """Links, the flows on them, and the max-min fair share of each flow.

    `shares` maps pairs that have flows to the share of each flow, in units of
    1 / `UNITS_PER_BIT_PER_S` bit/s. A change costs what lies within its reach: the
    pairs whose shares it touches, and those that share a link with them; how many flows
    a pair has does not matter.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.shares: dict[int, Share] = {}
        self._paths = paths
        self._count: dict[int, int] = {}
        self._crossings: dict[int, Path] = {}
        self._capacity: dict[int, int] = {}
        self._load: dict[int, Share] = {}
        self._on_link: dict[int, set[int]] = {}
        self._bottleneck: dict[int, int] = {}

    def set_capacity(self, link: int, bits_per_s: int) -> bool:
        """Set the rate of a link, new or known; return whether flows may feel it.

        Where it returns true, the link is to be among `touched` of the next `update`.

        `bits_per_s`: its rate from now on, 0 or more.
        """
        capacity = bits_per_s * UNITS_PER_BIT_PER_S
        if link not in self._capacity:
            self._load[link], self._on_link[link] = 0, set()
            self._capacity[link] = capacity
            return False
        changed = self._capacity[link] != capacity
        self._capacity[link] = capacity
        return changed and bool(self._on_link[link])

    def update(
        self, count: Mapping[int, int], touched: Iterable[int] = ()
    ) -> dict[int, Share]:
        """Change numbers of flows, and return the shares that changed.

        `count`: how many flows pairs have from now on, where that has changed; 0 for
        none. Paths of the pairs are not empty, and all their links are known.
        """
        links = set(touched)
        for pair, flows in count.items():
            share, more = self.shares.get(pair, 0), flows - self._count.get(pair, 0)
            if not more:
                continue
            path = self._paths[pair]
            for link, times in path:
                self._load[link] += share * times * more
                if flows:
                    self._on_link[link].add(pair)
                else:
                    self._on_link[link].discard(pair)
                links.add(link)
            if flows:
                self._count[pair], self.shares[pair] = flows, share
                self._crossings[pair] = (
                    path
                    if flows == 1
                    else tuple((link, times * flows) for link, times in path)
                )
                self._bottleneck.setdefault(pair, -1)
            else:
                del self._count[pair], self._crossings[pair]
                del self.shares[pair], self._bottleneck[pair]
        free = {pair for link in links for pair in self._on_link[link]}
        return self._settle(free) if free else {}

    def _settle(self, free: set[int]) -> dict[int, Share]:
        """Share out anew among `free`, and whoever must join them."""
        while True:
            filling = _Filling(self, free)
            joining = filling.held_back(free)
            if not joining:
                break
            free |= joining
        changed = {}
        for pair, share in filling.shares.items():
            self._bottleneck[pair] = filling.bottleneck[pair]
            if share != self.shares[pair]:
                self.shares[pair] = changed[pair] = share
        for link, left in filling.left.items():
            self._load[link] = _whole(self._capacity[link] - left)
        return changed

    # What a filling reads; it changes nothing.

    def crossings(self, pair: int) -> Path:
        """Return the links of a pair, with how often all its flows cross them."""
        return self._crossings[pair]

    def pairs_on(self, link: int) -> set[int]:
        """Return the pairs with flows on a link."""
        return self._on_link[link]

    def spare(self, link: int) -> Share:
        """Return what the flows of a link leave of it.

        Less than nothing where a pair has just been given more of them.
        """
        return self._capacity[link] - self._load[link]

    def bottleneck(self, pair: int) -> int:
        """Return the bottleneck of a pair, -1 for one that has no share yet."""
        return self._bottleneck[pair]


class _Filling:
    """Shares of some pairs, raised together until links are full; others stay."""

    def __init__(self, held: FairShares, free: set[int]) -> None:
        self.shares: dict[int, Share] = {}
        self.bottleneck: dict[int, int] = {}
        self.left: dict[int, Share] = {}
        self._held = held
        self._members: dict[int, list[int]] = {}
        self._weight: dict[int, int] = {}
        left, weight, members = self.left, self._weight, self._members
        shares, crossings = held.shares, held.crossings
        for pair in sorted(free):
            share = shares[pair]
            for link, times in crossings(pair):
                if link not in weight:
                    left[link] = held.spare(link)
                    weight[link], members[link] = 0, []
                if share:
                    left[link] += share * times
                weight[link] += times
                members[link].append(pair)
        self._level: dict[int, Share] = {}
        self._fill()

    def _fill(self) -> None:
        left, weight = self.left, self._weight
        heap = [(_part(left[link], weight[link]), link) for link in weight]
        heapq.heapify(heap)
        while heap:
            level, link = heapq.heappop(heap)
            if not weight[link]:
                continue
            now = _part(left[link], weight[link])
            if now > level:  # flows have stopped elsewhere: there is more for the rest
                heapq.heappush(heap, (now, link))
                continue
            self._level[link] = level
            for pair in self._members[link]:
                if pair in self.shares:
                    continue
                self.shares[pair], self.bottleneck[pair] = level, link
                for crossed, times in self._held.crossings(pair):
                    left[crossed] -= level * times
                    weight[crossed] -= times

    def held_back(self, free: set[int]) -> set[int]:
        """Return the pairs that were held as they are and may not stay so.

        Either someone stops at a link on which they have more, or the link that was
        their bottleneck is none any more.
        """
        joining = set()
        shares, bottleneck = self._held.shares, self._held.bottleneck
        for link, members in self._members.items():
            pairs = self._held.pairs_on(link)
            if len(pairs) == len(members):
                continue
            level = self._level.get(link)
            most = max(self.shares[pair] for pair in members)
            left = self.left[link]
            for pair in pairs - free:
                share = shares[pair]
                if (level is not None and share > level) or (
                    (left or most > share) and bottleneck(pair) == link
                ):
                    joining.add(pair)
        return joining


def _part(whole: Share, parts: int) -> Share:
    """Return the exact quotient, as an integer where it is one."""
    if isinstance(whole, int):
        quotient, rest = divmod(whole, parts)
        return Fraction(whole, parts) if rest else quotient
    return _whole(whole / parts)


def _whole(share: Share) -> Share:
    """Return an integer for a fraction that is one: what is added to it stays fast."""
    if not isinstance(share, int) and share.denominator == 1:
        return share.numerator
    return share
