"""``lightloom import``: programs of libraries, and tables, as schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.console import say
from lightloom.cli.formatting import counted
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import check_output
from lightloom.cli.progress import progress
from lightloom.core.errors import InputError
from lightloom.core.units import MIB

if TYPE_CHECKING:
    from lightloom.core.schedule import StepPart
    from lightloom.core.task import Collective

_SUFFIXES = (".xml", ".csv")


@click.command(
    "import",
    help=SUMMARIES["import"]
    + "\n\nFILE is MSCCL XML (.xml) or a table of transfers (.csv with the columns"
    " step,src,dst,chunk_lo,chunk_hi,op). Channels, thread blocks and scratch are left"
    " out. Then `lightloom verify`, `replay` and `bound` say whether it is right, how"
    " long it takes and how good it is.",
)
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", required=True, help="Schedule file.")
@click.option(
    "--fabric",
    metavar="INSTANCE",
    help="Whose fabric it is to run on: a name of `lightloom instances` or a TOML"
    " file.  [default: an ideal switch]",
)
@click.option(
    "--buffer-bytes",
    type=click.IntRange(1, 2**60),
    help="Size of the whole buffer.  [default: 1 MiB, rounded up to whole chunks]",
)
@click.option("--operation", help="Of a table: the collective, for example all-reduce.")
@click.option(
    "--chunks",
    type=click.IntRange(1, 2**31 - 1),
    help="Of a table: chunks of the buffer.  [default: up to the largest that moves]",
)
def command(
    file: str,
    output: str,
    fabric: str | None,
    buffer_bytes: int | None,
    operation: str | None,
    chunks: int | None,
) -> None:
    """Read, find steps and transfers, verify, write."""
    from lightloom.instances.catalogue import load_instance
    from lightloom.programs.import_schedule import imported
    from lightloom.synth.publish import publish

    check_output(output, "--output", file)
    on = None if fabric is None else load_instance(fabric).fabric
    with progress("import") as tell:
        tell(f"reading {file}")
        collective, parts, unused = _read(file, buffer_bytes, operation, chunks)
        tell("finding circuits and verifying")
        schedule = imported(collective, parts, on, source=file)
        publish(schedule, output)
    left_out = f"; {counted(unused, 'chunk')} sent that nobody uses" if unused else ""
    say(
        f"{output}: {collective.op} of {counted(collective.rank_count, 'rank')} in"
        f" {counted(schedule.step_count, 'step')} on {schedule.fabric['kind']},"
        f" {collective.buffer_bytes} bytes{left_out}"
    )


def _read(
    file: str, buffer_bytes: int | None, operation: str | None, chunks: int | None
) -> tuple[Collective, tuple[StepPart, ...], int]:
    """Return the collective, its transfers, and the chunks sent for nothing."""
    name = file.removesuffix(".gz").removesuffix(".zst")
    if name.endswith(".xml"):
        from lightloom.formats.msccl_xml import read_msccl
        from lightloom.programs.lifting import lift

        program = read_msccl(file)
        size = _whole_chunks(buffer_bytes, program.chunks_per_loop, file)
        lifted = lift(program, size)
        return lifted.collective, lifted.parts, lifted.unused
    if name.endswith(".csv"):
        from lightloom.formats.transfers_csv import read_transfers
        from lightloom.programs.import_schedule import table_collective

        if operation is None:
            what, fix = "a table does not name its operation", "give --operation"
            raise InputError(what, where=file, fix=fix)
        parts = read_transfers(file)
        task = table_collective(parts, operation, chunks)
        size = _whole_chunks(buffer_bytes, task.chunk_count, file)
        from msgspec.structs import replace

        return replace(task, buffer_bytes=size), parts, 0
    allowed = ", ".join(f"*{suffix}" for suffix in _SUFFIXES)
    raise InputError("unknown kind of file", where=file, allowed=allowed)


def _whole_chunks(buffer_bytes: int | None, chunks: int, where: str) -> int:
    """Return a size of the buffer that its chunks divide."""
    if buffer_bytes is None:
        return -(-MIB // chunks) * chunks
    if buffer_bytes % chunks:
        raise InputError(
            "chunks do not divide the buffer",
            where=f"{where}: --buffer-bytes",
            found=buffer_bytes,
            allowed=f"multiples of {chunks}",
        )
    return buffer_bytes
