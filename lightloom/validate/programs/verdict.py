"""The verdict on a program: every rule, as far as each can be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.formats.msccl_runtimes import RUNTIMES
from lightloom.validate.programs.execution import flatten, run
from lightloom.validate.programs.fifos import SLOTS, check_fifos, hangs_from_bytes
from lightloom.validate.programs.form import check_form
from lightloom.validate.programs.layout import OPERATIONS, BufferLayout
from lightloom.validate.programs.limits import check_limits
from lightloom.validate.programs.races import check_races
from lightloom.validate.programs.values import check_values

if TYPE_CHECKING:
    from lightloom.core.chunk_program import ChunkProgram
    from lightloom.core.violation import Violation
    from lightloom.formats.msccl_runtimes import MscclRuntime

__all__ = ["ProgramVerdict", "fitting_runtime", "verify_program"]

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

    Attributes
    ----------
    violations
        Every broken rule.
    runtime
        Whose words and limits it was held against.
    unchecked
        Why values were not checked; empty if they were.
    hangs_from_bytes
        Smallest buffer for which bounded connections make it hang; ``None`` if it
        never does, or was not run.
    """

    violations: tuple[Violation, ...]
    runtime: str
    unchecked: str
    hangs_from_bytes: int | None

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def fitting_runtime(program: ChunkProgram) -> MscclRuntime:
    """Return the runtime that a file is most probably meant for.

    Parameters
    ----------
    program
        As it was read.

    Returns
    -------
    The first of msccl, azure, rccl that knows its operation and breaks the fewest
    limits.
    """

    def faults(runtime: MscclRuntime) -> int:
        wrong = sum(1 for _ in check_limits(program, runtime))
        if program.attributes:
            wrong += len(set(runtime.required) - program.attributes)
        known = (
            *runtime.operations.values(),
            *(["custom"] * (runtime.name == "msccl")),
        )
        return wrong + 10**9 * (program.collective not in known)

    return min(RUNTIMES.values(), key=faults)


def verify_program(
    program: ChunkProgram, runtime: MscclRuntime | None = None
) -> ProgramVerdict:
    """Check a program of GPUs: form, limits, values, deadlock, races, connections.

    Parameters
    ----------
    program
        What to check.
    runtime
        Who is to load it; ``None`` for the one that fits best.

    Notes
    -----
    Values and races are checked in place and out of place, as far as the program
    claims to work there. Deterministic; O(steps x thread blocks).
    """
    loader = fitting_runtime(program) if runtime is None else runtime
    wrong = [*check_form(program, loader), *check_limits(program, loader)]
    if any(violation.rule in _BEFORE_RUNNING for violation in wrong):
        return ProgramVerdict(tuple(wrong), loader.name, "the form is invalid", None)
    flat = flatten(program)
    done = run(flat)
    faults = list(done.violations(flat))
    wrong += faults
    if done.stuck:
        return ProgramVerdict(tuple(wrong), loader.name, "it does not end", None)
    slots = SLOTS.get(program.protocol, SLOTS["Simple"])
    hangs = None
    if loader.bounded:
        hangs = hangs_from_bytes(flat, program.chunks_per_loop, slots)
    wrong += check_fifos(program, hangs, loader)
    unchecked = ""
    if program.collective not in OPERATIONS:
        unchecked = f"the result of {program.collective} is not known"
    elif faults:
        unchecked = "messages do not match"
    else:
        layout = BufferLayout.of(program)
        for in_place in (True, False):
            if program.in_place if in_place else program.out_of_place:
                way = {"in_place": in_place}
                wrong += check_values(layout, flat, done, **way)
                wrong += sorted(
                    check_races(layout, flat, done, **way),
                    key=lambda race: race.resource,
                )
    return ProgramVerdict(tuple(wrong), loader.name, unchecked, hangs)
