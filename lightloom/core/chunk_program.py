"""Programs of GPUs for a collective: thread blocks that move chunks, one GPU a rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Place: TypeAlias = tuple[str, int]
"""A chunk of a buffer of one GPU: (buffer, offset); buffers are ``i``, ``o``, ``s``."""

BUFFERS = {"i": "input", "o": "output", "s": "scratch"}
"""Buffers of a GPU by the letter that programs give them."""

NOP = "nop"
SENDS = frozenset({"s", "rcs", "rrs", "rrcs"})
"""Instructions that send `count` chunks to the thread block's send peer."""
RECEIVES = frozenset({"r", "rcs", "rrc", "rrs", "rrcs"})
"""Instructions that receive `count` chunks from its receive peer."""
REDUCES = frozenset({"rrc", "rrs", "rrcs", "re", "ra"})
"""Instructions that add two values."""
READS_SRC = frozenset({"s", "rrc", "rrs", "rrcs", "cpy", "re", "ra"})
"""Instructions that read `src` of their own GPU."""
WRITES_DST = frozenset({"r", "rcs", "rrc", "rrcs", "cpy", "re", "ra"})
"""Instructions that write `dst` of their own GPU."""
LOCAL = frozenset({"cpy", "re", "ra", "nop"})
"""Instructions that neither send nor receive."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a thread block.

    Attributes
    ----------
    kind
        ``s`` send, ``r`` receive, ``rcs`` receive, copy and send on, ``rrc`` receive,
        add `src` and store in `dst`, ``rrs`` the same but send instead of store,
        ``rrcs`` both, ``cpy`` copy `src` to `dst`, ``re`` and ``ra`` add `src` to
        `dst`, ``nop`` only wait.
    src, dst
        First chunk read and first chunk written. Of ``s``, `dst` is the receiver's;
        of ``r``, `src` is the sender's; both are for readers only.
    count
        Chunks, one after another from `src` and from `dst`.
    waits_for
        (thread block, step) of the same GPU that must have ended, or ``None``.
    awaited
        Whether another thread block waits for it.
    """

    kind: str
    src: Place
    dst: Place
    count: int
    waits_for: tuple[int, int] | None = None
    awaited: bool = False


@dataclass(frozen=True, slots=True)
class ThreadBlock:
    """Instructions that run one after another.

    Attributes
    ----------
    id
        Number among the thread blocks of its GPU.
    send_peer, receive_peer
        Ranks it sends to and receives from; -1 for none.
    channel
        Messages of a (sender, receiver, channel) arrive in the order they were sent.
    steps
        Its instructions.
    """

    id: int
    send_peer: int
    receive_peer: int
    channel: int
    steps: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class RankProgram:
    """What the GPU of one rank does.

    Attributes
    ----------
    id
        The rank.
    input_chunks, output_chunks, scratch_chunks
        Sizes of its buffers in chunks.
    thread_blocks
        Run at the same time.
    """

    id: int
    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    thread_blocks: tuple[ThreadBlock, ...]

    def chunks(self, buffer: str) -> int:
        """Return the size of a buffer in chunks."""
        sizes = (self.input_chunks, self.output_chunks, self.scratch_chunks)
        return dict(zip(BUFFERS, sizes, strict=True))[buffer]


@dataclass(frozen=True)
class ChunkProgram:
    """A collective as programs of GPUs, as MSCCL's interpreters run it.

    Attributes
    ----------
    name
        Name of the program.
    collective
        Name of the operation, in the words of the runtime.
    protocol
        ``Simple``, ``LL`` or ``LL128``.
    channels
        Number of channels.
    chunks_per_loop
        Chunks that the whole buffer of the operation is cut into.
    in_place, out_of_place
        Whether it may be run where input and output are the same memory, and where
        they are not.
    min_bytes, max_bytes
        Sizes of buffers for which it may be chosen; ``None`` where not given.
    ranks
        One program for each rank, rank r at place r where the program is sound.
    declared_ranks
        How many there are to be; ``None`` where not given.
    attributes
        Names of the attributes that the file gave of all this; empty for programs
        that come from no file.
    threads
        Threads of a thread block; 0 where the runtime chooses.
    refused
        (place, reason) of what can be read here but every runtime refuses to load.
    """

    name: str
    collective: str
    protocol: str
    channels: int
    chunks_per_loop: int
    in_place: bool
    out_of_place: bool
    min_bytes: int | None
    max_bytes: int | None
    ranks: tuple[RankProgram, ...]
    declared_ranks: int | None = None
    attributes: frozenset[str] = frozenset()
    threads: int = 0
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def instructions(self) -> list[Instruction]:
        """All instructions, thread block after thread block, GPU after GPU."""
        blocks = (block for rank in self.ranks for block in rank.thread_blocks)
        return [step for block in blocks for step in block.steps]

    @property
    def instruction_count(self) -> int:
        """Number of instructions of all thread blocks."""
        return len(self.instructions)
