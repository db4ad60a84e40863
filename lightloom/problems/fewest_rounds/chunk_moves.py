"""Which chunk goes on which circuit in which round, and the schedule of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.columns import Ragged
from lightloom.core.schedule import (
    Algorithm,
    Op,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.routing.routes import lit_circuits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath

Mask = npt.NDArray[np.bool_]
_NONE = np.zeros(0, dtype=np.int64)
_COLUMNS = ("round", "wavelength", "src", "dst", "chunk", "op")


@dataclass(frozen=True, eq=False)
class ChunkMoves:
    """Row i: in a round, one wavelength carries one chunk along one route.

    `round`, `wavelength`: when, and on which laser and photodiode; both count from 0.
    `route`: tiles of each route, both ends included.
    """

    round: IntArray
    wavelength: IntArray
    src: IntArray
    dst: IntArray
    chunk: IntArray
    op: IntArray
    route: Ragged

    def __len__(self) -> int:
        """Return the number of moves."""
        return len(self.round)

    @property
    def round_count(self) -> int:
        """Number of rounds."""
        return int(self.round.max(initial=-1)) + 1

    def only(self, rows: npt.NDArray[np.bool_]) -> ChunkMoves:
        """Return some of the moves, shape (moves,), in the rounds they have."""
        kept = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return ChunkMoves(**kept, route=self.route.take(np.flatnonzero(rows)))


def copies(
    rows: Sequence[tuple[int, int, int]], routes: Sequence[list[int]]
) -> ChunkMoves:
    """Return moves that copy, of (round, wavelength, chunk) rows and their routes.

    `routes`: tiles of each route, at least two, in order.
    """
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return copies_of(table[:, 0], table[:, 1], table[:, 2], Ragged.from_lists(routes))


def copies_of(
    round_: IntArray, wavelength: IntArray, chunk: IntArray, route: Ragged
) -> ChunkMoves:
    """Return moves that copy, from columns; routes have at least two tiles.

    `route`: tiles of each route, in order.
    """
    src, dst = route.values[route.offsets[:-1]], route.values[route.offsets[1:] - 1]
    op = np.full(len(chunk), int(Op.COPY))
    return ChunkMoves(round_, wavelength, src, dst, chunk, op, route)


def no_moves() -> ChunkMoves:
    """Return no moves at all."""
    return copies_of(_NONE, _NONE, _NONE, Ragged.from_lists([]))


def together(first: ChunkMoves, second: ChunkMoves) -> ChunkMoves:
    """Return the moves of both, in the rounds they have.

    `first`, `second`: chunkMoves that do not disturb each other.
    """
    route = Ragged.from_lengths(
        np.concatenate([first.route.lengths, second.route.lengths]),
        np.concatenate([first.route.values, second.route.values]),
    )
    columns = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in _COLUMNS
    }
    return ChunkMoves(**columns, route=route)


def then(first: ChunkMoves, second: ChunkMoves) -> ChunkMoves:
    """Return the rounds of `first`, then those of `second`.

    `first`, `second`: chunkMoves, each counted from round 0.
    """
    return together(first, replace(second, round=second.round + first.round_count))


def turned_around(moves: ChunkMoves, op: Op) -> ChunkMoves:
    """Return the same rounds with time and arcs turned around.

    Where each tile receives each chunk at most once, and never what it had from the
    start, the routes of a chunk form a tree. Turned around they lead to its root,
    every tile passing on once, after all that came to it.
    """
    offsets, lengths = moves.route.offsets, moves.route.lengths
    place = np.arange(len(moves.route.values)) - np.repeat(offsets[:-1], lengths)
    back = np.repeat(offsets[1:] - 1, lengths) - place
    return ChunkMoves(
        moves.round_count - 1 - moves.round,
        moves.wavelength,
        moves.dst,
        moves.src,
        moves.chunk,
        np.full_like(moves.op, int(op)),
        Ragged(offsets, moves.route.values[back]),
    )


def to_schedule(
    fabric: Lightpath,
    collective: Collective,
    moves: ChunkMoves,
    *,
    name: str,
    parameters: dict[str, ParameterValue] | None = None,
    seed: int = 0,
) -> Schedule:
    """Return moves as a schedule without footer: a step for each round.

    Rounds over the same circuits share a segment, wavelengths of a route are one
    circuit, neighbouring chunks of a pair one transfer; rows are sorted by source,
    destination and chunk, or route. Time is O(rows log rows) beside the grouping of
    routes.

    `moves`: routes, wavelengths and chunks of each round.
    """
    segments: list[Segment] = []
    parts = []
    for index, rows in enumerate(_by_round(moves)):
        routes = map(tuple, moves.route.take(rows).to_lists())
        wavelengths = moves.wavelength[rows].tolist()
        circuits = lit_circuits(zip(routes, wavelengths, strict=True))
        if not (segments and circuits.same_as(segments[-1].circuits)):
            segments.append(Segment(0, len(segments), circuits))
        parts.append(StepPart(index, 0, len(segments) - 1, _transfers(moves, rows)))
    algorithm = Algorithm(name, dict(parameters or {}), seed)
    table = fabric.table()
    return Schedule(table, collective, algorithm, tuple(segments), tuple(parts))


def _by_round(moves: ChunkMoves) -> Iterator[IntArray]:
    """Yield the rows of each round."""
    order = np.argsort(moves.round, kind="stable")
    starts = np.searchsorted(moves.round[order], np.arange(1, moves.round_count))
    if len(moves):
        yield from np.split(order, starts)


def _transfers(moves: ChunkMoves, rows: IntArray) -> Transfers:
    """Return the transfers of one round."""
    rows = rows[np.lexsort((moves.chunk[rows], moves.dst[rows], moves.src[rows]))]
    src, dst, chunk = moves.src[rows], moves.dst[rows], moves.chunk[rows]
    goes_on = (src[1:] == src[:-1]) & (dst[1:] == dst[:-1])
    goes_on &= chunk[1:] == chunk[:-1] + 1
    first = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    last = np.concatenate([first[1:], [len(rows)]]) - 1
    op = moves.op[rows][first]
    return Transfers(src[first], dst[first], chunk[first], chunk[last] + 1, op)
