"""Lowering: a schedule of a collective to a program of GPUs for one runtime."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lightloom.core.chunk_program import (
    NOP,
    READS_SRC,
    WRITES_DST,
    ChunkProgram,
    Instruction,
    RankProgram,
    ThreadBlock,
)
from lightloom.core.errors import InputError
from lightloom.core.schedule import Transfers
from lightloom.core.task import Collective
from lightloom.core.units import GIB
from lightloom.formats.msccl_runtimes import PROTOCOLS
from lightloom.programs.operations import (
    BUFFER_USES,
    RankOperation,
    chunk_division,
    layout_of,
    one_memory,
    operations_of,
)
from lightloom.programs.references import references
from lightloom.validate.programs.limits import exceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.chunk_program import Place
    from lightloom.core.schedule import Schedule
    from lightloom.formats.msccl_runtimes import MscclRuntime
    from lightloom.programs.references import Cells
    from lightloom.validate.programs.layout import BufferLayout

_LONGEST_NAME = 63
"""Characters of a name that loaders keep."""


class ProgramLimitError(InputError):
    """A program that is larger than its runtime takes."""


UNLIMITED_BYTES = 1024 * GIB
"""What stands for no limit where a runtime has no word for it."""
_NOWHERE: Place = ("i", 0)


def lower(
    schedule: Schedule,
    runtime: MscclRuntime,
    *,
    protocol: str = PROTOCOLS[0],
    buffers: str = BUFFER_USES[0],
) -> ChunkProgram:
    """Return a schedule as a program of GPUs; circuits and times are left out.

    One thread block sends to each peer, one receives from each peer, one does what is
    local. A step waits for what it reads and overwrites and for nothing else.

    `buffers`: ``scratch``: no size makes the program hang. ``direct``: less scratch,
    but a receive may wait for a send.

    Raises `InputError` if the runtime lacks the operation; `ProgramLimitError` if its
    limits are exceeded.

    Deterministic. The program is not checked here; `verify_program` does.
    """
    task = schedule.task
    if isinstance(task, Collective) and task.op not in runtime.operations:
        raise InputError(
            f"{runtime.name} has no operation for {task.op}",
            where="task.collective.op",
            found=task.op,
            allowed=", ".join(runtime.operations),
        )
    if protocol not in PROTOCOLS:
        allowed = ", ".join(PROTOCOLS)
        raise InputError(
            "invalid protocol", where="--protocol", found=protocol, allowed=allowed
        )
    _refuse_many_chunks(schedule, runtime)
    made = operations_of(schedule, buffers)
    task = made.collective
    rows, sender_of = _cut(made.rows, runtime.most_count)
    for row, sender in zip(rows, sender_of, strict=True):
        row.sender = sender
    keys, blocks, channels = _thread_blocks(rows, runtime)
    _refuse_long(rows, blocks, keys, runtime)
    layout = layout_of(task)
    memory = [_cells(layout, row) for row in rows]
    waits = references(rows, blocks, memory)
    ranks = _rank_programs(rows, blocks, keys, channels, waits, made.scratch, layout)
    program = ChunkProgram(
        name=_name(schedule),
        collective=runtime.operations[task.op],
        protocol=protocol,
        channels=1 + max((channel for channel in channels), default=0),
        chunks_per_loop=task.chunk_count,
        in_place=task.op != "all-to-all",
        out_of_place=True,
        min_bytes=0,
        max_bytes=0 if runtime.zero_is_unlimited else UNLIMITED_BYTES,
        ranks=ranks,
        declared_ranks=task.rank_count,
    )
    for where, _, what, found, most in exceeded(program, runtime):
        raise over_limit(runtime, where, what, found, most)
    return program


def _name(schedule: Schedule) -> str:
    """Return a name of letters, digits and dashes that every runtime takes."""
    task = schedule.task
    assert isinstance(task, Collective)
    words = ["lightloom", task.op, schedule.algorithm.name, str(task.rank_count)]
    text = "-".join(words)
    safe = "".join(
        c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in text
    )
    return safe[:_LONGEST_NAME]


def _cut(rows: list[RankOperation], most: int) -> tuple[list[RankOperation], list[int]]:
    """Return operations of at most so many chunks, and the sender of each."""
    cut: list[RankOperation] = []
    pieces: dict[int, list[int]] = {}
    senders: list[int] = []
    for number, row in enumerate(rows):
        pieces[number] = []
        for turn, start in enumerate(range(0, row.count, most)):
            pieces[number].append(len(cut))
            src, dst = ((place[0], place[1] + start) for place in (row.src, row.dst))
            count = min(most, row.count - start)
            cut.append(RankOperation(row.rank, row.kind, row.peer, src, dst, count))
            senders.append(-1 if row.sender < 0 else pieces[row.sender][turn])
    return cut, senders


def _thread_blocks(
    rows: Sequence[RankOperation], runtime: MscclRuntime
) -> tuple[list[tuple[int, int, int]], list[int], list[int]]:
    """Return (rank, side, peer) and channel of each thread block, and each row's.

    Sides: 0 sends, 1 receives, 2 is local. Blocks are sorted by rank and side.
    """
    side = {"s": 0, "r": 1, "rrc": 1}
    of_row = [(row.rank, side.get(row.kind, 2), row.peer) for row in rows]
    keys = sorted(set(of_row))
    number = {key: place for place, key in enumerate(keys)}
    half = (runtime.most_peers_per_channel - 2) // 2
    used: Counter[tuple[int, int, int]] = Counter()
    channel_of: dict[tuple[int, int], int] = {}
    for rank, way, peer in keys:
        if way:
            continue
        channel = 0
        while max(used[rank, 0, channel], used[peer, 1, channel]) >= half:
            channel += 1
        used[rank, 0, channel] += 1
        used[peer, 1, channel] += 1
        channel_of[rank, peer] = channel
    channels = [
        0 if way == 2 else channel_of[(rank, peer) if way == 0 else (peer, rank)]
        for rank, way, peer in keys
    ]
    return keys, [number[key] for key in of_row], channels


def _cells(layout: BufferLayout, row: RankOperation) -> tuple[list[Cells], list[Cells]]:
    """Return what an operation reads and writes, input and output as one memory."""

    def memory(place: Place) -> Cells:
        buffer, first = one_memory(layout, row.rank, place)
        return buffer, first, first + row.count

    source, target = memory(row.src), memory(row.dst)
    if row.kind == "cpy" and source == target:
        return [], []
    reads = [source] if row.kind in READS_SRC else []
    if row.kind == "re":
        reads.append(target)
    return reads, [target] if row.kind in WRITES_DST else []


def _refuse_many_chunks(schedule: Schedule, runtime: MscclRuntime) -> None:
    """Raise where a pair moves more chunks than the steps of a thread block can.

    It is known before any chunk is followed, of which there may be millions.
    """
    task = schedule.task
    if not isinstance(task, Collective):
        return
    division = chunk_division(schedule, task)
    moved: Counter[tuple[int, int]] = Counter()
    for part in schedule.parts:
        transfers = part.transfers
        if isinstance(transfers, Transfers):
            low, high = (
                division.first(division.number(chunk))
                for chunk in (transfers.chunk_lo, transfers.chunk_hi)
            )
            count = (high - low).tolist()
            pairs = zip(transfers.src.tolist(), transfers.dst.tolist(), strict=True)
            for pair, chunks in zip(pairs, count, strict=True):
                moved[pair] += chunks
    (src, _), chunks = max(moved.items(), key=lambda one: one[1], default=((0, 0), 0))
    steps = -(-chunks // runtime.most_count)
    if steps > runtime.most_steps:
        raise over_limit(
            runtime,
            f"gpu {task.nodes.index(src)}",
            "steps in a thread block",
            steps,
            runtime.most_steps,
        )


def _refuse_long(
    rows: Sequence[RankOperation],
    blocks: Sequence[int],
    keys: Sequence[tuple[int, int, int]],
    runtime: MscclRuntime,
) -> None:
    """Raise where a thread block or a GPU has too much to do, whatever it waits for."""
    steps = Counter(blocks)
    longest = max(steps.values(), default=0)
    if longest > runtime.most_steps:
        rank, _, _ = keys[max(steps, key=lambda block: steps[block])]
        raise over_limit(
            runtime,
            f"gpu {rank}",
            "steps in a thread block",
            longest,
            runtime.most_steps,
        )
    for what, counted, most in (
        ("thread blocks", Counter(key[0] for key in keys), runtime.most_thread_blocks),
        ("steps of a GPU", Counter(row.rank for row in rows), runtime.most_elements),
    ):
        for rank, count in counted.items():
            if count > most:
                raise over_limit(runtime, f"gpu {rank}", what, count, most)


def _rank_programs(
    rows: Sequence[RankOperation],
    blocks: Sequence[int],
    keys: Sequence[tuple[int, int, int]],
    channels: Sequence[int],
    waits: Sequence[Sequence[int]],
    scratch: Sequence[int],
    layout: BufferLayout,
) -> tuple[RankProgram, ...]:
    """Return the thread blocks of every rank, references resolved to places in them."""
    first = {rank: place for place, (rank, _, _) in reversed(list(enumerate(keys)))}
    position: dict[int, tuple[int, int]] = {}
    length: Counter[int] = Counter()
    for number, block in enumerate(blocks):
        length[block] += max(1, len(waits[number]))
        position[number] = (block - first[keys[block][0]], length[block] - 1)
    awaited = {
        (keys[blocks[other]][0], *position[other])
        for others in waits
        for other in others
    }
    steps: dict[int, list[Instruction]] = defaultdict(list)
    for number, row in enumerate(rows):
        block = blocks[number]
        mine = [position[other] for other in sorted(waits[number])]
        for other in mine[:-1]:
            steps[block].append(Instruction(NOP, _NOWHERE, _NOWHERE, 0, other))
        steps[block].append(
            Instruction(
                row.kind,
                row.src,
                row.dst,
                row.count,
                mine[-1] if mine else None,
                (row.rank, *position[number]) in awaited,
            )
        )
    thread_blocks: dict[int, list[ThreadBlock]] = defaultdict(list)
    for block, (rank, way, peer) in enumerate(keys):
        send, receive = (peer if way == side else -1 for side in (0, 1))
        thread_blocks[rank].append(
            ThreadBlock(
                block - first[rank], send, receive, channels[block], tuple(steps[block])
            )
        )
    return tuple(
        RankProgram(
            rank, *layout.sizes(rank), scratch[rank], tuple(thread_blocks[rank])
        )
        for rank in range(layout.ranks)
    )


def over_limit(
    runtime: MscclRuntime, where: str, what: str, found: int, most: int
) -> ProgramLimitError:
    """Return the error of a program that exceeds a limit of its runtime."""
    return ProgramLimitError(
        f"more than {runtime.name} takes: {what}",
        where=where,
        found=found,
        allowed=f"{most} at most",
    )
