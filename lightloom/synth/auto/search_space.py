"""Families of algorithms, radices, modes and ports that `auto` searches."""

from __future__ import annotations

import itertools
from math import isqrt
from typing import TYPE_CHECKING, TypeAlias

from lightloom.plans.algorithms.hub_sums import (
    overlapping_bits,
    relays_fit,
    section_shape,
)
from lightloom.plans.even_lifts import even_steps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

Proposal: TypeAlias = tuple[str, dict[str, object]]
"""Name of an algorithm and its parameters."""

_MOST_ORDERS = 24
_MOST_FACTORISATIONS = 64
_MOST_PEER_COUNTS = 32
_MOST_PIECES = 256
_MOST_HUB_DEGREES = 3
_PIPELINED = dict.fromkeys(("broadcast", "reduce"), ("spanning-tree", "disjoint-trees"))
_FEW_PIECES = (1, 2)
_PIPELINES = (1, 4, 16, 32, 64, 96, 128, 192, 256)


def proposals(
    op: str, ranks: int, ports: int, rounds_of_data: Fraction | None = None
) -> Iterator[Proposal]:
    """Yield the algorithms worth comparing for an operation, best guesses first.

    `rounds_of_data`: how many times as long as the fixed cost of a round the whole
    buffer takes at the full rate of a rank: what the best length of a pipeline depends
    on. ``None`` where a round costs nothing.
    """
    yield from _SPACES[op](ranks, ports)
    for name in _PIPELINED.get(op, ()):
        yield from _pipelined(name, ranks, ports, rounds_of_data)


def baselines(op: str) -> tuple[str, ...]:
    """Return the algorithms that `auto` realises whatever their prediction."""
    return ("lumorph-2", "lumorph-4", "multiport", "ring") if op in _RINGS else ()


_RINGS = ("all-gather", "all-reduce", "reduce-scatter")


def _all_reduce(ranks: int, ports: int) -> Iterator[Proposal]:
    yield from _ring_family(ranks, ports)
    yield from _even_digraph(ranks, ports)
    yield from _fixed_digraphs(ranks, ports)
    for degree in _hub_degrees(ranks, ports):
        yield "hub-sums", {"degree": degree}
    # With fewer ranks hub sums take three rounds anyway.
    if ranks > ports**2:
        for degree in range(ports, 1, -1):
            if relays_fit(ranks, degree):
                yield "hub-relays", {"degree": degree}
                break
    if ports < ranks - 1 and section_shape(ranks, ports) is not None:
        yield "section-sums", {"degree": ports}
    bits = overlapping_bits(ranks)
    if bits is not None and 2 ** (bits + 1) - 3 <= ports:
        yield "overlapping-subspaces", {}
    for factors in _factorisations(ranks, ports + 1):
        yield from _radices(factors)


def _radices(factors: tuple[int, ...]) -> Iterator[Proposal]:
    """Yield radices to scatter by, in any order, and others to exchange by."""
    for exchanged in _subsets(factors):
        scattered = _without(factors, exchanged)
        for order in _orders(scattered):
            if not exchanged:
                yield "radices", {"radices": list(order)}
            elif not scattered:
                yield "full-exchange", {"radices": list(exchanged)}
            else:
                yield (
                    "scatter-exchange",
                    {"scatter": list(order), "exchange": list(exchanged)},
                )


def _scatter_family(ranks: int, ports: int) -> Iterator[Proposal]:
    yield from _ring_family(ranks, ports)
    yield from _even_digraph(ranks, ports)
    yield from _fixed_digraphs(ranks, ports)
    yield "direct", {}
    for factors in _factorisations(ranks, ports + 1):
        for order in _orders(factors):
            yield "radices", {"radices": list(order)}


def _ring_family(ranks: int, ports: int) -> Iterator[Proposal]:
    yield "ring", {}
    yield "lumorph-2", {}
    yield "lumorph-4", {}
    for peers in _peer_counts(ranks, ports):
        yield "multiport", {"ports": peers}
        if peers > 1:
            yield "multiport", {"ports": peers, "signed": True}


def _all_to_all(ranks: int, ports: int) -> Iterator[Proposal]:
    yield "direct", {}
    yield from list(_even_digraph(ranks, ports)) or _fixed_digraphs(ranks, ports)
    for radix in sorted({2, 3, 4, 5, 8, ports + 1, _root(ranks)}):
        if 2 <= radix < ranks:
            yield "bruck", {"radices": _covering(ranks, radix)}


def _even_digraph(ranks: int, ports: int) -> Iterator[Proposal]:
    """Yield the steps of a group that load all ports evenly in few rounds, if any."""
    found = even_steps(ranks, ports)
    if found is not None:
        group = [found.group.rotations, found.group.turns, found.group.twist]
        steps = [step for (step,) in found.heads]
        yield "balanced-digraph", {"heads": steps, "group": group}


def _fixed_digraphs(ranks: int, ports: int) -> Iterator[Proposal]:
    """Yield Kautz digraphs of fewest ports for each number of rounds.

    That of all ports only where there are no even steps.
    """
    found = even_steps(ranks, ports)
    most = max(1, min(ports, ranks - 1))
    for degree in _depth_degrees(ranks, ports, most_rounds=3):
        if found is None or degree < most:
            yield "fixed-digraph", {"degree": degree}


def _hub_degrees(ranks: int, ports: int) -> list[int]:
    """Return the degrees of De Bruijn digraphs of least diameter on just these ranks.

    The largest few; the largest degree of all where there is none.
    """
    most = max(1, min(ports, ranks))
    rounds, reached = 1, most
    while reached < ranks and most > 1:
        rounds, reached = rounds + 1, reached * most
    exact = [
        degree
        for degree in range(most, 1, -1)
        if not ranks % degree ** (rounds - 1) and ranks <= degree**rounds
    ]
    return exact[:_MOST_HUB_DEGREES] or [max(2, most)]


def _pipelined(
    name: str, ranks: int, ports: int, rounds_of_data: Fraction | None
) -> Iterator[Proposal]:
    """Yield a family of pipelines: few pieces, and near the best number of them.

    P + D - 1 rounds of P pieces, D deep, cost (P + D - 1) (1 + R / P) rounds where
    the buffer lasts R of them: least at P = sqrt((D - 1) R). Arc-disjoint trees may
    end with a piece over flatter ones, or be flatter from the start.
    """
    children = _least_children(ranks, ports) if name == "disjoint-trees" else 0
    for degree in _depth_degrees(ranks, ports, most_rounds=4):
        pieces = {1, 2}
        if rounds_of_data is not None:
            for depth in (1, 2, 3, 4):
                best = isqrt(int(depth * rounds_of_data))
                pieces |= {best, best + 1}
        for count in sorted(pieces):
            if 1 <= count <= _MOST_PIECES:
                given = {"ports": degree, "pieces": count}
                yield name, {**given}
                if children and degree == ports:
                    yield name, {**given, "trees_per_last_piece": children}
    if children:
        for count in _FEW_PIECES:
            given = {"ports": ports, "pieces": count}
            yield name, {**given, "root_children": children}


def _least_children(ranks: int, ports: int) -> int:
    """Return how many children the root needs in trees two or three deep.

    So that each tree is flatter by one than it is with one child; 0 where that leaves
    fewer than two trees, or it takes no more than one child.
    """
    reached = 1 + ports
    for _ in range(2):
        children = -(-(ranks - 1) // reached)
        if 1 < children <= ports // 2:
            return children
        reached = 1 + ports * reached
    return 0


def _depth_degrees(ranks: int, ports: int, most_rounds: int) -> list[int]:
    """Return `ports`, and the least degrees with which so many rounds suffice."""
    most = max(1, min(ports, ranks - 1))
    degrees = {most}
    for rounds in range(1, most_rounds + 1):
        degree = 1
        while sum(degree**length for length in range(rounds + 1)) < ranks:
            degree += 1
        degrees.add(min(degree, most))
    return sorted(degrees, reverse=True)


def _tree_family(ranks: int, ports: int) -> Iterator[Proposal]:
    for peers in _peer_counts(ranks, ports):
        yield "tree", {"ports": peers}


def _broadcast_family(ranks: int, ports: int) -> Iterator[Proposal]:
    yield from _tree_family(ranks, ports)
    for peers in _peer_counts(ranks, ports):
        yield "scatter-gather", {"ports": peers}
    for pieces in _PIPELINES:
        yield "double-binary-tree", {"pieces": pieces}


def _scatter_gather(ranks: int, ports: int) -> Iterator[Proposal]:
    yield "direct", {}
    for degree in _depth_degrees(ranks, ports, most_rounds=4):
        yield "spanning-tree", {"ports": degree}
        if degree + 1 < ranks:
            yield "spanning-tree", {"ports": degree, "far_first": True}
    yield from _tree_family(ranks, ports)


_SPACES = {
    "all-gather": _scatter_family,
    "all-reduce": _all_reduce,
    "all-to-all": _all_to_all,
    "broadcast": _broadcast_family,
    "gather": _scatter_gather,
    "reduce": _broadcast_family,
    "reduce-scatter": _scatter_family,
    "scatter": _scatter_gather,
}


def _peer_counts(ranks: int, ports: int) -> list[int]:
    """Return the numbers of simultaneous peers to try: all, or near powers of two."""
    most = max(1, min(ports, ranks - 1))
    if most <= _MOST_PEER_COUNTS:
        return list(range(1, most + 1))
    powers = [2**bit for bit in range(most.bit_length())]
    return sorted({most, *powers, *(power - 1 for power in powers[1:])})


def _factorisations(number: int, largest: int) -> list[tuple[int, ...]]:
    """Return the descending factorisations with factors from 2 to `largest`.

    A number with a prime factor above `largest` has none; fewest factors first.
    """

    def descend(rest: int, most: int) -> Iterator[tuple[int, ...]]:
        if rest == 1:
            yield ()
        for factor in range(min(rest, most), 1, -1):
            if rest % factor == 0:
                for tail in descend(rest // factor, factor):
                    yield (factor, *tail)

    if number == 1:
        return []
    found = sorted(descend(number, largest), key=lambda f: (len(f), f))
    return found[:_MOST_FACTORISATIONS]


def _subsets(factors: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the distinct sub-multisets of some factors, in a fixed order."""
    chosen = {
        subset
        for size in range(len(factors) + 1)
        for subset in itertools.combinations(factors, size)
    }
    return sorted(chosen, key=lambda subset: (len(subset), subset))


def _without(factors: tuple[int, ...], removed: tuple[int, ...]) -> tuple[int, ...]:
    rest = list(factors)
    for factor in removed:
        rest.remove(factor)
    return tuple(rest)


def _orders(factors: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the distinct orders of some factors, only the sorted ones if many."""
    orders = set(itertools.islice(itertools.permutations(factors), 5040))
    if len(orders) > _MOST_ORDERS:
        orders = {tuple(sorted(factors)), tuple(sorted(factors, reverse=True))}
    return sorted(orders, reverse=True)


def _root(number: int) -> int:
    """Return the least r with r * r >= number."""
    root = 1
    while root * root < number:
        root += 1
    return root


def _covering(ranks: int, radix: int) -> list[int]:
    """Return as many digits of a radix as it takes to count the ranks."""
    digits, covered = [radix], radix
    while covered < ranks:
        digits.append(radix)
        covered *= radix
    return digits
