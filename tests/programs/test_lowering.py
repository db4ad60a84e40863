"""Schedules as programs of GPUs: accepted by the checker, right in every order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lightloom.core.errors import InputError
from lightloom.formats.msccl_runtimes import RUNTIMES
from lightloom.formats.msccl_xml import msccl_xml, parse_msccl
from lightloom.instances.catalogue import load_instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.programs.export_program import export_program
from lightloom.programs.lowering import ProgramLimitError, lower
from lightloom.synth.synthesise import synthesise
from lightloom.validate.programs import verify_program
from tests.oracle.program_executor import outputs
from tests.programs.lowered import (
    OPERATIONS,
    expected,
    inputs_of,
    program_of,
    schedule_of,
    sizes_of,
)

SHARED = [
    pytest.param(
        f"{fabric}/{op}-{size}",
        op,
        algorithm,
        marks=[pytest.mark.slow]
        * ("ideal" in fabric or size != sizes_of(algorithm)[0]),
    )
    for fabric in ("lightpath-8", "ideal-switch-8")
    for op in OPERATIONS
    for algorithm in (
        "auto",
        *(entry.name for entry in ALGORITHMS.values() if op in entry.ops),
    )
    if algorithm != "hub-relays"  # not for 8 ranks
    for fast in [sizes_of(algorithm)]
    for size in fast
]


_ON_REQUEST = {"level-trees", "levels", "radices", "torus-rings"}
"""Algorithms that need parameters."""


@pytest.mark.parametrize(("instance", "op", "algorithm"), SHARED)
def test_programs_are_accepted_and_right(
    instance: str, op: str, algorithm: str
) -> None:
    """Read back and verified, and run in random orders, 2 chunks a connection."""
    found = 0
    for runtime in RUNTIMES.values():
        for buffers in ("scratch", "direct"):
            program = program_of(instance, algorithm, runtime.name, buffers)
            if program is None:
                continue
            found += 1
            back = parse_msccl(msccl_xml(program), "x.xml")
            verdict = verify_program(back, runtime)
            faults = [
                each for each in verdict.violations if each.rule != "program-fifo"
            ]
            assert not faults
            assert buffers == "direct" or verdict.valid
            inputs = inputs_of(program)
            right = expected(program, op, inputs)
            slots = 2 if verdict.hangs_from_bytes is None else None
            for seed in range(3):
                for in_place in {program.in_place, False}:
                    done = outputs(back, inputs, seed, in_place=in_place, slots=slots)
                    assert done == right
    if not found and algorithm not in _ON_REQUEST:
        # Too long for all: the hint names one that is not.
        schedule = schedule_of(instance, algorithm)
        with pytest.raises(ProgramLimitError) as caught:
            export_program(schedule, RUNTIMES["msccl"])
        other = caught.value.fix.rsplit(" ", 1)[1]
        assert program_of(instance, other) is not None


@pytest.mark.slow
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("fabric", ["lightpath-16", "lightpath-64", "torus-16"])
def test_a_thousand_orders(fabric: str, op: str) -> None:
    """What `auto` makes is right in a thousand orders, in place and out of it."""
    program = program_of(f"{fabric}/{op}-64MiB")
    if program is None:
        pytest.skip("more than the runtime takes")
    assert verify_program(program, RUNTIMES["msccl"]).valid
    inputs = inputs_of(program)
    right = expected(program, op, inputs)
    for seed in range(1000 if "16" in fabric else 50):
        in_place = program.in_place and bool(seed % 2)
        assert outputs(program, inputs, seed, in_place=in_place) == right


def test_the_same_schedule_gives_the_same_text() -> None:
    """No set or dictionary decides on an order."""
    one, other = (program_of("lightpath-8/all-reduce-1MiB") for _ in range(2))
    assert one is not None
    assert other is not None
    assert msccl_xml(one) == msccl_xml(other)


def test_a_ring_is_refused_with_algorithms_that_fit() -> None:
    """14 steps in a thread block are more than 12; the algorithm of the hint fits."""
    schedule = schedule_of("ideal-switch-8/all-reduce-1MiB", "ring")
    small = replace(RUNTIMES["rccl"], most_steps=12)
    with pytest.raises(ProgramLimitError) as caught:
        export_program(schedule, small)
    assert caught.value.found == 14
    assert "12 at most" in caught.value.allowed
    other = caught.value.fix.rsplit(" ", 1)[1]
    assert other != "ring"
    export_program(schedule_of("ideal-switch-8/all-reduce-1MiB", other), small)


@pytest.mark.parametrize("op", ["gather", "scatter"])
def test_operations_that_runtimes_lack(op: str) -> None:
    """No runtime has a gather or a scatter."""
    schedule = schedule_of(f"lightpath-8/{op}-1MiB")
    with pytest.raises(InputError, match=f"no operation for {op}"):
        lower(schedule, RUNTIMES["azure"])


def test_a_demand_has_no_chunks() -> None:
    """The bytes of a demand are nobody's."""
    name = "sipac-16/hybrid-parallel-100MB"
    made = synthesise(load_instance(name)).incumbent
    assert made is not None
    with pytest.raises(InputError, match="a demand has no chunks"):
        lower(made.schedule, RUNTIMES["msccl"])


@pytest.mark.parametrize(
    "changed",
    [{"protocol": "simple"}, {"buffers": "none"}],
    ids=["protocol", "buffers"],
)
def test_unknown_words(changed: dict[str, str]) -> None:
    """They are refused, and the known ones are named."""
    schedule = schedule_of("lightpath-8/all-reduce-1MiB")
    with pytest.raises(InputError, match="allowed"):
        lower(schedule, RUNTIMES["msccl"], **changed)  # type: ignore[arg-type]
