"""The realisation of rounds on rings, by circuits that are found for all of a piece."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.schedule import Segment, StepPart
from lightloom.core.task import Demand
from lightloom.core.units import transmission_ps_columns
from lightloom.synth.realisation import Realisation, take_rows
from lightloom.synth.ring.quick_circuits import quick_ring_circuits
from lightloom.synth.ring_2d.circuits import grid_circuits
from lightloom.synth.shared_configurations import best_configurations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.instances.fabrics.ring_2d import Ring2d
    from lightloom.synth.traffic import TrafficRound

__all__ = ["realise_ring_2d", "realise_rings"]


def realise_ring_2d(
    fabric: Ring2d, rounds: Sequence[TrafficRound], seed: int = 0
) -> Realisation:
    """Return what `realise_rings` does with the circuits of rows and columns.

    Parameters
    ----------
    fabric
        The 2D ring.
    rounds
        Traffic in order, between nodes of one row or column.
    seed
        Of the orders in which circuits are coloured.

    Raises
    ------
    InfeasibleError
        If a pair shares no ring, or is out of reach.
    NoAnswerError
        If a pair by itself finds no wavelength.
    """

    def light(ring: Ring, part: Demand) -> Circuits:
        return quick_ring_circuits(ring, part, seed=seed)

    return realise_rings(
        fabric, rounds, lambda demand: grid_circuits(fabric, demand, light)
    )


def realise_rings(
    fabric: Ring | Ring2d,
    rounds: Sequence[TrafficRound],
    circuits_of: Callable[[Demand], Circuits],
) -> Realisation:
    """Return segments and steps that carry rounds, one step for each round.

    A round whose pairs find no wavelengths at
    once is served in several segments: its ports in halves, in halves of these, and so
    on, at last the pairs of a port. Then `best_configurations` decides which pieces
    share a segment: circuits that stay save reconfigurations, and fewer pairs leave
    more wavelengths for each.

    Parameters
    ----------
    fabric
        The ring, or the 2D ring.
    rounds
        Traffic in order, between nodes.
    circuits_of
        Returns circuits that serve all pairs of a demand at once.

    Raises
    ------
    InfeasibleError, NoAnswerError
        By `circuits_of`, of a pair by itself.
    """
    pieces = _Pieces(fabric, rounds, circuits_of)
    if not pieces.runs:
        return Realisation((), ())
    served = best_configurations(
        len(pieces.runs), pieces.serve, fabric.reconfiguration_ps
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
        for step, one in enumerate(rounds):
            for piece in self._pieces(step, one, np.arange(len(one.port))):
                if self.runs and np.array_equal(self.runs[-1][0].pair, piece.pair):
                    self.runs[-1].append(piece)
                else:
                    self.runs.append([piece])

    def serve(self, first: int, last: int) -> _Lit | None:
        """Return runs on the same circuits, ``None`` where none are found for them."""
        pieces = tuple(piece for run in self.runs[first : last + 1] for piece in run)
        circuits = self._circuits(pieces)
        if circuits is None:
            return None
        pieces = tuple(
            _together(list(same)) for _, same in groupby(pieces, lambda one: one.step)
        )
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
        return _Lit(pieces, circuits, total)

    def _pieces(self, step: int, one: TrafficRound, rows: IntArray) -> Iterator[_Piece]:
        """Yield the rows of a round, halved again and again until all find light."""
        if not len(rows):
            return
        keys = one.transfers.src[rows] * self._fabric.node_count
        pair, of = np.unique(keys + one.transfers.dst[rows], return_inverse=True)
        size_bytes = np.zeros(len(pair), dtype=np.int64)
        np.add.at(size_bytes, of, one.size_bytes[rows])
        piece = _Piece(step, rows, pair, size_bytes)
        if self._circuits((piece,), needed=len(pair) == 1) is not None:
            yield piece
            return
        ports = np.unique(one.port[rows])
        part = np.searchsorted(ports, one.port[rows]) if len(ports) > 1 else of
        low = part < (int(part.max()) + 1) // 2
        yield from self._pieces(step, one, rows[low])
        yield from self._pieces(step, one, rows[~low])

    def _circuits(
        self, pieces: tuple[_Piece, ...], *, needed: bool = False
    ) -> Circuits | None:
        """Return circuits for all pairs of pieces, wavelengths by all their bytes."""
        pair, of = np.unique(
            np.concatenate([piece.pair for piece in pieces]), return_inverse=True
        )
        size_bytes = np.zeros(len(pair), dtype=np.int64)
        np.add.at(size_bytes, of, np.concatenate([one.size_bytes for one in pieces]))
        count = self._fabric.node_count
        demand = Demand(
            *(
                tuple(column.tolist())
                for column in (pair // count, pair % count, size_bytes)
            )
        )
        if demand not in self._known:
            try:
                self._known[demand] = self._circuits_of(demand)
            except (InfeasibleError, NoAnswerError):
                if needed:
                    raise
                self._known[demand] = None
        return self._known[demand]
