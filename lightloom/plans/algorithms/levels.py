"""Collectives along one dimension of a box of ranks after another.

Direct exchange: the hierarchical collectives of SiPAC (Wu et al., 2023) and, with one
part, those of BCube (Guo et al., 2009). Trees, pipelined: those of Johnsson and Ho
(1989) for hypercubes, with lines of any length. Rings: the 2D-torus all-reduce (Mikami
et al., 2018; Ying et al., 2018), and with servers as one dimension the hierarchical
ring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.box import Dimensions, PartRanges, fitting_radices, nearly_square
from lightloom.plans.parameters import MOST, Parts, Pieces, Shape, TorusShape
from lightloom.plans.plan import Partition, Round, merged, reversed_rounds
from lightloom.plans.trees import CHUNKS_OF_A_PIECE, TreeRows, staggered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.setting import Setting


Way: TypeAlias = Literal["all-to-all", "broadcast", "exchange", "gather", "scatter"]

_IN_BLOCKS = ("all-gather", "all-to-all", "reduce-scatter")


class Levels(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Direct exchange along one dimension of a box of ranks at a time.

    With D dimensions of sizes r_1, ..., r_D a collective takes D rounds (all-reduce
    2 D), in each of which a rank talks to the r_d - 1 others of its line. The buffer
    is cut into `parts` parts; part p begins with dimension p, so with D parts every
    round uses all dimensions. All-gather, all-reduce, reduce-scatter, scatter and
    gather move the least data there is; all-to-all moves each block once for every
    digit in which its ends differ.

    An all-reduce may take one round for each of the `exchanged` dimensions in the
    middle, in which ranks sum all that they hold, where it takes two: fewer rounds, and
    more data, for small buffers.
    """

    shape: Shape = None
    parts: Parts = None
    pieces: Pieces = 1
    whole_blocks: Annotated[
        bool,
        msgspec.Meta(
            description="Each block as a whole begins along one dimension, instead of a"
            " part of it along each: fewer rows, but dimensions are unequally loaded"
            " while ranks hold few blocks. For all-gather, reduce-scatter and"
            " all-to-all, without parts."
        ),
    ] = False

    exchanged: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MOST,
            description="Dimensions of an all-reduce along which ranks sum all that"
            " they hold, in one round each instead of two.",
        ),
    ] = 0

    all_ops: ClassVar[tuple[str, ...]] = (
        *("all-gather", "all-reduce", "all-to-all", "broadcast"),
        *("gather", "reduce", "reduce-scatter", "scatter"),
    )

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do with these parameters."""
        if self.exchanged:
            return () if self.whole_blocks else ("all-reduce",)
        return _IN_BLOCKS if self.whole_blocks else self.all_ops

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return a chunk for each rank's piece of each part."""
        box = box_of_shape(self.shape, ranks, ports)
        return ranks * self._parts(box) * self.pieces

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of the collective."""
        box = box_of_shape(self.shape, collective.rank_count, ports)
        if self.exchanged > len(box.sizes):
            what = "more dimensions exchanged than there are"
            allowed = f"at most {len(box.sizes)}"
            where = "algorithm.exchanged"
            raise InputError(what, where=where, found=self.exchanged, allowed=allowed)
        made = LevelExchange(
            box,
            self._parts(box),
            collective,
            blocks=collective.op != "all-reduce",
            whole_blocks=self.whole_blocks,
            exchanged=self.exchanged,
            pieces=self.pieces,
        )
        return staggered([_rounds(made, piece) for piece in range(self.pieces)])

    def _parts(self, box: Dimensions) -> int:
        if not self.whole_blocks:
            return checked_parts(self.parts, box)
        if self.parts not in (None, 1) or self.pieces > 1:
            what = "with whole_blocks the buffer has one part, in one piece"
            found = [self.parts, self.pieces]
            raise InputError(what, where="algorithm.parts", found=found)
        return 1


_WAYS: dict[str, Way] = {
    "all-to-all": "all-to-all",
    "broadcast": "broadcast",
    "gather": "scatter",
    "reduce": "broadcast",
    "scatter": "scatter",
}
"""How data move, in one direction or the other; by default ranks gather."""


def _rounds(made: LevelExchange, piece: int) -> list[Round]:
    """Return the rounds of one piece."""
    op = made.collective.op
    rounds = made.rounds(_WAYS.get(op, "gather"), piece)
    if op in ("all-gather", "all-to-all", "broadcast", "scatter"):
        return rounds
    back = made.turned_around(rounds, Op.COPY if op == "gather" else Op.REDUCE)
    if op != "all-reduce":
        return back
    return [*back, *made.rounds("exchange", piece), *rounds]


_Arcs = tuple["IntArray", "IntArray", "IntArray", "IntArray"]


class LevelTrees(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Trees that each begin along a dimension, each with its own part of the buffer.

    Digits are counted from the root. Tree (p, c) begins at the rank whose digit p is c
    and whose others are zero. In it a rank whose digit p is not c, as far as the tree
    has any, is fed by the rank that has c there; one whose digit p is c, by the rank
    with its last other nonzero digit zeroed, in the order p + 1, ..., D - 1, 0, ...,
    p - 1, and at last by the root. So there are two ways to have every rank hear at its
    full rate once the pipeline is full; circuits never change.

    - ``arcs``: a tree for every dimension p of r and every c from 1 to r - 1. A rank
      with digit p = a hears the trees (p, c), c other than a, from the r - 2 ranks of
      its line that are neither it nor the first one of it, and if a is zero from one
      more; tree (p, a), from the first rank along the nonzero digit before p in a
      circle. So each pair of a line bears one tree, in all (N - 1) sum (r - 1) of
      them for N ranks: all that do not enter the root.
    - One tree for each dimension, with c = 1 for ranks whose digit p is zero, and
      whatever their digit is for others. A rank hears the D trees along D different
      dimensions; what it sends along a dimension is of one tree, the same for all whom
      it feeds, in one transmission (``multicast``) or each passing on to the next.

    Trees are D + 1 deep at most, and deeper where ranks of a line form a ``chain``.
    """

    shape: Shape = None
    pieces: Pieces = 1
    lines: Annotated[
        Literal["arcs", "multicast", "chain"],
        msgspec.Meta(
            description="How ranks of a line feed one another. `arcs`: a tree for each"
            " pair of ranks, all pairs at once. `multicast`: one feeds all others with"
            " the same. `chain`: each passes on to the next, and the last to the one"
            " whose digit is zero; trees are deeper."
        ),
    ] = "arcs"

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return some chunks for each piece of each part."""
        box = box_of_shape(self.shape, ranks, ports)
        return max(1, len(self._trees(box))) * self.pieces * CHUNKS_OF_A_PIECE

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        box = box_of_shape(self.shape, collective.rank_count, ports)
        root = collective.root_rank
        begins = self._trees(box)
        found = [_arcs(box, root, begin, self.lines) for begin in begins]
        last = None
        if self.lines == "multicast":
            last = _rows(_last_arcs(box, root, found))
        return _rows(found).rounds(collective, self.pieces, last)

    def _trees(self, box: Dimensions) -> list[tuple[int, int]]:
        """Return (p, c) of each tree."""
        return [
            (dimension, first)
            for dimension, size in enumerate(box.sizes)
            for first in range(1, size if self.lines == "arcs" else 2)
        ]


def _rows(found: Sequence[_Arcs]) -> TreeRows:
    """Return the rows of trees, one after another."""
    src, dst, depth, port = (np.concatenate(one) for one in zip(*found, strict=True))
    return TreeRows(src, dst, depth, port, len(found))


def _digits(box: Dimensions, root: int) -> IntArray:
    """Return the digits of all ranks, counted from the root, shape (D, ranks)."""
    rank = np.arange(box.ranks, dtype=np.int64)
    origin = np.array(root, dtype=np.int64)
    return np.stack(
        [
            (box.digit(rank, dimension) - box.digit(origin, dimension)) % size
            for dimension, size in enumerate(box.sizes)
        ]
    )


def _last_arcs(box: Dimensions, root: int, found: Sequence[_Arcs]) -> list[_Arcs]:
    """Return the ways of the last pieces, in trees of one for each dimension."""
    digits = np.delete(_digits(box, root), root, axis=1)
    made = []
    for tree, arcs in enumerate(found):
        after = (tree + 1) % len(found)
        other = (digits[tree] == 0) & (digits[after] > 0)
        src, _, depth, port = found[after]
        behind = (src, arcs[1], depth + 1, port)
        first, second, third, fourth = (
            np.where(other, one, usual) for one, usual in zip(behind, arcs, strict=True)
        )
        made.append((first, second, third, fourth))
    return made


def _arcs(box: Dimensions, root: int, begin: tuple[int, int], lines: str) -> _Arcs:
    """Return (src, dst, depth of dst, port) of a tree, a row for each but the root."""
    tree, first = begin
    rank = np.arange(box.ranks, dtype=np.int64)
    sizes = np.array(box.sizes, dtype=np.int64)
    digits = _digits(box, root)
    along = np.full_like(rank, tree)
    for dimension in box.order(tree)[1:]:
        along[digits[dimension] > 0] = dimension
    off = digits[tree] != first if lines == "arcs" else digits[tree] == 0
    along[off] = tree
    if lines == "chain":
        # Who is off hangs below the last of its line.
        further = np.ones_like(rank)
        depth = digits.sum(axis=0) + off * sizes[tree]
    else:
        back = (digits[tree] - first) % sizes[tree]
        further = np.where(off, back, digits[along, rank])
        others = (digits > 0).sum(axis=0) - (digits[tree] > 0)
        depth = others + 1 + off
    feeder = rank.copy()
    for dimension in range(len(sizes)):
        mine = along == dimension
        feeder[mine] = box.moved(rank[mine], dimension, -further[mine])
    # Who is so many places further round has one port of the dimension.
    port = (np.cumsum(sizes - 1) - (sizes - 1))[along] + further - 1
    fed = rank != root
    return feeder[fed], rank[fed], depth[fed], port[fed]


class LevelScatterGather(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks are scattered from the root and all gathered, as by `Levels`; or back.

    That moves 2 B bytes through a rank for any number D of dimensions, where `Levels`,
    which hands on the whole, moves D B, or more where nothing is multicast.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    shape: Shape = None
    parts: Parts = None
    pieces: Pieces = 1

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return a chunk for each rank's piece of each part."""
        box = box_of_shape(self.shape, ranks, ports)
        return ranks * checked_parts(self.parts, box) * self.pieces

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        box = box_of_shape(self.shape, collective.rank_count, ports)
        made = LevelExchange(
            box,
            checked_parts(self.parts, box),
            collective,
            blocks=False,
            pieces=self.pieces,
        )
        return staggered([self._piece(made, piece) for piece in range(self.pieces)])

    def _piece(self, made: LevelExchange, piece: int) -> list[Round]:
        scatter, gather = (made.rounds(way, piece) for way in ("scatter", "gather"))
        if made.collective.op == "broadcast":
            return [*scatter, *gather]
        return [
            *made.turned_around(gather, Op.REDUCE),
            *made.turned_around(scatter, Op.COPY),
        ]


class TorusRings(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Rings along the first dimension, then along the next, until all is gathered.

    Along a dimension of size r every rank passes what it has gathered to its
    neighbour, r - 1 times. So all-gather takes the sum of (r - 1) rounds over the
    dimensions and moves the least data; reduce-scatter is its reversal and begins with
    the *last* dimension; all-reduce is both. On servers of GPUs, shape
    (servers, GPUs) is the hierarchical ring: most data stay inside servers.

    The buffer is cut into `parts` parts, of which part p begins with dimension p, so
    that links of all dimensions work at once; with `both_ways` each part is halved
    again, and the halves run round their rings in opposite directions.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-gather", "all-reduce", "reduce-scatter")

    shape: TorusShape = None
    parts: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=64,
            description="Parts of the buffer, of which part p begins with dimension p;"
            " at most as many as dimensions.",
        ),
    ] = 1
    both_ways: Annotated[
        bool,
        msgspec.Meta(
            description="Each part is halved, and the halves run round their rings in"
            " opposite directions."
        ),
    ] = False

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return a chunk for each rank's piece of each part."""
        del ports
        self._box(ranks)
        return ranks * self._streams

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of reduce-scatter, of all-gather, or of both."""
        del ports
        box = self._box(collective.rank_count)
        made = _Rings(box, self.parts, self._streams, collective)
        rounds: list[Round] = []
        if collective.op != "all-gather":
            # Backwards, so that its reversal runs the same way round.
            rounds += reversed_rounds(made.gather(-1), Op.REDUCE)
        if collective.op != "reduce-scatter":
            rounds += made.gather(1)
        return rounds

    @property
    def _streams(self) -> int:
        """Parts, each counted once for each direction."""
        return self.parts * (1 + self.both_ways)

    def _box(self, ranks: int) -> Dimensions:
        near = nearly_square(ranks)
        shape = near if self.shape is None else self.shape
        box = Dimensions.of(shape, ranks, fix=f"try {list(near)}")
        if self.parts > max(1, len(box.sizes)):
            most = max(1, len(box.sizes))
            what = f"{most} dimensions longer than one give at most {most} parts"
            raise InputError(what, where="algorithm.parts", found=self.parts)
        return box


@dataclass(frozen=True)
class _Rings:
    """The all-gather rounds of `TorusRings`."""

    box: Dimensions
    parts: int
    streams: int
    collective: Collective

    def gather(self, way: int) -> list[Round]:
        """Return the rounds; `way` is 1 or -1, the direction of the first streams.

        A turn lasts as long as the longest ring in it.
        """
        rounds: list[Round | None] = []
        for turn in range(len(self.box.sizes)):
            along = [
                self.box.order(stream % self.parts)[turn]
                for stream in range(self.streams)
            ]
            longest = max(self.box.sizes[dimension] for dimension in along)
            rounds += [
                merged(
                    [
                        self._pass_on(stream, turn, hop, way)
                        for stream, dimension in enumerate(along)
                        if hop < self.box.sizes[dimension] - 1
                    ]
                )
                for hop in range(longest - 1)
            ]
        return [one for one in rounds if one is not None]

    def _pass_on(self, stream: int, turn: int, hop: int, way: int) -> Round | None:
        """Return the rows in which ranks pass on what set out `hop` ranks behind."""
        order = self.box.order(stream % self.parts)
        dimension = order[turn]
        against = stream >= self.parts
        step = -way if against else way
        blocks = self.collective.op != "all-reduce"
        pieces = PartRanges(self.box, stream, self.streams, order, blocks)
        rank = np.arange(self.box.ranks, dtype=np.int64)
        origin = self.box.moved(rank, dimension, -step * hop)
        start, length = pieces.ranges(origin, order[:turn])
        # In a ring of two both directions lead to one peer, on one port.
        port = 2 * dimension + (against and self.box.sizes[dimension] > 2)
        cut = Partition(self.box.ranks * self.streams, self.collective.chunk_count)
        peer = self.box.moved(rank, dimension, step)[:, None]
        return cut.round(rank[:, None], peer, start, length, port=int(port), op=Op.COPY)


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
    hold of it instead of gathering it. `pieces`: pieces of each part.
    """

    box: Dimensions
    parts: int
    collective: Collective
    blocks: bool
    whole_blocks: bool = False
    exchanged: int = 0
    pieces: int = 1

    def rounds(self, way: Way, piece: int = 0) -> list[Round]:
        """Return one round for each dimension in turn, one piece of all parts together.

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
        one_part = self._ranges(0, self.box.order(0)).pieces
        cut = Partition(one_part * self._shares, self.collective.chunk_count)
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
                    for one in self._at_once(rows, turn, piece)
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

    def turned_around(self, rounds: Sequence[Round], op: Op) -> list[Round]:
        """Return rounds in reverse, on the ports that the same pairs have forwards."""
        ports = [
            np.arange(size - 1)[::-1] + sum(self.box.sizes[:axis]) - axis
            for axis, size in enumerate(self.box.sizes)
        ]
        mirrored = np.concatenate(ports)
        back = reversed_rounds(rounds, op)
        return [replace(one, port=mirrored[one.port]) for one in back]

    def _ranges(
        self, part: int, order: tuple[int, ...], *, blocks: bool | None = None
    ) -> PartRanges:
        """Return where the pieces of a part lie."""
        blocks = self.blocks if blocks is None else blocks
        return PartRanges(self.box, part, self._shares, order, blocks)

    def _order(self, part: int) -> tuple[int, ...]:
        """Return the order in which dimensions are gathered, of a part of a piece."""
        return self.box.order(part if self.whole_blocks else part % self.parts)

    @property
    def _shares(self) -> int:
        """How many shares of the buffer are moved each by itself."""
        return self.parts * self.pieces

    def _at_once(
        self, rows: Callable[[int, int], LineRows], turn: int, piece: int
    ) -> Iterator[LineRows]:
        """Yield the rows of a turn for each part, or each share of the blocks."""
        if not self.whole_blocks:
            first = piece * self.parts
            yield from (rows(first + part, turn) for part in range(self.parts))
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
        order = self._order(part)
        rank = np.arange(self.box.ranks, dtype=np.int64)
        src, dst, port = self._line(rank, order[turn])
        if self.whole_blocks:
            free = order[:turn]
            held = self.box.corner(rank, free)[:, None] + self.box.inside(free)
            start = np.broadcast_to(held, (len(dst), *held.shape))
            return LineRows(src, dst, start, 1, port)
        pieces = self._ranges(part, order)
        start, length = pieces.ranges(rank, order[:turn])
        return LineRows(src, dst, start, length, port)

    def _exchange(self, part: int, turn: int) -> LineRows:
        """Return the rows in which ranks sum all that they hold of a part."""
        order = self._order(part)
        rank = np.arange(self.box.ranks, dtype=np.int64)
        src, dst, port = self._line(rank, order[turn])
        pieces = self._ranges(part, order)
        start, length = pieces.ranges(rank, order[: self.exchanged])
        return LineRows(src, dst, start, length, port)

    def _scatter(self, part: int, turn: int) -> LineRows:
        """Return the rows in which holders hand on what lies behind their peers.

        Dimensions come in the reverse of the order in which they are gathered.
        """
        order = self._order(part)
        dimension, ahead = order[-1 - turn], order[: len(order) - 1 - turn]
        holder = self._holders(order[len(order) - turn :])
        src, dst, port = self._line(holder, dimension)
        pieces = self._ranges(part, order)
        start, length = pieces.ranges(dst.reshape(-1), ahead)
        start = start.reshape(*dst.shape[:2], -1)
        return LineRows(src, dst, start, length, port)

    def _broadcast(self, part: int, turn: int) -> LineRows:
        """Return the rows in which holders hand on their whole part."""
        order = self._order(part)
        src, dst, port = self._line(self._holders(order[:turn]), order[turn])
        first = np.array(part * self.box.ranks, dtype=np.int64)
        return LineRows(src, dst, first, self.box.ranks, port)

    def _all_to_all(self, part: int, turn: int) -> LineRows:
        """Return the rows that correct one digit of every block on the way."""
        order = self._order(part)
        done, ahead = order[:turn], order[turn + 1 :]
        rank = np.arange(self.box.ranks, dtype=np.int64)
        src, dst, port = self._line(rank, order[turn])
        if self.whole_blocks:
            start = self.box.corner(dst, ahead) + self.box.inside(ahead)
            length: IntArray | int = 1
        else:
            pieces = self._ranges(part, order, blocks=True)
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


_MOST_ROWS = 2**21
"""Transfers of a plan beyond which whole blocks are preferred to parts of them."""


def _has_blocks(op: str) -> bool:
    return op in _IN_BLOCKS or op in ("gather", "scatter")


def _parts_proposed(setting: Setting) -> list[int]:
    """Return as many parts as dimensions, where rows are not too many, and one."""
    dimensions = len(setting.sizes)
    if not dimensions or (
        _has_blocks(setting.op) and setting.ranks**2 * dimensions > _MOST_ROWS
    ):
        return [1] if setting.shape else []
    return sorted({1, dimensions}, reverse=True)


def _pieces_proposed(setting: Setting) -> list[int]:
    """Return numbers of pieces for which idle links are worth more rounds.

    Where circuits are set, pieces of one level would take light from those of another;
    where nodes are linked, far ranks of a line share its links in any case.
    P pieces of h + 1 stages take (P + h) (1 + R / P) rounds where stages share no
    link; where they share all, a fourth as many pieces are best.
    """
    lasts, hops = setting.rounds_of_data, 2 * len(setting.sizes) - 1
    if setting.circuits or setting.linked or hops < 1 or not lasts:
        return []
    best = setting.best_pieces(hops)
    rows = setting.ranks * sum(setting.sizes)
    most = _MOST_ROWS // (rows * (setting.ranks if _has_blocks(setting.op) else 1))
    return sorted({min(best // part, most) for part in (1, 2, 4)} - {0, 1})


def _levels(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the box, all parts at once or one, and exchanges of whole parts."""
    box = {"shape": [*setting.shape]}
    for pieces in _pieces_proposed(setting):
        yield {**box, "parts": 1, "pieces": pieces}
    proposed = _parts_proposed(setting)
    uneven = proposed == [1] and setting.op in _IN_BLOCKS and len(setting.sizes) > 1
    if uneven and setting.ranks**2 <= _MOST_ROWS:
        yield {**box, "whole_blocks": True}
    for parts in proposed:
        yield {**box, "parts": parts}
    if setting.op == "all-reduce" and proposed:
        for exchanged in range(1, len(setting.sizes) + 1):
            yield {**box, "parts": proposed[0], "exchanged": exchanged}


def _level_scatter_gathers(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the box, all parts at once or one, that one in pieces or not."""
    box = {"shape": [*setting.shape]}
    for pieces in _pieces_proposed(setting):
        yield {**box, "parts": 1, "pieces": pieces}
    for parts in _parts_proposed(setting):
        yield {**box, "parts": parts}


def _torus_rings(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the box, all parts at once or one, both ways round where light does."""
    for parts in _parts_proposed(setting):
        box = {"shape": [*setting.shape], "parts": parts}
        yield {**box, "both_ways": setting.both_ways}


def _level_trees(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the best lengths of pipelines, for each way to use a line.

    Pairs of long lines have few wavelengths: where circuits can be set as wanted, a
    chain or multicast does without most of them. By multicast the last piece costs a
    broadcast one step less.
    """
    sizes = setting.sizes
    if not sizes or not setting.circuits:
        return
    box = {"shape": [*setting.shape]}
    arcs = (setting.ranks - 1) * sum(size - 1 for size in sizes)
    pieces = min(setting.best_pieces(len(sizes)), _MOST_ROWS // max(arcs, 1))
    if pieces:
        yield {**box, "pieces": pieces, "lines": "arcs"}
    if setting.tunable and setting.op == "broadcast":
        fewer = setting.best_pieces(max(len(sizes) - 1, 0))
        for near in (fewer, fewer + 1):
            yield {**box, "pieces": near, "lines": "multicast"}
    elif setting.tunable:
        longer = setting.best_pieces(sum(sizes) - len(sizes))
        yield {**box, "pieces": longer, "lines": "chain"}


ALGORITHM = (
    AlgorithmEntry(
        name="levels",
        summary="direct exchange along one dimension at a time, all in use at once",
        ops=Levels.all_ops,
        make=Levels,
        proposals=_levels,
        along_lines=True,
    ),
    AlgorithmEntry(
        name="level-trees",
        summary="pipelined trees along lines of a box: large broadcast and reduce",
        ops=LevelTrees.ops,
        make=LevelTrees,
        proposals=_level_trees,
        along_lines=True,
    ),
    AlgorithmEntry(
        name="level-scatter-gather",
        summary="broadcast and reduce by blocks, one dimension of a box at a time",
        ops=LevelScatterGather.ops,
        make=LevelScatterGather,
        proposals=_level_scatter_gathers,
        along_lines=True,
    ),
    AlgorithmEntry(
        name="torus-rings",
        summary="rings along rows, then columns (2D-torus, hierarchical ring)",
        ops=TorusRings.ops,
        make=TorusRings,
        proposals=_torus_rings,
        along_lines=True,
    ),
)
