"""Rings along the lines of a torus, one dimension after another.

The 2D-torus all-reduce (Mikami et al., 2018; Ying et al., 2018), and with servers as
one dimension the hierarchical ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.parameters import TorusShape
from lightloom.plans.partition import Partition
from lightloom.plans.plan import Round, merged
from lightloom.plans.rank_box import Dimensions, Pieces
from lightloom.plans.rank_factors import nearly_square
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective


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
        pieces = Pieces(self.box, stream, self.streams, order, blocks)
        rank = np.arange(self.box.ranks, dtype=np.int64)
        origin = self.box.moved(rank, dimension, -step * hop)
        start, length = pieces.ranges(origin, order[:turn])
        # In a ring of two both directions lead to one peer, on one port.
        port = 2 * dimension + (against and self.box.sizes[dimension] > 2)
        cut = Partition(self.box.ranks * self.streams, self.collective.chunk_count)
        peer = self.box.moved(rank, dimension, step)[:, None]
        return cut.round(rank[:, None], peer, start, length, port=int(port), op=Op.COPY)


ALGORITHM = AlgorithmEntry(
    name="torus-rings",
    summary="rings along rows, then columns (2D-torus, hierarchical ring)",
    ops=TorusRings.ops,
    make=TorusRings,
)
