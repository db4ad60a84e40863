"""The verdict on a program: every rule, as far as each can be asked.

*Races* are accesses to one chunk of which neither happens before the other. A step
happens before another if the order of a thread block (with a barrier of its threads
between), a reference, or a message says so, or several of these one after another. Full
connections also make steps wait, but for how long depends on sizes, so they count for
nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.violation import Violation
from lightloom.formats.msccl_runtimes import MSCCLPP, RUNTIMES
from lightloom.validate.programs.execution import (
    SLOTS,
    check_fifos,
    ends_with_two_messages,
    flatten,
    hangs_from_bytes,
    run,
)
from lightloom.validate.programs.form import (
    OPERATIONS,
    BufferLayout,
    check_form,
    check_limits,
)
from lightloom.validate.programs.plans import (
    check_plan_form,
    check_plan_sizes,
    flatten_plan,
    plan_layout,
    unfollowed,
)
from lightloom.validate.programs.values import RangeMap, check_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lightloom.core.chunk_program import ChunkProgram
    from lightloom.formats.msccl_runtimes import MscclRuntime
    from lightloom.formats.mscclpp_plan import ExecutionPlan
    from lightloom.validate.programs.execution import Flat, ProgramRun


_SUMMARIES = {
    "form": {
        "program-ranks": "Ranks and thread blocks are numbered 0, 1, 2, ...",
        "program-operation": "The runtime knows the operation.",
        "program-attributes": (
            "All attributes the runtime wants are given, with values that it takes."
        ),
        "program-text": "The text is what loaders scan, who read no general XML.",
        "program-chunks": "Buffers have the sizes the operation asks for.",
        "program-peer": (
            "Peers exist, are another rank, and are there where messages are."
        ),
        "program-connection": (
            "One thread block of a GPU sends on a channel, and one receives, or takes."
        ),
        "program-offset": "No step reads or writes beyond its buffer.",
        "program-reference": (
            "A step waits for one that exists, of another thread block or before it."
        ),
        "program-chain": (
            "The step behind a nop that waits for something has a depid of its own."
        ),
        "program-awaited": "What is waited for is marked with hasdep.",
        "program-limit": "The limits of the runtime are kept.",
        "program-vacuous": (
            "The program may be chosen, and is about all ranks and all data."
        ),
    },
    "execution": {
        "program-deadlock": "Every step runs, if messages never have to wait.",
        "program-message": "A message is received with the count it was sent.",
        "program-unread": "Every message is received.",
        "program-fifo": (
            "No size the program may be chosen for fills connections until all wait."
        ),
    },
    "values": {
        "program-value": "Nothing is read before it is written, or added twice.",
        "program-result": "In the end every output holds what it must.",
    },
    "verdict": {
        "program-race": (
            "Accesses to the same chunk are ordered, unless both only read."
        ),
    },
}
PROGRAM_RULES = {
    rule: (summary, module)
    for module, rules in _SUMMARIES.items()
    for rule, summary in rules.items()
}
"""Each rule with its sentence and the module of this folder that checks it."""
_BEFORE_RUNNING = {
    "program-ranks",
    "program-peer",
    "program-connection",
    "program-offset",
    "program-reference",
    "program-chunks",
    "program-vacuous",
}


@dataclass(frozen=True)
class ProgramVerdict:
    """What is known of a program.

    `runtime`: whose words and limits it was held against. `unchecked`: why values were
    not checked; empty if they were. `hangs_from_bytes`: smallest buffer for which
    bounded connections make it hang; ``None`` if it never does, or was not run.
    `warnings`: what breaks no rule but may go wrong elsewhere, in words.
    """

    violations: tuple[Violation, ...]
    runtime: str
    unchecked: str
    hangs_from_bytes: int | None
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def fitting_runtime(program: ChunkProgram) -> MscclRuntime:
    """Return the runtime that a file is most probably meant for.

    Returns the first of msccl, azure, rccl that knows its operation and breaks the
    fewest limits.
    """
    by_faults: dict[int, MscclRuntime] = {}
    for runtime in RUNTIMES.values():
        wrong = sum(1 for _ in check_limits(program, runtime))
        if program.attributes:
            wrong += len(set(runtime.required) - program.attributes)
        custom = program.collective == "custom" and runtime.name == "msccl"
        if not custom and program.collective not in runtime.operations.values():
            wrong += 10**9
        if not wrong:
            return runtime
        by_faults.setdefault(wrong, runtime)
    return by_faults[min(by_faults)]


def verify_program(
    program: ChunkProgram, runtime: MscclRuntime | None = None
) -> ProgramVerdict:
    """Check a program of GPUs: form, limits, values, deadlock, races, connections.

    `runtime`: who is to load it; ``None`` for the one that fits best.

    Values and races are checked in place and out of place, as far as the program
    claims to work there; connections unless steps are longer than the runtime takes,
    since how they fill takes as long as they are. Deterministic; O(steps x thread
    blocks).
    """
    loader = fitting_runtime(program) if runtime is None else runtime
    wrong = [*check_form(program, loader), *check_limits(program, loader)]
    if any(violation.rule in _BEFORE_RUNNING for violation in wrong):
        return ProgramVerdict(tuple(wrong), loader.name, "the form is invalid", None)
    flat = flatten(program)
    done = run(flat)
    hangs, warnings = None, list[str]()
    too_long = max(action.count for action in flat.actions) > loader.most_count
    if not done.stuck and loader.bounded and not too_long:
        slots = SLOTS.get(program.protocol, SLOTS["Simple"])
        hangs = hangs_from_bytes(flat, program.chunks_per_loop, slots)
        wrong += check_fifos(program, hangs, loader)
        if not ends_with_two_messages(flat):
            warnings.append("hangs where a connection holds two messages")
    operation_known = program.collective in OPERATIONS
    layout = BufferLayout.of(program) if operation_known else None
    claimed = {True: program.in_place, False: program.out_of_place}
    ways = [in_place for in_place, said in claimed.items() if said]
    broken, unchecked = _judge(program.collective, flat, done, layout, ways)
    faults = (*wrong, *broken)
    return ProgramVerdict(faults, loader.name, unchecked, hangs, tuple(warnings))


def verify_plan(plan: ExecutionPlan) -> ProgramVerdict:
    """Check an execution plan of MSCCL++: form, limits, values, deadlock, races.

    A GPU's buffers are its own before it begins and after it ends. Deterministic;
    O(operations x thread blocks).
    """
    name, invalid = MSCCLPP.name, "the form is invalid"
    wrong = list(check_plan_form(plan))
    if any(violation.rule != "program-limit" for violation in wrong):
        return ProgramVerdict(tuple(wrong), name, invalid, None)
    unchecked = unfollowed(plan)
    if unchecked:
        return ProgramVerdict(tuple(wrong), name, unchecked, None)
    flat, faults = flatten_plan(plan)
    layout = plan_layout(plan, flat) if plan.collective in OPERATIONS else None
    if layout is not None:
        faults += check_plan_sizes(plan, layout)
    if faults:
        return ProgramVerdict((*wrong, *faults), name, invalid, None)
    ways = [plan.inplace]
    broken, unchecked = _judge(plan.collective, flat, run(flat), layout, ways)
    return ProgramVerdict((*wrong, *broken), name, unchecked, None)


def _judge(
    operation: str,
    flat: Flat,
    done: ProgramRun,
    layout: BufferLayout | None,
    ways: Sequence[bool],
) -> tuple[list[Violation], str]:
    """Return what a run does wrong, and why values were not checked, if they were not.

    Values and races are checked in place and out of place, as `ways` says.
    """
    faults = list(done.violations(flat))
    if done.stuck:
        return faults, "it does not end"
    if layout is None:
        return faults, f"the result of {operation} is not known"
    if faults:
        return faults, "messages do not match"
    for in_place in ways:
        faults += check_values(layout, flat, done, in_place=in_place)
    races = check_races(layout, flat, done, ways=ways)
    return faults + sorted(races, key=lambda race: race.resource), ""


_Clock: TypeAlias = "NDArray[np.signedinteger]"
_Use: TypeAlias = "tuple[int | None, tuple[int, ...]]"
"""The step that wrote a chunk last, and those that have read it since."""
_MOST_CELLS = 2**29
"""Entries of the table of clocks at a time; larger programs take several turns."""


def check_races(
    layout: BufferLayout, flat: Flat, run: ProgramRun, *, ways: Sequence[bool]
) -> Iterator[Violation]:
    """Yield pairs of accesses to a chunk, one of them a write, in no order.

    Vector clocks: entry b of a step's clock is how many steps of thread block b
    happened before it or are it; without a barrier it says nothing of itself.
    O(steps x thread blocks). Of the pairs of a chunk only those are looked at from
    which the others follow: an access and the last write, a write and the reads since.
    """
    blocks = len(flat.rank)
    turn = max(1, _MOST_CELLS // max(len(flat.actions), 1))
    for first in range(0, blocks, turn):
        last = min(blocks, first + turn)
        clocks = _clocks(flat, run, first, last)
        for in_place in ways:
            yield from _races(layout, flat, run, clocks, first, last, in_place=in_place)


def _clocks(flat: Flat, run: ProgramRun, first: int, last: int) -> list[_Clock]:
    """Return the clocks of all steps, as far as they count blocks first to last - 1."""
    longest = int(np.diff(flat.first).max(initial=0))
    kind = "i2" if longest < 2**15 else "i4"
    nothing: _Clock = np.zeros(last - first, dtype=kind)
    clocks: list[_Clock] = [nothing] * len(flat.actions)
    fence = [-1] * len(flat.rank)
    launch = [0] * len(flat.rank)
    for step in run.order:
        block, action = flat.block[step], flat.actions[step]
        before = list(action.waits_for)
        if action.fence:
            before += range(max(fence[block] + 1, flat.first[block]), step)
        for sender in run.senders[step]:
            weak = action.relaxed or flat.actions[sender].relaxed
            before.append(launch[flat.block[sender]] if weak else sender)
        clock = clocks[fence[block]] if fence[block] >= 0 else nothing
        clocks_before = {id(clocks[other]): clocks[other] for other in before}
        if clocks_before or action.fence:
            clock = clock.copy()
        for other_clock in clocks_before.values():
            np.maximum(clock, other_clock, out=clock)
        if action.fence:
            fence[block] = step
            if first <= block < last:
                clock[block - first] = step - flat.first[block] + 1
        if step == flat.first[block]:
            launch[block] = step
        clocks[step] = clock
    return clocks


def _races(
    layout: BufferLayout,
    flat: Flat,
    run: ProgramRun,
    clocks: list[_Clock],
    first: int,
    last: int,
    *,
    in_place: bool,
) -> Iterator[Violation]:
    """Yield the races with steps of the thread blocks that the clocks count."""
    uses: dict[tuple[int, str], RangeMap[_Use]] = {}
    seen: set[tuple[int, int]] = set()
    for step in run.order:
        for place, low, high, writes in _accesses(
            layout, flat, step, in_place=in_place
        ):
            uses_there = uses.setdefault(place, RangeMap((None, ())))
            for start, end, (written, read) in uses_there.within(low, high):
                now: _Use = (step, ()) if writes else (written, (*read, step))
                uses_there.assign(start, end, now)
                for other in (written, *read) if writes else (written,):
                    if other is None or not first <= flat.block[other] < last:
                        continue
                    theirs = flat.block[other]
                    after = clocks[step][theirs - first] > other - flat.first[theirs]
                    if other != step and not after and (other, step) not in seen:
                        seen.add((other, step))
                        spot = (place[1], start)
                        yield _race(flat, other, step, spot, in_place=in_place)


def _accesses(
    layout: BufferLayout,
    flat: Flat,
    number: int,
    *,
    in_place: bool,
) -> Iterator[tuple[tuple[int, str], int, int, bool]]:
    """Yield what a step reads, then what it writes: (buffer, first, end, whether)."""
    action = flat.actions[number]
    reads, writes = (
        [
            (rank, *layout.memory(rank, (buffer, chunk), in_place=in_place))
            for rank, buffer, chunk in spots
        ]
        for spots in (action.reads, action.writes)
    )
    onto_itself = reads == writes and len(reads) == 1 and not action.takes
    if not onto_itself:
        for spots, writing in ((reads, False), (writes, True)):
            for rank, buffer, chunk in spots:
                yield (rank, buffer), chunk, chunk + action.count, writing
    for rank, buffer, chunks in action.claims:
        if not (in_place and buffer == "i"):
            yield (rank, buffer), 0, chunks, True


def _race(
    flat: Flat,
    one: int,
    other: int,
    place: tuple[str, int],
    *,
    in_place: bool,
) -> Violation:
    way = "in place" if in_place else "out of place"
    name = {"p": "the packets s"}.get(place[0], place[0])
    message = (
        f"{way}: {flat.actions[one].kind} of {flat.where(one)} and"
        f" {flat.actions[other].kind} both use {name}[{place[1]}], one writes, and"
        " nothing orders them"
    )
    where = flat.where(other)
    return Violation("program-race", flat.numbers[other], where, message)
