"""``lightloom export``: a schedule in the words of another program."""

from __future__ import annotations

import click

from lightloom.cli.console import say
from lightloom.cli.formatting import counted
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import check_output
from lightloom.cli.progress import progress
from lightloom.core.errors import LightloomError

_FORMATS = ("msccl",)
_RUNTIMES = ("msccl", "azure", "rccl")
_PROTOCOLS = ("Simple", "LL", "LL128")
_BUFFERS = ("scratch", "direct")


@click.command(
    "export",
    help=SUMMARIES["export"]
    + "\n\nFILE is the schedule of a collective. msccl writes XML that collective"
    " libraries load. Circuits and times have no place in it. Nothing is written that"
    " `lightloom verify` does not accept.",
)
@click.argument("file", metavar="FILE")
@click.option(
    "--to", "target", type=click.Choice(_FORMATS), required=True, help="Format."
)
@click.option("-o", "--output", metavar="FILE", required=True, help="- is stdout.")
@click.option(
    "--runtime",
    type=click.Choice(_RUNTIMES),
    default=_RUNTIMES[0],
    show_default=True,
    help="Who will load it: names of operations and limits differ.",
)
@click.option(
    "--protocol",
    type=click.Choice(_PROTOCOLS),
    default=_PROTOCOLS[0],
    show_default=True,
    help="How messages are moved.",
)
@click.option(
    "--buffers",
    type=click.Choice(_BUFFERS),
    default=_BUFFERS[0],
    show_default=True,
    help="Where data go whose place is still being sent from. With scratch no size"
    " can make the program hang; direct takes less memory, and maxBytes says up to"
    " which size it is safe.",
)
def command(
    file: str, target: str, output: str, runtime: str, protocol: str, buffers: str
) -> None:
    """Write a schedule in another format."""
    del target
    from lightloom.formats.compression import open_writing
    from lightloom.formats.msccl_runtimes import runtime_of
    from lightloom.formats.msccl_xml import msccl_xml
    from lightloom.formats.schedule_reader import read_schedule
    from lightloom.programs.export_program import export_program

    check_output(output, "--output", file)
    with progress("export") as tell:
        tell(f"reading {file}")
        schedule = read_schedule(file)
        try:
            program = export_program(
                schedule,
                runtime_of(runtime),
                protocol=protocol,
                buffers=buffers,
                progress=tell,
            )
        except LightloomError as problem:
            problem.where = f"{file}: {problem.where}" if problem.where else file
            raise
        with open_writing(output) as stream:
            stream.write(msccl_xml(program).encode())
    say(
        f"{output}: {counted(len(program.ranks), 'rank')},"
        f" {counted(program.instruction_count, 'step')}, verified for {runtime};"
        " circuits and times are left out"
    )
