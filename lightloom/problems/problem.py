"""The record of a problem: model, own algorithm, bounds, and the check of answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError, nearest
from lightloom.core.task import Collective
from lightloom.instances.instance import task_table
from lightloom.validate.certificates import check_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from fractions import Fraction

    from lightloom.core.certificate import Certificate, Number
    from lightloom.core.outcome import Outcome
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance
    from lightloom.models import ModelSize
    from lightloom.solvers import Model, SolveOptions
    from lightloom.validate.certificates import Question


LIGHTLOOM = "lightloom"
"""Name of our own algorithms among the solvers."""


class WrongAnswerError(ValueError):
    """An answer that breaks a rule; the message names the first one."""


@dataclass(frozen=True, eq=False)
class ProblemAnswer:
    """An answer to a problem, whoever gave it.

    Attributes
    ----------
    value
        The objective, exact.
    bound
        No answer is better; ``None`` where nothing is proven.
    detail
        How it was made, and why there is no better one.
    schedule
        Makes the schedule that the answer is; ``None`` where it is none. Raises
        `NoAnswerError` where no schedule can hold the answer.
    certificates
        Bounds with their witnesses, without value: what a schedule of it carries;
        ``None`` where they were not looked for.
    found
        The answer itself, as `Problem.measure` takes it.
    bound_kind
        Kind of argument that proves the bound of a solver's answer, where one did;
        '' where the bound is its claim.
    """

    value: Number
    bound: Number | None
    detail: tuple[str, ...] = ()
    schedule: Callable[[], Schedule] | None = None
    certificates: tuple[Certificate, ...] | None = None
    found: object = None
    bound_kind: str = ""

    @property
    def proved(self) -> bool:
        """Whether the bound meets the value."""
        return self.value == self.bound


@dataclass(frozen=True)
class Formulation:
    """The optimisation model of a problem, from a module of `lightloom.models`.

    Attributes
    ----------
    build
        ``build(instance, **variant)`` returns a Pyomo ``ConcreteModel``. Raises
        `InputError` if the instance is not of this problem, `InfeasibleError`,
        naming the reason, where there is plainly no answer.
    decode
        ``decode(model)`` returns the answer that the values of the model's variables
        stand for, in exact integers.
    objective
        ``objective(answer)`` returns the exact objective, from the answer alone.
    size
        ``size(instance, **variant)`` returns the size that `build` would give.
    schedule
        ``schedule(instance, answer)`` returns the answer as a schedule without
        footer, or raises `NoAnswerError`; ``None`` where answers are no schedules.
    """

    build: Callable[..., Model]
    decode: Callable[[Model], Any]
    objective: Callable[[Any], Fraction]
    size: Callable[..., ModelSize]
    schedule: Callable[[Instance, Any], Schedule] | None = None


class Method(NamedTuple):
    """Another algorithm of ours for a problem: what it is, and as `Problem.solve`."""

    summary: str
    solve: Callable[[Instance, int], ProblemAnswer]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An optimisation problem; each module of this folder offers one as ``PROBLEM``.

    Everything but `name`, `summary`, `sense` and `unit` may be left out: what is not
    there is refused, with what to use instead.

    Attributes
    ----------
    name
        Name in the catalogue, as in ``--problem``.
    summary
        The problem in a line.
    sense
        Whether less or more of the objective is better.
    unit
        What the objective counts, for example ``rounds``.
    fabric
        Class of the fabrics it is about; ``None`` for any.
    tasks
        Classes of the tasks it is about.
    ops
        Operations of the collectives it is about; ``None`` for all.
    question
        ``question(instance)`` returns what bounds are about. Raises `InputError` if
        the instance is not of this problem.
    solve
        ``solve(instance, seed)`` is our own algorithm, without any solver;
        deterministic. Raises as `question` does, and `InfeasibleError` if there is no
        answer.
    bounds
        ``bounds(question, seed)`` returns what no answer can beat, the best first,
        found without one.
    formulation
        Returns the model; only then Pyomo is loaded.
    variants
        Keyword arguments of the model's ``build`` with a line about each.
    search
        ``search(instance, solver, options, tell)`` asks a solver in another way than
        by one model, where no variant is asked for; `tell` is told in words.
    methods
        Other algorithms of ours by name: as `solve`, with a line about each. They are
        asked for by name, as a solver or as the variant ``method``.
    schedule_objective
        Objective of `lightloom.validate` that measures schedules of its answers;
        ``None`` where answers are no schedules.
    measure
        ``measure(instance, found)`` applies every rule of `lightloom.validate` to an
        answer, and returns its value, from the answer alone. Raises
        `WrongAnswerError`. ``None`` where schedules alone are checked.
    """

    name: str
    summary: str
    sense: Literal["minimise", "maximise"]
    unit: str
    fabric: type | None = None
    tasks: tuple[type, ...] = ()
    ops: tuple[str, ...] | None = None
    question: Callable[[Instance], Question] | None = None
    solve: Callable[[Instance, int], ProblemAnswer] | None = None
    bounds: Callable[[Any, int], tuple[Certificate, ...]] | None = None
    formulation: Callable[[], Formulation] | None = None
    variants: tuple[tuple[str, str], ...] = ()
    search: (
        Callable[
            [Instance, str, SolveOptions, Callable[[str], None]], Outcome[ProblemAnswer]
        ]
        | None
    ) = None
    methods: Mapping[str, Method] = field(default_factory=dict)
    schedule_objective: str | None = None
    measure: Callable[[Instance, Any], Number] | None = None

    def takes(self, instance: Instance) -> bool:
        """Return whether an instance has the fabric and the task of this problem.

        Parameters
        ----------
        instance
            The instance. Its sizes are not looked at.
        """
        right = self.fabric is None or isinstance(instance.fabric, self.fabric)
        if self.ops is not None and isinstance(instance.task, Collective):
            right = right and instance.task.op in self.ops
        return right and isinstance(instance.task, self.tasks)

    def model(self) -> Formulation:
        """Return the model of the problem.

        Raises
        ------
        InputError
            If it has none.
        """
        if self.formulation is None:
            what, fix = f"{self.name} has no model", f"use the solver {LIGHTLOOM}"
            raise InputError(what, where="solver", fix=fix)
        return self.formulation()

    def check_variant(self, names: Iterable[str], where: str = "") -> None:
        """Refuse keyword arguments that the model's ``build`` does not have.

        Parameters
        ----------
        names
            The keywords.
        where
            Where they stand, for messages; each by itself if ''.

        Raises
        ------
        InputError
            If there is no such variant (nearest names suggested).
        """
        known = [name for name, _ in self.variants]
        known += ["method"] if self.methods else []
        for name in names:
            if name not in known:
                raise InputError(
                    f"the problem {self.name} has no parameter of this name",
                    where=where or "parameters",
                    found=name,
                    allowed=", ".join(known) or "none",
                    fix=nearest(name, known),
                )

    def checked_bounds(
        self, instance: Instance, seed: int = 0
    ) -> tuple[Certificate, ...]:
        """Return what no answer of an instance can beat, the best first, all checked.

        Parameters
        ----------
        instance
            An instance of this problem.
        seed
            Of the search for witnesses, 0 or more.

        Raises
        ------
        InputError
            If no bounds are known for the problem, or the instance is of another one.
        InfeasibleError
            If the instance has no answer.
        RuntimeError
            If a witness does not prove its bound: a bug of the search.
        """
        if self.bounds is None or self.question is None:
            what = "no bounds are known for this problem"
            raise InputError(what, where="problem", found=self.name)
        question = self.question(instance)
        certificates = self.bounds(question, seed)
        for certificate in certificates:
            for violation in check_bound(question, certificate, self.name):
                message = f"{violation.resource}: {violation.message}"
                raise RuntimeError(message)
        return certificates


def asked_of(instance: Instance) -> str:
    """Return what an instance asks, and where, for messages."""
    (task,) = task_table(instance.task)
    return f"{task} on {instance.fabric.kind}"


def refuse_relays(name: str, demand: Demand) -> None:
    """Raise if bytes of a demand may take two circuits.

    Raises `InputError` if the demand allows relays.
    """
    if demand.relays:
        what, where = "circuits of a pair carry all its bytes", f"{name}: demand.relays"
        fix = "leave `relays` out, or use `lightloom synth`"
        raise InputError(what, where=where, found=True, allowed="false", fix=fix)


PROBLEMS: Catalogue[Problem] = Catalogue(
    "lightloom.problems",
    attribute="PROBLEM",
    noun="problem",
    group="lightloom.problems",
)
"""Every problem, by name. Loads neither Pyomo nor a solver."""


def problem_for(instance: Instance, name: str | None = None) -> Problem:
    """Return the problem of a name, or the only one that an instance can be of.

    `name`: name of a problem; ``None`` to tell it from fabric and task.

    Raises `InputError`: unknown problem (nearest names suggested); no name where the
    instance can be of several problems, or of none.
    """
    if name is not None:
        return PROBLEMS.get(name)
    asked = [problem for problem in PROBLEMS.values() if problem.takes(instance)]
    if len(asked) == 1:
        return asked[0]
    what = "several problems fit this; name one" if asked else "no problem fits this"
    raise InputError(
        what,
        where="problem",
        found=asked_of(instance),
        allowed=", ".join(problem.name for problem in asked),
        fix="" if asked else "`lightloom synth` answers it with a schedule",
    )
