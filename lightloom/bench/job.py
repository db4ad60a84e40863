"""Jobs: who can be asked a problem, one question to one of them, its row's key."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.bench.results import Row, code_version
from lightloom.core.certificate import COMPLETION_TIME
from lightloom.core.errors import InputError, unknown_name
from lightloom.core.task import Collective, Demand, Workload
from lightloom.problems.problem import LIGHTLOOM, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.bench.isolation import Event
    from lightloom.bench.results import Finding, Measured, Parameter
    from lightloom.instances.instance import Instance


MEASURE = "measure"
"""What is measured besides answers, see `lightloom.bench.measures`."""
OWN = LIGHTLOOM
"""Our own algorithm for a problem, as in ``lightloom solve``."""
_SOONEST_END = Problem(
    name=COMPLETION_TIME,
    summary="soonest end of a task",
    sense="minimise",
    unit="ps",
    schedule_objective=COMPLETION_TIME,
)
"""Algorithms take part, no solvers."""
_MEASURED = Problem(
    name=MEASURE, summary="what work in stages takes", sense="minimise", unit=""
)
"""Measures take part, whose numbers count what each says."""
_AUTO = "auto"
_KEY_LENGTH = 24
_GRACE_S = 8.0
"""A solver is told its time limit, and given this much more to stop by itself."""
_CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True)
class Entrant:
    """Somebody who is asked a problem.

    `solver`: a solver, ``lightloom``, an algorithm, or ``module:function``.
    `parameters`: the variant of the model, or the parameters of the algorithm.
    `version`: of the solver's package, or of our code; ``None`` where not installed.
    `sense`, `unit`: what the problem asks for.
    """

    solver: str
    parameters: dict[str, Parameter]
    version: str | None
    sense: str
    unit: str


def is_callable(solver: str) -> bool:
    """Return whether this names a function rather than a solver."""
    return _CALLABLE.fullmatch(solver) is not None


def entrant(problem: str, by: str | Mapping[str, Any], where: str) -> Entrant:
    """Return who is meant by an entry of ``by``.

    `problem`: a problem of `lightloom.problems`, ``completion-time`` or ``measure``.
    `by`: a name, or a table of ``solver`` and parameters.

    Raises `InputError`: unknown problem, solver, algorithm or parameter.
    """
    table: dict[str, Any] = {"solver": by} if isinstance(by, str) else dict(by)
    solver = table.pop("solver", None)
    if not isinstance(solver, str):
        fix = 'write solver = "NAME"'
        raise InputError("no solver is named", where=where, found=solver, fix=fix)
    asked = problem_named(problem, where.rpartition(".by")[0])
    if problem == COMPLETION_TIME:
        return _algorithm(solver, table, where)
    if problem == MEASURE:
        return _measure(solver, table, where)
    if not is_callable(solver) and solver != OWN:
        return _solver(asked, solver, table, where)
    if table:
        what = f"{solver} takes no parameters"
        raise InputError(what, where=where, found=sorted(table))
    if solver == OWN and asked.solve is None:
        what = f"lightloom has no algorithm of its own for {problem}"
        raise InputError(what, where=where)
    return Entrant(solver, {}, code_version(), asked.sense, asked.unit)


def problem_named(name: str, where: str = "problem") -> Problem:
    """Return the problem of a name, ``completion-time`` and ``measure`` included.

    Raises `InputError`: unknown problem.
    """
    from lightloom.problems import PROBLEMS

    if name == COMPLETION_TIME:
        return _SOONEST_END
    if name == MEASURE:
        return _MEASURED
    if name not in PROBLEMS:
        known = sorted([*PROBLEMS, COMPLETION_TIME, MEASURE])
        raise unknown_name("problem", name, known, where=where)
    return PROBLEMS[name]


def _solver(
    problem: Problem, name: str, parameters: dict[str, Parameter], where: str
) -> Entrant:
    from lightloom.solvers import SOLVERS

    if name not in SOLVERS:
        raise unknown_name(
            "solver", name, [OWN, *SOLVERS, "module:function"], where=where
        )
    problem.check_variant(parameters, where)
    version = SOLVERS[name].status().version
    return Entrant(name, parameters, version, problem.sense, problem.unit)


def _measure(name: str, parameters: dict[str, Parameter], where: str) -> Entrant:
    from lightloom.bench.measures import MEASURES, check_parameters

    if name not in MEASURES:
        raise unknown_name("measure", name, sorted(MEASURES), where=where)
    measure = MEASURES[name]
    check_parameters(measure, parameters, where)
    version = code_version()
    return Entrant(name, parameters, version, _MEASURED.sense, measure.unit)


def _algorithm(name: str, parameters: dict[str, Parameter], where: str) -> Entrant:
    from lightloom.plans.algorithms import ALGORITHMS
    from lightloom.synth.demand_algorithms import ON_DEMANDS

    known = [_AUTO, *ALGORITHMS, *ON_DEMANDS]
    if name not in known and not is_callable(name):
        raise unknown_name("algorithm", name, [*known, "module:function"], where=where)
    asked = _SOONEST_END
    return Entrant(name, parameters, code_version(), asked.sense, asked.unit)


@dataclass(frozen=True, kw_only=True)
class BenchJob:
    """A problem put to an entrant, in a run that is to be made.

    `lightloom.bench.results.Row` says what the fields are.
    """

    suite: str
    problem: str
    entrant: Entrant
    instance: Instance
    seed: int
    time_limit_s: float
    instance_sha256: str
    memory_limit_bytes: int | None

    @property
    def key(self) -> str:
        """The hash of what decides the outcome."""
        decisive = [
            self.instance_sha256,
            self.problem,
            self.entrant.solver,
            self.entrant.parameters,
            self.entrant.version,
            self.time_limit_s,
            self.memory_limit_bytes,
            self.seed,
        ]
        text = json.dumps(decisive, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]

    @property
    def search_limit_s(self) -> float:
        """Seconds after which the search is ended."""
        solver = self.entrant.solver
        told = solver != OWN and not is_callable(solver)
        told = told and self.problem != COMPLETION_TIME
        return self.time_limit_s + (_GRACE_S if told else 0.0)

    def find(self, tell: Callable[[Event], None]) -> Finding:
        """Return what is answered."""
        from lightloom.bench.execute import ask

        return ask(self, tell)

    def row(self, finding: Finding, measured: Measured) -> Row:
        """Return the row of this job."""
        return Row(
            key=self.key,
            suite=self.suite,
            problem=self.problem,
            sense=self.entrant.sense,
            unit=self.entrant.unit,
            instance=self.instance.name,
            instance_sha256=self.instance_sha256,
            size=size_of(self.instance),
            solver=self.entrant.solver,
            parameters=self.entrant.parameters,
            version=self.entrant.version,
            time_limit_s=self.time_limit_s,
            memory_limit_bytes=self.memory_limit_bytes,
            seed=self.seed,
            finding=finding,
            peak_bytes=measured.peak_bytes,
            wall_s=measured.wall_s,
            started=measured.started,
            lightloom=code_version(),
            machine=measured.machine,
        )


def instance_hash(instance: Instance) -> str:
    """Return the SHA-256 of what an instance asks, its name left out."""
    asked = {**instance.table(), "requests": instance.requests}
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def size_of(instance: Instance) -> int:
    """Return how many requests, pairs, operations, ranks or nodes an instance has."""
    if instance.requests is not None:
        return len(instance.requests)
    if isinstance(instance.task, Demand):
        return len(instance.task.src)
    if isinstance(instance.task, Workload):
        return len(instance.task.op)
    if isinstance(instance.task, Collective):
        return instance.task.rank_count
    return instance.fabric.node_count
