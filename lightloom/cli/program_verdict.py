"""``lightloom verify FILE.xml`` and of plans: what is wrong with a program of GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.cli.console import counted, write_json, write_text
from lightloom.cli.json_records import violation_lines, violation_records

if TYPE_CHECKING:
    from lightloom.formats.mscclpp_plan import ExecutionPlan
    from lightloom.validate.programs import ProgramVerdict


def say_program_verdict(file: str, runtime: str | None, *, as_json: bool) -> bool:
    """Check an MSCCL XML file, print the verdict, and return whether it is valid.

    `runtime`: name of the runtime that is to load it; ``None`` for the one that fits
    best.

    Raises `InputError`: the file cannot be read, or there is no such runtime.
    """
    from lightloom.formats.msccl_runtimes import runtime_of
    from lightloom.formats.msccl_xml import read_msccl
    from lightloom.validate.programs import verify_program

    program = read_msccl(file)
    loader = None if runtime is None else runtime_of(runtime)
    verdict = verify_program(program, loader)
    size = (len(program.ranks), "rank"), (program.instruction_count, "step")
    return _say(file, program.collective, size, verdict, as_json=as_json)


def say_plan_verdict(file: str, plan: ExecutionPlan, *, as_json: bool) -> bool:
    """Check an execution plan, print the verdict, and return whether it is valid."""
    from lightloom.validate.programs import verify_plan

    size = (len(plan.gpus), "rank"), (plan.operation_count, "operation")
    verdict = verify_plan(plan)
    return _say(file, plan.collective, size, verdict, as_json=as_json)


def _say(
    file: str,
    collective: str,
    size: tuple[tuple[int, str], ...],
    verdict: ProgramVerdict,
    *,
    as_json: bool,
) -> bool:
    if as_json:
        write_json(_record(file, verdict))
    else:
        counts = (counted(number, what) for number, what in size)
        write_text(_text(file, ", ".join((collective, *counts)), verdict))
    return verdict.valid


def _record(file: str, verdict: ProgramVerdict) -> dict[str, object]:
    return {
        "file": file,
        "valid": verdict.valid,
        "runtime": verdict.runtime,
        "unchecked": verdict.unchecked,
        "hangs_from_bytes": verdict.hangs_from_bytes,
        "warnings": list(verdict.warnings),
        "violations": violation_records(verdict.violations),
    }


def _text(file: str, size: str, verdict: ProgramVerdict) -> str:
    notes = [size, f"as {verdict.runtime} loads it"]
    if verdict.unchecked:
        notes.append(f"values not checked: {verdict.unchecked}")
    if verdict.hangs_from_bytes is not None:
        notes.append(f"hangs for buffers from {verdict.hangs_from_bytes} bytes on")
    notes += [f"warning: {warning}" for warning in verdict.warnings]
    count = len(verdict.violations)
    state = "valid" if verdict.valid else counted(count, "violation")
    head = f"{file}: {state}; {'; '.join(notes)}"
    return "\n".join([head, *violation_lines(verdict.violations, steps=False)])
