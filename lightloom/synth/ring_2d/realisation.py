"""The realisation of rounds on rings, by circuits that are found for all of a piece."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.schedule import Segment, StepPart
from lightloom.core.task import Demand
from lightloom.core.units import transmission_ps, transmission_ps_columns
from lightloom.synth.realisation import Realisation, take_rows
from lightloom.synth.ring.quick_circuits import faster_ring_circuits, lap_parts
from lightloom.synth.ring_2d.circuits import grid_circuits
from lightloom.synth.shared_configurations import best_configurations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.instances.fabrics.ring_2d import Ring2d
    from lightloom.synth.traffic import TrafficRound

_MOST_RUNS = 8
"""Pieces in a row with different pairs, beyond which fewer are told apart."""


def realise_ring_2d(
    fabric: Ring2d, rounds: Sequence[TrafficRound], seed: int = 0
) -> Realisation:
    """Return what `realise_rings` does with the circuits of rows and columns.

    `rounds`: traffic in order, between nodes of one row or column.

    Raises `InfeasibleError` if a pair shares no ring, or is out of reach;
    `NoAnswerError` if a pair by itself finds no wavelength.
    """

    def light(ring: Ring, part: Demand) -> Circuits:
        return faster_ring_circuits(ring, part, seed=seed)

    return realise_rings(
        fabric, rounds, lambda demand: grid_circuits(fabric, demand, light)
    )


def realise_rings(
    fabric: Ring | Ring2d,
    rounds: Sequence[TrafficRound],
    circuits_of: Callable[[Demand], Circuits],
) -> Realisation:
    """Return segments and steps that carry rounds, one step for each round.

    A round whose pairs find no wavelengths at once is served in several segments, the
    quicker of two ways: by laps of an exchange of all with all
    (`lightloom.synth.ring.quick_circuits`), as many at a time as there are wavelengths;
    or its ports in halves, in halves of these, and so on, at last the pairs of a port.
    Then `best_configurations` decides which pieces share a segment: circuits that stay
    save reconfigurations, and fewer pairs leave more wavelengths for each. Where there
    would be very many to decide on, rounds that only fill or drain a pipeline are not
    told apart from those in which it is full.

    Raises `InfeasibleError, NoAnswerError`: by `circuits_of`, of a pair by itself.
    """
    pieces = _Pieces(fabric, rounds, circuits_of)
    if not pieces.runs:
        return Realisation((), ())
    served = best_configurations(
        len(pieces.runs), pieces.serve, fabric.reconfiguration_ps, pieces.least_ps()
    )
    segments = tuple(
        Segment(0, index, one.circuits) for index, one in enumerate(served)
    )
    parts = tuple(
        StepPart(
            piece.step, 0, index, take_rows(rounds[piece.step].transfers, piece.rows)
        )
        for index, one in enumerate(served)
        for piece in one.pieces
    )
    return Realisation(segments, parts)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Rows of a round that can be lit at once.

    `pair` are their distinct pairs, sorted, as ``src * nodes + dst``; `size_bytes`
    what each moves.
    """

    step: int
    rows: IntArray
    pair: IntArray
    size_bytes: IntArray


@dataclass(frozen=True, eq=False)
class _Lit:
    """Pieces on circuits that stay throughout."""

    pieces: tuple[_Piece, ...]
    circuits: Circuits
    duration_ps: int


def _together(pieces: list[_Piece]) -> _Piece:
    """Return pieces of one step, which have no pair in common, as one."""
    pair = np.concatenate([piece.pair for piece in pieces])
    order = np.argsort(pair)
    return _Piece(
        pieces[0].step,
        np.sort(np.concatenate([piece.rows for piece in pieces])),
        pair[order],
        np.concatenate([piece.size_bytes for piece in pieces])[order],
    )


class _Pieces:
    """Pieces of rounds, in runs of the same pairs."""

    def __init__(
        self,
        fabric: Ring | Ring2d,
        rounds: Sequence[TrafficRound],
        circuits_of: Callable[[Demand], Circuits],
    ) -> None:
        self._fabric, self._circuits_of = fabric, circuits_of
        self._known: dict[Demand, Circuits | None] = {}
        self.runs: list[list[_Piece]] = []
        self._all: Circuits | None = None
        whole = tuple(
            self._piece(step, one, np.arange(len(one.port)))
            for step, one in enumerate(rounds)
            if len(one.port)
        )
        if whole:
            self._all = self._circuits(whole)
        for step, one in enumerate(rounds):
            if not len(one.port):
                continue
            pieces = self._pieces(step, one)
            if self.runs and np.array_equal(self.runs[-1][0].pair, pieces[-1].pair):
                pieces.reverse()  # what is lit already can go on
            for piece in pieces:
                if self.runs and np.array_equal(self.runs[-1][0].pair, piece.pair):
                    self.runs[-1].append(piece)
                else:
                    self.runs.append([piece])
        if len(self.runs) > _MOST_RUNS:
            self.runs = _absorbed(self.runs)

    def least_ps(self) -> list[int]:
        """Return what each run takes at least, by what nodes send and receive."""
        nodes, rate = self._fabric.node_count, self._fabric.node_bits_per_s
        found = []
        for run in self.runs:
            found.append(len(run) * self._fabric.alpha_ps)
            for piece in run:
                ends = np.divmod(piece.pair, nodes)
                most = max(int(_sums(end, piece.size_bytes).max()) for end in ends)
                found[-1] += transmission_ps(most, rate)
        return found

    def serve(self, first: int, last: int) -> _Lit | None:
        """Return runs on the same circuits, ``None`` where none are found for them."""
        return self._lit(
            tuple(piece for run in self.runs[first : last + 1] for piece in run)
        )

    def _lit(self, pieces: tuple[_Piece, ...]) -> _Lit | None:
        """Return pieces in the order of their steps on the same circuits."""
        circuits = self._circuits(pieces)
        if circuits is None:
            return None
        pieces = tuple(
            _together(list(same)) for _, same in groupby(pieces, lambda one: one.step)
        )
        found = _Lit(pieces, circuits, self._duration_ps(pieces, circuits))
        if len(pieces) > 1:
            # Where rounds overlap, what pairs move in one of them may count, not all.
            others = self._circuits(pieces, alone=True)
            assert others is not None
            lasts_ps = self._duration_ps(pieces, others)
            if lasts_ps < found.duration_ps:
                return _Lit(pieces, others, lasts_ps)
        return found

    def _duration_ps(self, pieces: tuple[_Piece, ...], circuits: Circuits) -> int:
        """Return how long pieces of different steps last on circuits."""
        count = self._fabric.node_count
        keys = circuits.src * count + circuits.dst
        pairs, of = np.unique(keys, return_inverse=True)
        rate = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(rate, of, self._fabric.circuit_bits_per_s(circuits))
        total = 0
        for piece in pieces:
            lasts = transmission_ps_columns(
                piece.size_bytes, rate[np.searchsorted(pairs, piece.pair)]
            )
            total += self._fabric.alpha_ps + int(lasts.max())
        return total

    def _pieces(self, step: int, one: TrafficRound) -> list[_Piece]:
        """Return a round in pieces that can be lit."""
        if self._all is not None:
            return [self._piece(step, one, np.arange(len(one.port)))]
        halves = list(self._halves(step, one, np.arange(len(one.port))))
        if len(halves) == 1:
            return halves
        laps = self._by_laps(step, one)
        return laps if laps and self._total(laps) < self._total(halves) else halves

    def _total(self, pieces: list[_Piece]) -> int:
        """Return how long pieces last, each on circuits of its own."""
        lit = [self._lit((piece,)) for piece in pieces]
        each = self._fabric.reconfiguration_ps
        return sum(each + one.duration_ps for one in lit if one is not None)

    def _by_laps(self, step: int, one: TrafficRound) -> list[_Piece]:
        """Return a round cut by laps of its rings; empty where that cannot be lit."""
        part = lap_parts(self._fabric, one.transfers.src, one.transfers.dst)
        if part is None:
            return []
        pieces = [
            self._piece(step, one, np.flatnonzero(part == number))
            for number in range(int(part.max()) + 1)
        ]
        lit = all(self._circuits((piece,)) is not None for piece in pieces)
        return pieces if lit else []

    def _piece(self, step: int, one: TrafficRound, rows: IntArray) -> _Piece:
        """Return rows of a round as a piece."""
        keys = one.transfers.src[rows] * self._fabric.node_count
        pair, of = np.unique(keys + one.transfers.dst[rows], return_inverse=True)
        size_bytes = np.zeros(len(pair), dtype=np.int64)
        np.add.at(size_bytes, of, one.size_bytes[rows])
        return _Piece(step, rows, pair, size_bytes)

    def _halves(self, step: int, one: TrafficRound, rows: IntArray) -> Iterator[_Piece]:
        """Yield the rows of a round, halved again and again until all find light."""
        piece = self._piece(step, one, rows)
        if self._circuits((piece,), needed=len(piece.pair) == 1) is not None:
            yield piece
            return
        ports, part = np.unique(one.port[rows], return_inverse=True)
        if len(ports) == 1:
            keys = one.transfers.src[rows] * self._fabric.node_count
            part = np.searchsorted(piece.pair, keys + one.transfers.dst[rows])
        low = part < (int(part.max()) + 1) // 2
        yield from self._halves(step, one, rows[low])
        yield from self._halves(step, one, rows[~low])

    def _circuits(
        self, pieces: tuple[_Piece, ...], *, needed: bool = False, alone: bool = False
    ) -> Circuits | None:
        """Return circuits for all pairs of pieces, wavelengths by all their bytes.

        If `alone`, by the most that a pair moves in one piece.
        """
        pair, of = np.unique(
            np.concatenate([piece.pair for piece in pieces]), return_inverse=True
        )
        size_bytes = np.zeros(len(pair), dtype=np.int64)
        join = np.maximum if alone else np.add
        join.at(size_bytes, of, np.concatenate([one.size_bytes for one in pieces]))
        count = self._fabric.node_count
        columns = (pair // count, pair % count, size_bytes)
        src, dst, size = (tuple(column.tolist()) for column in columns)
        demand = Demand(src, dst, size)
        if self._known.get(demand) is None and (needed or demand not in self._known):
            try:
                self._known[demand] = self._circuits_of(demand)
            except (InfeasibleError, NoAnswerError):
                if needed:
                    raise
                self._known[demand] = self._some_of_all(pair)
        return self._known[demand]

    def _some_of_all(self, pair: IntArray) -> Circuits | None:
        """Return the circuits of pairs among those that light all pairs, if any do."""
        if self._all is None:
            return None
        count = self._fabric.node_count
        keys = self._all.src * count + self._all.dst
        return self._all.take(np.flatnonzero(np.isin(keys, pair)))


def _sums(index: IntArray, amount: IntArray) -> IntArray:
    """Return the sums of amounts by index."""
    total = np.zeros(int(index.max()) + 1, dtype=np.int64)
    np.add.at(total, index, amount)
    return total


def _absorbed(runs: list[list[_Piece]]) -> list[list[_Piece]]:
    """Return runs joined with a neighbour that has all their pairs."""
    joined: list[tuple[list[_Piece], IntArray]] = []
    for run in runs:
        mine, pair = run, run[0].pair
        while joined:
            before, known = joined[-1]
            if not np.isin(known, pair).all():
                if not np.isin(pair, known).all():
                    break
                pair = known
            mine = before + mine
            joined.pop()
        joined.append((mine, pair))
    return [run for run, _ in joined]
