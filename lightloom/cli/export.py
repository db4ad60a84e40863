"""``lightloom export``: a schedule in the words of another program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from lightloom.cli.console import counted, progress, say
from lightloom.cli.failure import about
from lightloom.cli.files import check_output, output_folder, read_schedule_file
from lightloom.cli.options import (
    argument,
    command,
    option,
    output_option,
)
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lightloom.core.schedule import Schedule


@command
def export_command(
    *,
    file: str = argument("FILE"),
    target: Literal[
        "msccl", "mscclpp", "transfers", "csv", "json", "sonic-ocs", "chakra"
    ] = option("Format.", "--to"),
    output: str = output_option("- is stdout; of chakra, a folder."),
    runtime: Literal["msccl", "azure", "rccl"] | None = option(
        "Of msccl: who will load it; names of operations and limits differ."
        "  [default: msccl]",
    ),
    protocol: Literal["Simple", "LL", "LL128"] | None = option(
        "Of msccl: how messages are moved.  [default: Simple]",
    ),
    buffers: Literal["scratch", "direct"] | None = option(
        "Of msccl: where data go whose place is still being sent from. With scratch no"
        " size can make the program hang; direct takes less memory, and maxBytes says"
        " up to which size it is safe.  [default: scratch]",
    ),
    node: int | None = option(
        "Of json: what this node tunes, sends and receives.", type=click.IntRange(0)
    ),
) -> None:
    """Write a schedule in a format of collective libraries.

    FILE is a schedule. msccl: XML that collective libraries load; circuits and times
    have no place in it, and nothing is written that `lightloom verify` does not accept.
    mscclpp: an execution plan of MSCCL++, made of such a program. transfers: the table
    that `lightloom import` reads. csv, json, sonic-ocs: which circuits each plane
    connects and disconnects, and when; json has the lasers and switches of LIGHTPATH's
    tiles, and what RAMP's transceivers tune to. chakra: a folder with a trace of each
    rank, workload, system and network of a simulator, in which a nanosecond stands for
    a picosecond.
    """
    from lightloom.formats.compression import open_writing

    given = {"--runtime": runtime, "--protocol": protocol, "--buffers": buffers}
    for flag, value in given.items():
        if value is not None and target != "msccl":
            raise click.UsageError(f"{flag} is about --to msccl")
    if node is not None and target in ("msccl", "mscclpp", "transfers", "chakra"):
        what = "--node is about --to json"
        raise click.UsageError(what)
    folder = output_folder(output, "--output") if target == "chakra" else None
    if folder is None:
        check_output(output, "--output", file)
    with progress("export") as tell:
        schedule = read_schedule_file(file, tell)
        with about(file):
            if folder is not None:
                say(f"{output}: {_chakra(schedule, folder)}")
                return
            if target == "msccl":
                text, told = _msccl(schedule, runtime, protocol, buffers, tell)
            elif target == "mscclpp":
                text, told = _mscclpp(schedule, tell)
            elif target == "transfers":
                text, told = _transfers(schedule)
            else:
                text, told = _switches(schedule, target, node)
        with open_writing(output) as stream:
            stream.write(text.encode())
    say(f"{output}: {told}")


def _msccl(
    schedule: Schedule,
    runtime: str | None,
    protocol: str | None,
    buffers: str | None,
    tell: Callable[[str], None],
) -> tuple[str, str]:
    """Return the XML, and what to say of it."""
    from lightloom.formats.msccl_runtimes import runtime_of
    from lightloom.formats.msccl_xml import msccl_xml
    from lightloom.programs.export_program import export_program

    loader = runtime or "msccl"
    program = export_program(
        schedule,
        runtime_of(loader),
        protocol=protocol or "Simple",
        buffers=buffers or "scratch",
        progress=tell,
    )
    told = (
        f"{counted(len(program.ranks), 'rank')},"
        f" {counted(program.instruction_count, 'step')}, verified for {loader};"
        " circuits and times are left out"
    )
    return msccl_xml(program), told


def _mscclpp(schedule: Schedule, tell: Callable[[str], None]) -> tuple[str, str]:
    """Return the execution plan, and what to say of it."""
    from lightloom.programs.export_program import export_plan

    program, text = export_plan(schedule, tell)
    told = (
        f"{counted(len(program.ranks), 'rank')},"
        f" {counted(program.instruction_count, 'step')}, verified for mscclpp;"
        " circuits and times are left out"
    )
    return text, told


def _transfers(schedule: Schedule) -> tuple[str, str]:
    """Return the table of transfers, and what to say of it."""
    from lightloom.formats.transfers_csv import transfers_csv

    _refuse_invalid(schedule)
    told = f"{counted(schedule.transfer_count, 'transfer')}; circuits are left out"
    return transfers_csv(schedule), told


def _switches(schedule: Schedule, target: str, node: int | None) -> tuple[str, str]:
    """Return the program of the switches or of a node, and what to say of it."""
    from lightloom.programs.switch_commands import switch_text

    _refuse_invalid(schedule)
    text = switch_text(schedule, target, node)
    whose = "all planes" if node is None else f"node {node}"
    return text, f"the program of {whose}; data and chunks are left out"


def _chakra(schedule: Schedule, folder: Path) -> str:
    """Write the files of a simulator, and return what to say of them."""
    from lightloom.formats.atomic import write_folder
    from lightloom.programs.chakra_export import chakra_export

    _refuse_invalid(schedule)
    export = chakra_export(schedule)
    write_folder(folder, export.files)
    return (
        f"{counted(len(export.files), 'file')}; replay takes"
        f" {export.completion_time_ps} ps, which the simulator says in ns; chunks are"
        " left out"
    )


def _refuse_invalid(schedule: Schedule) -> None:
    """Raise if a schedule breaks a rule."""
    from lightloom.validate import verify

    for first in verify(schedule).violations[:1]:
        what = f"the schedule breaks a rule ({first.rule}): {first.message}"
        raise InputError(what, fix="`lightloom verify` lists all")
