"""Levels: one dimension after another, all of them at once on different parts.

The hierarchical collectives of SiPAC (Wu et al., 2023) and, with one part, those of
BCube (Guo et al., 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.synth.algorithms import Entry, require_op
from lightloom.synth.algorithms.dimensions import Dimensions, Pieces
from lightloom.synth.algorithms.factors import fitting_radices
from lightloom.synth.algorithms.reversal import reversed_rounds
from lightloom.synth.partition import Partition
from lightloom.synth.plan import Plan, Round

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective

_ROOTED = ("broadcast", "gather", "reduce", "scatter")
_DEALT = ("all-gather", "all-to-all", "reduce-scatter")


class Levels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Direct exchange along one dimension of a box of ranks at a time.

    With D dimensions of sizes r_1, ..., r_D a collective takes D rounds (all-reduce
    2 D), in each of which a rank talks to the r_d - 1 others of its line. The buffer
    is cut into `parts` parts; part p begins with dimension p, so with D parts every
    round uses all dimensions. All-gather, all-reduce, reduce-scatter, scatter and
    gather move the least data there is; all-to-all moves each block once for every
    digit in which its ends differ.

    Attributes
    ----------
    shape
        Sizes of the dimensions, the last running fastest over the ranks; their
        product is the number of ranks. ``None``: the factors that need the fewest
        rounds of at most as many peers as there are ports.
    parts
        1 to D; D if ``None``.
    dealt
        1: whole blocks are dealt to the dimensions, and begin there. All-gather,
        reduce-scatter and all-to-all then use all dimensions with a row for each block,
        where parts need one for each part of it; dimensions are unequally loaded while
        ranks hold few blocks.
    through_blocks
        1: broadcast scatters blocks and gathers them all, and reduce does the
        reverse, which moves 2 B bytes through a rank for any D, where handing on
        the whole moves D B, or more where nothing is multicast.
    """

    shape: tuple[Annotated[int, msgspec.Meta(ge=1, le=2**20)], ...] | None = None
    parts: Annotated[int, msgspec.Meta(ge=1, le=64)] | None = None
    dealt: Literal[0, 1] = 0
    through_blocks: Literal[0, 1] = 0

    all_ops: ClassVar[tuple[str, ...]] = (
        *("all-gather", "all-reduce", "all-to-all", "broadcast"),
        *("gather", "reduce", "reduce-scatter", "scatter"),
    )

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do with these parameters."""
        if self.dealt:
            return () if self.through_blocks else _DEALT
        return ("broadcast", "reduce") if self.through_blocks else self.all_ops

    def granularity(self, ranks: int, ports: int) -> int:
        """Return a chunk for each rank's piece of each part."""
        return ranks * self._parts(self._box(ranks, ports))

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds of the collective."""
        require_op(self, collective)
        box = self._box(collective.rank_count, ports)
        if not box.sizes:
            return Plan(collective, ())
        op = collective.op
        blocks = op != "all-reduce" and not self.through_blocks
        parts = self._parts(box)
        made = _Exchange(box, parts, collective, blocks, dealt=bool(self.dealt))
        if op == "all-to-all":
            rounds = made.rounds(made.all_to_all)
        elif op in _ROOTED:
            rounds = self._rooted(made)
        else:
            gather = made.rounds(made.gather)
            down = [] if op == "all-gather" else reversed_rounds(gather, Op.REDUCE)
            rounds = down + ([] if op == "reduce-scatter" else gather)
        return Plan(collective, tuple(rounds))

    def _rooted(self, made: _Exchange) -> list[Round]:
        """Return the rounds from, or to, a root."""
        op = made.collective.op
        if self.through_blocks:
            scatter = made.rounds(made.scatter)
            gather = made.rounds(made.gather)
            if op == "broadcast":
                return scatter + gather
            down = reversed_rounds(gather, Op.REDUCE)
            return down + reversed_rounds(scatter, Op.COPY)
        if op in ("broadcast", "reduce"):
            rounds = made.rounds(made.broadcast)
            return rounds if op == "broadcast" else reversed_rounds(rounds, Op.REDUCE)
        rounds = made.rounds(made.scatter)
        return rounds if op == "scatter" else reversed_rounds(rounds, Op.COPY)

    def _box(self, ranks: int, ports: int) -> Dimensions:
        near = fitting_radices(ranks, ports)
        return Dimensions.of(
            near if self.shape is None else self.shape, ranks, fix=f"try {list(near)}"
        )

    def _parts(self, box: Dimensions) -> int:
        most = 1 if self.dealt else max(1, len(box.sizes))
        if self.parts is not None and self.parts > most:
            what = f"{most} dimensions longer than one give at most {most} parts"
            if self.dealt:
                what = "blocks that are dealt whole have one part"
            raise InputError(what, where="algorithm.parts", found=self.parts)
        return self.parts or most


@dataclass(frozen=True)
class _Rows:
    """Transfers of one part along one dimension, broadcast to one shape."""

    src: IntArray
    dst: IntArray
    start: IntArray
    length: IntArray | int
    port: IntArray
    base: IntArray | int = 0

    def where(self, kept: IntArray) -> _Rows:
        """Return the rows at some positions, one after another."""
        shape = kept.shape
        src, dst, start, port, base = (
            np.broadcast_to(column, shape)[kept]
            for column in (self.src, self.dst, self.start, self.port, self.base)
        )
        return _Rows(src, dst, start, 1, port, base)


@dataclass(frozen=True)
class _Exchange:
    """The rounds of `Levels` for a box, a number of parts and a collective.

    `blocks` is that of `Pieces`, `dealt` that of `Levels`.
    """

    box: Dimensions
    parts: int
    collective: Collective
    blocks: bool
    dealt: bool = False

    def rounds(self, rows: Callable[[int, int], _Rows]) -> list[Round]:
        """Return one round for each turn, all parts together."""
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
                        op=Op.COPY,
                        base=one.base,
                    )
                    for one in self._at_once(rows, turn)
                ]
            )
            for turn in range(len(self.box.sizes))
        ]
        return [one for one in found if one is not None]

    def _at_once(self, rows: Callable[[int, int], _Rows], turn: int) -> Iterator[_Rows]:
        """Yield the rows of a turn for each part, or each share of the blocks."""
        if not self.dealt:
            yield from (rows(part, turn) for part in range(self.parts))
            return
        for first in range(len(self.box.sizes)):
            found = rows(first, turn)
            yield found.where(self._share(found) == first)

    def _share(self, rows: _Rows) -> IntArray:
        """Return the dimension that the block of each row begins with."""
        if self.collective.op == "all-to-all":
            source = np.asarray(rows.base) // self.collective.chunk_count
            return self.box.shares_of_ways(source, rows.start)
        return self.box.shares(rows.start)

    def gather(self, part: int, turn: int) -> _Rows:
        """Return the rows in which ranks share what they have gathered so far."""
        order = self.box.order(part)
        rank = np.arange(self.box.ranks, dtype=np.int64)
        src, dst, port = self._line(rank, order[turn])
        if self.dealt:
            free = order[:turn]
            held = self.box.corner(rank, free)[:, None] + self.box.inside(free)
            start = np.broadcast_to(held, (len(dst), *held.shape))
            return _Rows(src, dst, start, 1, port)
        pieces = Pieces(self.box, part, self.parts, order, self.blocks)
        start, length = pieces.ranges(rank, order[:turn])
        return _Rows(src, dst, start, length, port)

    def scatter(self, part: int, turn: int) -> _Rows:
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
        return _Rows(src, dst, start, length, port)

    def broadcast(self, part: int, turn: int) -> _Rows:
        """Return the rows in which holders hand on their whole part."""
        order = self.box.order(part)
        src, dst, port = self._line(self._holders(order[:turn]), order[turn])
        first = np.array(part * self.box.ranks, dtype=np.int64)
        return _Rows(src, dst, first, self.box.ranks, port)

    def all_to_all(self, part: int, turn: int) -> _Rows:
        """Return the rows that correct one digit of every block on the way."""
        order = self.box.order(part)
        done, ahead = order[:turn], order[turn + 1 :]
        rank = np.arange(self.box.ranks, dtype=np.int64)
        src, dst, port = self._line(rank, order[turn])
        if self.dealt:
            start = self.box.corner(dst, ahead) + self.box.inside(ahead)
            length: IntArray | int = 1
        else:
            pieces = Pieces(self.box, part, self.parts, order, blocks=True)
            start, length = pieces.ranges(dst.reshape(-1), ahead)
        start = start.reshape(*dst.shape[:2], 1, -1)
        owner = self.box.corner(rank, done)[:, None] + self.box.inside(done)
        base = owner[None, :, :, None] * self.collective.chunk_count
        src, dst, port = src[..., None], dst[..., None], port[..., None]
        return _Rows(src, dst, start, length, port, base)

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


def merged(rounds: list[Round | None]) -> Round | None:
    """Return rounds of different parts as one."""
    some = [one for one in rounds if one is not None]
    if not some:
        return None
    return Round(*(np.concatenate(columns) for columns in _columns(some)))


def _columns(rounds: list[Round]) -> Iterator[tuple[IntArray, ...]]:
    """Yield each column of all rounds."""
    for name in ("src", "dst", "chunk_lo", "chunk_hi", "op", "port"):
        yield tuple(getattr(one, name) for one in rounds)


ALGORITHM = Entry(
    name="levels",
    summary="direct exchange along one dimension at a time, all in use at once",
    ops=Levels.all_ops,
    make=Levels,
)
