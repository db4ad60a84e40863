"""Execution plans of MSCCL++: within limits, and right in random orders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from lightloom.core.errors import LightloomError
from lightloom.formats.msccl_runtimes import MSCCLPP
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.programs.export_program import export_program, plan_json
from lightloom.programs.lowering import ProgramLimitError, lower
from tests.oracle.plan_executor import StuckError, check_limits, plan_outputs
from tests.programs.lowered import (
    FINE,
    OPERATIONS,
    expected,
    inputs_of,
    schedule_of,
    sizes_of,
)

if TYPE_CHECKING:
    from lightloom.core.chunk_program import ChunkProgram


Plan: TypeAlias = "dict[str, Any]"


def plan_of(instance: str, algorithm: str = "auto") -> tuple[ChunkProgram, Plan]:
    """Return the program and the plan of a schedule."""
    schedule = schedule_of(instance, algorithm)
    program = export_program(schedule, MSCCLPP, buffers="direct")
    return program, json.loads(plan_json(program))


def assert_right(program: ChunkProgram, plan: Plan, op: str, seed: int) -> None:
    """Raise unless a run leaves what the operation asks for, in each way it runs."""
    inputs = inputs_of(program, seed)
    right = expected(program, op, inputs)
    for in_place in {program.in_place, False}:
        made = plan_outputs(plan, inputs, seed, in_place=in_place)
        # Of a reduce, what is in the outputs of others is nobody's.
        assert [
            out if asked else [] for out, asked in zip(made, right, strict=True)
        ] == (right)


def assert_always_right(program: ChunkProgram, plan: Plan) -> None:
    """Raise unless an all-reduce is right in twenty orders."""
    for seed in range(20):
        assert_right(program, plan, "all-reduce", seed)


def assert_plan_is_right(instance: str, algorithm: str, op: str, orders: int) -> bool:
    """Run a plan in some orders, within limits; False where there is none."""
    try:
        program, plan = plan_of(instance, algorithm)
    except LightloomError:
        return False  # not for 8 ranks, or it needs parameters
    check_limits(plan)
    for seed in range(orders):
        assert_right(program, plan, op, seed)
    return True


@pytest.mark.parametrize("op", OPERATIONS)
def test_plans_are_right(op: str) -> None:
    """Of every algorithm of 8 ranks, within limits, in three orders each."""
    names = ["auto", *(entry.name for entry in ALGORITHMS.values() if op in entry.ops)]
    right = [
        name
        for name in names
        if assert_plan_is_right(f"lightpath-8/{op}-{sizes_of(name)[0]}", name, op, 3)
    ]
    assert len(right) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", sorted(FINE))
@pytest.mark.parametrize("op", OPERATIONS)
def test_plans_of_very_many_chunks_are_right(op: str, algorithm: str) -> None:
    """1 MiB in up to 131,072 chunks, of which an order takes 6 to 15 seconds."""
    offered = algorithm == "auto" or op in ALGORITHMS[algorithm].ops
    right = assert_plan_is_right(f"lightpath-8/{op}-1MiB", algorithm, op, 1)
    assert right or not offered


def test_long_thread_blocks_go_on_in_others() -> None:
    """A ring of 16 ranks has 30 messages a connection, about six operations each."""
    program, plan = plan_of("ideal-switch-16/all-reduce-1MiB", "ring")
    check_limits(plan)
    blocks = plan["gpus"][3]["threadblocks"]
    assert len(blocks) > len(program.ranks[3].thread_blocks)
    assert_right(program, plan, "all-reduce", 1)


def test_what_is_received_where_it_belongs_takes_no_scratch() -> None:
    """An all-gather puts blocks straight into the outputs of others."""
    _, plan = plan_of("ideal-switch-8/all-gather-1MiB", "ring")
    assert all(gpu["scratch_chunks"] == 0 for gpu in plan["gpus"])


def test_more_thread_blocks_than_run_at_once() -> None:
    """Direct to 63 peers takes 127, one to send, one to receive and a local one."""
    schedule = schedule_of("ideal-switch-64/all-gather-1MiB", "direct")
    with pytest.raises(ProgramLimitError, match="thread blocks; found 127"):
        lower(schedule, MSCCLPP, buffers="direct")


def test_the_executor_sees_what_is_wrong() -> None:
    """Without a barrier, a signal, a semaphore, or with an operand shifted."""
    program, plan = plan_of("lightpath-8/all-reduce-1MiB")
    text = json.dumps(plan)

    def broken(name: str, what: str) -> Plan:
        made: Plan = json.loads(text)
        for gpu in made["gpus"]:
            for block in gpu["threadblocks"]:
                for place, op in enumerate(block["ops"]):
                    if op["name"] == name:
                        if what == "drop":
                            del block["ops"][place]
                        else:
                            op["src_buff"][0]["index"] += 1
                        return made
        raise AssertionError(name)

    for name, what in (
        ("nop", "drop"),
        ("signal", "drop"),
        ("sem_release", "drop"),
        ("sem_acquire", "drop"),
        ("put", "shift"),
        ("re", "shift"),
    ):
        plan = broken(name, what)
        with pytest.raises((AssertionError, KeyError, StuckError)):
            assert_always_right(program, plan)


@pytest.mark.slow
@pytest.mark.parametrize("op", OPERATIONS)
def test_a_thousand_orders(op: str) -> None:
    """What `auto` makes on 8 ranks; of broadcast and reduce, a tree.

    There `auto` packs trees, whose 131,072 chunks take an order 6 or 15 seconds: they
    run in one order, in `test_plans_of_very_many_chunks_are_right`.
    """
    algorithm = "tree" if op in {"broadcast", "reduce"} else "auto"
    program, plan = plan_of(f"lightpath-8/{op}-1MiB", algorithm)
    for seed in range(1000):
        assert_right(program, plan, op, seed)
