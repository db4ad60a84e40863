"""Programs of GPUs as schedules, and back again."""

from __future__ import annotations

import pytest

from lightloom.core.chunk_program import (
    ChunkProgram,
    Instruction,
    RankProgram,
    ThreadBlock,
)
from lightloom.core.errors import InputError
from lightloom.programs.import_schedule import imported, lift
from lightloom.validate import verify
from lightloom.validate.programs import verify_program
from tests.programs.lowered import OPERATIONS, program_of, schedule_of

BARRIERS = ("direct", "full-exchange", "lumorph-2", "lumorph-4", "multiport", "ring")


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("algorithm", ["auto", *BARRIERS])
@pytest.mark.parametrize("buffers", ["scratch", "direct"])
def test_round_trip(op: str, algorithm: str, buffers: str) -> None:
    """A schedule comes back valid; one whose every step waits has as many steps."""
    name = f"lightpath-16/{op}-1MiB"
    program = program_of(name, algorithm, buffers=buffers)
    if program is None:
        pytest.skip("the algorithm does not do this operation")
    lifted = lift(program, program.chunks_per_loop * 64)
    assert lifted.unused == 0
    back = imported(lifted.collective, lifted.parts, None, source="x.xml")
    assert verify(back).valid
    before = schedule_of(name, algorithm)
    if algorithm in BARRIERS:
        assert back.step_count == before.step_count
    assert back.step_count <= before.step_count


def program_with(operation: str, ranks: tuple[RankProgram, ...]) -> ChunkProgram:
    """Return a program of one chunk that runs in place."""
    return ChunkProgram(
        name="x",
        collective=operation,
        protocol="Simple",
        channels=1,
        chunks_per_loop=1,
        in_place=True,
        out_of_place=False,
        min_bytes=0,
        max_bytes=0,
        ranks=ranks,
    )


def step(
    kind: str, src: int, dst: int, waits: tuple[int, int] | None = None
) -> Instruction:
    """Return a step of one chunk in the input."""
    return Instruction(kind, ("i", src), ("i", dst), 1, waits)


def test_two_values_of_a_chunk_are_not_representable() -> None:
    """GPU 1 hands GPU 0's chunk to GPU 2, and then goes on with its own one."""
    scratch = ("s", 0)
    ranks = (
        RankProgram(0, 1, 1, 0, (ThreadBlock(0, 1, -1, 0, (step("s", 0, 0),)),)),
        RankProgram(
            1,
            1,
            1,
            1,
            (
                ThreadBlock(
                    0,
                    -1,
                    0,
                    0,
                    (Instruction("r", ("i", 0), scratch, 1, None, awaited=True),),
                ),
                ThreadBlock(
                    1, 2, -1, 0, (Instruction("s", scratch, scratch, 1, (0, 0)),)
                ),
                ThreadBlock(2, -1, 2, 0, (step("rrc", 0, 0, None),)),
                ThreadBlock(3, 0, -1, 0, (step("s", 0, 0, (2, 0)),)),
            ),
        ),
        RankProgram(
            2,
            1,
            1,
            0,
            (
                ThreadBlock(0, -1, 1, 0, (step("rrc", 0, 0),)),
                ThreadBlock(1, 1, -1, 0, (step("s", 0, 0, (0, 0)),)),
            ),
        ),
    )
    program = program_with("allreduce", ranks)
    with pytest.raises(InputError, match="not representable"):
        lift(program, 1)


def test_an_unknown_operation_is_refused() -> None:
    """Nobody knows what a custom program must compute."""
    program = program_with("custom", ())
    assert verify_program(program).unchecked
    with pytest.raises(InputError, match="result of this operation is not known"):
        lift(program, 1)
