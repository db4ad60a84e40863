"""``lightloom verify``: whether a schedule is what it claims to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click
import msgspec

from lightloom.cli.console import counted, progress, say, write_json, write_text
from lightloom.cli.failure import INVALID
from lightloom.cli.files import plain_name, read_schedule_file
from lightloom.cli.json_records import (
    certificate_record,
    certificates_text,
    objective_records,
    violation_lines,
)
from lightloom.cli.options import (
    JSON,
    argument,
    command,
    option,
)
from lightloom.core.errors import FormatError

if TYPE_CHECKING:
    from lightloom.formats.mscclpp_plan import ExecutionPlan
    from lightloom.validate import Verdict
    from lightloom.validate.programs import ProgramVerdict


@command
def verify_command(
    *,
    file: str = argument("FILE"),
    runtime: Literal["msccl", "azure", "rccl"] | None = option(
        "Of XML: who is to load it.  [default: the one that fits best]",
    ),
    ignore_hash: bool = option(
        "Of a file that was edited by hand: say that its hash differs, and check it."
    ),
    as_json: bool = JSON,
) -> int:
    """Check a schedule file: every rule, and its lower bound.

    Exit code 0 if every rule holds, 1 with the violations listed otherwise, 2 if FILE
    is damaged. FILE may be - for stdin, and a program of GPUs: MSCCL XML (.xml) or an
    execution plan of MSCCL++ (.json). Then form, values, deadlock, races and bounded
    connections are checked.
    """
    if plain_name(file).endswith(".xml"):
        valid = _say_program(file, runtime, as_json=as_json)
        return 0 if valid else INVALID
    if runtime is not None:
        raise click.UsageError("--runtime is about MSCCL XML (.xml)")
    plan = _plan(file) if plain_name(file).endswith(".json") else None
    if plan is not None:
        return 0 if _say_plan(file, plan, as_json=as_json) else INVALID
    from lightloom.validate import verify

    with progress("verify") as tell:
        schedule = read_schedule_file(file, tell, _say_hash if ignore_hash else None)
        tell("checking every rule")
        verdict = verify(schedule)
    if as_json:
        write_json(verdict_record(file, verdict))
    else:
        write_text(verdict_text(file, verdict))
    return 0 if verdict.valid else INVALID


def _say_hash(problem: FormatError) -> None:
    """Say that the hash of a file differs, in a line beside the verdict."""
    say(f"ignored: {problem.line()}")


def _plan(file: str) -> ExecutionPlan | None:
    """Return the execution plan in a file, `None` where it holds something else."""
    from lightloom.formats.json_file import read_json
    from lightloom.formats.mscclpp_plan import is_plan, plan_of

    try:
        known = read_json(file)
    except FormatError:
        return None  # a schedule has a line for each part
    return plan_of(known) if is_plan(known) else None


def verdict_record(file: str, verdict: Verdict) -> dict[str, object]:
    """Return a verdict as its documented JSON object."""
    return {
        "file": file,
        "valid": verdict.valid,
        "violation_count": verdict.violation_count,
        "violations": msgspec.to_builtins(verdict.violations),
        "certificate": certificate_record(verdict.certificate),
        "objectives": objective_records(verdict),
    }


def verdict_text(file: str, verdict: Verdict) -> str:
    """Return a verdict for people, one line a violation, the first of each rule."""
    proven = certificates_text(verdict)
    if verdict.valid:
        return f"{file}: valid; {proven}"
    count = verdict.violation_count
    head = f"{file}: {counted(count, 'violation')}; {proven}"
    return "\n".join(
        [head, *violation_lines(verdict.violations, steps=True, counts=verdict.counts)]
    )


def _say_program(file: str, runtime: str | None, *, as_json: bool) -> bool:
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
    return _say_verdict(file, program.collective, size, verdict, as_json=as_json)


def _say_plan(file: str, plan: ExecutionPlan, *, as_json: bool) -> bool:
    """Check an execution plan, print the verdict, and return whether it is valid."""
    from lightloom.validate.programs import verify_plan

    size = (len(plan.gpus), "rank"), (plan.operation_count, "operation")
    verdict = verify_plan(plan)
    return _say_verdict(file, plan.collective, size, verdict, as_json=as_json)


def _say_verdict(
    file: str,
    collective: str,
    size: tuple[tuple[int, str], ...],
    verdict: ProgramVerdict,
    *,
    as_json: bool,
) -> bool:
    if as_json:
        write_json(_program_record(file, verdict))
    else:
        counts = (counted(number, what) for number, what in size)
        write_text(_program_text(file, ", ".join((collective, *counts)), verdict))
    return verdict.valid


def _program_record(file: str, verdict: ProgramVerdict) -> dict[str, object]:
    return {
        "file": file,
        "valid": verdict.valid,
        "runtime": verdict.runtime,
        "unchecked": verdict.unchecked,
        "hangs_from_bytes": verdict.hangs_from_bytes,
        "warnings": list(verdict.warnings),
        "violations": msgspec.to_builtins(verdict.violations),
    }


def _program_text(file: str, size: str, verdict: ProgramVerdict) -> str:
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
