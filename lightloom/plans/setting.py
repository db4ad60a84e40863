"""What algorithms are told of a task and of its fabric before they propose parameters.

Laws that several families go by stand here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lightloom.plans.network import RankNetwork

_MOST_PEER_COUNTS = 32
MOST_PIECES = 256
"""Pieces beyond which a pipeline would take more steps than a schedule should have."""
FROM_ONE_ROOT = ("broadcast", "reduce")
"""Operations that move the whole buffer between a root and all others."""


@dataclass(frozen=True)
class FibreSpans:
    """A fibre ring: how far light reaches, and what a place between nodes carries.

    Attributes
    ----------
    reach
        Nodes that a circuit may pass on the way, and one.
    wavelengths
        Circuits that one place between neighbours carries at once, in a direction.
    directions
        1 where light runs one way round only, else 2.
    bits_per_s
        Rate of a wavelength.
    """

    reach: int
    wavelengths: int
    directions: int
    bits_per_s: int


@dataclass(frozen=True, eq=False)
class Setting:
    """A collective, and what its algorithms may know of where it is to run.

    Attributes
    ----------
    op
        The collective.
    ranks
        Number of ranks, 1 or more.
    ports
        Peers that a rank drives at once, 1 or more.
    buffer_bytes
        Bytes of the buffer; for all-to-all of the buffer of one rank.
    root
        The root's rank; 0 where the collective has none.
    round_ps
        What a round costs before any byte moves.
    bits_per_s
        Rate of a rank, all its ports together; 0 where it has none.
    shape
        The box that the ranks fill, the last digit fastest; empty for none.
    along_lines
        Whether messages may go along the lines of the box only.
    both_ways
        Whether ranks may pass data on in both directions of a line.
    tunable
        Whether the circuits of a line of the box can be set as wanted, not only one for
        each pair.
    circuits
        Whether circuits are set for rounds, so that rounds on the same circuits cost
        less than others.
    switched
        Whether each port is a switch that can join all ranks in any permutation.
    in_turn
        Where ports are switches, for an all-to-all: rounds of configurations that take
        turns, those that promise most first.
    spans
        What the places between neighbouring ranks carry; ``None`` but on rings.
    find_network
        Returns the links between the ranks, if these are known.
    """

    op: str
    ranks: int
    ports: int
    buffer_bytes: int
    root: int = 0
    round_ps: int = 0
    bits_per_s: int = 0
    shape: tuple[int, ...] = ()
    along_lines: bool = False
    both_ways: bool = True
    tunable: bool = False
    circuits: bool = True
    switched: bool = False
    in_turn: tuple[tuple[int, ...], ...] = ()
    spans: FibreSpans | None = None
    find_network: Callable[[], RankNetwork | None] | None = None

    @cached_property
    def network(self) -> RankNetwork | None:
        """The links between the ranks; ``None`` where they are not known."""
        return None if self.find_network is None else self.find_network()

    @property
    def linked(self) -> bool:
        """Whether links are known to lead from rank to rank, without switches."""
        return self.network is not None and self.network.linked

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the dimensions of the box that are longer than one."""
        return tuple(size for size in self.shape if size > 1)

    @property
    def rounds_of_data(self) -> Fraction | None:
        """How many rounds' fixed cost the whole buffer lasts at the rate of a rank.

        ``None`` where a round costs nothing, or nothing can be sent.
        """
        if not self.round_ps or not self.bits_per_s:
            return None
        data = self.buffer_bytes * BITS_PER_BYTE * PS_PER_S
        return Fraction(data, self.bits_per_s * self.round_ps)

    @property
    def most_peers(self) -> int:
        """Peers that a rank can have at once."""
        return max(1, min(self.ports, self.ranks - 1))

    def peer_counts(self) -> list[int]:
        """Return numbers of simultaneous peers to try: all, or near powers of two."""
        most = self.most_peers
        if most <= _MOST_PEER_COUNTS:
            return list(range(1, most + 1))
        powers = [2**bit for bit in range(most.bit_length())]
        return sorted({most, *powers, *(power - 1 for power in powers[1:])})

    def best_pieces(self, hops: int) -> int:
        """Return into how many pieces a pipeline of some hops, and one, is best cut.

        k pieces take (k + h) (1 + R / k) rounds where the buffer lasts R of them: least
        at k = sqrt(h R).
        """
        lasts = self.rounds_of_data
        if lasts is None:
            return MOST_PIECES if self.bits_per_s else 1
        return min(max(isqrt(int(hops * lasts)), 1), MOST_PIECES)

    def depth_degrees(self, most_rounds: int) -> list[int]:
        """Return `ports`, and the least degrees with which so many rounds suffice."""
        degrees = {self.most_peers}
        for rounds in range(1, most_rounds + 1):
            degree = 1
            while sum(degree**length for length in range(rounds + 1)) < self.ranks:
                degree += 1
            degrees.add(min(degree, self.most_peers))
        return sorted(degrees, reverse=True)

    def pipeline_pieces(self, depths: Iterable[int]) -> list[int]:
        """Return one and two pieces, and those near the best for pipelines of depths.

        P + D - 1 rounds of P pieces, D deep, cost (P + D - 1) (1 + R / P) rounds where
        the buffer lasts R of them: least at P = sqrt((D - 1) R).
        """
        pieces = {1, 2}
        if self.rounds_of_data is not None:
            for hops in depths:
                best = isqrt(int(hops * self.rounds_of_data))
                pieces |= {best, best + 1}
        return [count for count in sorted(pieces) if 1 <= count <= MOST_PIECES]
