"""Traffic rounds as segments and steps: what is lit together, and for how long."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.schedule import Segment, StepPart, transfer_columns
from lightloom.core.task import Demand
from lightloom.core.units import transmission_ps, transmission_ps_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import FluidTransfers, Transfers
    from lightloom.synth.traffic import TrafficRound

_MOST_RUNS = 8
"""Pieces in a row with different pairs, beyond which fewer are told apart: circuits are
sought for up to 36 stretches of 8 runs, for ten times as many of 27."""


@dataclass(frozen=True, eq=False)
class Realisation:
    """Segments and steps that carry some rounds, as in a schedule.

    `segments`: what each plane holds, in the order of the file; none without circuits.
    `parts`: the steps, one for each round, in order of (step, segment).
    """

    segments: tuple[Segment, ...]
    parts: tuple[StepPart, ...]


def take_rows(
    transfers: Transfers | FluidTransfers, rows: IntArray
) -> Transfers | FluidTransfers:
    """Return some rows of transfers.

    `rows`: row numbers, shape (rows,), in the order wanted.
    """
    columns: dict[str, Any] = {
        name: column[rows] for name, column in transfer_columns(transfers).items()
    }
    return replace(transfers, **columns)


# -- pairs that are lit together -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of a round that can be lit at once.

    `pair`: their distinct pairs, sorted, as ``src * nodes + dst``; `size_bytes`: what
    each moves.
    """

    step: int
    moved: TrafficRound
    rows: IntArray
    pair: IntArray
    size_bytes: IntArray

    @property
    def transfers(self) -> Transfers | FluidTransfers:
        """Return the transfers of the rows."""
        every = self.moved.transfers
        whole = len(self.rows) == len(every)
        return every if whole else take_rows(every, self.rows)


@dataclass(frozen=True, eq=False)
class RoundPairs:
    """The pairs of some rounds, or of pieces of them, that are to be lit together.

    `src`, `dst`: shape (pairs,), sorted by source, then destination. `size_bytes`:
    what each pair moves in each round, shape (rounds, pairs).
    """

    src: IntArray
    dst: IntArray
    size_bytes: IntArray
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, pieces: tuple[Piece, ...], nodes: int) -> RoundPairs:
        """Return the pairs of pieces of different steps."""
        pair = np.unique(np.concatenate([piece.pair for piece in pieces]))
        size_bytes = np.zeros((len(pieces), len(pair)), dtype=np.int64)
        for number, piece in enumerate(pieces):
            size_bytes[number, np.searchsorted(pair, piece.pair)] = piece.size_bytes
        return cls(pair // nodes, pair % nodes, size_bytes, pieces)

    def demand(self, *, most: bool = False) -> Demand:
        """Return what each pair moves in all rounds, or the most it does in one."""
        amount = self.size_bytes.max(axis=0) if most else self.size_bytes.sum(axis=0)
        src, dst, size = (
            tuple(column.tolist()) for column in (self.src, self.dst, amount)
        )
        return Demand(src, dst, size)

    def last_ps(self, fabric: CircuitFabric, circuits: Circuits) -> int:
        """Return how long the rounds last on circuits, reconfigurations left out.

        `circuits`: one or several for each pair, for others too.
        """
        nodes = fabric.node_count
        keys = circuits.src * nodes + circuits.dst
        lit, of = np.unique(keys, return_inverse=True)
        total = np.zeros(len(lit), dtype=np.int64)
        np.add.at(total, of, fabric.circuit_bits_per_s(circuits))
        rate = total[np.searchsorted(lit, self.src * nodes + self.dst)]
        lasts = 0
        for size_bytes in self.size_bytes:
            used = size_bytes > 0
            each = transmission_ps_columns(size_bytes[used], rate[used])
            lasts += fabric.alpha_ps + int(each.max(initial=0))
        return lasts


class Lighting(Protocol):
    """What finds circuits of one fabric for pairs: see `Realiser`."""

    @property
    def fabric(self) -> CircuitFabric:
        """The fabric."""

    def light(self, demand: Demand) -> Circuits:
        """Return circuits for all pairs of a demand at once."""

    def light_rounds(
        self, pairs: RoundPairs, light: Callable[[Demand], Circuits]
    ) -> Circuits:
        """Return circuits for all pairs of rounds.

        Parameters
        ----------
        pairs
            What each pair moves in each of the rounds.
        light
            The method of this name, which remembers its answers.
        """

    def parts_of(self, moved: TrafficRound) -> IntArray | None:
        """Return which part of a round each row is in, where they cannot be lit."""


def faster_circuits(
    fabric: CircuitFabric, pairs: RoundPairs, light: Callable[[Demand], Circuits]
) -> Circuits:
    """Return circuits by all that pairs move, or by the most they do in a round.

    The latter may be the faster ones where rounds overlap. Raises as `light` does where
    neither are found.
    """
    try:
        by_all = light(pairs.demand())
    except (InfeasibleError, NoAnswerError):
        if len(pairs.size_bytes) == 1:
            raise
        return light(pairs.demand(most=True))
    if len(pairs.size_bytes) == 1:
        return by_all
    try:
        by_most = light(pairs.demand(most=True))
    except (InfeasibleError, NoAnswerError):
        return by_all
    faster = pairs.last_ps(fabric, by_most) < pairs.last_ps(fabric, by_all)
    return by_most if faster else by_all


# -- configurations one after another ------------------------------------------------


def realised_rounds(
    lighting: Lighting, rounds: Sequence[TrafficRound], *, together: bool = False
) -> Realisation:
    """Return segments and steps that carry rounds, one step for each round.

    A round whose pairs find no light at once is served in several segments, the
    quicker of two ways: in the parts that the fabric suggests; or its ports in halves,
    in halves of these, and so on, at last the pairs of a port. Then
    `best_configurations` decides which pieces share a segment: circuits that stay save
    reconfigurations, and fewer pairs leave more light for each. Where there would be
    very many to decide on, rounds that only fill or drain a pipeline are not told apart
    from those in which it is full.

    `together`: whether all rounds share a segment, because light cannot be led
    anew. Raises `InfeasibleError, NoAnswerError`: by `lighting`, of a pair by itself.
    """
    pieces = _Pieces(lighting, rounds)
    if not pieces.runs:
        return Realisation((), ())
    if together:
        pieces.runs = [[piece for run in pieces.runs for piece in run]]
    fabric = lighting.fabric
    served = best_configurations(
        len(pieces.runs), pieces.serve, fabric.reconfiguration_ps, pieces.least_ps()
    )
    segments = tuple(
        Segment(0, index, lit.circuits) for index, lit in enumerate(served)
    )
    parts = tuple(
        StepPart(piece.step, 0, index, piece.transfers)
        for index, lit in enumerate(served)
        for piece in lit.pieces
    )
    return Realisation(segments, parts)


class SharedConfiguration(Protocol):
    """Pieces that are served on circuits which stay throughout."""

    @property
    def duration_ps(self) -> int:
        """How long they take, a reconfiguration before them left out."""


SharedT = TypeVar("SharedT", bound=SharedConfiguration)


def best_configurations(
    count: int,
    serve: Callable[[int, int], SharedT | None],
    reconfiguration_ps: int,
    least_ps: Sequence[int] = (),
) -> list[SharedT]:
    """Return the configurations that serve pieces 0 to `count` - 1 in the least time.

    `count`: number of pieces, 1 or more. `serve`: returns the configuration of pieces
    ``first .. last`` (inclusive), ``None`` where they find no circuits together, and
    then no more of them do. One piece always does. `reconfiguration_ps`: paid between
    configurations; among equals the fewest are taken, the last of them as long as can
    be. `least_ps`: what each piece takes at least, on any circuits; by default nothing
    is known. The more, the fewer calls of `serve`: what cannot be part of the best is
    left out.

    A dynamic program with at most ``count (count + 1) / 2`` calls of `serve`.
    """
    before_ps = [0, *accumulate(least_ps or [0] * count)]
    served = functools.lru_cache(maxsize=None)(serve)
    whole = served(0, count - 1)
    most_ps = None if whole is None else whole.duration_ps
    best: list[tuple[int, list[SharedT]] | None] = [(-reconfiguration_ps, [])]
    start = 0  # no more pieces before this one are served with the last
    for last in range(count):
        after_ps = before_ps[-1] - before_ps[last + 1]
        after_ps += reconfiguration_ps if last < count - 1 else 0
        found: tuple[int, int, int, list[SharedT]] | None = None
        farthest = start
        for first in (start, *range(last, start, -1)):
            so_far = best[first]
            if so_far is None:
                continue
            time_ps = so_far[0] + reconfiguration_ps
            least = time_ps + before_ps[last + 1] - before_ps[first]
            if found is not None and least > found[0]:
                continue
            if most_ps is not None and least + after_ps > most_ps:
                continue
            one = served(first, last)
            if one is not None:
                rank = (time_ps + one.duration_ps, len(so_far[1]), first)
                if found is None or rank < found[:3]:
                    found = (*rank, [*so_far[1], one])
                continue
            if whole is None:
                start = max(start, first + 1)
            if first > farthest:
                break
        best.append(None if found is None else (found[0], found[3]))
    assert best[-1] is not None
    return best[-1][1]


@dataclass(frozen=True, eq=False)
class _Lit:
    """Pieces on circuits that stay throughout."""

    pieces: tuple[Piece, ...]
    circuits: Circuits
    duration_ps: int


class _Pieces:
    """Pieces of rounds, in runs of the same pairs."""

    def __init__(self, lighting: Lighting, rounds: Sequence[TrafficRound]) -> None:
        self._lighting, self._fabric = lighting, lighting.fabric
        self._light = functools.cache(self._outcome)
        self._known: dict[tuple[bytes, ...], Circuits | None] = {}
        self._all: Circuits | None = None
        self.runs: list[list[Piece]] = []
        whole = tuple(
            self._piece(step, moved, np.arange(len(moved.port)))
            for step, moved in enumerate(rounds)
            if len(moved.port)
        )
        if whole:
            self._all = self._circuits(RoundPairs.of(whole, self._fabric.node_count))
        for piece in whole:
            self._append([piece] if self._all is not None else self._cut(piece))
        if len(self.runs) > _MOST_RUNS:
            self.runs = _absorbed(self.runs)

    def _append(self, pieces: list[Piece]) -> None:
        """Append the pieces of a round to the runs."""
        if self.runs and np.array_equal(self.runs[-1][0].pair, pieces[-1].pair):
            pieces.reverse()  # what is lit already can go on
        for piece in pieces:
            if self.runs and np.array_equal(self.runs[-1][0].pair, piece.pair):
                self.runs[-1].append(piece)
            else:
                self.runs.append([piece])

    def least_ps(self) -> list[int]:
        """Return what each run takes at least, by what nodes send and receive.

        Where circuits have several destinations, what is sent may be sent once.
        """
        fabric, nodes = self._fabric, self._fabric.node_count
        sides = 1 if "multicast" in fabric.circuit_columns else 2
        least_ps = []
        for run in self.runs:
            least_ps.append(len(run) * fabric.alpha_ps)
            for piece in run:
                dst_and_src = (piece.pair % nodes, piece.pair // nodes)[:sides]
                most = max(
                    int(_sums(end, piece.size_bytes).max()) for end in dst_and_src
                )
                least_ps[-1] += transmission_ps(most, fabric.node_bits_per_s)
        return least_ps

    def serve(self, first: int, last: int) -> _Lit | None:
        """Return runs on the same circuits, ``None`` where none are found for them."""
        return self._lit(
            tuple(piece for run in self.runs[first : last + 1] for piece in run)
        )

    def _lit(self, pieces: tuple[Piece, ...]) -> _Lit | None:
        """Return pieces in the order of their steps on the same circuits."""
        joined = tuple(
            _together(list(same)) for _, same in groupby(pieces, lambda one: one.step)
        )
        pairs = RoundPairs.of(joined, self._fabric.node_count)
        circuits = self._circuits(pairs)
        if circuits is None:
            return None
        return _Lit(joined, circuits, pairs.last_ps(self._fabric, circuits))

    def _piece(self, step: int, moved: TrafficRound, rows: IntArray) -> Piece:
        """Return rows of a round as a piece."""
        keys = moved.transfers.src[rows] * self._fabric.node_count
        pair, of = np.unique(keys + moved.transfers.dst[rows], return_inverse=True)
        size_bytes = np.zeros(len(pair), dtype=np.int64)
        np.add.at(size_bytes, of, moved.size_bytes[rows])
        return Piece(step, moved, rows, pair, size_bytes)

    # -- rounds whose pairs find no light together -----------------------------------

    def _cut(self, whole: Piece) -> list[Piece]:
        """Return a round in pieces that can be lit."""
        halves = list(self._halves(whole))
        if len(halves) == 1:
            return halves
        parts = self._in_parts(whole)
        return parts if parts and self._total(parts) < self._total(halves) else halves

    def _total(self, pieces: list[Piece]) -> int:
        """Return how long pieces last, each on circuits of its own."""
        lit = [self._lit((piece,)) for piece in pieces]
        each = self._fabric.reconfiguration_ps
        return sum(each + one.duration_ps for one in lit if one is not None)

    def _in_parts(self, whole: Piece) -> list[Piece]:
        """Return a round in the parts that the fabric suggests; none if unlit."""
        part = self._lighting.parts_of(whole.moved)
        if part is None:
            return []
        pieces = [
            self._piece(whole.step, whole.moved, np.flatnonzero(part == number))
            for number in range(int(part.max()) + 1)
        ]
        lit = all(self._lit((piece,)) is not None for piece in pieces)
        return pieces if lit else []

    def _halves(self, piece: Piece) -> Iterator[Piece]:
        """Yield a piece, halved again and again until all find light."""
        pairs = RoundPairs.of((piece,), self._fabric.node_count)
        if self._circuits(pairs, needed=len(piece.pair) == 1) is not None:
            yield piece
            return
        moved, rows = piece.moved, piece.rows
        ports, part = np.unique(moved.port[rows], return_inverse=True)
        if len(ports) == 1:
            keys = moved.transfers.src[rows] * self._fabric.node_count
            part = np.searchsorted(piece.pair, keys + moved.transfers.dst[rows])
        low = part < (int(part.max()) + 1) // 2
        for own in (low, ~low):
            yield from self._halves(self._piece(piece.step, moved, rows[own]))

    # -- circuits --------------------------------------------------------------------

    def _outcome(self, demand: Demand) -> Circuits | InfeasibleError | NoAnswerError:
        try:
            return self._lighting.light(demand)
        except (InfeasibleError, NoAnswerError) as problem:
            return problem

    def _remembered(self, demand: Demand) -> Circuits:
        """Return what `Lighting.light` did, or raise what it raised."""
        outcome = self._light(demand)
        if isinstance(outcome, InfeasibleError | NoAnswerError):
            raise outcome
        return outcome

    def _circuits(self, pairs: RoundPairs, *, needed: bool = False) -> Circuits | None:
        """Return circuits for all pairs, of those of all rounds if none are found."""
        key = tuple(
            column.tobytes() for column in (pairs.src, pairs.dst, pairs.size_bytes)
        )
        if self._known.get(key) is None and (needed or key not in self._known):
            try:
                self._known[key] = self._lighting.light_rounds(pairs, self._remembered)
            except (InfeasibleError, NoAnswerError):
                if needed:
                    raise
                self._known[key] = self._some_of_all(pairs)
        return self._known[key]

    def _some_of_all(self, pairs: RoundPairs) -> Circuits | None:
        """Return the circuits of pairs among those that light all pairs, if any do."""
        if self._all is None:
            return None
        nodes = self._fabric.node_count
        keys = self._all.src * nodes + self._all.dst
        wanted = np.isin(keys, pairs.src * nodes + pairs.dst)
        return self._all.take(np.flatnonzero(wanted))


def _together(pieces: list[Piece]) -> Piece:
    """Return pieces of one step, which have no pair in common, as one."""
    if len(pieces) == 1:
        return pieces[0]
    pair = np.concatenate([piece.pair for piece in pieces])
    order = np.argsort(pair)
    return Piece(
        pieces[0].step,
        pieces[0].moved,
        np.sort(np.concatenate([piece.rows for piece in pieces])),
        pair[order],
        np.concatenate([piece.size_bytes for piece in pieces])[order],
    )


def _sums(index: IntArray, amount: IntArray) -> IntArray:
    """Return the sums of amounts by index."""
    total = np.zeros(int(index.max()) + 1, dtype=np.int64)
    np.add.at(total, index, amount)
    return total


def _absorbed(runs: list[list[Piece]]) -> list[list[Piece]]:
    """Return runs joined with a neighbour that has all their pairs."""
    joined: list[tuple[list[Piece], IntArray]] = []
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
