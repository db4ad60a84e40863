"""Programs of GPUs as execution plans of MSCCL++.

A message is put into the receiver's memory, which knows of it by a signal: into scratch
of its own, or where it belongs if nobody has used that place before. A receiver signals
first that it has begun, so that no message overtakes a run before. Dependencies between
thread blocks are semaphores, each released and acquired once a run. A thread block has
one peer and at most 64 operations: longer ones go on in another block.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lightloom.core.chunk_program import (
    NOP,
    RECEIVES,
    SENDS,
)
from lightloom.formats.msccl_runtimes import MSCCLPP
from lightloom.programs.lowering import over_limit
from lightloom.programs.mscclpp_thread_block import (
    PlanItem,
    PlanPiece,
    ThreadBlockWriter,
)
from lightloom.validate.programs.execution import flatten, run
from lightloom.validate.programs.layout import BufferLayout
from lightloom.validate.programs.plan_form import MOST_OPERATIONS, MOST_SEMAPHORES
from lightloom.validate.programs.range_map import RangeMap

if TYPE_CHECKING:
    from lightloom.core.chunk_program import ChunkProgram, Instruction, Place
    from lightloom.validate.programs.execution import Flat, ProgramRun

_RESERVED = 6
"""Operations that begin and end a thread block which goes on in another one."""
_MOST_OFFSET = 2**32 - 1
"""Bytes of a buffer that an operation can reach."""
_ALIGNMENT = 16


def plan_json(program: ChunkProgram) -> str:
    """Return a program as the text of an execution plan, a line for each GPU.

    Raises `ProgramLimitError`: as `mscclpp_plan`.
    """
    plan = mscclpp_plan(program)
    gpus = plan.pop("gpus")
    assert isinstance(gpus, list)
    lines = ",\n".join(json.dumps(gpu) for gpu in gpus)
    return f'{json.dumps(plan)[:-1]}, "gpus": [\n{lines}\n]}}\n'


def mscclpp_plan(program: ChunkProgram) -> dict[str, object]:
    """Return a program as an execution plan, in plain dicts and lists.

    `program`: of a known operation, accepted by `verify_program`; each thread block
    sends to a peer, receives from one, or works on its own GPU.

    Raises `ProgramLimitError`: a GPU has more thread blocks than run at once.

    Deterministic. No size of the buffer makes a plan hang, since every message has
    memory of its own.
    """
    flat = flatten(program)
    done = run(flat)
    targets, scratch = _targets(program, flat, done)
    steps = program.instructions
    pieces = _pieces(steps, flat, done)
    semaphores = _give_semaphores(flat, pieces)
    gpus = []
    for rank in program.ranks:
        mine = [piece for piece in pieces if piece.rank == rank.id]
        if len(mine) > MSCCLPP.most_thread_blocks:
            where, most = f"gpu {rank.id}", MSCCLPP.most_thread_blocks
            raise over_limit(MSCCLPP, where, "thread blocks", len(mine), most)
        sizes = (rank.input_chunks, rank.output_chunks)
        if 0 in sizes:  # the executor divides by both
            sizes = (program.chunks_per_loop,) * 2
        gpus.append(
            {
                "id": rank.id,
                "input_chunks": sizes[0],
                "output_chunks": sizes[1],
                "scratch_chunks": scratch[rank.id],
                **_gpu(steps, done, mine, targets),
                "semaphores": [{"init_value": 0}] * semaphores[rank.id],
            }
        )
    longest = max(program.chunks_per_loop, *scratch)
    most = _MOST_OFFSET // longest // _ALIGNMENT * _ALIGNMENT * program.chunks_per_loop
    return {
        "name": program.name,
        "collective": program.collective,
        "protocol": "Simple",
        "inplace": program.in_place,
        "reuse_resources": False,
        "gpus": gpus,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": _ALIGNMENT,
        "min_message_size": 0,
        "max_message_size": most,
    }


def _targets(
    program: ChunkProgram, flat: Flat, done: ProgramRun
) -> tuple[dict[int, Place], list[int]]:
    """Return where the message of each receive is put, and each rank's scratch.

    The race that two accesses of a place would be is excluded, so a receive that is
    the first to touch its place in one order is so in all.
    """
    layout = BufferLayout.of(program)
    ways = (True, False) if program.in_place else (False,)
    touched: dict[tuple[bool, int, str], RangeMap[bool]] = {}
    scratch = [rank.scratch_chunks for rank in program.ranks]
    targets: dict[int, Place] = {}
    steps = program.instructions
    for number in done.order:
        step, action = steps[number], flat.actions[number]
        rank = flat.rank[flat.block[number]]
        cells = []
        for way in ways:
            for _, buffer, chunk in (*action.reads, *action.writes):
                name, first = layout.memory(rank, (buffer, chunk), in_place=way)
                mine = touched.setdefault((way, rank, name), RangeMap(default=False))
                cells.append((mine, first, first + step.count))
        if step.kind in RECEIVES:
            used = any(
                used
                for mine, first, end in cells
                for *_, used in mine.within(first, end)
            )
            fresh = step.kind == "r" and not used
            targets[number] = step.dst if fresh else ("s", scratch[rank])
            scratch[rank] += 0 if fresh else step.count
        for mine, first, end in cells:
            mine.assign(first, end, value=True)
    return targets, scratch


def _pieces(steps: list[Instruction], flat: Flat, done: ProgramRun) -> list[PlanPiece]:
    """Return the thread blocks of the plan; both ends of a connection are cut alike."""
    items = _items(steps, flat)
    awaited = Counter(wait for mine in items.values() for i in mine for wait in i.waits)
    receiver = _receivers(done)
    pieces: list[PlanPiece] = []
    for block, mine in items.items():
        kind = steps[mine[0].step].kind
        if kind in RECEIVES:
            continue  # with the block that sends
        ends = [(block, mine, False, -1)]
        if kind in SENDS:
            other = flat.block[receiver[mine[0].step]]
            ends = [
                (block, mine, True, flat.rank[other]),
                (other, items[other], False, flat.rank[block]),
            ]
        cuts = _cut([[_cost(item, awaited) for item in ours] for _, ours, *_ in ends])
        for at, ours, sends, peer in ends:
            for number, (low, high) in enumerate(cuts):
                part = ours[low:high]
                pieces.append(PlanPiece(flat.rank[at], peer, sends, number, part))
                if number:
                    part[0].waits.append(ours[low - 1].step)
    return sorted(pieces, key=lambda piece: (piece.rank, piece.items[0].step))


def _items(steps: list[Instruction], flat: Flat) -> dict[int, list[PlanItem]]:
    """Return what each thread block does, waits of steps that only wait included."""
    items: dict[int, list[PlanItem]] = defaultdict(list)
    waits: list[int] = []
    for number, step in enumerate(steps):
        waits += flat.actions[number].waits_for
        if step.kind != NOP:
            items[flat.block[number]].append(PlanItem(number, waits))
            waits = []
    return items


def _receivers(done: ProgramRun) -> dict[int, int]:
    """Return the step that receives what each step sends."""
    return {sent: step for step, senders in enumerate(done.senders) for sent in senders}


def _cost(item: PlanItem, awaited: Counter[int]) -> int:
    """Return the operations of an item, or a few more."""
    counts = (len(item.waits), awaited[item.step])
    return sum(-(-count // MOST_SEMAPHORES) for count in counts) + 5


def _cut(costs: list[list[int]]) -> list[tuple[int, int]]:
    """Return ranges of items of which both ends have few enough operations."""
    most = MOST_OPERATIONS - _RESERVED
    cuts, low = [], 0
    sums = [0] * len(costs)
    for place in range(len(costs[0])):
        now = [end[place] for end in costs]
        if place > low and any(
            total + cost > most for total, cost in zip(sums, now, strict=True)
        ):
            cuts.append((low, place))
            low, sums = place, [0] * len(costs)
        sums = [total + cost for total, cost in zip(sums, now, strict=True)]
    return [*cuts, (low, len(costs[0]))]


def _give_semaphores(flat: Flat, pieces: list[PlanPiece]) -> dict[int, int]:
    """Give each dependency a semaphore of its own; return how many each GPU has."""
    of_step = {item.step: item for piece in pieces for item in piece.items}
    used: dict[int, int] = defaultdict(int)
    for item in of_step.values():
        rank = flat.rank[flat.block[item.step]]
        for other in item.waits:
            item.acquires.append(used[rank])
            of_step[other].releases.append(used[rank])
            used[rank] += 1
    return used


def _gpu(
    steps: list[Instruction],
    done: ProgramRun,
    pieces: list[PlanPiece],
    targets: dict[int, Place],
) -> dict[str, object]:
    """Return thread blocks, channels and remote buffers of one GPU."""
    with_peer = [piece for piece in pieces if piece.peer >= 0]
    channels = sorted(piece.channel for piece in with_peer)
    index = {key: place for place, key in enumerate(channels)}
    peer_of = {piece.channel: piece.peer for piece in with_peer}
    remote: dict[tuple[int, str], int] = {}
    receiver = _receivers(done)
    blocks = []
    for number, piece in enumerate(pieces):
        block = ThreadBlockWriter(steps, targets, receiver)
        operations = block.operations(piece)
        assert len(operations) <= MOST_OPERATIONS
        ids = [
            remote.setdefault((piece.peer, buffer), len(remote))
            for buffer in block.buffers
        ]
        mine = [index[piece.channel]] if piece.peer >= 0 else []
        blocks.append(
            {
                "id": number,
                "ops": operations,
                "channels": [{"channel_type": "memory", "channel_ids": mine}],
                "remote_buffer_refs": [
                    {"access_channel_type": "memory", "remote_buffer_ids": ids}
                ],
            }
        )
    return {
        "threadblocks": blocks,
        "channels": [
            {
                "channel_type": "memory",
                "connected_to": [peer_of[key] for key in channels],
            }
        ],
        "remote_buffers": [
            {"rank": rank, "type": buffer, "access_channel_types": ["memory"]}
            for rank, buffer in remote
        ],
    }
