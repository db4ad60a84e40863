"""Transfers from elsewhere as a schedule on a fabric."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from lightloom.core.chunk_program import ChunkProgram
from lightloom.core.errors import InputError
from lightloom.core.schedule import Algorithm, FluidTransfers, Schedule
from lightloom.core.task import Collective
from lightloom.core.units import MIB
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.plans.edge_colouring import coloured_ports
from lightloom.programs.lifting import lift
from lightloom.synth.certify import signed
from lightloom.synth.fabrics import realiser_of
from lightloom.synth.traffic import TrafficRound
from lightloom.validate import verify
from lightloom.validate.programs import verify_plan, verify_program

if TYPE_CHECKING:
    from lightloom.core.schedule import StepPart
    from lightloom.formats.mscclpp_plan import ExecutionPlan
    from lightloom.instances.instance import AnyFabric
    from lightloom.programs.lifting import Lifted

IMPORTED = "imported"
"""Name of the algorithm in the header."""


_RUNTIME_RULES = {
    "program-attributes",
    "program-awaited",
    "program-fifo",
    "program-limit",
    "program-operation",
}
"""What only those who load a program care about."""


def lifted_program(
    program: ChunkProgram | ExecutionPlan,
    source: str,
    buffer_bytes: int | None = None,
) -> Lifted:
    """Return a program of GPUs as rounds of transfers, after it was checked.

    Parameters
    ----------
    program
        As it was read.
    source
        Its file, for messages.
    buffer_bytes
        Size of the whole buffer; ``None`` for one MiB, rounded up to whole chunks.

    Raises
    ------
    InputError
        The program breaks a rule, other than the limits of a runtime; its operation
        is unknown; it cannot be represented; chunks do not divide the buffer.
    """
    if isinstance(program, ChunkProgram):
        verdict, allowed = verify_program(program), _RUNTIME_RULES
    else:
        verdict, allowed = verify_plan(program), {"program-limit"}
    for first in verdict.violations:
        if first.rule not in allowed:
            what = f"the program breaks {first.rule}: {first.message}"
            where, fix = f"{source}: {first.resource}", "`lightloom verify` lists all"
            raise InputError(what, where=where, fix=fix)
    try:
        lifted = lift(program, 1)
    except InputError as problem:
        problem.where = f"{source}: {problem.where}"
        problem.args = (problem.line(),)
        raise
    task = lifted.collective
    size = whole_chunks(buffer_bytes, task.chunk_count, source)
    return replace(lifted, collective=structs.replace(task, buffer_bytes=size))


def whole_chunks(buffer_bytes: int | None, chunks: int, source: str) -> int:
    """Return a size of the buffer that its chunks divide.

    Parameters
    ----------
    buffer_bytes
        The size; ``None`` for one MiB, rounded up.
    chunks
        Chunks of the buffer.
    source
        Where they come from, for messages.

    Raises
    ------
    InputError
        If chunks do not divide the buffer.
    """
    if buffer_bytes is None:
        return -(-MIB // chunks) * chunks
    if buffer_bytes % chunks:
        raise InputError(
            "chunks do not divide the buffer",
            where=f"{source}: --buffer-bytes",
            found=buffer_bytes,
            allowed=f"multiples of {chunks}",
        )
    return buffer_bytes


def table_collective(
    parts: tuple[StepPart, ...],
    op: str,
    chunks: int | None,
    root: int | None = None,
) -> Collective:
    """Return the collective of a table of transfers, one byte a chunk.

    Parameters
    ----------
    parts
        Its steps; the ranks are nodes 0 up to the largest that sends or receives.
    op
        Name of the operation.
    chunks
        Chunks of the buffer; ``None`` for up to the largest that moves.
    root
        Rank of the root, of operations that have one; ``None`` for rank 0.

    Raises
    ------
    InputError
        The operation is unknown, or does not have so many chunks.
    """
    nodes, most = 0, 0
    for part in parts:
        transfers = part.transfers
        assert not isinstance(transfers, FluidTransfers)
        nodes = max(nodes, int(transfers.src.max()) + 1, int(transfers.dst.max()) + 1)
        most = max(most, int(transfers.chunk_hi.max()))
    if chunks is None:
        chunks = -(-most // nodes) if op == "all-to-all" else most
    task = Collective(op, tuple(range(nodes)), chunks, chunks, root)
    check_collective(task, nodes, "the table")
    return task


def imported(
    collective: Collective,
    parts: tuple[StepPart, ...],
    fabric: AnyFabric | None,
    *,
    source: str,
) -> Schedule:
    """Return transfers as a schedule with its footer.

    Parameters
    ----------
    collective
        Ranks are nodes of the fabric.
    parts
        Steps and transfers, without planes and segments.
    fabric
        What it runs on; ``None`` for an ideal switch of as many nodes.
    source
        Where the transfers come from, for messages and the header.

    Raises
    ------
    InputError
        The fabric has too few nodes, or the transfers break a rule.
    InfeasibleError, NoAnswerError
        A pair has no circuit, or none was found.
    """
    on = IdealSwitch(nodes=max(2, collective.rank_count)) if fabric is None else fabric
    check_collective(collective, on.node_count, source)
    made = Algorithm(IMPORTED, {"source": Path(source).name})
    # Transfers may be invalid: they are judged where every pair has a link, first.
    switch = IdealSwitch(nodes=max(2, on.node_count))
    plain = Schedule(switch.table(), collective, made, (), parts)
    _refuse_invalid(plain, source)
    realised = realiser_of(on).realise(_rounds(collective, parts))
    schedule = Schedule(on.table(), collective, made, realised.segments, realised.parts)
    instance = Instance(on, collective, source)
    return signed(schedule, instance)


def _refuse_invalid(schedule: Schedule, source: str) -> None:
    """Raise if transfers break a rule on a fabric where every pair has a link."""
    for first in verify(schedule).violations[:1]:
        step = "" if first.step is None else f"step {first.step}: "
        what = f"the transfers break {first.rule}: {step}{first.resource}"
        raise InputError(what, where=source, found=first.message)


def _rounds(
    collective: Collective, parts: tuple[StepPart, ...]
) -> tuple[TrafficRound, ...]:
    """Return steps as rounds whose rows are dealt to ports by edge colouring."""
    rounds = []
    for part in parts:
        transfers = part.transfers
        assert not isinstance(transfers, FluidTransfers)
        chunks = transfers.chunk_hi - transfers.chunk_lo
        port = coloured_ports(transfers.src, transfers.dst)
        size_bytes = chunks * collective.chunk_bytes
        rounds.append(TrafficRound(transfers, size_bytes, port))
    return tuple(rounds)
