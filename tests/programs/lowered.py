"""Programs of schedules, and what they must compute."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from lightloom.core.errors import LightloomError
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective
from lightloom.formats.msccl_runtimes import RUNTIMES
from lightloom.instances.catalogue import load_instance
from lightloom.programs.lowering import lower
from lightloom.synth.synthesise import synthesise

if TYPE_CHECKING:
    from lightloom.core.chunk_program import ChunkProgram
    from lightloom.core.schedule import Schedule

OPERATIONS = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "broadcast",
    "reduce",
    "reduce-scatter",
)
FINE = {"auto", "one-relay", "packed-trees", "part-trees"}
"""What may divide a buffer down to 8 bytes a chunk: 131,072 chunks of 1 MiB."""


def sizes_of(algorithm: str) -> tuple[str, ...]:
    """Return the size to run an algorithm at, and one that takes too long for most."""
    return ("4KiB", "1MiB") if algorithm in FINE else ("1MiB",)


@functools.cache
def schedule_of(instance: str, algorithm: str = "auto") -> Schedule:
    """Return a schedule; `LightloomError` where the algorithm does not fit."""
    outcome = synthesise(load_instance(instance), algorithm)
    assert outcome.incumbent is not None
    return outcome.incumbent.schedule


def program_of(
    instance: str,
    algorithm: str = "auto",
    runtime: str = "msccl",
    buffers: str = "scratch",
) -> ChunkProgram | None:
    """Return the program of a schedule, ``None`` where there is none."""
    try:
        schedule = schedule_of(instance, algorithm)
        return lower(schedule, RUNTIMES[runtime], buffers=buffers)
    except LightloomError:
        return None


def inputs_of(program: ChunkProgram, seed: int = 0) -> list[list[int]]:
    """Return numbers for the inputs of all ranks."""
    chance = seeded_random(seed)
    return [
        [chance.randrange(1, 10**6) for _ in range(rank.input_chunks)]
        for rank in program.ranks
    ]


def expected(
    program: ChunkProgram, operation: str, inputs: list[list[int]]
) -> list[list[int]]:
    """Return what the outputs must hold, worked out from the definition alone."""
    n = len(inputs)
    block = program.chunks_per_loop // n
    whole = range(program.chunks_per_loop)
    has = [rank.output_chunks > 0 for rank in program.ranks]
    if operation in ("all-reduce", "reduce"):
        sums = [sum(data[chunk] for data in inputs) for chunk in whole]
        return [sums if there else [] for there in has]
    if operation == "reduce-scatter":
        sums = [sum(data[chunk] for data in inputs) for chunk in whole]
        return [sums[rank * block : (rank + 1) * block] for rank in range(n)]
    if operation == "all-gather":
        gathered = [value for data in inputs for value in data]
        return [gathered] * n
    if operation == "broadcast":
        (root,) = [data for data in inputs if data]
        return [root] * n
    return [
        [value for data in inputs for value in data[rank * block : (rank + 1) * block]]
        for rank in range(n)
    ]


__all__ = [
    "FINE",
    "OPERATIONS",
    "Collective",
    "expected",
    "inputs_of",
    "program_of",
    "schedule_of",
    "sizes_of",
]
