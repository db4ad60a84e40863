"""Numbers of the SiP-ML paper that no figure computes."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import PS_PER_MS, PS_PER_US
from lightloom.formats.training_tables import TracedJob
from lightloom.instances.fabrics.ring import Ring
from lightloom.papers.claims import TextClaim, between, holds, near
from lightloom.papers.sipml.setup import OCS, RING, Trained, fabrics
from lightloom.training.job_run import run_jobs
from lightloom.training.job_times import JobTimes
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.training.job_run import ClusterRun

_GPUS, _GBIT, _JOBS = 32, 1024, 30
"""The cluster of the paper's jobs, its rate of a GPU in Gb/s, and how many jobs are
drawn."""
_MODEL = Trained("ncf", (4096,))
_SIZES = (2, 4, 4, 6, 8, 12)
"""GPUs of a job, drawn with equal chances."""
_WHERE = "section 3.3"


def _shared_fabric_claims() -> Iterator[TextClaim]:
    """Yield what the paper says of several jobs, beside a run of a synthetic trace."""
    switched, ring = _runs()
    slowest = max(job.slow_down or 0 for job in switched.jobs)
    yield TextClaim(
        _WHERE,
        holds(
            "jobs on any free GPUs of SiP-OCS, without changes to the design",
            "possible",
            f"{_JOBS} jobs on {_GPUS} GPUs: slow-down {float(slowest):.3f} at most",
            points=between({"slow-down": float(slowest)}, most=1),
            why="each GPU has ports of its own on every switch",
        ),
    )
    split_ms, waited_ms = (_waited_ms(ring, split=split) for split in (True, False))
    slowest = max(job.slow_down or 0 for job in ring.jobs)
    yield TextClaim(
        _WHERE,
        holds(
            "fragmentation of SiP-Ring makes contiguous blocks difficult",
            "at times",
            f"in {split_ms:.1f} of {waited_ms:.1f} ms with a queue enough GPUs are free"
            " and no block is long enough; jobs with a block are not slowed"
            f" ({float(slowest):.3f} at most); SiP-OCS has a queue for"
            f" {_waited_ms(switched, split=False):.1f} ms",
            points=between({"ms": split_ms}, least=1),
            why="synthetic arrivals of data-parallel NCF; no job is moved",
        ),
    )


def _waited_ms(run: ClusterRun, *, split: bool) -> float:
    """Return for how long a job waits, or waits though enough nodes are free."""
    devices = {run_job.job.name: run_job.job.devices for run_job in run.jobs}
    waited_ps = sum(
        later.time_ps - moment.time_ps
        for moment, later in pairwise(run.moments)
        if moment.waiting
        and (not split or devices[moment.waiting[0]] <= moment.free.free)
    )
    return waited_ps / PS_PER_MS


@cache
def _runs() -> tuple[ClusterRun, ClusterRun]:
    """Return the run of one trace on optical switches and on a ring."""
    named = fabrics(_GPUS, _GBIT)
    request = TrainingRequest(circuits="one-shot", replayed=1)
    training = _MODEL.planner(lambda _: None).training
    jobs = [(job, training) for job in _trace()]
    switched, ring = (
        run_jobs(JobTimes(named[name], request), jobs) for name in (OCS, RING)
    )
    return switched, ring


def _trace() -> Iterator[TracedJob]:
    """Yield jobs of a few sizes at random times."""
    random, at_us = np.random.default_rng(0), 0
    for number in range(_JOBS):
        at_us += int(random.integers(1, 24_000))
        size = int(random.choice(_SIZES))
        iterations = int(random.integers(50, 250))
        yield TracedJob(
            str(number),
            *(at_us * PS_PER_US, size, iterations),
            model_parallel=1,
            replicas=size,
        )


_BUDGET_DB, _LOSS_DB = 10, 0.625
"""Power budget, and the greater of the two printed losses of a node."""


def claims() -> Iterator[TextClaim]:
    """Yield numbers of the text that can be computed."""
    yield TextClaim(
        "section 3.1",
        holds(
            "duty cycle of circuits that are held for ten delays",
            "90 %",
            f"{100 * _duty(1, 10):.1f} %",
            points=between({"of the time": _duty(1, 10)}, least=0.9),
            why="one delay in eleven is dark",
        ),
    )
    yield TextClaim(
        "section 4.4, Fig. 12d",
        holds(
            "share of the rate in slots of 220 us with 20 us to reconfigure",
            "above 90 %",
            f"{100 * _duty(20, 200):.1f} %",
            points=between({"of the rate": _duty(20, 200)}, least=0.9),
            why="20 of 220 us are dark",
        ),
    )
    yield TextClaim(
        "section 4.4",
        near("nodes in a row that light passes", 16, _BUDGET_DB // _LOSS_DB, "nodes"),
    )
    ring = Ring(nodes=64, wavelengths=80, directions=1, reach=16)
    terabit_per_s = 80 * ring.bits_per_second_per_wavelength / 1e12
    yield TextClaim(
        "section 3.1",
        near("80 wavelengths of 25 Gb/s give a GPU", 2, terabit_per_s, "Tb/s"),
    )
    yield from _shared_fabric_claims()


def _duty(dark: int, lit: int) -> float:
    """Return the lit share of a period."""
    return lit / (dark + lit)
