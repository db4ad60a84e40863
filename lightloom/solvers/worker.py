"""The solver's process: takes jobs from `lightloom.solvers.child` and solves them."""

from __future__ import annotations

import os
import pickle
import queue
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psutil

from lightloom.isolation.process_tree import die_first
from lightloom.solvers.availability import smallest_model
from lightloom.solvers.progress import Reporter

if TYPE_CHECKING:
    from lightloom.isolation.child_process import ParentChannel
    from lightloom.solvers.adapter import Adapter
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class SolverJob:
    """A model for a solver."""

    adapter: Adapter
    form: StandardForm
    options: SolveOptions


@dataclass(frozen=True)
class Stop:
    """The solver should stop now and hand over its best point."""


@dataclass(frozen=True)
class Started:
    """The solver has the model; its time counts from now."""


@dataclass(frozen=True, eq=False)
class Raised:
    """The adapter raised an error."""

    error: BaseException


def serve(parent: ParentChannel) -> None:
    """Serve jobs until nobody is left who asks.

    `parent`: sends `SolverJob` and `Stop`; is sent `Started`, `Incumbent`, `Progress`,
    and then an `Answer` or `Raised`.
    """
    die_first()
    jobs: queue.SimpleQueue[tuple[SolverJob, Reporter]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(jobs, parent), daemon=True).start()
    while True:
        job, reporter = jobs.get()
        try:
            limit = job.options.memory_limit_bytes
            if limit is not None:
                _warm_up(job)
                _hold_to(limit)
            parent.send(Started())
            parent.send(job.adapter.solve(job.form, job.options, reporter))
        except Exception as problem:  # noqa: BLE001  (told to the parent)
            parent.send(Raised(problem))


def _read(
    jobs: queue.SimpleQueue[tuple[SolverJob, Reporter]], parent: ParentChannel
) -> None:
    """Take messages from the parent until it goes away, and the process with it."""
    reporter: Reporter | None = None
    while True:
        try:
            message = parent.receive()
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)
        except Exception as problem:  # noqa: BLE001  (an adapter we cannot import)
            parent.send(Raised(problem))
            continue
        if isinstance(message, SolverJob):
            reporter = Reporter(parent.send, maximise=message.form.maximise)
            jobs.put((message, reporter))
        elif reporter is not None:
            reporter.stop()


def _warm_up(job: SolverJob) -> None:
    """Have the solver's libraries loaded."""
    options = replace(job.options, memory_limit_bytes=None, log=False)
    reporter = Reporter(lambda _: None, maximise=False)
    job.adapter.solve(smallest_model(job.adapter), options, reporter)


def _hold_to(limit_bytes: int) -> None:
    """Allow this process so many bytes of address space beyond what it has (Linux)."""
    process = psutil.Process()
    _, hard = process.rlimit(psutil.RLIMIT_AS)
    total = process.memory_info().vms + limit_bytes
    if hard != psutil.RLIM_INFINITY:
        total = min(total, hard)
    process.rlimit(psutil.RLIMIT_AS, (total, hard))
