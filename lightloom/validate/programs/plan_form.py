"""The form of an execution plan of MSCCL++: numbers, references, sizes and limits."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lightloom.core.violation import Violation
from lightloom.formats.msccl_runtimes import MSCCLPP
from lightloom.validate.programs.form import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.formats.mscclpp_plan import (
        ExecutionPlan,
        PlanBuffer,
        PlanGpu,
        PlanOperation,
        PlanThreadBlock,
    )

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
_MOST_CHANNELS_OF_OPERATION = 8
_MOST_BUFFERS_OF_OPERATION = 10
MOST_SEMAPHORES = 16
"""Semaphores of an operation."""
_MOST_BARRIERS = 16


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
    asked: dict[int, set[int]] = defaultdict(set)
    for place, block in enumerate(gpu.threadblocks):
        for op in block.ops:
            if op.name == "barrier":
                come[op.barrier_id].add(place)
                asked[op.barrier_id].add(op.num_threadblocks)
    for number, blocks in sorted(come.items()):
        for count in sorted(asked[number] - {len(blocks)}):
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
        known = block.remote_buffer_ids(kind)
        ids = [buffer.buffer_id]
        wrong = list(_references(where, number, "remote buffer", ids, len(known)))
        yield from wrong
        if wrong or known[buffer.buffer_id] >= len(gpu.remote_buffers):
            return
        remote = gpu.remote_buffers[known[buffer.buffer_id]]
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
