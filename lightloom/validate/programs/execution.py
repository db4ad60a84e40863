"""A run of a program: which step hears of which, and an order in which all can run.

It is run twice: with connections that hold everything, and with bounded ones, to find
from which size on these fill until all wait. A bounded connection has a few slots. A
message takes one slot for as many chunks as fit in it, one at least; its sender goes on
when the last part is in a slot, and a slot is free again when the receiver has read it.
Whether all comes to a stop does not depend on the order in which thread blocks run; it
is the likelier, the fewer chunks fit in a slot.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from lightloom.core.chunk_program import READS_SRC, RECEIVES, REDUCES, SENDS, WRITES_DST
from lightloom.core.units import KIB, MIB
from lightloom.core.violation import Violation
from lightloom.validate.programs.form import largest_bytes, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.chunk_program import ChunkProgram, Instruction
    from lightloom.formats.msccl_runtimes import MscclRuntime


Spot: TypeAlias = tuple[int, str, int]
"""(GPU, buffer, first chunk). Buffer ``p`` is scratch as packets, which say themselves
when they are there."""


class Token(NamedTuple):
    """What one step gives and another takes: a message, a signal, a semaphore's unit.

    `key`: numbers that tell it from others that are called the same.
    """

    what: str
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """What a step does, in whatever format it was written.

    `kind`: its name in the format. `count`: chunks read from each of `reads` and
    written to each of `writes`. `reads`: what is added up, with the message that it
    takes, if any; `writes`: where the sum goes. `takes`, `gives`: what it waits for
    and uses up, and what it leaves for others; one message at most. `waits_for`:
    steps that must have ended. `message`: whether what it takes and gives are data.
    `fence`: whether all threads of its thread block have ended the steps before
    when it ends, and not begun those behind. What is between two fences has no
    order. `relaxed`: whether what it gives or takes says only that the other GPU
    has begun. `claims`: (GPU, buffer, chunks) that nobody else may use meanwhile.
    """

    kind: str
    count: int = 0
    reads: tuple[Spot, ...] = ()
    writes: tuple[Spot, ...] = ()
    takes: tuple[Token, ...] = ()
    gives: tuple[Token, ...] = ()
    waits_for: tuple[int, ...] = ()
    message: bool = False
    fence: bool = True
    relaxed: bool = False
    claims: tuple[tuple[int, str, int], ...] = ()


@dataclass(eq=False)
class Flat:
    """A program as lists over all steps; thread block b has ``first[b]:first[b + 1]``.

    `actions`: what each step does, thread block after thread block, GPU after GPU.
    `block`: thread block of each step, counted over all GPUs. `rank`: GPU of each
    thread block. `first`: first step of each thread block, and the number of steps at
    the end. `numbers`: number of each step in its thread block, as the file has it.
    `there`: what can be taken before any step has given it. `titles`: steps that no
    file has, in words.
    """

    actions: list[Action] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=lambda: [0])
    numbers: list[int] = field(default_factory=list)
    there: dict[Token, int] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)

    def where(self, step: int) -> str:
        """Return the place of a step in words."""
        if step in self.titles:
            return self.titles[step]
        block = self.block[step]
        rank = self.rank[block]
        first_block = self.rank.index(rank)
        return place_of(rank, block - first_block, self.numbers[step])

    def add_block(
        self, rank: int, actions: list[Action], numbers: list[int] | None = None
    ) -> None:
        """Add a thread block behind all others.

        `numbers`: of its steps in the file; ``None`` for 0, 1, 2 and so on.
        """
        self.numbers += range(len(actions)) if numbers is None else numbers
        self.block += [len(self.rank)] * len(actions)
        self.rank.append(rank)
        self.actions += actions
        self.first.append(len(self.actions))


def flatten(program: ChunkProgram) -> Flat:
    """Return a program of sound form as lists over all its steps."""
    flat = Flat()
    for rank in program.ranks:
        starts = [len(flat.actions)]
        for block in rank.thread_blocks:
            starts.append(starts[-1] + len(block.steps))
        for block in rank.thread_blocks:
            out = (rank.id, block.send_peer, block.channel)
            into = (block.receive_peer, rank.id, block.channel)
            gives = (Token(f"a message from gpu {rank.id}", out),)
            takes = (Token(f"a message from gpu {block.receive_peer}", into),)
            actions = []
            for step in block.steps:
                waits = step.waits_for
                actions.append(
                    Action(
                        step.kind,
                        step.count,
                        _reads(rank.id, step),
                        ((rank.id, *step.dst),) if step.kind in WRITES_DST else (),
                        takes if step.kind in RECEIVES else (),
                        gives if step.kind in SENDS else (),
                        () if waits is None else (starts[waits[0]] + waits[1],),
                        message=True,
                    )
                )
            flat.add_block(rank.id, actions)
    return flat


def _reads(rank: int, step: Instruction) -> tuple[Spot, ...]:
    """Return what a step of a GPU reads there."""
    if step.kind not in READS_SRC:
        return ()
    source = (rank, *step.src)
    adds_to_itself = step.kind in REDUCES and step.kind not in RECEIVES
    return ((rank, *step.dst), source) if adds_to_itself else (source,)


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """What happened when every thread block ran as far as it could.

    `order`: steps in an order in which they ran. `senders`: steps that certainly gave
    before each step took. `stuck`: the step at which each thread block stopped, where
    it did not end. `lacking`: what each of these steps waits for. `unread`: steps that
    gave what nobody took.
    """

    order: list[int]
    senders: list[tuple[int, ...]]
    stuck: list[int]
    lacking: list[str]
    unread: list[int]

    def violations(self, flat: Flat) -> Iterator[Violation]:
        """Yield steps that never run, messages never read or of another length."""
        for step, lacking in zip(self.stuck, self.lacking, strict=True):
            kind, where = flat.actions[step].kind, flat.where(step)
            if flat.actions[step].claims or lacking.endswith(where):
                continue  # another thread block of the GPU, or a part of the step
            message = f"{kind} waits for {lacking}, which never comes"
            yield Violation("program-deadlock", flat.numbers[step], where, message)
        for step in self.unread:
            if self.stuck and not flat.actions[step].message:
                continue
            where, kind = flat.where(step), flat.actions[step].kind
            what = "message" if flat.actions[step].message else "signal"
            message = f"the {what} of {kind} is never received"
            yield Violation("program-unread", flat.numbers[step], where, message)
        for step, senders in enumerate(self.senders):
            if not senders or not flat.actions[step].message:
                continue
            given, taken = flat.actions[senders[0]].count, flat.actions[step].count
            if given != taken:
                sender = flat.where(senders[0])
                message = f"receives {taken} chunks, {sender} sends {given}"
                where = flat.where(step)
                yield Violation("program-message", flat.numbers[step], where, message)


def run(flat: Flat) -> ProgramRun:
    """Run a program whose messages wait for nobody.

    Which steps run does not depend on the order: a thread block has one order, and what
    a step waits for never goes away. Who gave what is taken is certain if one thread
    block gives it, and of the last that is taken, where it is all that was given.
    Linear in the number of steps.
    """
    pool = _Pool(flat)
    order: list[int] = []
    waiting: dict[int | Token, list[int]] = defaultdict(list)
    at = list(flat.first[:-1])
    missing: dict[int, int | Token] = {}
    ready = deque(range(len(at)))
    while ready:
        block = ready.popleft()
        while at[block] < flat.first[block + 1]:
            step = at[block]
            action = flat.actions[step]
            lacking = pool.lacking(action)
            if lacking is not None:
                waiting[lacking].append(block)
                missing[step] = lacking
                break
            pool.pass_on(step)
            for given in action.gives:
                ready.extend(waiting.pop(given, ()))
            order.append(step)
            ready.extend(waiting.pop(step, ()))
            at[block] += 1
    stuck = [at[b] for b in range(len(at)) if at[b] < flat.first[b + 1]]
    lacks = [
        one.what if isinstance(one, Token) else flat.where(one)
        for one in (missing[step] for step in stuck)
    ]
    return ProgramRun(order, pool.senders(), stuck, lacks, pool.unread())


class _Pool:
    """What was given and not yet taken."""

    def __init__(self, flat: Flat) -> None:
        self._flat = flat
        self._ended = [False] * len(flat.actions)
        self._left = defaultdict(int, flat.there)
        self._given: dict[Token, list[int]] = defaultdict(list)
        self._taken: dict[Token, list[int]] = defaultdict(list)

    def lacking(self, action: Action) -> int | Token | None:
        """Return what a step waits for and is not there yet."""
        for step in action.waits_for:
            if not self._ended[step]:
                return step
        return next((token for token in action.takes if not self._left[token]), None)

    def pass_on(self, step: int) -> None:
        """End a step: take what it takes, and keep what it gives."""
        self._ended[step] = True
        action = self._flat.actions[step]
        for token in action.takes:
            self._left[token] -= 1
            self._taken[token].append(step)
        for token in action.gives:
            self._left[token] += 1
            self._given[token].append(step)

    def senders(self) -> list[tuple[int, ...]]:
        """Return the steps that certainly gave before each step took."""
        givers_of: list[tuple[int, ...]] = [()] * len(self._flat.actions)
        for token, takers in self._taken.items():
            givers, before = self._given[token], self._flat.there.get(token, 0)
            one_block = len({self._flat.block[giver] for giver in givers}) == 1
            for turn, taker in enumerate(takers, start=1 - before):
                if turn < 1:
                    continue
                if one_block:
                    givers_of[taker] += (givers[turn - 1],)
                elif turn == len(givers):
                    givers_of[taker] += tuple(givers)
        return givers_of

    def unread(self) -> list[int]:
        """Return the steps that gave what nobody took, the last of each kind."""
        return sorted(
            step
            for token, left in self._left.items()
            if left > self._flat.there.get(token, 0)
            for step in self._given[token][self._flat.there.get(token, 0) - left :]
        )


@dataclass(frozen=True)
class FifoSlots:
    """The slots of a connection.

    `size_bytes`: data that one slot holds.
    """

    count: int
    size_bytes: int


SLOTS = {
    "Simple": FifoSlots(2, 2 * MIB),
    "LL": FifoSlots(8, 32 * KIB),
    "LL128": FifoSlots(8, 576_000),
}
"""Slots by protocol, with the default buffers of NCCL: Simple has 4 MiB in two."""


def check_fifos(
    program: ChunkProgram, least: int | None, runtime: MscclRuntime
) -> Iterator[Violation]:
    """Yield that a size for which the program may be chosen makes it hang."""
    if least is None:
        return
    slots = SLOTS.get(program.protocol, SLOTS["Simple"])
    most = largest_bytes(program, runtime)
    if most is not None and most < least:
        return
    chosen = "any size" if most is None else f"sizes up to {most} bytes"
    size = f"buffers of {least} bytes and more" if least else "buffers of any size"
    message = (
        f"hangs for {size} ({slots.count} slots of {slots.size_bytes} bytes, protocol"
        f" {program.protocol}), and may be chosen for {chosen}"
    )
    yield Violation("program-fifo", None, "algo maxBytes", message)


def hangs_from_bytes(flat: Flat, chunks: int, slots: FifoSlots) -> int | None:
    """Return the smallest buffer for which a program hangs.

    Returns bytes, 0 if it hangs at any size; ``None`` if it never does.
    """
    longest = max((step.count for step in flat.actions), default=0)
    if longest == 0 or _ends(flat, 1, slots.count):
        return None
    if not _ends(flat, longest, slots.count):
        return 0
    hangs, ends = 1, longest  # chunks in a slot: with more of them it goes well
    while ends - hangs > 1:
        middle = (hangs + ends) // 2
        if _ends(flat, middle, slots.count):
            ends = middle
        else:
            hangs = middle
    return chunks * (slots.size_bytes // (hangs + 1) + 1)


def ends_with_two_messages(flat: Flat) -> bool:
    """Return whether a program ends if a connection holds two messages of any size."""
    longest = max((step.count for step in flat.actions), default=0)
    return not longest or _ends(flat, longest, 2)


def _ends(flat: Flat, per_slot: int, slots: int) -> bool:
    """Return whether every step ends if a slot holds so many chunks."""
    filling = _FifoLevels(
        flat, [-(-step.count // per_slot) for step in flat.actions], slots
    )
    ready = deque(range(len(flat.rank)))
    while ready:
        block = ready.popleft()
        while filling.at[block] < flat.first[block + 1]:
            missing = filling.missing(filling.at[block])
            if missing is not None:
                filling.waiting[missing].append(block)
                break
            ready.extend(filling.move(block))
    return filling.at == flat.first[1:]


class _FifoLevels:
    """Connections that fill and empty while thread blocks run."""

    def __init__(self, flat: Flat, parts: list[int], slots: int) -> None:
        self.flat, self.left, self.slots = flat, parts, slots
        self.at = list(flat.first[:-1])
        self.waiting: dict[object, list[int]] = defaultdict(list)
        self._filled: dict[Token, int] = defaultdict(int)

    def missing(self, step: int) -> object | None:
        """Return what a step has to wait for, ``None`` if it can go on."""
        action = self.flat.actions[step]
        for waits in action.waits_for:
            if self.at[self.flat.block[waits]] <= waits:
                return waits
        for into in action.takes:
            if not self._filled[into]:
                return "data", into
        for out in action.gives:
            if self._filled[out] == self.slots:
                return "room", out
        return None

    def move(self, block: int) -> list[int]:
        """Move as many parts as can be; return the thread blocks that this wakes."""
        step = self.at[block]
        action = self.flat.actions[step]
        moved = self.left[step]
        for into in action.takes:
            moved = min(moved, self._filled[into])
        for out in action.gives:
            moved = min(moved, self.slots - self._filled[out])
        self.left[step] -= moved
        woken: list[int] = []
        for into in action.takes:
            self._filled[into] -= moved
            woken += self.waiting.pop(("room", into), ())
        for out in action.gives:
            self._filled[out] += moved
            woken += self.waiting.pop(("data", out), ())
        if not self.left[step]:
            self.at[block] += 1
            woken += self.waiting.pop(step, ())
        return woken
