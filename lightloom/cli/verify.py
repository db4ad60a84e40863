"""``lightloom verify``: whether a schedule is what it claims to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.console import counted, progress, write_json, write_text
from lightloom.cli.failure import INVALID
from lightloom.cli.json_records import (
    certificate_record,
    certificates_text,
    objective_records,
    violation_lines,
    violation_records,
)
from lightloom.cli.main import SUMMARIES
from lightloom.cli.schedule_file import plain_name, read_schedule_file
from lightloom.core.errors import FormatError

if TYPE_CHECKING:
    from lightloom.formats.mscclpp_plan import ExecutionPlan
    from lightloom.validate import Verdict


@click.command(
    "verify",
    help=SUMMARIES["verify"]
    + "\n\nExit code 0 if every rule holds, 1 with the violations listed"
    " otherwise, 2 if FILE is damaged. FILE may be - for stdin, and a program of GPUs:"
    " MSCCL XML (.xml) or an execution plan of MSCCL++ (.json). Then form, values,"
    " deadlock, races and bounded connections are checked.",
)
@click.argument("file", metavar="FILE")
@click.option(
    "--runtime",
    type=click.Choice(["msccl", "azure", "rccl"]),
    help="Of XML: who is to load it.  [default: the one that fits best]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    ctx: click.Context, file: str, runtime: str | None, *, as_json: bool
) -> None:
    """Check a schedule and say so."""
    if plain_name(file).endswith(".xml"):
        from lightloom.cli.program_verdict import say_program_verdict

        valid = say_program_verdict(file, runtime, as_json=as_json)
        ctx.exit(0 if valid else INVALID)
    if runtime is not None:
        raise click.UsageError("--runtime is about MSCCL XML (.xml)")
    plan = _plan(file) if plain_name(file).endswith(".json") else None
    if plan is not None:
        from lightloom.cli.program_verdict import say_plan_verdict

        ctx.exit(0 if say_plan_verdict(file, plan, as_json=as_json) else INVALID)
    from lightloom.validate import verify

    with progress("verify") as tell:
        tell(f"reading {file}")
        schedule = read_schedule_file(file)
        tell("checking every rule")
        verdict = verify(schedule)
    if as_json:
        write_json(verdict_record(file, verdict))
    else:
        write_text(verdict_text(file, verdict))
    ctx.exit(0 if verdict.valid else INVALID)


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
        "violations": violation_records(verdict.violations),
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
