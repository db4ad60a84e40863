"""The verdict on a program: every rule, as far as each can be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.formats.msccl_runtimes import MSCCLPP, RUNTIMES
from lightloom.validate.programs.execution import (
    SLOTS,
    check_fifos,
    ends_with_two_messages,
    flatten,
    hangs_from_bytes,
    run,
)
from lightloom.validate.programs.form import check_form, check_limits
from lightloom.validate.programs.layout import OPERATIONS, BufferLayout
from lightloom.validate.programs.plans import (
    check_plan_form,
    check_plan_sizes,
    flatten_plan,
    plan_layout,
    unfollowed,
)
from lightloom.validate.programs.races import check_races
from lightloom.validate.programs.values import check_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.chunk_program import ChunkProgram
    from lightloom.core.violation import Violation
    from lightloom.formats.msccl_runtimes import MscclRuntime
    from lightloom.formats.mscclpp_plan import ExecutionPlan
    from lightloom.validate.programs.execution import Flat, ProgramRun


PROGRAM_RULES: dict[str, tuple[str, str]] = {
    "program-ranks": ("Ranks and thread blocks are numbered 0, 1, 2, ...", "form"),
    "program-operation": ("The runtime knows the operation.", "form"),
    "program-attributes": (
        "All attributes the runtime wants are given, with values that it takes.",
        "form",
    ),
    "program-text": ("The text is what loaders scan, who read no general XML.", "form"),
    "program-chunks": ("Buffers have the sizes the operation asks for.", "form"),
    "program-peer": (
        "Peers exist, are another rank, and are there where messages are.",
        "form",
    ),
    "program-connection": (
        "One thread block of a GPU sends on a channel, and one receives, or takes.",
        "form",
    ),
    "program-offset": ("No step reads or writes beyond its buffer.", "form"),
    "program-reference": (
        "A step waits for one that exists, of another thread block or before it.",
        "form",
    ),
    "program-chain": (
        "The step behind a nop that waits for something has a depid of its own.",
        "form",
    ),
    "program-awaited": ("What is waited for is marked with hasdep.", "form"),
    "program-limit": ("The limits of the runtime are kept.", "form"),
    "program-deadlock": (
        "Every step runs, if messages never have to wait.",
        "execution",
    ),
    "program-message": (
        "A message is received with the count it was sent.",
        "execution",
    ),
    "program-unread": ("Every message is received.", "execution"),
    "program-value": (
        "Nothing is read before it is written, or added twice.",
        "values",
    ),
    "program-result": ("In the end every output holds what it must.", "values"),
    "program-vacuous": (
        "The program may be chosen, and is about all ranks and all data.",
        "form",
    ),
    "program-race": (
        "Accesses to the same chunk are ordered, unless both only read.",
        "races",
    ),
    "program-fifo": (
        "No size the program may be chosen for fills connections until all wait.",
        "execution",
    ),
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
    found: dict[int, MscclRuntime] = {}
    for runtime in RUNTIMES.values():
        wrong = sum(1 for _ in check_limits(program, runtime))
        if program.attributes:
            wrong += len(set(runtime.required) - program.attributes)
        custom = program.collective == "custom" and runtime.name == "msccl"
        if not custom and program.collective not in runtime.operations.values():
            wrong += 10**9
        if not wrong:
            return runtime
        found.setdefault(wrong, runtime)
    return found[min(found)]


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
    known = program.collective in OPERATIONS
    layout = BufferLayout.of(program) if known else None
    claimed = {True: program.in_place, False: program.out_of_place}
    ways = [in_place for in_place, said in claimed.items() if said]
    found, unchecked = _judge(program.collective, flat, done, layout, ways)
    faults = (*wrong, *found)
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
    found, unchecked = _judge(plan.collective, flat, run(flat), layout, ways)
    return ProgramVerdict((*wrong, *found), name, unchecked, None)


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
