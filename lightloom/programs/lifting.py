"""Lifting: a program of GPUs to the schedule of steps and transfers that it follows.

Only the flow of data is kept: a message becomes a transfer for every chunk that its
receiver ever uses. Scratch, local copies and sums, channels and thread blocks vanish.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightloom.core.chunk_program import ChunkProgram
from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.core.task import Collective
from lightloom.core.transfer_parts import transfer_parts
from lightloom.validate.programs.execution import flatten, run
from lightloom.validate.programs.form import place_of
from lightloom.validate.programs.layout import OPERATIONS, BufferLayout
from lightloom.validate.programs.plan_actions import flatten_plan, plan_layout
from lightloom.validate.programs.plan_form import unfollowed

if TYPE_CHECKING:
    from lightloom.core.chunk_program import Place
    from lightloom.core.schedule import StepPart
    from lightloom.formats.mscclpp_plan import ExecutionPlan
    from lightloom.validate.programs.execution import Flat, ProgramRun, Spot

_MOST_CHUNKS = 2**24


@dataclass(frozen=True, eq=False)
class Lifted:
    """A program as rounds of transfers.

    `collective`: the task: ranks 0 to n - 1, chunks as in the program. `parts`: its
    transfers, step by step, without plane and segment. `unused`: chunks of messages
    that nobody used, and that are no transfers here.
    """

    collective: Collective
    parts: tuple[StepPart, ...]
    unused: int


@dataclass(eq=False)
class _Message:
    """One chunk on its way: sent in one state, taken into another one."""

    number: int
    src: int
    dst: int
    chunk: int
    sent: _State
    taken: _State | None = None
    copies: bool = False
    step: int = 0


@dataclass(eq=False)
class _State:
    """What a rank has of a chunk from some step on, told apart by what it took in."""

    rank: int
    chunk: int
    before: _State | None = None
    taken: list[_Message] = field(default_factory=list)
    sends: list[_Message] = field(default_factory=list)

    def since(self) -> int:
        """Return the first step at whose release the state is there."""
        return max((message.step + 1 for message in self.taken), default=0)


@dataclass(frozen=True)
class _Value:
    """What a place holds: a state the rank had, and messages added to it."""

    chunk: int
    base: _State | None
    added: frozenset[_Message]


class _Ledger:
    """The states of every (rank, chunk), in the order in which they were used."""

    def __init__(self) -> None:
        self.states: dict[tuple[int, int], list[_State]] = defaultdict(list)
        self.messages: list[_Message] = []
        self._known: dict[_Value, _State] = {}

    def start(self, rank: int, chunk: int) -> _Value:
        """Return what a rank has of a chunk in the beginning."""
        state = _State(rank, chunk)
        self.states[rank, chunk].append(state)
        value = _Value(chunk, state, frozenset())
        self._known[value] = state
        return value

    def state(self, rank: int, value: _Value, where: str) -> _State:
        """Return the state of a rank that has used a value.

        Raises `InputError` if the rank would have two values of one chunk that go on
        being used.
        """
        if value in self._known:
            return self._known[value]
        line = self.states[rank, value.chunk]
        latest = line[-1] if line else None
        value = _Ledger._since(value, line)
        if latest is not None and value == _Value(value.chunk, latest, frozenset()):
            return latest
        if value.base is not None and value.base is not latest:
            raise InputError(
                "not representable: two values of one chunk are used in turn",
                where=where,
                found=f"chunk {value.chunk} of gpu {rank}",
                allowed="one value of a chunk at a rank, as schedules have it",
            )
        added = sorted(value.added, key=lambda message: message.number)
        if value.base is None:
            first, *others = added
            state = _State(rank, value.chunk, latest, [first])
            first.taken, first.copies = state, True
            line.append(state)
            if not others:
                self._known[value] = state
                return state
            latest, added = state, others
        state = _State(rank, value.chunk, latest, added)
        for message in added:
            message.taken = state
        line.append(state)
        self._known[value] = state
        return state

    @staticmethod
    def _since(value: _Value, line: list[_State]) -> _Value:
        """Return a value as the last state that is part of it, and what is added.

        A sum may have been made before a part of it was used.
        """
        base, added = value.base, value.added
        for state in line:
            if not state.taken or not added.issuperset(state.taken):
                continue
            copied = state.taken[0].copies
            if copied if base is None else state.before is base and not copied:
                base, added = state, added.difference(state.taken)
        return _Value(value.chunk, base, added)


def lift(program: ChunkProgram | ExecutionPlan, buffer_bytes: int) -> Lifted:
    """Return the transfers of a program, each in the earliest step that it can have.

    Raises `InputError`: the operation is unknown, the program does not end, or a rank
    keeps two values of one chunk apart, which schedules do not.

    A rank may send a value in a step in which a new one arrives, since transfers read
    what was there when the step was released.
    """
    if program.collective not in OPERATIONS:
        raise InputError(
            "the result of this operation is not known",
            where="collective",
            found=program.collective,
            allowed=", ".join(OPERATIONS),
        )
    if isinstance(program, ChunkProgram):
        flat = flatten(program)
        layout = BufferLayout.of(program)
        in_place = program.in_place and not program.out_of_place
    else:
        if other := unfollowed(program):
            raise InputError("not representable", where="gpus", found=other)
        flat, _ = flatten_plan(program)
        layout = plan_layout(program, flat)
        in_place = program.inplace
    if layout.chunks * layout.ranks > _MOST_CHUNKS:
        found, allowed = f"{layout.chunks} each", f"{_MOST_CHUNKS} of all GPUs"
        raise InputError("too many chunks", where="gpus", found=found, allowed=allowed)
    done = run(flat)
    if done.stuck:
        what = "the program does not end"
        fix = "`lightloom verify` says why"
        raise InputError(what, where=flat.where(done.stuck[0]), fix=fix)
    ledger = _Ledger()
    _fill(ledger, layout, flat, done, in_place=in_place)
    _number_steps(ledger)
    nodes = tuple(range(layout.ranks))
    root = layout.root if layout.operation in ("broadcast", "reduce") else None
    collective = Collective(layout.operation, nodes, buffer_bytes, layout.chunks, root)
    used = [message for message in ledger.messages if message.taken is not None]
    return Lifted(collective, _parts(used), len(ledger.messages) - len(used))


def _fill(
    ledger: _Ledger,
    layout: BufferLayout,
    flat: Flat,
    done: ProgramRun,
    *,
    in_place: bool,
) -> None:
    """Follow a program from its inputs to its outputs."""
    memory: dict[tuple[int, Place], _Value] = {}
    ranks = range(layout.ranks)
    for rank in ranks:
        for chunk in range(layout.sizes(rank)[0]):
            place = layout.memory(rank, ("i", chunk), in_place=in_place)
            start = ledger.start(rank, _chunk_of(layout, rank, chunk))
            memory[rank, place] = start
    sent: dict[int, list[_Value | None]] = {}
    for step in done.order:
        action = flat.actions[step]
        heard = done.senders[step] if action.message else ()
        received = [sent.pop(sender) for sender in heard]
        _follow(layout, flat, step, memory, received, sent, ledger, in_place=in_place)
    for rank in ranks:
        for chunk in range(layout.sizes(rank)[1]):
            place = layout.memory(rank, ("o", chunk), in_place=in_place)
            value = memory.get((rank, place))
            if value is not None:
                ledger.state(rank, value, f"{place_of(rank)} o[{chunk}]")


def _chunk_of(layout: BufferLayout, rank: int, chunk: int) -> int:
    """Return the number that a schedule gives to an input chunk of a rank."""
    if layout.operation == "all-gather":
        return rank * layout.block + chunk
    return rank * layout.chunks + chunk if layout.operation == "all-to-all" else chunk


def _follow(
    layout: BufferLayout,
    flat: Flat,
    number: int,
    memory: dict[tuple[int, Place], _Value],
    terms: list[list[_Value | None]],
    sent: dict[int, list[_Value | None]],
    ledger: _Ledger,
    *,
    in_place: bool,
) -> None:
    """Run one step on the values in memory; `terms` are the messages that it takes."""
    action, where = flat.actions[number], flat.where(number)
    rank = flat.rank[flat.block[number]]

    def cells(spot: Spot) -> list[tuple[int, Place]]:
        owner, buffer, first = spot
        return [
            (owner, layout.memory(owner, (buffer, first + turn), in_place=in_place))
            for turn in range(action.count)
        ]

    def moved(src: int, dst: int, values: list[_Value | None]) -> list[_Value | None]:
        if src == dst:
            return values
        return [_send(ledger, src, dst, value, where) for value in values]

    for spot in action.reads:
        held = [memory.get(cell) for cell in cells(spot)]
        terms = [*terms, moved(spot[0], rank, held)]
    if not terms:
        return
    total = terms[0]
    for added in terms[1:]:
        total = [
            _sum(one, other, where) for one, other in zip(total, added, strict=True)
        ]
    for spot in action.writes:
        arrived = zip(cells(spot), moved(rank, spot[0], total), strict=True)
        memory |= {cell: value for cell, value in arrived if value is not None}
    if action.message:
        for connection in action.gives:
            sent[number] = moved(rank, connection.key[1], total)


def _sum(one: _Value | None, other: _Value | None, where: str) -> _Value | None:
    """Return the sum of two values of a rank."""
    if one is None or other is None:
        return None
    if one.base is not None and other.base is not None:
        what = "not representable: two values that a rank has used are added"
        raise InputError(what, where=where, found=f"chunk {one.chunk}")
    base = one.base if other.base is None else other.base
    return _Value(one.chunk, base, one.added | other.added)


def _send(
    ledger: _Ledger, src: int, dst: int, value: _Value | None, where: str
) -> _Value | None:
    """Return what arrives of a value that is sent."""
    if value is None:
        return None
    state = ledger.state(src, value, where)
    message = _Message(len(ledger.messages), src, dst, value.chunk, state)
    state.sends.append(message)
    ledger.messages.append(message)
    return _Value(value.chunk, None, frozenset((message,)))


def _number_steps(ledger: _Ledger) -> None:
    """Give every message the earliest step that its data allow.

    A message is sent when its state is there, and taken in when the state before is,
    and not before the last step that sends the state before.
    """
    used = [message for message in ledger.messages if message.taken is not None]
    most = len(used) + 1
    changed = True
    while changed:
        changed = False
        for message in used:
            before = message.taken.before if message.taken is not None else None
            least = message.sent.since()
            if before is not None:
                reads = [
                    other.step for other in before.sends if other.taken is not None
                ]
                least = max(least, before.since(), *reads, 0)
            if least > message.step:
                message.step, changed = least, True
                if least > most:
                    raise InputError(
                        "not representable: no steps agree with what is read and"
                        " written",
                        where=f"gpu {message.src} to gpu {message.dst}",
                        found=f"chunk {message.chunk}",
                    )


def _parts(messages: list[_Message]) -> tuple[StepPart, ...]:
    """Return messages as steps, chunks in a row as one transfer."""
    return transfer_parts(
        (
            message.step,
            message.src,
            message.dst,
            int(Op.COPY if message.copies else Op.REDUCE),
            message.chunk,
        )
        for message in messages
    )
