"""The solver's process: takes jobs from `lightloom.solvers.child` and solves them."""

from __future__ import annotations

import os
import pickle
import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.isolation.process_tree import die_first
from lightloom.solvers.progress import Reporter

if TYPE_CHECKING:
    from lightloom.isolation.parent_channel import ParentChannel
    from lightloom.solvers.adapter import Adapter
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class Job:
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

    Parameters
    ----------
    parent
        Sends `Job` and `Stop`; is sent `Started`, `Incumbent`, `Progress`, and then
        an `Answer` or `Raised`.
    """
    die_first()
    jobs: queue.SimpleQueue[tuple[Job, Reporter]] = queue.SimpleQueue()
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


def _read(jobs: queue.SimpleQueue[tuple[Job, Reporter]], parent: ParentChannel) -> None:
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
        if isinstance(message, Job):
            reporter = Reporter(parent.send, maximise=message.form.maximise)
            jobs.put((message, reporter))
        elif reporter is not None:
            reporter.stop()


def _warm_up(job: Job) -> None:
    """Solve a tiny model, so that the solver's libraries are loaded."""
    from dataclasses import replace

    import numpy as np

    one, start = np.ones(1), np.array([0, 1], dtype=np.int32)
    tiny = replace(
        job.form,
        cost=one,
        column_lower=0 * one,
        column_upper=one,
        integral=np.array([job.adapter.capabilities.integer]),
        row_start=start,
        row_column=start[:1],
        row_value=one,
        row_lower=0 * one,
        row_upper=one,
    )
    options = replace(job.options, memory_limit_bytes=None, log=False)
    job.adapter.solve(tiny, options, Reporter(lambda _: None, maximise=False))


def _hold_to(limit_bytes: int) -> None:
    """Allow this process so many bytes of address space beyond what it has."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        pages = int(file.read().split()[0])
    total = pages * resource.getpagesize() + limit_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        total = min(total, hard)
    resource.setrlimit(resource.RLIMIT_AS, (total, hard))
