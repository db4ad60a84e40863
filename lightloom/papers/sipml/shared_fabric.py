"""SiP-ML, section 3.3: several jobs on optical switches and on a ring."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import PS_PER_US
from lightloom.formats.job_trace import TracedJob
from lightloom.papers.claims import between, holds
from lightloom.papers.sipml.setup import OCS, RING, Trained, fabrics
from lightloom.papers.text_claims import TextClaim, unknown
from lightloom.training.job_run import run_jobs
from lightloom.training.job_times import JobTimes
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.training.job_run import ClusterRun

_GPUS, _GBIT, _JOBS = 32, 1024, 30
_MODEL = Trained("ncf", (4096,))
_SIZES = (2, 4, 4, 6, 8, 12)
_PS_PER_MS = 10**9
_WHERE = "section 3.3"


def claims() -> Iterator[TextClaim]:
    """Yield what the paper says of several jobs, beside a run of a synthetic trace."""
    switched, ring = _runs()
    slowest = max(each.slow_down or 0 for each in switched.jobs)
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
    slowest = max(each.slow_down or 0 for each in ring.jobs)
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
    yield unknown(
        _WHERE,
        "an OCS assigns GPUs to arbitrary places of the ring",
        "one solution",
        "lightloom has no fabric of a ring behind a switch",
    )


def _waited_ms(run: ClusterRun, *, split: bool) -> float:
    """Return for how long a job waits, or waits though enough nodes are free."""
    devices = {each.job.name: each.job.devices for each in run.jobs}
    waited_ps = sum(
        later.time_ps - one.time_ps
        for one, later in pairwise(run.moments)
        if one.waiting and (not split or devices[one.waiting[0]] <= one.free.free)
    )
    return waited_ps / _PS_PER_MS


@cache
def _runs() -> tuple[ClusterRun, ClusterRun]:
    """Return the run of one trace on optical switches and on a ring."""
    named = fabrics(_GPUS, _GBIT)
    request = TrainingRequest(circuits="one-shot", replayed=1)
    training = _MODEL.planner(lambda _: None).training
    jobs = [(job, training) for job in _trace()]
    one, other = (
        run_jobs(JobTimes(named[name], request), jobs) for name in (OCS, RING)
    )
    return one, other


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
