"""What an operation asks of buffers: sizes, contents before and after, aliases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.chunk_program import ChunkProgram, Place

OPERATIONS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reduce": "reduce",
    "broadcast": "broadcast",
    "alltoall": "all-to-all",
    "reduce_scatter": "reduce-scatter",
    "reducescatter": "reduce-scatter",
}
"""Operations whose result is known, by what programs call them."""


@dataclass(frozen=True)
class BufferLayout:
    """The buffers of one operation.

    `chunks`: chunks C of the whole buffer. `root`: rank of the root, where there is
    one.
    """

    operation: str
    ranks: int
    chunks: int
    root: int

    @classmethod
    def of(cls, program: ChunkProgram) -> BufferLayout:
        """Return the layout of a program whose operation is known.

        `program`: the root is the rank with the only input (broadcast) or output
        (reduce), rank 0 where several have one.
        """
        operation = OPERATIONS[program.collective]
        has_data = {
            "broadcast": [rank.input_chunks > 0 for rank in program.ranks],
            "reduce": [rank.output_chunks > 0 for rank in program.ranks],
        }.get(operation, [])
        root = has_data.index(True) if sum(has_data) == 1 else 0
        return cls(operation, len(program.ranks), program.chunks_per_loop, root)

    @property
    def block(self) -> int:
        """Chunks of one rank's block, rounded down."""
        return self.chunks // self.ranks

    def sizes(self, rank: int) -> tuple[int, int]:
        """Return how many chunks the input and the output of a rank have."""
        whole = (self.chunks, self.chunks)
        at_root = rank == self.root
        return {
            "all-gather": (self.block, self.chunks),
            "reduce-scatter": (self.chunks, self.block),
            "broadcast": (self.chunks * at_root, self.chunks),
            "reduce": (self.chunks, self.chunks * at_root),
        }.get(self.operation, whole)

    def results(self, rank: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield what the chunks of an output must be in the end, range by range.

        A range is (first, end, input chunk of the first, ranks that contribute, one bit
        each).
        """
        end = self.sizes(rank)[1]
        everyone = (1 << self.ranks) - 1
        if self.operation in ("all-reduce", "reduce"):
            yield 0, end, 0, everyone
        elif self.operation == "reduce-scatter":
            yield 0, end, rank * self.block, everyone
        elif self.operation == "broadcast":
            yield 0, end, 0, 1 << self.root
        else:
            sent = rank * self.block if self.operation == "all-to-all" else 0
            for owner in range(self.ranks):
                first = owner * self.block
                yield first, first + self.block, sent, 1 << owner

    def memory(self, rank: int, place: Place, *, in_place: bool) -> Place:
        """Return the place under the name by which its memory is known."""
        buffer, offset = place
        if not in_place or buffer in ("s", "p"):
            return place
        if self.operation == "all-gather" and buffer == "i":
            return "o", rank * self.block + offset
        if self.operation == "reduce-scatter":
            return ("o", offset if buffer == "i" else rank * self.block + offset)
        return "o", offset
