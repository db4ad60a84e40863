"""A schedule as a program that was checked: lowered, sized, verified.

Or as an execution plan of MSCCL++, made from such a program. There a message is put
into the receiver's memory, which knows of it by a signal: into scratch of its own, or
where it belongs if nobody has used that place before. A receiver signals first that it
has begun, so that no message overtakes a run before. Dependencies between thread blocks
are semaphores, each released and acquired once a run. A thread block has one peer and
at most 64 operations: longer ones go on in another block.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lightloom.core.chunk_program import NOP, RECEIVES, SENDS
from lightloom.core.errors import InputError, LightloomError
from lightloom.core.task import Collective
from lightloom.formats.json_file import JsonFile
from lightloom.formats.msccl_runtimes import MSCCLPP, PROTOCOLS
from lightloom.formats.mscclpp_plan import plan_of
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.programs.lowering import (
    BUFFER_USES,
    ProgramLimitError,
    lower,
    over_limit,
)
from lightloom.validate import verify
from lightloom.validate.programs import verify_plan, verify_program
from lightloom.validate.programs.execution import flatten, run
from lightloom.validate.programs.form import BufferLayout
from lightloom.validate.programs.plans import MOST_OPERATIONS, MOST_SEMAPHORES
from lightloom.validate.programs.values import RangeMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.chunk_program import ChunkProgram, Instruction, Place
    from lightloom.core.schedule import Schedule
    from lightloom.formats.msccl_runtimes import MscclRuntime
    from lightloom.validate.programs.execution import Flat, ProgramRun


_MOST_RANKS_TRIED = 128
"""Ranks up to which a slower schedule is looked for that a runtime can load: each try
is a synthesis."""


class UnverifiedProgramError(LightloomError):
    """A program about to be written breaks a rule: a bug of the lowering."""

    exit_code = 70


def export_program(
    schedule: Schedule,
    runtime: MscclRuntime,
    *,
    protocol: str = PROTOCOLS[0],
    buffers: str = BUFFER_USES[0],
    progress: Callable[[str], None] | None = None,
) -> ChunkProgram:
    """Return a schedule as a program of GPUs that `verify_program` accepts.

    Where receives wait for sends (``direct``), `max_bytes` is the largest buffer with
    which the program cannot hang.

    Raises `InputError`: the schedule breaks a rule, is no collective's, or the runtime
    lacks the operation or is too small; then an algorithm that fits is named;
    `UnverifiedProgramError`: the program breaks a rule, which is a bug of lightloom.
    """
    tell = progress or (lambda _: None)
    tell("verifying the schedule")
    verdict = verify(schedule)
    if not verdict.valid:
        first = verdict.violations[0]
        what = f"the schedule breaks a rule ({first.rule}): {first.message}"
        raise InputError(what, fix="`lightloom verify` lists all")
    tell("lowering")
    try:
        program = lower(schedule, runtime, protocol=protocol, buffers=buffers)
    except ProgramLimitError as problem:
        tell("looking for algorithms that fit")
        name = _one_that_fits(schedule, runtime, protocol, buffers)
        if name is not None:
            problem.fix = f"an algorithm that fits: {name}"
        raise
    tell("verifying the program")
    judged = verify_program(program, runtime)
    if judged.hangs_from_bytes is not None:
        most = judged.hangs_from_bytes - 1
        if most < 1:
            raise InputError(
                "received directly, this schedule hangs at any size",
                where="--buffers",
                found=buffers,
                fix="use --buffers scratch",
            )
        program = replace(program, max_bytes=most)
        judged = verify_program(program, runtime)
    if not judged.valid:
        first = judged.violations[0]
        what = f"the program breaks {first.rule} at {first.resource}"
        raise UnverifiedProgramError(what, found=first.message)
    return program


def export_plan(
    schedule: Schedule, progress: Callable[[str], None] | None = None
) -> tuple[ChunkProgram, str]:
    """Return a schedule as a program, and the text of its plan for MSCCL++.

    Raises `InputError`: as `export_program`; `UnverifiedProgramError`: `verify_plan`
    does not accept the plan, which is a bug of lightloom.
    """
    # Messages have memory of their own, so what is received direct never waits.
    program = export_program(schedule, MSCCLPP, buffers="direct", progress=progress)
    text = plan_json(program)
    if progress is not None:
        progress("verifying the plan")
    verdict = verify_plan(plan_of(JsonFile("plan", text, json.loads(text))))
    for first in verdict.violations[:1]:
        what = f"the plan breaks {first.rule} at {first.resource}"
        raise UnverifiedProgramError(what, found=first.message)
    return program, text


def _one_that_fits(
    schedule: Schedule, runtime: MscclRuntime, protocol: str, buffers: str
) -> str | None:
    """Return an algorithm that does the same and fits, ``None`` if none does.

    On an ideal switch the fastest of those that fit there and on the fabric.
    """
    from lightloom.plans.algorithms import ALGORITHMS
    from lightloom.synth.auto import CandidatePool, CandidateSearch
    from lightloom.synth.bounds import LowerBounds
    from lightloom.synth.fabrics import realiser_of
    from lightloom.synth.synthesise import synthesise

    task = schedule.task
    assert isinstance(task, Collective)
    if task.rank_count > _MOST_RANKS_TRIED:
        return None
    nodes = tuple(range(task.rank_count))
    same = Collective(task.op, nodes, task.buffer_bytes)
    whole = msgspec.structs.replace(task, chunks=None)
    asked = Instance(load_fabric(schedule.fabric), whole, "fitting")
    fabric = IdealSwitch(nodes=task.rank_count)
    bounds, realiser = LowerBounds(fabric, same), realiser_of(fabric)
    pools: dict[str, CandidatePool] = {}
    for entry in ALGORITHMS.values():
        if task.op in entry.ops:
            pool = CandidatePool()
            search = CandidateSearch(
                Instance(fabric, same, "fitting"), realiser, pool, bounds
            )
            with suppress(LightloomError):
                search.run(entry.name, {})
                pools[entry.name] = pool
    for name in sorted(pools, key=lambda one: pools[one].best_ps() or 0):
        with suppress(LightloomError):
            made = pools[name].best().schedule
            lower(made, runtime, protocol=protocol, buffers=buffers)
            found = synthesise(asked, name).incumbent
            if found is not None:
                lower(found.schedule, runtime, protocol=protocol, buffers=buffers)
                return name
    return None


_RESERVED = 6
"""Operations that begin and end a thread block which goes on in another one."""
_MOST_OFFSET = 2**32 - 1
"""Bytes of a buffer that an operation can reach."""
_ALIGNMENT = 16
"""Bytes that buffers of MSCCL++ are aligned to."""


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


_Operation: TypeAlias = dict[str, object]


@dataclass(eq=False)
class PlanItem:
    """A step of a program that does something, with all that it waits for.

    `step`: its number among all steps. `waits`: steps of the same GPU that must have
    ended. `acquires`, `releases`: semaphores, once they are given out.
    """

    step: int
    waits: list[int]
    acquires: list[int] = field(default_factory=list)
    releases: list[int] = field(default_factory=list)


@dataclass(eq=False)
class PlanPiece:
    """Items of a program's thread block that fit in one of a plan.

    `rank`, `peer`: the GPU, and the one at the other end; -1 for none. `sends`: whether
    it sends to the peer. `number`: which piece of the thread block.
    """

    rank: int
    peer: int
    sends: bool
    number: int
    items: list[PlanItem]

    @property
    def channel(self) -> tuple[int, int, bool, int]:
        """Key by which both ends of a channel list their channels in one order."""
        src, dst = (self.rank, self.peer) if self.sends else (self.peer, self.rank)
        return min(src, dst), max(src, dst), src < dst, self.number


class ThreadBlockWriter:
    """Writes the operations of one thread block of a plan."""

    def __init__(
        self,
        steps: list[Instruction],
        targets: dict[int, Place],
        receiver: dict[int, int],
    ) -> None:
        self._steps, self._targets, self._receiver = steps, targets, receiver
        self._made: list[_Operation] = []
        self.buffers: list[str] = []

    def operations(self, piece: PlanPiece) -> list[_Operation]:
        """Return what a thread block does, a barrier of its threads where needed."""
        if piece.peer >= 0:
            self._channel("wait" if piece.sends else "signal")
            self._sync()
        for item in piece.items:
            step = self._steps[item.step]
            receives = step.kind in RECEIVES
            if receives:
                self._channel("wait")
            self._semaphores("sem_acquire", item.acquires)
            if receives or item.acquires:
                self._sync()
            self._data(item.step)
            if step.kind in SENDS:
                self._channel("signal")
            self._semaphores("sem_release", item.releases)
        return self._made

    def _sync(self) -> None:
        self._made.append({"name": "nop"})

    def _channel(self, name: str) -> None:
        ids = {"channel_ids": [0], "channel_type": "memory"}
        self._made.append({"name": name, **ids})

    def _semaphores(self, name: str, ids: list[int]) -> None:
        for first in range(0, len(ids), MOST_SEMAPHORES):
            some = ids[first : first + MOST_SEMAPHORES]
            self._made.append({"name": name, "semaphore_ids": some})

    def _data(self, number: int) -> None:
        """Append what moves or adds data, and a barrier of the threads."""
        step = self._steps[number]
        src, dst = (
            {"type": place[0], "index": place[1], "size": step.count}
            for place in (step.src, step.dst)
        )
        if step.kind in SENDS:
            buffer, index = self._targets[self._receiver[number]]
            if buffer not in self.buffers:
                self.buffers.append(buffer)
            there = {"buffer_id": self.buffers.index(buffer), "index": index}
            made: _Operation = {
                "name": "put",
                "src_buff": [src],
                "dst_buff": [{**there, "size": step.count}],
                "channel_ids": [0],
                "channel_type": "memory",
            }
        elif step.kind in RECEIVES:
            at = self._targets[number]
            if at == step.dst:
                return  # it is there already
            staged = {"type": at[0], "index": at[1], "size": step.count}
            if step.kind == "r":
                made = {"name": "copy", "src_buff": [staged], "dst_buff": [dst]}
            else:
                made = _sum([src, staged], dst)
        elif step.kind == "re":
            made = _sum([dst, src], dst)
        else:
            made = {"name": "copy", "src_buff": [src], "dst_buff": [dst]}
        self._made.append(made)
        self._sync()


def _sum(sources: list[_Operation], target: _Operation) -> _Operation:
    """Return the operation that writes a sum."""
    return {
        "name": "re",
        "src_buff": sources,
        "dst_buff": [target],
        "reduce_op": "sum",
    }
