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
    """Yield every limit of a runtime that a program exceeds.

    Parameters
    ----------
    program
        Of sound form or not.
    runtime
        Whose limits.
    """
    most_bytes = program.max_bytes
    if not runtime.zero_is_unlimited and most_bytes is not None:
        least = program.min_bytes or 0
        if most_bytes < least:
            message = f"maxBytes {most_bytes} is below minBytes {least}"
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


_Count: TypeAlias = "tuple[str, int | None, str, int, int]"
"""Where, in which step, what is counted, how many there are and may be at most."""


def exceeded(program: ChunkProgram, runtime: MscclRuntime) -> Iterator[_Count]:
    """Yield every number of a program that is larger than a runtime takes.

    Parameters
    ----------
    program
        Of sound form or not.
    runtime
        Whose limits.

    Notes
    -----
    Each is where, in which step, what is counted, how many there are, and may be.
    """
    for count in _counts(program, runtime):
        *_, found, most = count
        if found > most:
            yield count


def _counts(program: ChunkProgram, runtime: MscclRuntime) -> Iterator[_Count]:
    """Yield what a runtime limits; of steps only what is over a limit."""
    name, channels = len(program.name), program.channels
    yield "algo name", None, "characters", name, runtime.most_name
    yield "algo", None, "channels", channels, runtime.most_channels
    for rank in program.ranks:
        yield from _rank_counts(rank, runtime)
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


def _rank_counts(rank: RankProgram, runtime: MscclRuntime) -> Iterator[_Count]:
    """Yield what is counted for one GPU."""
    blocks, where = rank.thread_blocks, place_of(rank.id)
    yield where, None, "thread blocks", len(blocks), runtime.most_thread_blocks
    elements = 1 + len(blocks) + sum(len(block.steps) for block in blocks)
    yield where, None, "XML elements", elements, runtime.most_elements
    for channel, count in sorted(Counter(block.channel for block in blocks).items()):
        what = f"thread blocks on channel {channel}"
        yield where, None, what, count, runtime.most_blocks_per_channel
