"""``lightloom import``: programs of libraries, and tables, as schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.console import counted, progress, say
from lightloom.cli.failure import INVALID
from lightloom.cli.files import check_output, plain_name
from lightloom.cli.json_records import certificate_text
from lightloom.cli.options import (
    argument,
    command,
    option,
    output_option,
)
from lightloom.core.errors import InputError
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.chunk_program import ChunkProgram
    from lightloom.core.schedule import Schedule, StepPart
    from lightloom.core.task import Collective
    from lightloom.formats.json_file import JsonFile
    from lightloom.formats.mscclpp_plan import ExecutionPlan

_SUFFIXES = (".xml", ".csv", ".json")


@command
def import_command(
    *,
    file: str = argument("FILE"),
    output: str = output_option("Schedule file."),
    fabric: str | None = option(
        "Whose fabric it is to run on: a name of `lightloom instances` or a TOML"
        " file.  [default: an ideal switch]",
        metavar="INSTANCE",
    ),
    buffer_bytes: int | None = option(
        "Size of the whole buffer.  [default: 1 MiB, rounded up to whole chunks]",
        type=click.IntRange(1, 2**60),
    ),
    operation: str | None = option(
        "Of a table: the collective, for example all-reduce. Of flows: all-gather or"
        " all-to-all, where the file does not tell."
    ),
    chunks: int | None = option(
        "Of a table: chunks of the buffer.  [default: up to the largest that moves]",
        type=click.IntRange(1, 2**31 - 1),
    ),
    root: int | None = option(
        "Of a table: rank of the root.  [default: 0]", type=click.IntRange(0, 2**31 - 1)
    ),
    earliest: bool = option(
        "Of flows: each in the earliest step at which its chunk is there, instead of a"
        " step for every epoch."
    ),
    config: str | None = option(
        "Of a solution: the optimiser's TOML file, with its fabric and message.",
        metavar="FILE",
    ),
) -> int:
    """Read a program of a collective library as a schedule.

    FILE is MSCCL XML (.xml), an execution plan of MSCCL++ (.json), a table of transfers
    (.csv with the columns step,src,dst,chunk_lo,chunk_hi,op), flows of TE-CCL (.json)
    or a solution of overlap4ocs (.json, with --config). Channels, thread blocks and
    scratch are left out, and so are times. Then `lightloom verify`, `replay` and
    `bound` say whether it is right, how long it takes and how good it is. Exit code 1
    if the planes of a solution do not hold what they are used for: it is written all
    the same, for `lightloom verify` to list what is wrong.
    """
    from lightloom.instances.catalogue import load_instance

    check_output(output, "--output", file)
    on = None if fabric is None else load_instance(fabric).fabric
    with progress("import") as tell:
        tell(f"reading {file}")
        name = plain_name(file)
        table = _json(file) if name.endswith(".json") else None
        if table is not None and _is_solution(table):
            if (fabric, buffer_bytes, operation, chunks, root) != (None,) * 5:
                what = "a solution's fabric and sizes are those of --config"
                raise click.UsageError(what)
            return _import_solution(table, config, output, tell)
        if config is not None:
            raise click.UsageError("--config is about solutions of overlap4ocs (.json)")
        collective, parts, left_out = _read(
            file, name, table, buffer_bytes, operation, chunks, root, earliest=earliest
        )
        tell("finding circuits and verifying")
        from lightloom.programs.import_schedule import imported

        _publish(imported(collective, parts, on, source=file), output, left_out)
    return 0


def _json(file: str) -> JsonFile:
    from lightloom.formats.json_file import read_json

    return read_json(file)


def _is_solution(file: JsonFile) -> bool:
    from lightloom.formats.optimiser_solutions import has_solution

    return has_solution(file.table)


def _publish(schedule: Schedule, output: str, left_out: str) -> None:
    """Write a schedule that holds, and say what it is and how good."""
    from lightloom.synth.publish import publish

    verdict = publish(schedule, output)
    assert schedule.footer is not None
    collective = schedule.task
    say(
        f"{output}: {schedule.facts()['task']} of"
        f" {counted(len(getattr(collective, 'nodes', ())), 'rank')} in"
        f" {counted(schedule.step_count, 'step')} on {schedule.fabric['kind']},"
        f" {schedule.facts()['bytes']} bytes{left_out}"
    )
    say(
        f"{output}: takes {format_ps(schedule.footer.completion_time_ps)};"
        f" {certificate_text(verdict.certificate)}"
    )


def _import_solution(
    file: JsonFile, config: str | None, output: str, tell: Callable[[str], None]
) -> int:
    """Write the schedule of a solution, right or wrong; return the exit code."""
    from lightloom.formats.optimiser_solutions import (
        read_overlap_parameters,
        solution_of,
    )
    from lightloom.programs.import_schedule import judged_schedule, overlap_schedule

    if config is None:
        what, fix = "a solution does not say what was solved", "give --config"
        raise InputError(what, where=file.path, fix=fix)
    parameters, solution = read_overlap_parameters(config), solution_of(file)
    tell("following the planes and verifying")
    schedule = overlap_schedule(solution, parameters, file.path)
    sealed, faults = judged_schedule(schedule, solution)
    claimed = f"; the file claims {solution.completion_ms * 1000:,.3f} us"
    if not faults:
        _publish(sealed, output, claimed)
        return 0
    from lightloom.formats.schedule_writer import write_schedule

    write_schedule(sealed, output)
    first = faults[0]
    say(
        f"{output}: {counted(len(faults), 'violation')}, the first in step"
        f" {first.step}: {first.message}; `lightloom verify` lists all{claimed}"
    )
    return INVALID


def _read(
    file: str,
    name: str,
    table: JsonFile | None,
    buffer_bytes: int | None,
    operation: str | None,
    chunks: int | None,
    root: int | None,
    *,
    earliest: bool,
) -> tuple[Collective, tuple[StepPart, ...], str]:
    """Return the collective, its transfers, and what is to be said beside."""
    from lightloom.formats.mscclpp_plan import is_plan, plan_of
    from lightloom.programs.import_schedule import table_collective, whole_chunks

    if table is not None and is_plan(table):
        return _lifted(plan_of(table), file, buffer_bytes)
    if table is not None:
        from lightloom.formats.optimiser_solutions import flows_of

        flows = flows_of(table, operation, earliest=earliest)
        size = whole_chunks(buffer_bytes, flows.chunks, file)
        nodes = tuple(range(len(flows.gpus)))
        from lightloom.core.task import Collective

        when = "epochs" if earliest else "epochs are steps"
        told = f"; {when}, switches and volumes are left out"
        if flows.finish_s is not None:
            told += f"; the file claims {flows.finish_s * 1e6:,.3f} us"
        task = Collective(flows.operation, nodes, size, flows.chunks)
        return task, flows.parts, told
    if name.endswith(".xml"):
        from lightloom.formats.msccl_xml import read_msccl

        return _lifted(read_msccl(file), file, buffer_bytes)
    if name.endswith(".csv"):
        from lightloom.formats.transfers_csv import read_transfers

        if operation is None:
            what, fix = "a table does not name its operation", "give --operation"
            raise InputError(what, where=file, fix=fix)
        parts = read_transfers(file)
        task = table_collective(parts, operation, chunks, root)
        size = whole_chunks(buffer_bytes, task.chunk_count, file)
        from msgspec.structs import replace

        return replace(task, buffer_bytes=size), parts, ""
    allowed = ", ".join(f"*{suffix}" for suffix in _SUFFIXES)
    raise InputError("unknown kind of file", where=file, allowed=allowed)


def _lifted(
    program: ChunkProgram | ExecutionPlan, file: str, buffer_bytes: int | None
) -> tuple[Collective, tuple[StepPart, ...], str]:
    """Return the collective of a program of GPUs, its transfers, and what is said."""
    from lightloom.programs.import_schedule import lifted_program

    lifted = lifted_program(program, file, buffer_bytes)
    unused = counted(lifted.unused, "chunk") if lifted.unused else ""
    told = f"; {unused} sent that nobody uses" if unused else ""
    return lifted.collective, lifted.parts, told
