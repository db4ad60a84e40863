"""Transfers from elsewhere as a schedule on a fabric.

Programs of GPUs are lifted to the steps and transfers that they follow. Only the flow
of data is kept: a message becomes a transfer for every chunk that its receiver ever
uses. Scratch, local copies and sums, channels and thread blocks vanish. Solutions of a
model that overlaps reconfigurations with data become schedules of optical switches.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from lightloom.core.chunk_program import ChunkProgram
from lightloom.core.circuit import Circuits
from lightloom.core.errors import FormatError, InputError
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Footer,
    Op,
    Schedule,
    SealedSchedule,
    Segment,
    StepPart,
    Transfers,
    transfer_parts,
)
from lightloom.core.task import Collective
from lightloom.core.units import MEGA, MIB, PS_PER_MS
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.edge_colouring import coloured_ports
from lightloom.plans.plan import Round
from lightloom.synth.fabrics import realiser_of
from lightloom.synth.publish import signed
from lightloom.synth.traffic import TrafficRound
from lightloom.validate import verify
from lightloom.validate.programs import verify_plan, verify_program
from lightloom.validate.programs.execution import flatten, run
from lightloom.validate.programs.form import OPERATIONS, BufferLayout, place_of
from lightloom.validate.programs.plans import flatten_plan, plan_layout, unfollowed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lightloom.core.chunk_program import Place
    from lightloom.core.violation import Violation
    from lightloom.formats.mscclpp_plan import ExecutionPlan
    from lightloom.formats.optimiser_solutions import OverlapParameters, OverlapSolution
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.programs.execution import Flat, ProgramRun, Spot


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

    `buffer_bytes`: size of the whole buffer; ``None`` for one MiB, rounded up to whole
    chunks.

    Raises `InputError`: the program breaks a rule, other than the limits of a runtime;
    its operation is unknown; it cannot be represented; chunks do not divide the buffer.
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

    `buffer_bytes`: the size; ``None`` for one MiB, rounded up.

    Raises `InputError` if chunks do not divide the buffer.
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

    `parts`: its steps; the ranks are nodes 0 up to the largest that sends or receives.
    `chunks`: chunks of the buffer; ``None`` for up to the largest that moves. `root`:
    rank of the root, of operations that have one; ``None`` for rank 0.

    Raises `InputError`: the operation is unknown, or does not have so many chunks.
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

    `fabric`: what it runs on; ``None`` for an ideal switch of as many nodes.

    Raises `InputError`: the fabric has too few nodes, or the transfers break a rule;
    `InfeasibleError, NoAnswerError`: a pair has no circuit, or none was found.
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


_MOST_CHUNKS = 2**24
"""Chunks of all GPUs together, each followed through the program in memory."""


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


OVERLAP_ALGORITHMS = {
    "ar_having-doubling": ("all-reduce", "lumorph-2"),
    "rs_having-doubling": ("reduce-scatter", "lumorph-2"),
    "ag_having-doubling": ("all-gather", "lumorph-2"),
    "a2a_pairwise": ("all-to-all", "direct"),
    "a2a_bruck": ("all-to-all", "bruck"),
    "ar_recursive-doubling": ("all-reduce", "full-exchange"),
    "ar_ring": ("all-reduce", "ring"),
}
"""The model's algorithms: the collective, and the plan that has the same steps."""
_BITS_PER_GB = 8 * 10**9
"""Bits of the model's gigabyte."""
_TOLERANCE = 1e-4
"""Part of a step's volume by which a solver's answer may miss it."""


def overlap_fabric(parameters: OverlapParameters) -> Ocs:
    """Return the switches of the model; the first setting of each is paid for."""
    per_switch = round(parameters.B * _BITS_PER_GB)
    return Ocs(
        nodes=_ranks(parameters),
        switches=parameters.k,
        bits_per_second_per_node=parameters.k * max(1, per_switch),
        alpha_ps=round(parameters.T_lat * PS_PER_MS),
        reconfiguration_ps=round(parameters.T_reconf * PS_PER_MS),
    )


def overlap_schedule(
    solution: OverlapSolution, parameters: OverlapParameters, source: str
) -> Schedule:
    """Return a solution as a schedule, right or wrong, without footer.

    A switch holds what it was last reconfigured for. Where it is used without holding
    the circuits of the step, the schedule says so, and `verify` names it.

    Raises `InputError`: the algorithm is unknown, or the solution has other switches,
    steps or volumes than the collective needs.
    """
    collective, rounds = _overlap_rounds(parameters, source)
    fabric = overlap_fabric(parameters)
    steps, planes = solution.volume_mb.shape
    if steps != len(rounds) or planes > fabric.switches:
        what = f"the solution is not one of {parameters.algorithm} with these numbers"
        found = f"{steps} steps on {planes} switches"
        allowed = f"{len(rounds)} steps on {fabric.switches} switches"
        raise FormatError(what, where=source, found=found, allowed=allowed)
    segments: list[Segment] = []
    parts: list[StepPart] = []
    held = [-1] * planes
    for step, one in enumerate(rounds):
        for plane in range(planes):
            if solution.reconfigured[step, plane]:
                held[plane] += 1
                segments.append(Segment(plane, held[plane], _circuits(one)))
        volume_mb = solution.volume_mb[step]
        _check_volume(collective, one, float(volume_mb.sum()), step, source)
        for plane, moved in enumerate(_shares(one, volume_mb)):
            if not len(moved):
                continue
            if held[plane] < 0:  # used, and never configured: it holds nothing
                held[plane] = 0
                segments.append(
                    Segment(plane, 0, Circuits(moved.src[:0], moved.dst[:0]))
                )
            parts.append(StepPart(step, plane, held[plane], moved))
    made = Algorithm(IMPORTED, {"source": Path(source).name})
    return Schedule(fabric.table(), collective, made, tuple(segments), tuple(parts))


def judged_schedule(
    schedule: Schedule, solution: OverlapSolution
) -> tuple[SealedSchedule, tuple[Violation, ...]]:
    """Return a schedule with a footer, and what is wrong with it.

    `solution`: of which a schedule that breaks a rule keeps the time that it claims: it
    has no other.
    """
    faults = verify(schedule).violations
    if not faults:
        fabric = load_fabric(schedule.fabric)
        return signed(schedule, Instance(fabric, schedule.task, IMPORTED)), ()
    footer = Footer(
        len(schedule.segments),
        schedule.step_count,
        schedule.circuit_count,
        schedule.transfer_count,
        round(solution.completion_ms * PS_PER_MS),
    )
    return SealedSchedule.of(schedule, footer), faults


def _ranks(parameters: OverlapParameters) -> int:
    """Return the number of nodes that the model keeps."""
    if parameters.algorithm.endswith(("pairwise", "ring")):
        return parameters.p
    return 1 << (parameters.p.bit_length() - 1)


def _overlap_rounds(
    parameters: OverlapParameters, source: str
) -> tuple[Collective, list[Round]]:
    """Return the collective, a byte a chunk, and its rounds, a permutation each."""
    if parameters.algorithm not in OVERLAP_ALGORITHMS:
        allowed = ", ".join(OVERLAP_ALGORITHMS)
        found = parameters.algorithm
        what = "unknown algorithm of the overlap model"
        raise InputError(what, where=source, found=found, allowed=allowed)
    op, name = OVERLAP_ALGORITHMS[parameters.algorithm]
    n = _ranks(parameters)
    whole = parameters.m * MEGA
    # An all-to-all of the model leaves out what stays where it is.
    block = round(whole / (n - 1 if name == "direct" else n))
    if block < 1:
        what = "a block has less than a byte"
        raise InputError(what, where=source, found=parameters.m)
    collective = Collective(op, tuple(range(n)), n * block, n * block)
    plan = make_algorithm(name, {}, op).plan(collective, 1)
    rounds = []
    for one in plan.rounds:
        for port in np.unique(one.port):
            rows = one.port == port
            columns = (one.src, one.dst, one.chunk_lo, one.chunk_hi, one.op, one.port)
            rounds.append(Round(*(each[rows] for each in columns)))
    return collective, rounds


def _circuits(one: Round) -> Circuits:
    """Return the circuits of a round, a partial permutation."""
    pairs = np.unique(np.stack([one.src, one.dst], axis=1), axis=0)
    return Circuits(pairs[:, 0].copy(), pairs[:, 1].copy())


def _check_volume(
    collective: Collective, one: Round, volume_mb: float, step: int, source: str
) -> None:
    """Raise if a step moves another volume than the collective's."""
    sent = np.bincount(one.src, one.chunk_hi - one.chunk_lo).max()
    asked_mb = float(sent) * collective.chunk_bytes / MEGA
    if abs(volume_mb - asked_mb) > _TOLERANCE * asked_mb:
        what = f"step {step + 1} moves another volume than {collective.op} needs"
        found, allowed = f"{volume_mb:.6g} MB", f"{asked_mb:.6g} MB"
        raise FormatError(what, where=source, found=found, allowed=allowed)


def _shares(one: Round, volume_mb: NDArray[np.float64]) -> list[Transfers]:
    """Return what each plane moves, in whole bytes, in the order of planes."""
    total = volume_mb.sum()
    size = one.chunk_hi - one.chunk_lo
    ends = np.concatenate([[0.0], np.cumsum(volume_mb) / total])
    ends[-1] = 1.0
    cuts = [one.chunk_lo + np.rint(size * end).astype(np.int64) for end in ends]
    shares = []
    for low, high in pairwise(cuts):
        rows = np.flatnonzero(high > low)
        columns = (one.src[rows], one.dst[rows], low[rows], high[rows], one.op[rows])
        shares.append(Transfers(*columns))
    return shares
