"""What ``import lightloom`` offers to scripts and notebooks; see `lightloom`.

Wherever an instance is taken, an `Instance`, a name of the catalogue or the path of a
TOML file serves; wherever a schedule is taken, a `Schedule` or the path of a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.errors import InputError, NoAnswerError
from lightloom.core.outcome import Summarised
from lightloom.core.schedule import Schedule
from lightloom.core.training import Training
from lightloom.core.units import format_ps
from lightloom.instances import catalogue
from lightloom.instances.instance import Instance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.core.certificate import Certificate
    from lightloom.problems.solve import Solution
    from lightloom.report.schedule_page import SchedulePage
    from lightloom.synth.synthesise import Synthesis
    from lightloom.training.training_plan import TrainingPlan, TrainingRequest
    from lightloom.validate import Verdict

InstanceLike: TypeAlias = "Instance | str | Path"
"""An instance, a name of the catalogue, or the path of a TOML file."""
ScheduleLike: TypeAlias = "Schedule | str | Path"
"""A schedule, or the path of a file."""


@dataclass(frozen=True, eq=False, repr=False)
class LowerBound(Summarised):
    """What no schedule can beat.

    Attributes
    ----------
    instance
        Name of the instance.
    bound_ps
        No schedule ends before, in picoseconds; ``None`` where nothing is known.
    certificates
        The best bound of each kind of argument with its witness, the best first.
    """

    instance: str
    bound_ps: int | None
    certificates: tuple[Certificate, ...]

    def facts(self) -> Mapping[str, object]:
        """Return the best bound, and the argument behind it."""
        best = self.certificates[0] if self.certificates else None
        return {
            "instance": self.instance,
            "bound_ps": self.bound_ps,
            "bound": None if self.bound_ps is None else format_ps(self.bound_ps),
            "kind": None if best is None else best.kind,
        }


def load_instance(name: InstanceLike) -> Instance:
    """Return an instance of the catalogue, or the one in a TOML file.

    Parameters
    ----------
    name
        ``FABRIC/TASK-SIZE`` as ``lightloom instances`` lists it, for example
        ``lightpath-16/all-reduce-1MiB``, or a path. An `Instance` is returned as it
        is.

    Raises
    ------
    InputError
        There is no such name (nearest names suggested), or the file is not right.
    """
    if isinstance(name, Instance):
        return name
    if not isinstance(name, str | os.PathLike):
        raise InputError(
            "not an instance",
            found=name,
            allowed="an Instance, a name of the catalogue, or the path of a TOML file",
        )
    return catalogue.load_instance(os.fspath(name))


def read_schedule(schedule: ScheduleLike) -> Schedule:
    """Return the schedule in a file.

    Parameters
    ----------
    schedule
        Path of a schedule file, ``.gz`` and ``.zst`` included. A `Schedule` is
        returned as it is.

    Raises
    ------
    FormatError
        The file is damaged, or no schedule. Whether it breaks a rule is for `verify`.
    """
    if isinstance(schedule, Schedule):
        return schedule
    from lightloom.formats import schedule_reader

    return schedule_reader.read_schedule(schedule)


def write_schedule(schedule: ScheduleLike, path: str | Path) -> None:
    """Write a schedule file; the same schedule gives the same bytes.

    Parameters
    ----------
    schedule
        The schedule, with its footer.
    path
        Where to; ``.gz`` and ``.zst`` compress.

    Raises
    ------
    InputError
        The schedule has no footer, or the file cannot be written.
    """
    from lightloom.formats import schedule_writer

    schedule_writer.write_schedule(read_schedule(schedule), _output_path(path))


def _output_path(path: object) -> Path:
    """Return the path of a file to write, or raise if it is none."""
    given = path if isinstance(path, str | os.PathLike) else ""
    if not os.fspath(given):
        raise InputError("not the name of a file", found=path, allowed="a path")
    return Path(given)


def synthesise(
    instance: InstanceLike,
    algorithm: str = "auto",
    parameters: Mapping[str, object] | None = None,
    *,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Synthesis:
    """Return the fastest schedule found for an instance, with what it beat.

    Parameters
    ----------
    instance
        Fabric and task.
    algorithm
        A name of ``lightloom algorithms``, or ``auto`` to compare all that fit.
    parameters
        Parameters of a named algorithm.
    seed
        Seed of everything random, 0 or more: same arguments, same schedule.
    progress
        Told in words what is being done.

    Returns
    -------
    ``.schedule``, ``.completion_time_ps``, ``.certificate`` (a lower bound with its
    witness), ``.compared``.

    Raises
    ------
    InputError
        Unknown algorithm or parameter, or a task that is not scheduled.
    InfeasibleError
        If the fabric cannot serve the task at all.
    NoAnswerError
        If no schedule was found.
    """
    from lightloom.synth import synthesise as room

    asked = load_instance(instance)
    if progress is not None and not callable(progress):
        what, allowed = "not a function", "a function of a text"
        raise InputError(what, where="progress", found=progress, allowed=allowed)
    outcome = room.synthesise(
        asked, algorithm, parameters, seed=seed, progress=progress
    )
    if outcome.incumbent is None:
        raise NoAnswerError(str(outcome.reason), where=asked.name)
    return outcome.incumbent


def verify(schedule: ScheduleLike) -> Verdict:
    """Check every rule, and what the schedule claims of itself.

    Parameters
    ----------
    schedule
        The schedule.

    Returns
    -------
    ``.valid``, ``.violations``, and what the certificates are worth.
    """
    from lightloom import validate

    return validate.verify(read_schedule(schedule))


def bound(instance: InstanceLike) -> LowerBound:
    """Return what no schedule of an instance can beat.

    Parameters
    ----------
    instance
        Fabric and task.

    Raises
    ------
    InputError
        If its task is not one that is scheduled.
    """
    from lightloom.synth.bounds import all_bounds

    asked = load_instance(instance)
    found = sorted(
        all_bounds(asked.fabric, asked.communication).values(),
        key=lambda certificate: (-certificate.bound, certificate.kind),
    )
    return LowerBound(asked.name, int(found[0].bound) if found else None, tuple(found))


def plot(schedule: ScheduleLike, path: str | Path) -> Path:
    """Draw a schedule: its time line, the loads of its steps, and who sends to whom.

    Parameters
    ----------
    schedule
        The schedule.
    path
        Where to: ``.png``, ``.svg`` or ``.pdf``.

    Returns
    -------
    The path.

    Raises
    ------
    InputError
        Another suffix, or a file that cannot be written.
    """
    from lightloom.report.plots import save_panels
    from lightloom.report.schedule_panels import schedule_panels

    panels = schedule_panels(read_schedule(schedule))
    return save_panels(panels, _output_path(path), columns=2)


def show(schedule: ScheduleLike, path: str | Path | None = None) -> SchedulePage:
    """Show a schedule as a page: fabric, steps, time line, chunks, verdict.

    Parameters
    ----------
    schedule
        The schedule; one that breaks rules is shown with what is wrong.
    path
        Where to write the page, for a browser; ``None`` for nowhere.

    Returns
    -------
    ``.html`` and ``.save(path)``; a notebook shows the page.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    from lightloom.report.schedule_page import schedule_page

    title = "schedule" if isinstance(schedule, Schedule) else Path(schedule).name
    page = schedule_page(read_schedule(schedule), title)
    if path is not None:
        page.save(_output_path(path))
    return page


def solve(
    instance: InstanceLike,
    problem: str | None = None,
    solver: str | None = None,
    *,
    time_limit_s: float | None = None,
    seed: int = 0,
) -> Solution:
    """Solve an optimisation problem of an instance, by our algorithm or a solver.

    Parameters
    ----------
    instance
        Fabric and task.
    problem
        ``rounds``, ``routing``, ``ocs``, ``ring`` or ``placement``; may be left out
        where the instance is of one only.
    solver
        ``lightloom``, or a name of ``lightloom solvers``; by default our algorithm,
        and HiGHS where a time limit is given.
    time_limit_s
        Seconds that a solver may take; ``None`` for no limit.
    seed
        Seed of everything random.

    Returns
    -------
    ``.status``, ``.value``, ``.bound``, ``.answer``, ``.schedule``, ``.certificates``.

    Raises
    ------
    InputError
        Unknown problem or solver, or an instance that is not of the problem.
    InfeasibleError
        If there is no answer, and that is plain without a solver.
    """
    from lightloom.problems import solve as room
    from lightloom.solvers import SolveOptions

    options = SolveOptions(time_limit_s=time_limit_s, seed=seed)
    return room.solve(load_instance(instance), problem, solver, options=options)


def train(
    instance: InstanceLike, request: TrainingRequest | None = None, *, seed: int = 0
) -> TrainingPlan:
    """Share a model out over a fabric, and replay an iteration of its training.

    Parameters
    ----------
    instance
        Fabric, and the model to train.
    request
        What is wanted; by default all strategies that fit are estimated, and
        those of the best estimates are replayed.
    seed
        Seed of placements.

    Returns
    -------
    ``.iteration_ps``, ``.strategy``, ``.samples_per_s``, ``.tried``, and more.

    Raises
    ------
    InputError
        If the instance has no model to train.
    InfeasibleError
        If no strategy can be run; says why.
    """
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import TrainingRequest

    asked = load_instance(instance)
    if request is not None and not isinstance(request, TrainingRequest):
        what, allowed = "not a request", "lightloom.training.TrainingRequest"
        raise InputError(what, where="request", found=request, allowed=allowed)
    if not isinstance(asked.task, Training):
        raise InputError(
            "an instance without a model to train",
            where=asked.name,
            allowed="a task that is a Training, or a file with [computation]",
            fix="load_instance('ocs-16/bert-large-batch64') is one",
        )
    return Planner(asked.task, seed=seed).plan(asked.fabric, request)
