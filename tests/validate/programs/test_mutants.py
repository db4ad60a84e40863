"""Programs after one change: what is wrong is named, what is not named is right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lightloom.core.chunk_program import (
    ChunkProgram,
    Instruction,
    RankProgram,
    ThreadBlock,
)
from lightloom.core.seed import seeded_random
from lightloom.formats.msccl_runtimes import RUNTIMES
from lightloom.validate.programs import verify_program
from lightloom.validate.programs.execution import FifoSlots, flatten, hangs_from_bytes
from tests.oracle.program_executor import HangError, outputs
from tests.programs.lowered import expected, inputs_of, program_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

Place = tuple[int, int, int]
MSCCL = RUNTIMES["msccl"]
CASES = (
    ("lightpath-8/all-reduce-1KiB", "full-exchange", "scratch"),
    ("lightpath-8/all-reduce-1KiB", "full-exchange", "direct"),
    ("lightpath-8/all-reduce-1MiB", "lumorph-2", "scratch"),
    ("lightpath-8/all-gather-1MiB", "lumorph-2", "scratch"),
    ("lightpath-8/reduce-scatter-1MiB", "ring", "scratch"),
    ("lightpath-8/all-to-all-1MiB", "bruck", "scratch"),
    ("lightpath-8/broadcast-1MiB", "tree", "scratch"),
)


def places(program: ChunkProgram) -> list[Place]:
    """Return (GPU, thread block, step) of every step."""
    return [
        (rank.id, block.id, number)
        for rank in program.ranks
        for block in rank.thread_blocks
        for number in range(len(block.steps))
    ]


def at(program: ChunkProgram, place: Place) -> Instruction:
    """Return a step."""
    rank, block, number = place
    return program.ranks[rank].thread_blocks[block].steps[number]


def changed(
    program: ChunkProgram, place: Place, steps: Callable[[list[Instruction]], None]
) -> ChunkProgram:
    """Return the program with the steps of one thread block changed."""
    rank, block, _ = place
    mine = list(program.ranks[rank].thread_blocks[block].steps)
    steps(mine)
    blocks = list(program.ranks[rank].thread_blocks)
    blocks[block] = replace(blocks[block], steps=tuple(mine))
    ranks: list[RankProgram] = list(program.ranks)
    ranks[rank] = replace(ranks[rank], thread_blocks=tuple(blocks))
    return with_marks(replace(program, ranks=tuple(ranks)))


def with_marks(program: ChunkProgram) -> ChunkProgram:
    """Return the program with hasdep as the references have it."""
    awaited = {
        (rank.id, *step.waits_for)
        for rank in program.ranks
        for block in rank.thread_blocks
        for step in block.steps
        if step.waits_for is not None
    }
    ranks = [
        replace(
            rank,
            thread_blocks=tuple(
                replace(
                    block,
                    steps=tuple(
                        replace(step, awaited=(rank.id, block.id, number) in awaited)
                        for number, step in enumerate(block.steps)
                    ),
                )
                for block in rank.thread_blocks
            ),
        )
        for rank in program.ranks
    ]
    return replace(program, ranks=tuple(ranks))


def drop_reference(program: ChunkProgram, chance: random.Random) -> ChunkProgram:
    """Return the program with a step that no longer waits."""
    waiting = [p for p in places(program) if at(program, p).waits_for is not None]
    place = chance.choice(waiting)

    def change(steps: list[Instruction]) -> None:
        steps[place[2]] = replace(steps[place[2]], waits_for=None)

    return changed(program, place, change)


def swap_steps(program: ChunkProgram, chance: random.Random) -> ChunkProgram:
    """Return the program with two steps of a thread block in the other order."""
    place = chance.choice([p for p in places(program) if p[2] > 0])

    def change(steps: list[Instruction]) -> None:
        number = place[2]
        steps[number - 1], steps[number] = steps[number], steps[number - 1]

    return changed(program, place, change)


def shift_offset(program: ChunkProgram, chance: random.Random) -> ChunkProgram:
    """Return the program with a step one chunk further on."""
    place = chance.choice(places(program))

    def change(steps: list[Instruction]) -> None:
        step = steps[place[2]]
        if chance.random() < 0.5:
            step = replace(step, src=(step.src[0], step.src[1] + 1))
        else:
            step = replace(step, dst=(step.dst[0], step.dst[1] + 1))
        steps[place[2]] = step

    return changed(program, place, change)


def change_count(program: ChunkProgram, chance: random.Random) -> ChunkProgram:
    """Return the program with a step that moves a chunk more or less."""
    place = chance.choice(places(program))

    def change(steps: list[Instruction]) -> None:
        step = steps[place[2]]
        steps[place[2]] = replace(step, count=step.count + chance.choice((-1, 1)))

    return changed(program, place, change)


def change_kind(program: ChunkProgram, chance: random.Random) -> ChunkProgram:
    """Return the program with a step that adds instead of storing, or the reverse."""
    other = {"r": "rrc", "rrc": "r", "re": "cpy", "cpy": "re", "s": "s", "nop": "nop"}
    place = chance.choice([p for p in places(program) if at(program, p).kind != "s"])

    def change(steps: list[Instruction]) -> None:
        step = steps[place[2]]
        steps[place[2]] = replace(step, kind=other[step.kind])

    return changed(program, place, change)


def drop_step(program: ChunkProgram, chance: random.Random) -> ChunkProgram:
    """Return the program without one step; references to later ones follow."""
    place = chance.choice(places(program))
    rank, block, number = place
    before = program.ranks[rank]
    moved = {}
    for other in range(number + 1, len(before.thread_blocks[block].steps)):
        moved[block, other] = (block, other - 1)

    def fix(step: Instruction) -> Instruction:
        if step.waits_for == (block, number):
            return replace(step, waits_for=None)
        if step.waits_for in moved:
            return replace(step, waits_for=moved[step.waits_for])
        return step

    blocks = [
        replace(
            each,
            steps=tuple(
                fix(step)
                for count, step in enumerate(each.steps)
                if (each.id, count) != (block, number)
            ),
        )
        for each in before.thread_blocks
    ]
    ranks = list(program.ranks)
    ranks[rank] = replace(before, thread_blocks=tuple(blocks))
    return with_marks(replace(program, ranks=tuple(ranks)))


MUTATIONS = (
    drop_reference,
    swap_steps,
    shift_offset,
    change_count,
    change_kind,
    drop_step,
)


ORDERS = [
    pytest.param(8, id="8-orders"),
    pytest.param(1000, id="1000-orders", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.__name__)
@pytest.mark.parametrize(("instance", "algorithm", "buffers"), CASES)
def test_what_is_not_named_is_right(
    instance: str,
    algorithm: str,
    buffers: str,
    mutation: Callable[[ChunkProgram, random.Random], ChunkProgram],
    orders: int,
) -> None:
    """A mutant that the checker accepts computes the same in every order tried."""
    program = program_of(instance, algorithm, buffers=buffers)
    assert program is not None
    inputs = inputs_of(program)
    operation = instance.split("/")[1].rsplit("-", 1)[0]
    right = expected(program, operation, inputs)
    has_references = any(
        at(program, place).waits_for is not None for place in places(program)
    )
    if mutation is drop_reference and not has_references:
        pytest.skip("nothing waits for another thread block")
    if mutation is swap_steps and all(place[2] == 0 for place in places(program)):
        pytest.skip("thread blocks have one step each")
    for seed in range(12):
        chance = seeded_random(seed)
        mutant = mutation(program, chance)
        verdict = verify_program(mutant, MSCCL)
        if not verdict.valid:
            continue
        for order in range(orders):
            in_place = mutant.in_place and bool(order % 2)
            assert outputs(mutant, inputs, order, in_place=in_place) == right


def in_finer_chunks(program: ChunkProgram, times: int) -> ChunkProgram:
    """Return the program with every chunk cut, which moves the same data."""

    def finer(step: Instruction) -> Instruction:
        src, dst = (
            (place[0], max(-1, place[1] * times)) for place in (step.src, step.dst)
        )
        return replace(step, src=src, dst=dst, count=step.count * times)

    ranks = tuple(
        RankProgram(
            rank.id,
            rank.input_chunks * times,
            rank.output_chunks * times,
            rank.scratch_chunks * times,
            tuple(
                replace(block, steps=tuple(map(finer, block.steps)))
                for block in rank.thread_blocks
            ),
        )
        for rank in program.ranks
    )
    chunks = program.chunks_per_loop * times
    return replace(program, chunks_per_loop=chunks, ranks=ranks)


@pytest.mark.parametrize("slots", [1, 2, 3, 8])
@pytest.mark.parametrize("buffers", ["scratch", "direct"])
@pytest.mark.parametrize(
    ("instance", "algorithm"), sorted({case[:2] for case in CASES})
)
def test_short_connections_hang_exactly_as_is_said(
    instance: str, algorithm: str, buffers: str, slots: int
) -> None:
    """With slots of a chunk, the executor hangs in all orders or in none."""
    coarse = program_of(instance, algorithm, buffers=buffers)
    assert coarse is not None
    program = in_finer_chunks(coarse, 4)
    chunks = program.chunks_per_loop
    said = hangs_from_bytes(flatten(program), chunks, FifoSlots(slots, 2**20))
    inputs = inputs_of(program)

    def hangs(order: int) -> bool:
        try:
            outputs(program, inputs, order, in_place=program.in_place, slots=slots)
        except HangError:
            return True
        return False

    assert {hangs(order) for order in range(4)} == {said is not None}
    exchanges = algorithm == "full-exchange" and buffers == "direct"
    assert (said is not None) == (exchanges and slots < 4)


def test_every_dropped_reference_of_an_exchange_is_a_race() -> None:
    """References are reduced: none of them is implied by the others."""
    program = program_of("lightpath-8/all-reduce-1KiB", "full-exchange")
    assert program is not None
    waiting = [p for p in places(program) if at(program, p).waits_for is not None]
    assert waiting
    for place in waiting:

        def change(steps: list[Instruction], number: int = place[2]) -> None:
            steps[number] = replace(steps[number], waits_for=None)

        verdict = verify_program(changed(program, place, change), MSCCL)
        rules = {violation.rule for violation in verdict.violations}
        assert rules & {"program-race", "program-value", "program-result"}


def test_bounded_connections_hang_as_the_executor_does() -> None:
    """Two GPUs that send three chunks each and receive after the send has ended."""

    def rank(mine: int) -> RankProgram:
        other = 1 - mine
        send = Instruction("s", ("i", 0), ("i", 0), 3, None, awaited=True)
        receive = Instruction("rrc", ("i", 0), ("i", 0), 3, (0, 0))
        blocks = (
            ThreadBlock(0, other, -1, 0, (send,)),
            ThreadBlock(1, -1, other, 0, (receive,)),
        )
        return RankProgram(mine, 3, 3, 0, blocks)

    both = ChunkProgram(
        name="x",
        collective="allreduce",
        protocol="Simple",
        channels=1,
        chunks_per_loop=3,
        in_place=True,
        out_of_place=False,
        min_bytes=0,
        max_bytes=2**40,
        ranks=(rank(0), rank(1)),
    )
    verdict = verify_program(both, MSCCL)
    assert [each.rule for each in verdict.violations] == ["program-fifo"]
    # Two slots of 2 MiB: three messages of a slot do not fit, two chunks a slot do.
    assert verdict.hangs_from_bytes == 3 * (2**20 + 1)
    small = replace(both, max_bytes=3 * 2**20)
    assert verify_program(small, MSCCL).valid
    inputs = [[1, 2, 3], [10, 20, 30]]
    with pytest.raises(HangError):
        outputs(both, inputs, 0, in_place=True, slots=2)
    assert outputs(both, inputs, 0, in_place=True, slots=3) == [[11, 22, 33]] * 2
