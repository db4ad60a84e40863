"""Rows of a results file: one run each, whatever happened to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import msgspec

Parameter: TypeAlias = bool | int | float | str | list[int]
Point: TypeAlias = tuple[float, float | None, float | None]
"""Seconds since the start, the best objective by then, the best bound by then."""


class Ending(StrEnum):
    """How a run ended."""

    OPTIMAL = "proven optimal"
    """The answer meets a bound: one whose witness was checked, or a solver's claim."""
    ANSWER = "stopped with an answer"
    """There is an answer; nothing proves that no better one exists."""
    NO_ANSWER = "stopped without an answer"
    """The solver reached its limits before it found an answer."""
    INFEASIBLE = "proven infeasible"
    """No answer exists."""
    FAILED = "failed"
    """The solver broke, or what was asked raised an error."""
    TIMED_OUT = "timed out"
    """The run did not stop within its time and was killed."""
    OUT_OF_MEMORY = "out of memory"
    """The run took more memory than it may, or than there was, and was killed."""
    CRASHED = "crashed"
    """The process of the run ended without an answer."""
    REFUSED = "refused"
    """The question is not for this solver, or the solver cannot be used here."""
    WRONG = "wrong"
    """The answer breaks a rule, or is not worth what it claims."""
    LOST = "lost"
    """Every worker that took the run was lost."""


HAS_ANSWER = (Ending.OPTIMAL, Ending.ANSWER)
"""Endings of runs whose objective counts."""


class Proof(StrEnum):
    """What an answer's bound rests on."""

    CHECKED = "checked"
    """A witness that was checked by arithmetic."""
    CLAIMED = "solver-claimed"
    """The word of whoever gave the answer."""
    NONE = "no bound"
    """There is no bound."""


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a run took place.

    Attributes
    ----------
    system, processor
        Operating system and kind of processor.
    cores
        Cores that the run could use.
    memory_bytes
        Memory of the machine.
    python, numpy
        Versions.
    load
        Processes that waited for a core in the minute before the run.
    """

    system: str
    processor: str
    cores: int
    memory_bytes: int
    python: str
    numpy: str
    load: float


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a run found; times in seconds, ``None`` where there is nothing to say.

    Attributes
    ----------
    ending
        How it ended.
    answer, bound_exact
        Objective and bound, exact, as an integer or a fraction.
    objective, bound
        The same as numbers.
    gap
        ``|objective - bound| / |bound|``; ``None`` where only the bound is 0.
    proof, witness
        What the bound rests on, and the kind of witness or ''.
    algorithm
        Name of the algorithm of a schedule; '' where there is none.
    verified
        Whether the answer was checked by rules of its own; ``None`` without answer.
    first_answer_s, proof_s
        Until the first answer, and until an answer was proven the best.
    build_s, solve_s
        To state the model, and in all, without start-up and verification.
    cpu_s
        Processor time of the same span, in all processes of the run.
    check_s
        To verify the answer, its schedule signed first where it is one.
    trace
        How objective and bound went on.
    detail
        What a person should know beyond that.
    """

    ending: Ending
    answer: str | None = None
    bound_exact: str | None = None
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    proof: Proof = Proof.NONE
    witness: str = ""
    algorithm: str = ""
    verified: bool | None = None
    first_answer_s: float | None = None
    proof_s: float | None = None
    build_s: float | None = None
    solve_s: float | None = None
    cpu_s: float | None = None
    check_s: float | None = None
    trace: tuple[Point, ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class Measured:
    """How a run went, whatever came of it.

    Attributes
    ----------
    peak_bytes, wall_s, started, machine
        As in `Row`.
    """

    peak_bytes: int | None
    wall_s: float
    started: str
    machine: Machine | None


class Row(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    tag_field="record",
    tag="run",
):
    """A run: what was asked, what came of it, where.

    Attributes
    ----------
    key
        Hash of what decides the outcome: instance, problem, solver, its version and
        parameters, limits, seed. Rows of one key are repetitions.
    suite
        Suite that asked.
    problem, sense, unit
        The problem; whether its objective is minimised, and what it counts.
    instance, instance_sha256, size
        Name, hash of the content, and how large it is, in what the problem counts.
    solver, parameters, version
        Who was asked, in which variant, of which version.
    time_limit_s, memory_limit_bytes, seed
        Limits and seed.
    finding
        What came of it.
    peak_bytes
        Most memory that all processes of the run held at a time.
    wall_s
        From the request to the row, start-up and verification included.
    started
        When, UTC, ISO 8601.
    lightloom
        Version of the code that ran.
    machine
        Where; ``None`` where no worker came back to say.
    """

    key: str
    suite: str
    problem: str
    sense: str
    unit: str
    instance: str
    instance_sha256: str
    size: int
    solver: str
    parameters: dict[str, Parameter]
    version: str | None
    time_limit_s: float
    memory_limit_bytes: int | None
    seed: int
    finding: Finding
    peak_bytes: int | None
    wall_s: float
    started: str
    lightloom: str
    machine: Machine | None

    @property
    def label(self) -> str:
        """The solver with its parameters, as tables and plots name it."""
        return label(self.solver, self.parameters)

    @property
    def solved(self) -> bool:
        """Whether there is an answer that counts."""
        return self.finding.ending in HAS_ANSWER


def label(solver: str, parameters: dict[str, Parameter]) -> str:
    """Return a solver with its parameters as one text.

    Parameters
    ----------
    solver, parameters
        As in a row.
    """
    words = [
        f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in sorted(parameters.items())
    ]
    return " ".join([solver, *words])
