"""Jobs over time: they arrive, wait for nodes, run, share links, and go."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from lightloom.core.errors import (
    InfeasibleError,
    InputError,
    LightloomError,
    NoAnswerError,
)
from lightloom.core.training import Training
from lightloom.instances.computation_table import read_computation
from lightloom.instances.jobs import JobMap
from lightloom.synth.fabrics import plug_of
from lightloom.training.job_times import PlacedJob
from lightloom.training.node_layout import require_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lightloom.formats.training_tables import TracedJob
    from lightloom.instances.instance import Instance
    from lightloom.instances.jobs import Fragmentation
    from lightloom.training.job_times import JobTimes


Policy: TypeAlias = Literal["fifo", "backfill"]
"""Who begins when nodes are free: jobs in the order of their arrival, the first that
does not fit keeps those behind it waiting; or also those behind it that fit."""


@dataclass(frozen=True)
class JobResult:
    """What became of a job.

    `alone_ps`: of an iteration on the empty fabric. `nodes`: which it had; none where
    it left before it began. `start_ps`: when it began; ``None`` where it left before.
    `iterations`: how many it did, perhaps a part of the last one. `strategy`: devices
    of a replica and replicas, on these nodes.
    """

    job: TracedJob
    alone_ps: int
    nodes: tuple[int, ...] = ()
    start_ps: int | None = None
    finish_ps: int = 0
    iterations: Fraction = field(default_factory=Fraction)
    strategy: str = ""

    @property
    def waiting_ps(self) -> int:
        """From its arrival to its start, or to when it left."""
        begun = self.finish_ps if self.start_ps is None else self.start_ps
        return begun - self.job.arrival_ps

    @property
    def together_ps(self) -> Fraction | None:
        """Time of an iteration on average; ``None`` where it never ran."""
        if self.start_ps is None or not self.iterations:
            return None
        return (self.finish_ps - self.start_ps) / self.iterations

    @property
    def slow_down(self) -> Fraction | None:
        """Time of an iteration over that on the empty fabric."""
        return None if self.together_ps is None else self.together_ps / self.alone_ps


@dataclass(frozen=True)
class Moment:
    """The fabric from an event to the next one.

    `free`: how broken up the free nodes are.
    """

    time_ps: int
    running: tuple[str, ...]
    waiting: tuple[str, ...]
    free: Fragmentation


@dataclass(frozen=True)
class ClusterRun:
    """What became of all jobs, and of the fabric over time.

    `moments`: one for each change, in order; at the last one nothing runs.
    """

    jobs: tuple[JobResult, ...]
    moments: tuple[Moment, ...]
    node_count: int

    @property
    def makespan_ps(self) -> int:
        """From the first arrival to when the last job goes."""
        return self.moments[-1].time_ps - self.moments[0].time_ps

    @property
    def utilisation(self) -> Fraction:
        """Share of the nodes that jobs had, over the makespan."""
        return self._mean(lambda one: 1 - Fraction(one.free.free, self.node_count))

    @property
    def fragmentation(self) -> Fraction:
        """Share of the free nodes outside the longest block, over the makespan."""
        return self._mean(lambda one: one.free.share)

    def _mean(self, of: Callable[[Moment], Fraction]) -> Fraction:
        """Return a mean over time."""
        whole = self.makespan_ps
        total = sum(
            (later.time_ps - one.time_ps) * of(one)
            for one, later in zip(self.moments, self.moments[1:], strict=False)
        )
        return Fraction(total) / whole if whole else Fraction()


def empty_map(times: JobTimes) -> JobMap:
    """Return the nodes of a fabric without jobs."""
    fabric = times.fabric
    return JobMap(fabric.node_count, ring=plug_of(fabric).layout.ring)


def run_jobs(
    times: JobTimes,
    jobs: Sequence[tuple[TracedJob, Training]],
    policy: Policy = "fifo",
) -> ClusterRun:
    """Return what becomes of jobs on a fabric.

    A job has its nodes for itself until it goes: one block where the fabric wants that
    (`TrainingLayout.blocks`). It is shared out as is best on the empty fabric. While
    the same jobs run, an iteration of each takes what `JobTimes.iterations_ps` says; a
    job that is in the middle of one when that changes does the rest of it at the new
    pace. To set circuits for a job that comes takes no time here.

    `jobs`: by arrival, each with what it trains.

    Raises `InputError, InfeasibleError, NoAnswerError`: a job that could not even run
    on the empty fabric; it is named.
    """
    run = _Run(times, jobs, policy)
    run.to_the_end()
    return ClusterRun(
        tuple(run.results[job.name] for job, _ in jobs),
        tuple(run.moments),
        times.fabric.node_count,
    )


@contextmanager
def _named(job: TracedJob) -> Iterator[None]:
    """Have errors of the block name a job."""
    try:
        yield
    except LightloomError as problem:
        problem.where = ", ".join(filter(None, (job.where, job.name, problem.where)))
        problem.args = (problem.line(),)
        raise


@dataclass(eq=False)
class _Running:
    """A job that has nodes."""

    placed: PlacedJob
    left: Fraction | None
    period_ps: Fraction = field(default_factory=lambda: Fraction(1))


class _Run:
    """Jobs under way."""

    def __init__(
        self,
        times: JobTimes,
        jobs: Sequence[tuple[TracedJob, Training]],
        policy: Policy,
    ) -> None:
        self._times, self._policy = times, policy
        self._blocks = plug_of(times.fabric).layout.blocks
        self._training = {job.name: training for job, training in jobs}
        self._shape: dict[str, tuple[int, int]] = {}
        self._map = empty_map(times)
        self._coming = [job for job, _ in reversed(jobs)]
        self._waiting: list[str] = []
        self._running: dict[str, _Running] = {}
        placed = [(job, self._on_empty(job)) for job, _ in jobs]
        self.results = {
            job.name: JobResult(job, self._alone_ps(job, nodes))
            for job, nodes in placed
        }
        self.moments: list[Moment] = []
        self._now = jobs[0][0].arrival_ps

    def to_the_end(self) -> None:
        """Go from event to event until all jobs are gone."""
        while True:
            self._leave()
            while self._coming and self._coming[-1].arrival_ps <= self._now:
                self._waiting.append(self._coming.pop().name)
            self._admit()
            self.moments.append(
                Moment(
                    self._now,
                    tuple(sorted(self._running)),
                    tuple(self._waiting),
                    self._map.fragmentation(),
                )
            )
            later = min(self._events(), default=None)
            if later is None:
                return
            self._go_to(later)

    def _on_empty(self, job: TracedJob) -> tuple[int, ...]:
        """Return the nodes that a job has on the empty fabric."""
        with _named(job):
            return self._allocated(empty_map(self._times), job)

    def _alone_ps(self, job: TracedJob, nodes: tuple[int, ...]) -> int:
        """Return the time of an iteration on the empty fabric."""
        with _named(job):
            plan = self._times.plan(self._placed(job, nodes))
        self._shape[job.name] = plan.strategy.model_parallel, plan.strategy.replicas
        return plan.iteration_ps

    def _allocated(self, places: JobMap, job: TracedJob) -> tuple[int, ...]:
        """Return nodes for a job, or raise."""
        require_rows(self._times.fabric, job.devices, "devices")
        return places.allocate(job.name, job.devices, self._blocks)

    def _placed(self, job: TracedJob, nodes: tuple[int, ...]) -> PlacedJob:
        k, replicas = self._shape.get(job.name, (job.model_parallel, job.replicas))
        return PlacedJob(self._training[job.name], nodes, k, replicas)

    def _events(self) -> Iterator[int]:
        """Yield when jobs come, are done, or go."""
        if self._coming:
            yield self._coming[-1].arrival_ps
        for name in (*self._waiting, *self._running):
            departure_ps = self.results[name].job.departure_ps
            if departure_ps is not None:
                yield departure_ps
        for one in self._running.values():
            if one.left is not None:
                yield self._now + ceil(one.left * one.period_ps)

    def _go_to(self, later_ps: int) -> None:
        """Let running jobs do their iterations until then."""
        for name, one in self._running.items():
            done = (later_ps - self._now) / one.period_ps
            if one.left is not None:
                done = min(done, one.left)
                one.left -= done
            before = self.results[name]
            self.results[name] = replace(before, iterations=before.iterations + done)
        self._now = later_ps

    def _leave(self) -> None:
        """Let jobs go that are done, or whose time has come."""
        for name in [*self._running, *self._waiting]:
            departure_ps = self.results[name].job.departure_ps
            due = departure_ps is not None and departure_ps <= self._now
            running = self._running.get(name)
            if not due and (running is None or running.left != 0):
                continue
            self.results[name] = replace(self.results[name], finish_ps=self._now)
            if running is None:
                self._waiting.remove(name)
            else:
                self._map.release(name)
                del self._running[name]

    def _admit(self) -> None:
        """Let jobs begin for which there is room, and set the pace of all."""
        for name in tuple(self._waiting):
            if self._begin(name):
                self._waiting.remove(name)
            elif self._policy == "fifo":
                break
        placed = [one.placed for one in self._running.values()]
        periods = self._times.iterations_ps(placed)
        for one, period_ps in zip(self._running.values(), periods, strict=True):
            one.period_ps = period_ps

    def _begin(self, name: str) -> bool:
        """Give a job nodes and circuits, if there are any for it."""
        result = self.results[name]
        try:
            nodes = self._allocated(self._map, result.job)
        except InfeasibleError:
            return False
        placed = self._placed(result.job, nodes)
        others = [one.placed for one in self._running.values()]
        try:
            with _named(result.job):
                self._circuits(placed, others)
        except InfeasibleError:
            self._map.release(name)
            if not others:
                raise
            return False
        wanted = result.job.iterations
        left = None if wanted is None else Fraction(wanted)
        self._running[name] = _Running(placed, left)
        self.results[name] = replace(
            result,
            nodes=nodes,
            start_ps=self._now,
            strategy=str(self._times.plan(placed).strategy),
        )
        return True

    def _circuits(self, placed: PlacedJob, others: list[PlacedJob]) -> None:
        """Raise unless a job has circuits on its nodes, beside those that run."""
        try:
            self._times.plan(placed)
        except NoAnswerError as problem:
            if not others:
                raise
            raise InfeasibleError(problem.what, where=problem.where) from None
        self._times.iterations_ps([*others, placed])


def traced_training(job: TracedJob, instance: Instance) -> Training:
    """Return what a job trains.

    `job`: its model and batch, where they are given. `instance`: its ``[computation]``,
    if it has one, says the rest: GPU, precision and optimiser, and where the job names
    no model all of it.

    Raises `InputError`: no model in either; an unknown one; a batch that it cannot
    have; a file that cannot be read.
    """
    task = instance.task if isinstance(instance.task, Training) else None
    table: dict[str, object] = {}
    if task is not None:
        table = {key: getattr(task, key) for key in ("gpu", "precision", "optimiser")}
    if job.model is not None:
        kind = "onnx" if job.model.endswith(".onnx") else "model"
        table[kind] = job.model
    elif task is not None:
        more = ("model", "onnx", "batch_size", "parameters", "profile")
        table |= {key: getattr(task, key) for key in more if getattr(task, key)}
    else:
        what = "a job without a model, on an instance without one"
        fix = "give it a model, for example bert-large"
        raise InputError(what, where=job.where, found=job.name, fix=fix)
    if job.batch_size is not None:
        table["batch_size"] = job.batch_size
    return read_computation(table, f"{job.where}, {job.name}", Path())
