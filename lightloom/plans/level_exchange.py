"""Rounds along one dimension of a box of ranks after another, all at once on parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.partition import Partition
from lightloom.plans.plan import merged
from lightloom.plans.rank_box import Dimensions, Pieces
from lightloom.plans.rank_factors import fitting_radices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round

Way: TypeAlias = Literal["all-to-all", "broadcast", "exchange", "gather", "scatter"]


def box_of_shape(shape: Sequence[int] | None, ranks: int, ports: int) -> Dimensions:
    """Return the box of a shape, or that of fewest rounds where none is given.

    `shape`: sizes of the dimensions, or ``None``.

    Raises `InputError` if the product of the shape is not the number of ranks.
    """
    near = fitting_radices(ranks, ports)
    chosen = near if shape is None else shape
    return Dimensions.of(chosen, ranks, fix=f"try {list(near)}")


def checked_parts(parts: int | None, box: Dimensions) -> int:
    """Return the parts of a buffer, as many as dimensions where not given.

    Raises `InputError` if there are more of them than dimensions.
    """
    most = max(1, len(box.sizes))
    if parts is not None and parts > most:
        what = f"{most} dimensions longer than one give at most {most} parts"
        raise InputError(what, where="algorithm.parts", found=parts)
    return parts or most


@dataclass(frozen=True)
class LineRows:
    """Transfers of one part along one dimension, broadcast to one shape."""

    src: IntArray
    dst: IntArray
    start: IntArray
    length: IntArray | int
    port: IntArray
    base: IntArray | int = 0

    def where(self, kept: IntArray) -> LineRows:
        """Return the rows at some positions, one after another."""
        shape = kept.shape
        src, dst, start, port, base = (
            np.broadcast_to(column, shape)[kept]
            for column in (self.src, self.dst, self.start, self.port, self.base)
        )
        return LineRows(src, dst, start, 1, port, base)


@dataclass(frozen=True)
class LevelExchange:
    """The rounds of a collective along the dimensions of a box, one in each turn.

    `parts`: parts of the buffer, of which part p begins with dimension p. `collective`:
    what is to be done, its chunk count chosen. `whole_blocks`: whether whole blocks are
    divided among the dimensions, instead of parts of all. `exchanged`: of an
    all-reduce: dimensions, the first of each part, along which ranks sum all that they
    hold of it instead of gathering it.
    """

    box: Dimensions
    parts: int
    collective: Collective
    blocks: bool
    whole_blocks: bool = False
    exchanged: int = 0

    def rounds(self, way: Way) -> list[Round]:
        """Return one round for each dimension in turn, all parts together.

        `way`: ranks gather what others hold, or sum what all hold; holders scatter what
        lies behind their peers, or broadcast their whole part; or blocks go on by a
        digit, all to all.
        """
        rows = {
            "all-to-all": self._all_to_all,
            "broadcast": self._broadcast,
            "exchange": self._exchange,
            "gather": self._gather,
            "scatter": self._scatter,
        }[way]
        cut = Partition(self.box.ranks * self.parts, self.collective.chunk_count)
        found = [
            merged(
                [
                    cut.round(
                        one.src,
                        one.dst,
                        one.start,
                        one.length,
                        port=one.port,
                        op=Op.REDUCE if way == "exchange" else Op.COPY,
                        base=one.base,
                    )
                    for one in self._at_once(rows, turn)
                ]
            )
            for turn in self._turns(way)
        ]
        return [one for one in found if one is not None]

    def _turns(self, way: Way) -> range:
        """Return the turns that a way takes."""
        if way == "exchange":
            return range(self.exchanged)
        return range(self.exchanged, len(self.box.sizes))

    def _at_once(
        self, rows: Callable[[int, int], LineRows], turn: int
    ) -> Iterator[LineRows]:
        """Yield the rows of a turn for each part, or each share of the blocks."""
        if not self.whole_blocks:
            yield from (rows(part, turn) for part in range(self.parts))
            return
        for first in range(len(self.box.sizes)):
            found = rows(first, turn)
            yield found.where(self._share(found) == first)

    def _share(self, rows: LineRows) -> IntArray:
        """Return the dimension that the block of each row begins with."""
        if self.collective.op == "all-to-all":
            source = np.asarray(rows.base) // self.collective.chunk_count
            return self.box.shares_of_ways(source, rows.start)
        return self.box.shares(rows.start)

    def _gather(self, part: int, turn: int) -> LineRows:
        """Return the rows in which ranks share what they have gathered so far."""
        order = self.box.order(part)
        rank = np.arange(self.box.ranks, dtype=np.int64)
        src, dst, port = self._line(rank, order[turn])
        if self.whole_blocks:
            free = order[:turn]
            held = self.box.corner(rank, free)[:, None] + self.box.inside(free)
            start = np.broadcast_to(held, (len(dst), *held.shape))
            return LineRows(src, dst, start, 1, port)
        pieces = Pieces(self.box, part, self.parts, order, self.blocks)
        start, length = pieces.ranges(rank, order[:turn])
        return LineRows(src, dst, start, length, port)

    def _exchange(self, part: int, turn: int) -> LineRows:
        """Return the rows in which ranks sum all that they hold of a part."""
        order = self.box.order(part)
        rank = np.arange(self.box.ranks, dtype=np.int64)
        src, dst, port = self._line(rank, order[turn])
        pieces = Pieces(self.box, part, self.parts, order, self.blocks)
        start, length = pieces.ranges(rank, order[: self.exchanged])
        return LineRows(src, dst, start, length, port)

    def _scatter(self, part: int, turn: int) -> LineRows:
        """Return the rows in which holders hand on what lies behind their peers.

        Dimensions come in the reverse of the order in which they are gathered.
        """
        order = self.box.order(part)
        dimension, ahead = order[-1 - turn], order[: len(order) - 1 - turn]
        holder = self._holders(order[len(order) - turn :])
        src, dst, port = self._line(holder, dimension)
        pieces = Pieces(self.box, part, self.parts, order, self.blocks)
        start, length = pieces.ranges(dst.reshape(-1), ahead)
        start = start.reshape(*dst.shape[:2], -1)
        return LineRows(src, dst, start, length, port)

    def _broadcast(self, part: int, turn: int) -> LineRows:
        """Return the rows in which holders hand on their whole part."""
        order = self.box.order(part)
        src, dst, port = self._line(self._holders(order[:turn]), order[turn])
        first = np.array(part * self.box.ranks, dtype=np.int64)
        return LineRows(src, dst, first, self.box.ranks, port)

    def _all_to_all(self, part: int, turn: int) -> LineRows:
        """Return the rows that correct one digit of every block on the way."""
        order = self.box.order(part)
        done, ahead = order[:turn], order[turn + 1 :]
        rank = np.arange(self.box.ranks, dtype=np.int64)
        src, dst, port = self._line(rank, order[turn])
        if self.whole_blocks:
            start = self.box.corner(dst, ahead) + self.box.inside(ahead)
            length: IntArray | int = 1
        else:
            pieces = Pieces(self.box, part, self.parts, order, blocks=True)
            start, length = pieces.ranges(dst.reshape(-1), ahead)
        start = start.reshape(*dst.shape[:2], 1, -1)
        owner = self.box.corner(rank, done)[:, None] + self.box.inside(done)
        base = owner[None, :, :, None] * self.collective.chunk_count
        src, dst, port = src[..., None], dst[..., None], port[..., None]
        return LineRows(src, dst, start, length, port, base)

    def _holders(self, free: tuple[int, ...]) -> IntArray:
        """Return the ranks that differ from the root along some dimensions only."""
        root = np.array([self.collective.root_rank], dtype=np.int64)
        return self.box.corner(root, free) + self.box.inside(free)

    def _line(
        self, rank: IntArray, dimension: int
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return (sources, peers, ports) along a line, shape (peers, ranks, 1)."""
        further = np.arange(1, self.box.sizes[dimension], dtype=np.int64)[:, None]
        peer = self.box.moved(rank, dimension, further)
        before = sum(size - 1 for size in self.box.sizes[:dimension])
        return rank[None, :, None], peer[..., None], (before + further - 1)[..., None]
