"""The form of a program, the limits of a runtime, and the buffers of an operation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.chunk_program import NOP, READS_SRC, RECEIVES, SENDS, WRITES_DST
from lightloom.core.violation import Violation
from lightloom.formats.msccl_runtimes import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.chunk_program import (
        ChunkProgram,
        Place,
        RankProgram,
        ThreadBlock,
    )
    from lightloom.formats.msccl_runtimes import MscclRuntime


def place_of(rank: int, block: int | None = None, step: int | None = None) -> str:
    """Return a place of a program in words."""
    text = f"gpu {rank}"
    text += "" if block is None else f" tb {block}"
    return text if step is None else f"{text} step {step}"


def check_form(program: ChunkProgram, runtime: MscclRuntime) -> Iterator[Violation]:
    """Yield what is wrong with the form of a program."""
    yield from _check_header(program, runtime)
    if program.collective in OPERATIONS:
        sizes = [(rank.input_chunks, rank.output_chunks) for rank in program.ranks]
        yield from check_sizes(BufferLayout.of(program), sizes)
    elif runtime.whole_buffers:
        yield from _check_whole_buffers(program, runtime)
    for number, rank in enumerate(program.ranks):
        if rank.id != number:
            message = f"GPU {number} of the file has the id {rank.id}"
            yield Violation("program-ranks", None, place_of(rank.id), message)
        yield from _check_blocks(program, rank)


def _check_header(program: ChunkProgram, runtime: MscclRuntime) -> Iterator[Violation]:
    name, count = program.collective, len(program.ranks)
    if program.declared_ranks not in (None, count):
        message = f"ngpus is {program.declared_ranks}, the file has {count}"
        yield Violation("program-ranks", None, "algo", message)
    if name not in runtime.operations.values() and name != "custom":
        operations = ", ".join(runtime.operations.values())
        message = f"{runtime.name} has no operation {name!r}, it has {operations}"
        yield Violation("program-operation", None, "algo coll", message)
    elif name == "custom" and runtime.name != "msccl":
        message = f"{runtime.name} has no custom operations"
        yield Violation("program-operation", None, "algo coll", message)
    if program.attributes:
        for missing in sorted(set(runtime.required) - program.attributes):
            message = f"{runtime.name} refuses a program without {missing}"
            yield Violation("program-attributes", None, f"algo {missing}", message)
    yield from _check_values_of_header(program, runtime)
    if not program.instruction_count:
        yield Violation("program-vacuous", None, "algo", "there is no step at all")
    if not (program.in_place or program.out_of_place):
        message = "it runs neither in place nor out of place: it is never chosen"
        yield Violation("program-vacuous", None, "algo inplace, outofplace", message)


def _check_values_of_header(
    program: ChunkProgram, runtime: MscclRuntime
) -> Iterator[Violation]:
    """Yield attributes of values that the loader refuses, and what no loader reads."""
    if program.protocol not in PROTOCOLS:
        message = f"proto is {program.protocol!r}, allowed: {', '.join(PROTOCOLS)}"
        yield Violation("program-attributes", None, "algo proto", message)
    if runtime.warp and program.threads % runtime.warp:
        message = (
            f"nthreads is {program.threads}, {runtime.name} takes multiples of"
            f" {runtime.warp}"
        )
        yield Violation("program-attributes", None, "algo nthreads", message)
    for place, reason in program.refused:
        yield Violation("program-text", None, place, reason)


def check_sizes(
    layout: BufferLayout, sizes: Sequence[tuple[int, int]]
) -> Iterator[Violation]:
    """Yield buffers that are not of the size of the operation; no chunks is allowed.

    `sizes`: chunks of the input and of the output of each rank.
    """
    blocks = layout.operation in ("all-gather", "reduce-scatter", "all-to-all")
    if blocks and layout.chunks % max(layout.ranks, 1):
        message = (
            f"the {layout.chunks} chunks of the buffer are not a multiple of"
            f" {layout.ranks} GPUs, so {layout.operation} leaves data where they are"
        )
        yield Violation("program-vacuous", None, "chunks", message)
        return
    for rank, given in enumerate(sizes):
        sides = zip(("input", "output"), given, layout.sizes(rank), strict=True)
        for side, has, asked in sides:
            if has not in (0, asked) and not (asked == 0 and has == layout.chunks):
                message = f"{side} has {has} chunks, {layout.operation} asks {asked}"
                yield Violation("program-chunks", None, place_of(rank), message)


def _check_whole_buffers(
    program: ChunkProgram, runtime: MscclRuntime
) -> Iterator[Violation]:
    """Yield buffers of an unknown operation that the loader wants larger or smaller."""
    for rank in program.ranks:
        for side, has in (("input", rank.input_chunks), ("output", rank.output_chunks)):
            if has not in (0, program.chunks_per_loop):
                message = (
                    f"{side} has {has} chunks, {runtime.name} takes nchunksperloop,"
                    f" {program.chunks_per_loop}, or none"
                )
                yield Violation("program-chunks", None, place_of(rank.id), message)


def _check_blocks(program: ChunkProgram, rank: RankProgram) -> Iterator[Violation]:
    connections: dict[tuple[str, int, int], int] = {}
    awaited: set[tuple[int, int]] = set()
    for number, block in enumerate(rank.thread_blocks):
        where = place_of(rank.id, block.id)
        if block.id != number:
            message = f"thread block {number} of its GPU has the id {block.id}"
            yield Violation("program-ranks", None, where, message)
        for side, peer in (("send", block.send_peer), ("recv", block.receive_peer)):
            if peer == -1:
                continue
            if not 0 <= peer < len(program.ranks) or peer == rank.id:
                message = f"{side} is {peer}, allowed: another rank, or -1"
                yield Violation("program-peer", None, where, message)
            other = connections.setdefault((side, peer, block.channel), block.id)
            if other != block.id:
                message = f"{side} {peer} on channel {block.channel} is tb {other}'s"
                yield Violation("program-connection", None, where, message)
        yield from _check_steps(rank, block, awaited)
    for number, block in enumerate(rank.thread_blocks):
        for place, step in enumerate(block.steps):
            if (number, place) in awaited and not step.awaited:
                message = "hasdep is 0, but a step waits for this one"
                where = place_of(rank.id, block.id, place)
                yield Violation("program-awaited", place, where, message)


def _check_steps(
    rank: RankProgram, block: ThreadBlock, awaited: set[tuple[int, int]]
) -> Iterator[Violation]:
    """Yield what is wrong with the steps of a block; note what they wait for."""
    chain = False
    for number, step in enumerate(block.steps):
        where = place_of(rank.id, block.id, number)
        if step.kind != NOP:
            if chain and step.waits_for is None:
                message = (
                    "has no depid, behind a nop that has one: the loaders refuse it"
                )
                yield Violation("program-chain", number, where, message)
            chain = False
        chain |= step.kind == NOP and step.waits_for is not None
        for side, kinds, peer in (
            ("send", SENDS, block.send_peer),
            ("recv", RECEIVES, block.receive_peer),
        ):
            if step.kind in kinds and peer == -1:
                message = f"{step.kind} in a thread block without {side} peer"
                yield Violation("program-peer", number, where, message)
        if step.kind != NOP and not step.count:
            message = f"cnt of {step.kind} is 0, allowed: 1 or more"
            yield Violation("program-offset", number, where, message)
        for side, kinds, (buffer, offset) in (
            ("src", READS_SRC, step.src),
            ("dst", WRITES_DST, step.dst),
        ):
            size = rank.chunks(buffer)
            if step.kind in kinds and not 0 <= offset <= size - step.count:
                message = (
                    f"{side} {buffer}[{offset}:{offset + step.count}] is beyond the"
                    f" buffer's {size} chunks"
                )
                yield Violation("program-offset", number, where, message)
        if step.waits_for is not None:
            yield from _check_reference(rank, block, number, step.waits_for, awaited)


def _check_reference(
    rank: RankProgram,
    block: ThreadBlock,
    number: int,
    reference: tuple[int, int],
    awaited: set[tuple[int, int]],
) -> Iterator[Violation]:
    other, step = reference
    there = 0 <= other < len(rank.thread_blocks)
    if not there or not 0 <= step < len(rank.thread_blocks[other].steps):
        message = f"waits for tb {other} step {step}, which does not exist"
    elif other == block.id and step >= number:
        message = f"waits for step {step} of its own thread block"
    else:
        awaited.add(reference)
        return
    where = place_of(rank.id, block.id, number)
    yield Violation("program-reference", number, where, message)


def check_limits(program: ChunkProgram, runtime: MscclRuntime) -> Iterator[Violation]:
    """Yield every limit of a runtime that a program exceeds."""
    if not runtime.zero_is_unlimited:
        least, most_bytes = program.min_bytes or 0, largest_bytes(program, runtime)
        if most_bytes is not None and most_bytes < least:
            missing = "" if program.max_bytes is not None else ", which it has not, so"
            message = f"maxBytes{missing} {most_bytes} is below minBytes {least}"
            yield Violation("program-limit", None, "algo maxBytes", message)
    for where, number, what, found, most in exceeded(program, runtime):
        message = f"{found} {what}, {runtime.name} takes {most} at most"
        yield Violation("program-limit", number, where, message, found - most)
    for rank in program.ranks:
        for block in rank.thread_blocks:
            for number, step in enumerate(block.steps):
                if step.kind not in runtime.kinds:
                    message = f"{runtime.name} has no instruction {step.kind}"
                    where = place_of(rank.id, block.id, number)
                    yield Violation("program-limit", number, where, message)


def largest_bytes(program: ChunkProgram, runtime: MscclRuntime) -> int | None:
    """Return the largest buffer a program may be chosen for, ``None`` for any."""
    most = program.max_bytes
    if most is None:
        return runtime.default_max_bytes
    return None if most == 0 and runtime.zero_is_unlimited else most


_Count: TypeAlias = "tuple[str, int | None, str, int, int]"
"""Where, in which step, what is counted, how many there are and may be at most."""


def exceeded(program: ChunkProgram, runtime: MscclRuntime) -> Iterator[_Count]:
    """Yield every number of a program that is larger than a runtime takes.

    Each is where, in which step, what is counted, how many there are, and may be.
    """
    for count in _counts(program, runtime):
        *_, counted, most = count
        if counted > most:
            yield count


def _counts(program: ChunkProgram, runtime: MscclRuntime) -> Iterator[_Count]:
    """Yield what a runtime limits; of steps only what is over a limit."""
    yield "algo", None, "channels", program.channels, runtime.most_channels
    for rank in program.ranks:
        yield from _rank_counts(rank, 1 + len(program.ranks), runtime)
        for block in rank.thread_blocks:
            where = place_of(rank.id, block.id)
            most = runtime.most_channels - 1
            yield where, None, "as chan", block.channel, most
            what = "steps in a thread block"
            yield where, None, what, len(block.steps), runtime.most_steps
            for number, step in enumerate(block.steps):
                awaited = -1 if step.waits_for is None else step.waits_for[0]
                if step.count > runtime.most_count:
                    where = place_of(rank.id, block.id, number)
                    yield where, number, "chunks", step.count, runtime.most_count
                if awaited > (most := runtime.most_awaited_block):
                    where = place_of(rank.id, block.id, number)
                    yield where, number, "as depid", awaited, most


def _rank_counts(
    rank: RankProgram, others: int, runtime: MscclRuntime
) -> Iterator[_Count]:
    """Yield what is counted for one GPU, which keeps so many elements of others."""
    blocks, where = rank.thread_blocks, place_of(rank.id)
    yield where, None, "thread blocks", len(blocks), runtime.most_thread_blocks
    elements = others + len(blocks) + sum(len(block.steps) for block in blocks)
    yield where, None, "XML elements", elements, runtime.most_elements
    for verb in ("send", "receive"):
        peers = [
            block.send_peer if verb == "send" else block.receive_peer
            for block in blocks
        ]
        channels = Counter(
            block.channel
            for block, peer in zip(blocks, peers, strict=True)
            if peer >= 0
        )
        for channel, count in sorted(channels.items()):
            what = f"thread blocks that {verb} on channel {channel}"
            yield where, None, what, count, runtime.most_peers_per_channel


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
