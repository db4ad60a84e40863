"""Ports that are lit in turn: what their configurations reach, in how many hops."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def lit_ports(ports: int, rounds: Sequence[int]) -> list[slice]:
    """Return the ports that are lit in each round.

    `rounds`: rounds of each configuration, which has an equal share of the ports.
    """
    each = ports // len(rounds)
    return [
        slice(index * each, (index + 1) * each)
        for index, count in enumerate(rounds)
        for _ in range(count)
    ]


def expected_hop_sum(ranks: int, degree: int, rounds: Sequence[int]) -> int | None:
    """Return about the sum of hops to all ranks, or ``None`` if some are out of reach.

    There are degree**h ways of h hops within a configuration, and ways through several
    follow one another. w ways to u ranks that are no nearer reach a share of them of
    1 - (u / (u + w))**3, as measured on the digraphs that `nearest_lift` finds, and
    never more than w.
    """
    ways = [1]
    for count in rounds:
        longer = [0] * (len(ways) + count)
        for hops, number in enumerate(ways):
            for more in range(count + 1):
                longer[hops + more] += number * degree**more
        ways = longer
    left = ranks - 1 - min(ranks - 1, ways[1])
    total = ranks - 1 - left
    for hops, number in enumerate(ways[2:], 2):
        missed = left**4 // (left + number) ** 3
        reached = min(number, left - missed)
        left, total = left - reached, total + hops * reached
    return None if left else total
