"""``lightloom ramp``: what only RAMP networks have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightloom.cli.console import progress, write_json, write_table, write_text
from lightloom.cli.failure import INVALID, as_given
from lightloom.cli.main import SUMMARIES
from lightloom.cli.options import (
    INSTANCE,
    JSON,
    asked_instance,
    command_with,
    option,
    seed_option,
)
from lightloom.core.errors import InputError
from lightloom.core.units import format_bytes, format_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Task
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.instances.instance import Instance
    from lightloom.programs.ramp_nic import NicInstruction, Program, Stage
    from lightloom.validate.schedule_stream import StreamReport

_OPERATION = (
    "Operation: all-gather, all-reduce, all-to-all, barrier, broadcast, gather, reduce,"
    " reduce-scatter or scatter.  [default: the instance's]"
)
_MOST_PRINTED = 10_000
"""Instructions of a table that somebody may read."""
_STRATEGY = (
    "Strategy: steps, exchange (all-reduce), tree (broadcast, scatter), whole (reduce),"
    " spread (all but those of all-to-all and broadcast, up to 4096 nodes); of an"
    " all-to-all relayed, two-phase, three-phase, four-phase, direct or steps."
    "  [default: steps; tree for a broadcast; the fastest for an all-to-all]"
)


@command_with(
    "Print the program of one node's network interface: for each step and"
    " transceiver the wavelength, the path (the group whose gate opens), the bytes and"
    " the time slots. Takes closed forms for that node alone, at any size."
    "\n\nINSTANCE is a name of `lightloom instances` or a TOML file; - is stdin.",
)
def nic_command(
    *,
    instance: str = INSTANCE,
    node: str = option("Group, rack, number.", metavar="G,J,L"),
    name: str | None = option(_OPERATION, "--op"),
    strategy: str | None = option(_STRATEGY),
    as_json: bool = JSON,
) -> None:
    """Print the program of one node's network interface."""
    from lightloom.programs.ramp_nic import node_program

    fabric, question = _ramp(instance)
    task = question.communication
    wanted = _coordinates(fabric, node)
    found = node_program(fabric, task, wanted, name, strategy)
    if as_json:
        write_json(_program_record(fabric, found, wanted))
        return
    _print_program(found)


@command_with(
    "Check all steps of an operation as `lightloom verify` would, streaming: every"
    " circuit and resource at any size; the data of every chunk up to 4096 nodes, of"
    " sampled chunks above."
    "\n\nINSTANCE is a name of `lightloom instances` or a TOML file; - is stdin. Its"
    " size of buffer matters for an all-to-all alone, of which the time is told. Ranks"
    " are numbered by the information map.",
)
def check_command(
    *,
    instance: str = INSTANCE,
    name: str | None = option(_OPERATION, "--op"),
    strategy: str | None = option(_STRATEGY),
    samples: int = option(
        "Chunks to follow above 4096 nodes.", type=click.IntRange(2, 10_000), default=8
    ),
    seed: int = seed_option("Seed of their choice."),
    as_json: bool = JSON,
) -> int:
    """Check an operation step by step, at any size."""
    from lightloom.programs.ramp_nic import check_operation, operation

    fabric, question = _ramp(instance)
    task = question.communication
    op = getattr(task, "op", None) if name is None else name
    if op is None:
        what, fix = "the instance has no operation", "give --op"
        raise InputError(what, where=instance, fix=fix)
    nodes = getattr(task, "nodes", range(fabric.node_count))
    with progress("ramp check") as tell, as_given(instance):
        root, size_bytes = getattr(task, "root", None), _buffer_bytes(task)
        job = operation(
            *(fabric, op, nodes, root), strategy=strategy, buffer_bytes=size_bytes
        )
        tell(f"{op} on {len(nodes)} nodes")
        report = check_operation(job, samples=samples, seed=seed)
    time_ps = job.time_ps(size_bytes) if size_bytes else None
    if as_json:
        write_json(
            {
                **_check_record(op, len(nodes), report),
                "strategy": job.strategy,
                "completion_time_ps": time_ps,
            }
        )
    else:
        write_text(_check_text(op, len(nodes), report))
        if time_ps is not None and size_bytes is not None:
            told = f"{format_bytes(size_bytes)} by {job.strategy}"
            write_text(f"  {format_ps(time_ps)} for {told}")
    return 0 if report.valid else INVALID


ramp_command = click.Group(
    "ramp",
    help=SUMMARIES["ramp"]
    + "\n\nPower budget, scale, cost and energy: `lightloom reproduce` with ramp-fig6,"
    " ramp-fig7, ramp-table3 and ramp-table4.",
    commands=[nic_command, check_command],
)


def _buffer_bytes(task: Task) -> int | None:
    """Return the size of a task's buffer, ``None`` for a demand."""
    from lightloom.core.task import Collective

    return task.buffer_bytes if isinstance(task, Collective) else None


def _ramp(name: str) -> tuple[Ramp, Instance]:
    from lightloom.instances.fabrics.ramp import Ramp

    question = asked_instance(name)
    if not isinstance(question.fabric, Ramp):
        what = "the fabric is not a RAMP network"
        found = question.fabric.kind
        fix = "`lightloom instances --names` lists some: ramp-16/all-reduce-1MiB"
        raise InputError(what, where=f"{name}: fabric.kind", found=found, fix=fix)
    return question.fabric, question


def _coordinates(fabric: Ramp, text: str) -> tuple[int, int, int]:
    """Return the coordinates in an option."""
    parts = text.split(",")
    names = ("group", "rack", "number")
    limits = (fabric.groups, fabric.racks, fabric.nodes_per_rack)
    allowed = ", ".join(
        f"{name} 0 to {limit - 1}" for name, limit in zip(names, limits, strict=True)
    )
    try:
        values = tuple(int(part) for part in parts)
    except ValueError:
        values = ()
    if len(values) != 3:
        what = "a node is three integers, group,rack,number"
        raise InputError(what, where="--node", found=text, allowed=allowed)
    nearest = [
        min(max(value, 0), limit - 1)
        for value, limit in zip(values, limits, strict=True)
    ]
    for name, value, limit in zip(names, values, limits, strict=True):
        if not 0 <= value < limit:
            what = f"{name} outside the network"
            fix = f"nearest node: {','.join(map(str, nearest))}"
            raise InputError(
                what, where="--node", found=value, allowed=allowed, fix=fix
            )
    return values[0], values[1], values[2]


def _program_record(
    fabric: Ramp, found: Program, node: tuple[int, int, int]
) -> dict[str, Any]:
    import msgspec

    return {
        "node": list(node),
        "slot_ps": fabric.slot_ps,
        "slot_bytes": fabric.slot_bytes,
        "stages": msgspec.to_builtins(found.stages),
        "instructions": msgspec.to_builtins(found.instructions),
    }


def _print_program(found: Program) -> None:
    from lightloom.report.tables import terminal_table

    if len(found.instructions) > _MOST_PRINTED:
        what = "too many instructions for a table"
        count = len(found.instructions)
        allowed = f"at most {_MOST_PRINTED}"
        raise InputError(what, found=count, allowed=allowed, fix="use --json")
    _print_stages(found.stages)
    columns = (
        "steps",
        "direction",
        "transceiver#",
        "wavelength#",
        "path",
        "peer",
        "data#",
        "slots#",
    )
    rows = [
        (
            _steps(line.first_step, line.last_step),
            line.direction,
            line.transceiver,
            line.wavelength,
            ",".join(map(str, line.path)),
            _peers(line),
            format_bytes(line.bytes),
            line.slots,
        )
        for line in found.instructions
    ]
    write_table(terminal_table(columns, rows))


def _print_stages(stages: Sequence[Stage]) -> None:
    from lightloom.report.tables import terminal_table

    columns = ("steps", "of RAMP#", "buffer", "then", "members#", "portion#")
    rows: list[Sequence[object]] = [
        (
            _steps(stage.first_step, stage.last_step),
            stage.ramp_step or None,
            stage.buffer_op,
            stage.local_op,
            stage.members,
            stage.portion,
        )
        for stage in stages
    ]
    write_table(terminal_table(columns, rows))


def _steps(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _peers(line: NicInstruction) -> str:
    first = ",".join(map(str, line.peers[0]))
    more = len(line.peers) - 1
    return f"{first} and {more} more" if more else first


def _check_record(op: str, nodes: int, report: StreamReport) -> dict[str, Any]:
    import msgspec

    return {
        "op": op,
        "nodes": nodes,
        "valid": report.valid,
        "segments": report.segments,
        "steps": report.steps,
        "circuits": report.circuits,
        "transfers": report.transfers,
        "chunks": report.chunks,
        "chunks_followed": report.followed,
        "violations": msgspec.to_builtins(report.violations),
    }


def _check_text(op: str, nodes: int, report: StreamReport) -> str:
    verdict = "valid" if report.valid else "INVALID"
    every = report.followed == report.chunks
    followed = "all" if every else f"{report.followed} sampled of"
    # Of a larger all-to-all only what moves the followed chunks is streamed.
    moved = "all" if every or op != "all-to-all" else "those of followed chunks"
    lines = [
        f"{op} on {nodes:,} nodes: {verdict}",
        f"  {report.segments} segments with {report.circuits:,} circuits, all checked",
        f"  {report.steps} steps with {report.transfers:,} transfers, {moved} checked",
        f"  data followed: {followed} {report.chunks:,} chunks",
    ]
    lines += [
        f"  {found.rule}: {found.resource}: {found.message}"
        for found in report.violations
    ]
    return "\n".join(lines)
