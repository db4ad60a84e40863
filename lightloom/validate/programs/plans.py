"""Execution plans of MSCCL++: their form, and what their thread blocks do as actions.

Between two barriers of its threads (``nop``) the operations of a thread block have no
order. A GPU uses its buffers before it begins and after it ends, so whoever reads or
writes them from elsewhere must hear of its beginning and be heard of before its end.
A proxy runs the operations of a port channel, one after another. Packets say themselves
that they are there, to threads that read them: a proxy copies what it finds.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lightloom.core.violation import Violation
from lightloom.formats.msccl_runtimes import MSCCLPP
from lightloom.validate.programs.execution import Action, Flat, Token
from lightloom.validate.programs.form import (
    OPERATIONS,
    BufferLayout,
    check_sizes,
    place_of,
)
from lightloom.validate.programs.values import RangeMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.formats.mscclpp_plan import (
        ExecutionPlan,
        PlanBuffer,
        PlanGpu,
        PlanOperation,
        PlanThreadBlock,
    )
    from lightloom.validate.programs.execution import Spot


FOLLOWED = {
    "nop": 0,
    "barrier": 0,
    "signal": 0,
    "wait": 0,
    "rlxsignal": 0,
    "rlxwait": 0,
    "flush": 0,
    "sem_acquire": 0,
    "sem_release": 0,
    "put": 1,
    "pws": 1,
    "pwsf": 1,
    "get": 1,
    "copy": 1,
    "re": 2,
    "res": 2,
    "rre": 2,
    "rres": 2,
    "ppkt": 1,
    "rppkt": 1,
    "cpkt": 1,
    "upkt": 1,
    "repkt": 2,
    "recpkt": 2,
    "respkt": 2,
    "recspkt": 2,
}
"""Operations whose effect is known: 0 move nothing, 1 copy, 2 add."""
_NOT_FOLLOWED = ("glres", "gstore", "gstorepkt", "pipeline")
COPIES_PACKETS = "ppkt"
"""Over a port channel it copies packets as they are, over others it makes them."""
PROXIED = "port"
"""Channels whose operations a proxy runs, one after another."""
MOST_OPERATIONS = 64
"""Operations of a thread block."""
_MOST_CHANNELS = 16
"""Channels of a thread block, in MSCCL++."""
_MOST_CHANNELS_OF_OPERATION = 8
"""Of an operation, in MSCCL++."""
_MOST_BUFFERS_OF_OPERATION = 10
"""Of an operation, in MSCCL++, read or written."""
MOST_SEMAPHORES = 16
"""Semaphores of an operation."""
_MOST_BARRIERS = 16
"""Barriers of a GPU, in MSCCL++."""


def unfollowed(plan: ExecutionPlan) -> str:
    """Return which operation is not followed, and where; empty if all are."""
    for gpu in plan.gpus:
        for block in gpu.threadblocks:
            for number, op in enumerate(block.ops):
                if op.name in _NOT_FOLLOWED:
                    where = place_of(gpu.id, block.id, number)
                    return f"{op.name} of {where} is not followed"
    return ""


def check_plan_form(plan: ExecutionPlan) -> Iterator[Violation]:
    """Yield what is wrong with the form of a plan, and limits that it exceeds."""
    if not plan.operation_count:
        yield Violation("program-vacuous", None, "plan", "there is no operation at all")
    least, most_bytes = plan.min_message_size, plan.max_message_size
    if most_bytes < least:
        message = f"max_message_size {most_bytes} is below min_message_size {least}"
        yield Violation("program-limit", None, "plan", message)
    for number, gpu in enumerate(plan.gpus):
        where = place_of(gpu.id)
        if gpu.id != number:
            message = f"GPU {number} of the file has the id {gpu.id}"
            yield Violation("program-ranks", None, where, message)
        yield from _check_channels(plan, gpu)
        most = MSCCLPP.most_thread_blocks
        yield from _limit(where, None, "thread blocks", len(gpu.threadblocks), most)
        for place, block in enumerate(gpu.threadblocks):
            if block.id != place:
                message = f"thread block {place} of its GPU has the id {block.id}"
                where = place_of(gpu.id, block.id)
                yield Violation("program-ranks", None, where, message)
            yield from _check_block(plan, gpu, block)
        yield from _check_takers(gpu)
        yield from _check_barriers(gpu)


def _check_channels(plan: ExecutionPlan, gpu: PlanGpu) -> Iterator[Violation]:
    """Yield peers that do not exist, and channels without another end."""
    where = place_of(gpu.id)
    ranks = range(len(plan.gpus))
    others = [
        ("connected_to", peer) for each in gpu.channels for peer in each.connected_to
    ]
    others += [("remote_buffers rank", each.rank) for each in gpu.remote_buffers]
    for name, peer in others:
        if peer not in ranks or peer == gpu.id:
            message = f"{name} is {peer}, allowed: another rank"
            yield Violation("program-peer", None, where, message)
    for kind in ("memory", PROXIED):
        for peer, count in sorted(Counter(gpu.peers(kind)).items()):
            if peer not in ranks:
                continue
            theirs = plan.gpus[peer].peers(kind).count(gpu.id)
            if count > theirs:
                message = (
                    f"{count} {kind} channels to gpu {peer}, which has {theirs} to it"
                )
                yield Violation("program-connection", None, where, message)


def _check_takers(gpu: PlanGpu) -> Iterator[Violation]:
    """Yield signals and semaphores that several thread blocks take, in no order."""
    takers: dict[tuple[str, int], set[int]] = defaultdict(set)
    for place, block in enumerate(gpu.threadblocks):
        for op in block.ops:
            if op.name in ("wait", "rlxwait") or op.channel_type == PROXIED:
                mine = block.channel_ids(op.channel_type)
                ids = [mine[each] for each in op.channel_ids if each < len(mine)]
                name = f"{op.channel_type} channel"
            elif op.name == "sem_acquire":
                ids, name = list(op.semaphore_ids), "semaphore"
            else:
                continue
            for each in ids:
                takers[name, each].add(place)
    for (name, number), blocks in sorted(takers.items()):
        if len(blocks) > 1:
            them = ", ".join(f"tb {place}" for place in sorted(blocks))
            message = f"{them} take from {name} {number}, in no order"
            yield Violation("program-connection", None, place_of(gpu.id), message)


def _check_barriers(gpu: PlanGpu) -> Iterator[Violation]:
    """Yield barriers for which more or fewer thread blocks wait than come."""
    come: dict[int, set[int]] = defaultdict(set)
    awaited: dict[int, set[int]] = defaultdict(set)
    for place, block in enumerate(gpu.threadblocks):
        for op in block.ops:
            if op.name == "barrier":
                come[op.barrier_id].add(place)
                awaited[op.barrier_id].add(op.num_threadblocks)
    for number, blocks in sorted(come.items()):
        for count in sorted(awaited[number] - {len(blocks)}):
            message = (
                f"barrier {number} is for {count} thread blocks, {len(blocks)} come"
            )
            yield Violation("program-connection", None, place_of(gpu.id), message)


def _check_block(
    plan: ExecutionPlan, gpu: PlanGpu, block: PlanThreadBlock
) -> Iterator[Violation]:
    where = place_of(gpu.id, block.id)
    yield from _limit(where, None, "operations", len(block.ops), MOST_OPERATIONS)
    channels = {kind: block.channel_ids(kind) for kind in ("memory", PROXIED)}
    for kind, mine in channels.items():
        for name, ids, there in (
            ("channel", mine, len(gpu.peers(kind))),
            ("remote buffer", block.remote_buffer_ids(kind), len(gpu.remote_buffers)),
        ):
            yield from _limit(where, None, f"{kind} {name}s", len(ids), _MOST_CHANNELS)
            yield from _references(where, None, name, ids, there)
    for number, op in enumerate(block.ops):
        where = place_of(gpu.id, block.id, number)
        if op.name not in FOLLOWED:
            if op.name not in _NOT_FOLLOWED:
                message = f"mscclpp has no operation {op.name!r}"
                yield Violation("program-operation", number, where, message)
            continue
        if op.name == COPIES_PACKETS and op.channel_type == PROXIED:
            yield from _check_packets(where, number, op)
        there = len(channels.get(op.channel_type, ()))
        for name, found, most in (
            ("channels", len(op.channel_ids), _MOST_CHANNELS_OF_OPERATION),
            ("buffers read", len(op.src_buff), _MOST_BUFFERS_OF_OPERATION),
            ("buffers written", len(op.dst_buff), _MOST_BUFFERS_OF_OPERATION),
            ("semaphores", len(op.semaphore_ids), MOST_SEMAPHORES),
            ("as barrier_id", op.barrier_id, _MOST_BARRIERS - 1),
        ):
            yield from _limit(where, number, name, found, most)
        yield from _references(where, number, "channel", op.channel_ids, there)
        semaphores = len(gpu.semaphores)
        yield from _references(where, number, "semaphore", op.semaphore_ids, semaphores)
        if FOLLOWED[op.name]:
            yield from _check_buffers(plan, gpu, block, number, op)


def _check_packets(where: str, number: int, op: PlanOperation) -> Iterator[Violation]:
    """Yield what a copy of packets takes for packets though it holds none."""
    for buffer in op.src_buff:
        if buffer.type != "s":
            message = (
                f"{op.name} over a {PROXIED} channel copies packets, and"
                f" {buffer.type}[{buffer.index}] has none: only scratch does"
            )
            yield Violation("program-operation", number, where, message)


def _check_buffers(
    plan: ExecutionPlan,
    gpu: PlanGpu,
    block: PlanThreadBlock,
    number: int,
    op: PlanOperation,
) -> Iterator[Violation]:
    """Yield buffers that are missing, of different sizes, or too short."""
    where = place_of(gpu.id, block.id, number)
    sources, targets = len(op.src_buff), len(op.dst_buff)
    pairs = FOLLOWED[op.name] == 1
    if not sources or not targets or (pairs and sources not in (1, targets)):
        message = f"{op.name} of {sources} buffers to {targets}"
        yield Violation("program-message", number, where, message)
    sizes = {each.size for each in (*op.src_buff, *op.dst_buff)}
    if len(sizes) > 1 and not (pairs and sources == targets > 1):
        text = ", ".join(str(size) for size in sorted(sizes))
        message = f"{op.name} of buffers of {text} chunks"
        yield Violation("program-message", number, where, message)
    for each in (*op.src_buff, *op.dst_buff):
        yield from _check_buffer(plan, gpu, block, number, op.channel_type, each)


def _check_buffer(
    plan: ExecutionPlan,
    gpu: PlanGpu,
    block: PlanThreadBlock,
    number: int,
    kind: str,
    buffer: PlanBuffer,
) -> Iterator[Violation]:
    where = place_of(gpu.id, block.id, number)
    owner, letter = gpu, buffer.type
    if buffer.buffer_id is not None:
        remote_ids = block.remote_buffer_ids(kind)
        ids = [buffer.buffer_id]
        wrong = list(_references(where, number, "remote buffer", ids, len(remote_ids)))
        yield from wrong
        if wrong or remote_ids[buffer.buffer_id] >= len(gpu.remote_buffers):
            return
        remote = gpu.remote_buffers[remote_ids[buffer.buffer_id]]
        if remote.rank >= len(plan.gpus):
            return
        owner, letter = plan.gpus[remote.rank], remote.type
    if letter is None:
        message = "a buffer without type and without buffer_id"
        yield Violation("program-reference", number, where, message)
        return
    size, end = owner.chunks(letter), buffer.index + buffer.size
    if not buffer.size or end > size:
        message = (
            f"{letter}[{buffer.index}:{end}] of gpu {owner.id} is empty or beyond the"
            f" buffer's {size} chunks"
        )
        yield Violation("program-offset", number, where, message)


def _references(
    where: str,
    number: int | None,
    name: str,
    ids: list[int] | tuple[int, ...],
    there: int,
) -> Iterator[Violation]:
    """Yield references to what does not exist, or twice to the same."""
    for each in ids:
        if each >= there:
            message = f"{name} {each}, there are {there}"
            yield Violation("program-reference", number, where, message)
    if len(set(ids)) < len(ids):
        message = f"a {name} is named twice"
        yield Violation("program-reference", number, where, message)


def _limit(
    where: str, number: int | None, what: str, found: int, most: int
) -> Iterator[Violation]:
    if found > most:
        message = f"{found} {what}, mscclpp takes {most} at most"
        yield Violation("program-limit", number, where, message, found - most)


_SIGNALS = {"signal", "rlxsignal", "pws", "pwsf"}
_WAITS = {"wait", "rlxwait"}
_FLUSHES = {"flush", "pwsf"}


def plan_layout(plan: ExecutionPlan, flat: Flat) -> BufferLayout:
    """Return what the operation of a plan asks of buffers.

    `flat`: its actions. The root of a broadcast is the only GPU that receives nothing,
    of a reduce the only one that sends nothing; GPU 0 where several do.
    """
    operation = OPERATIONS[plan.collective]
    gpu = plan.gpus[0]
    sizes = [(each.input_chunks, each.output_chunks) for each in plan.gpus]
    chunks = {"all-gather": gpu.output_chunks, "broadcast": max(map(max, sizes))}.get(
        operation, max(own for own, _ in sizes)
    )
    receive, send = set(), set()
    for number, action in enumerate(flat.actions):
        rank = flat.rank[flat.block[number]]
        for owner, *_ in action.writes:
            if owner != rank:
                receive.add(owner)
                send.add(rank)
        for owner, *_ in action.reads:
            if owner != rank:
                receive.add(rank)
                send.add(owner)
    moving = receive if operation == "broadcast" else send
    still = [rank for rank in range(len(plan.gpus)) if rank not in moving]
    root = still[0] if len(still) == 1 else 0
    return BufferLayout(operation, len(plan.gpus), chunks * _finer(plan), root)


def check_plan_sizes(plan: ExecutionPlan, layout: BufferLayout) -> Iterator[Violation]:
    """Yield buffers of a plan that are not of the size of its operation."""
    finer = _finer(plan)
    sizes = [(gpu.input_chunks * finer, gpu.output_chunks * finer) for gpu in plan.gpus]
    yield from check_sizes(layout, sizes)


def flatten_plan(plan: ExecutionPlan) -> tuple[Flat, list[Violation]]:
    """Return a plan of sound form as lists over all its actions.

    Where thread blocks share operations, chunks are cut into as many as they are.
    """
    flat, finer = Flat(), _finer(plan)
    for gpu in plan.gpus:
        for number, semaphore in enumerate(gpu.semaphores):
            if semaphore.init_value:
                flat.there[_semaphore(gpu, number)] = semaphore.init_value
        _GpuActions(plan, gpu, finer).add_to(flat)
    return flat, _join_packets(flat)


def _finer(plan: ExecutionPlan) -> int:
    """Return into how many parts chunks are cut."""
    shares = {
        op.tbg_info.tbg_size
        for gpu in plan.gpus
        for block in gpu.threadblocks
        for op in block.ops
        if op.tbg_info is not None
    }
    return math.lcm(*shares)


def _semaphore(gpu: PlanGpu, number: int) -> Token:
    return Token(f"semaphore {number}", (gpu.id, number))


@dataclass
class _Listed:
    """Actions that run one after another, where in the file, and what they wait for."""

    actions: list[Action] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    joins: list[Token] = field(default_factory=list)

    def add(self, action: Action, number: int, title: str) -> None:
        """Append an action."""
        self.actions.append(action)
        self.numbers.append(number)
        self.titles.append(title)


class _GpuActions:
    """The actions of one GPU."""

    def __init__(self, plan: ExecutionPlan, gpu: PlanGpu, finer: int) -> None:
        self._plan, self._gpu, self._finer = plan, gpu, finer
        self._proxies: dict[int, _Listed] = defaultdict(_Listed)
        self._aside: list[_Listed] = []
        self._meetings: dict[int, list[int]] = defaultdict(list)
        self._at = (0, "")
        for block in gpu.threadblocks:
            for number in {op.barrier_id for op in block.ops if op.name == "barrier"}:
                self._meetings[number].append(block.id)

    def add_to(self, flat: Flat) -> None:
        """Add thread blocks, what runs beside them, and the beginning and the end."""
        gpu, rank = self._gpu, self._gpu.id
        lists = [self._block(block) for block in gpu.threadblocks]
        lists += [*self._proxies.values(), *self._aside]
        starts, ends = [], []
        for number, listed in enumerate(lists):
            starts.append(Token(f"the start of gpu {rank}", (rank, number)))
            ends.append(Token(f"an end on gpu {rank}", (rank, number)))
            first = Action("start", takes=(starts[-1],))
            last = Action("end", takes=tuple(listed.joins), gives=(ends[-1],))
            at = len(flat.actions) + 1
            steps = [0, *listed.numbers, max(listed.numbers, default=0)]
            flat.add_block(rank, [first, *listed.actions, last], steps)
            flat.titles |= dict(enumerate(listed.titles, start=at))
        whole = max(gpu.input_chunks, gpu.output_chunks)
        sizes = (("i", whole), ("o", whole), ("s", gpu.scratch_chunks))
        claims = tuple((rank, name, size * self._finer) for name, size in sizes if size)
        at = len(flat.actions)
        flat.titles |= {at: place_of(rank), at + 1: place_of(rank)}
        start = Action("the start", gives=tuple(starts), claims=claims)
        end = Action("the end", takes=tuple(ends), claims=claims)
        flat.add_block(rank, [start, end])

    def _block(self, block: PlanThreadBlock) -> _Listed:
        """Return the actions of a thread block.

        What reads or writes packets has a list of its own: whoever has the packets has
        them from it, barrier or not.
        """
        listed = _Listed()
        for number, op in enumerate(block.ops):
            title = place_of(self._gpu.id, block.id, number)
            self._at = number, title
            for action in self._actions(block, op):
                if any(name == "p" for _, name, _ in (*action.reads, *action.writes)):
                    key = (self._gpu.id, len(self._aside))
                    ask, done, join = (
                        Token(f"{what} of {title}", key)
                        for what in ("the beginning", "the end", "all threads")
                    )
                    aside = replace(
                        action, takes=(ask,), gives=(done, join), fence=True
                    )
                    self._aside.append(_Listed([aside], [number], [title]))
                    begin = Action(action.kind, gives=(ask,), fence=False)
                    ended = replace(begin, gives=(), takes=(done,), relaxed=True)
                    listed.add(begin, number, title)
                    listed.add(ended, number, title)
                    listed.joins.append(join)
                elif action.fence:
                    fence = replace(action, takes=(*action.takes, *listed.joins))
                    listed.add(fence, number, title)
                    listed.joins = []
                else:
                    listed.add(action, number, title)
        return listed

    def _actions(self, block: PlanThreadBlock, op: PlanOperation) -> list[Action]:
        """Return what an operation does in its thread block."""
        if op.name == "nop":
            return [Action("nop")]
        if op.name == "barrier":
            return self._barrier(block, op.barrier_id)
        some = tuple(_semaphore(self._gpu, each) for each in op.semaphore_ids)
        if op.name == "sem_acquire":
            return [Action(op.name, takes=some, fence=False)]
        if op.name == "sem_release":
            return [Action(op.name, gives=some, fence=False)]
        return self._messages(block, op)

    def _barrier(self, block: PlanThreadBlock, number: int) -> list[Action]:
        """Return how a thread block tells others of itself, and hears of them."""
        others = [each for each in self._meetings[number] if each != block.id]
        what, rank = f"barrier {number}", self._gpu.id
        tell = [Token(what, (rank, block.id, other)) for other in others]
        hear = [Token(what, (rank, other, block.id)) for other in others]
        kind = "barrier"
        return [Action(kind, gives=tuple(tell)), Action(kind, takes=tuple(hear))]

    def _messages(self, block: PlanThreadBlock, op: PlanOperation) -> list[Action]:
        """Return what an operation moves, signals or waits for."""
        channels = self._channels(block, op)
        relaxed = op.name in ("rlxsignal", "rlxwait")
        if op.name in _WAITS:
            heard = tuple(self._heard(op.channel_type, each) for each in channels)
            return [Action(op.name, takes=heard, fence=False, relaxed=relaxed)]
        moves = self._moves(block, op)
        signals = tuple(
            self._told(op.channel_type, each)
            for each in (channels if op.name in _SIGNALS else ())
        )
        if op.channel_type == PROXIED:
            return self._proxied(block, op, channels, moves, signals)
        actions = [replace(move, kind=op.name, fence=False) for move in moves]
        if signals:
            actions.append(Action(op.name, gives=signals, fence=False, relaxed=relaxed))
        return actions

    def _channels(self, block: PlanThreadBlock, op: PlanOperation) -> list[int]:
        """Return the GPU's channels that an operation names."""
        mine = block.channel_ids(op.channel_type)
        return [mine[each] for each in op.channel_ids]

    def _told(self, kind: str, channel: int) -> Token:
        return Token(
            f"a signal from gpu {self._gpu.id}",
            (kind == PROXIED, self._gpu.id, channel),
        )

    def _heard(self, kind: str, channel: int) -> Token:
        """Return the signal of the other end: the k-th channels both ways are one."""
        peers = self._gpu.peers(kind)
        peer = peers[channel]
        turn = peers[:channel].count(peer)
        theirs = self._plan.gpus[peer].peers(kind)
        ends = [place for place, other in enumerate(theirs) if other == self._gpu.id]
        return Token(f"a signal from gpu {peer}", (kind == PROXIED, peer, ends[turn]))

    def _moves(self, block: PlanThreadBlock, op: PlanOperation) -> list[Action]:
        """Return the data that an operation moves, as actions without kind."""
        if not FOLLOWED[op.name]:
            return []
        packets = op.name.endswith("pkt")
        sources, targets = [], []
        for place, buffer in enumerate(op.src_buff):
            makes = op.name in (COPIES_PACKETS, "cpkt") and op.channel_type != PROXIED
            packed = packets and not makes
            packed &= FOLLOWED[op.name] == 1 or place > 0
            sources.append(self._spot(block, op, buffer, packed=packed))
        for place, buffer in enumerate(op.dst_buff):
            packed = packets and op.name != "upkt"
            packed &= FOLLOWED[op.name] == 1 or place > 0
            targets.append(self._spot(block, op, buffer, packed=packed))
        counts = [self._count(op, each) for each in op.dst_buff]
        if FOLLOWED[op.name] == 2:
            return [Action("", counts[0], tuple(sources), tuple(targets))]
        sources *= len(targets) if len(sources) == 1 else 1
        return [
            Action("", count, (source,), (target,))
            for source, target, count in zip(sources, targets, counts, strict=True)
        ]

    def _count(self, op: PlanOperation, buffer: PlanBuffer) -> int:
        parts = 1 if op.tbg_info is None else op.tbg_info.tbg_size
        return buffer.size * self._finer // parts

    def _spot(
        self,
        block: PlanThreadBlock,
        op: PlanOperation,
        buffer: PlanBuffer,
        *,
        packed: bool,
    ) -> Spot:
        """Return the first chunk of a buffer, at this GPU or another."""
        part = 0 if op.tbg_info is None else op.tbg_info.tb_id
        first = buffer.index * self._finer + part * self._count(op, buffer)
        rank, name = self._gpu.id, str(buffer.type)
        if buffer.buffer_id is not None:
            remote_id = block.remote_buffer_ids(op.channel_type)[buffer.buffer_id]
            remote = self._gpu.remote_buffers[remote_id]
            rank, name = remote.rank, remote.type
        return rank, "p" if packed and name == "s" else name, first

    def _proxied(
        self,
        block: PlanThreadBlock,
        op: PlanOperation,
        channels: list[int],
        moves: list[Action],
        signals: tuple[Token, ...],
    ) -> list[Action]:
        """Return what a thread block does of an operation that a proxy runs."""
        peers = self._gpu.peers(PROXIED)
        mine = channels or block.channel_ids(PROXIED)
        requests, done = [], []
        todo: list[tuple[int, Action]] = []
        for move in moves:
            others = {owner for owner, *_ in (*move.reads, *move.writes)}
            to = [each for each in mine if peers[each] in others]
            todo.append((to[0] if to else mine[0], replace(move, kind=op.name)))
        todo += [
            (each, Action(op.name, gives=(signal,)))
            for each, signal in zip(channels, signals, strict=False)
        ]
        for channel, action in todo:
            proxy = self._proxies[channel]
            key = (self._gpu.id, channel, len(proxy.actions))
            requests.append(
                Token(f"a request for the proxy of gpu {self._gpu.id}", key)
            )
            proxy.add(replace(action, takes=(requests[-1],)), *self._at)
        for channel in channels if op.name in _FLUSHES else ():
            proxy = self._proxies[channel]
            if proxy.actions:
                key = (self._gpu.id, channel, -len(proxy.actions))
                done.append(Token(f"the proxy of gpu {self._gpu.id}", key))
                last = proxy.actions[-1]
                proxy.actions[-1] = replace(last, gives=(*last.gives, done[-1]))
        actions = (
            [Action(op.name, gives=tuple(requests), fence=False)] if requests else []
        )
        return actions + (
            [Action(op.name, takes=tuple(done), fence=False)] if done else []
        )


def _join_packets(flat: Flat) -> list[Violation]:
    """Let readers of packets wait for who writes them; return where several do.

    A proxy that copies packets waits for nobody: whether they are there is a race.
    """
    writers, violations = _writers_of_packets(flat)
    for step, action in enumerate(flat.actions):
        if action.kind == COPIES_PACKETS:
            continue
        waits: set[int] = set()
        never: list[Token] = []
        for rank, _, first in (spot for spot in action.reads if spot[1] == "p"):
            for low, _, before in writers[rank].within(first, first + action.count):
                waits.update(before)
                if not before:
                    never.append(Token(f"the packets s[{low}]", (rank, low)))
        if waits or never:
            takes = (*action.takes, *never)
            flat.actions[step] = replace(
                action, waits_for=tuple(sorted(waits)), takes=takes
            )
    return violations


def _writers_of_packets(
    flat: Flat,
) -> tuple[dict[int, RangeMap[tuple[int, ...]]], list[Violation]]:
    """Return the steps that write the packets of each GPU, and where several do."""
    writers: dict[int, RangeMap[tuple[int, ...]]] = defaultdict(lambda: RangeMap(()))
    violations = []
    for step, action in enumerate(flat.actions):
        for rank, _, first in (spot for spot in action.writes if spot[1] == "p"):
            written = writers[rank]
            for low, high, before in written.within(first, first + action.count):
                written.assign(low, high, (*before, step))
                if before:
                    message = (
                        f"the packets s[{low}] of gpu {rank} are also written by"
                        f" {flat.where(before[0])}, and readers find either"
                    )
                    where = flat.where(step)
                    number = flat.numbers[step]
                    violations.append(Violation("program-race", number, where, message))
    return writers, violations
