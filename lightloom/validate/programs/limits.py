"""The limits of runtimes: numbers of steps, thread blocks, channels and elements."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.violation import Violation
from lightloom.validate.programs.form import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.chunk_program import ChunkProgram, RankProgram
    from lightloom.formats.msccl_runtimes import MscclRuntime


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
        *_, found, most = count
        if found > most:
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
