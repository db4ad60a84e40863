"""When steps end on planes that change independently, and who moves how much.

A *job* is what one lane moves in one step. A plane serves the jobs it is given in
order. Between two of different lanes it is reconfigured, as soon as it is through with
the first; what it holds decides, not what other planes do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray

    UsedPlanes = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LaneJobs:
    """What the lanes of some steps move, in order of steps.

    `step`, `lane`: of each job, shape (jobs,); steps count from 0 without gaps, and no
    step has a lane twice. `data`: how long one circuit takes for what the busiest pair
    of the lane moves. `delay`, `alpha`: of the planes, in the same unit. `first`: when
    planes have their first circuits.
    """

    step: IntArray
    lane: IntArray
    data: FloatArray
    delay: float
    alpha: float
    first: float


@dataclass(frozen=True, eq=False)
class PlaneTiming:
    """When all is done, and the data that planes move.

    `end`: end of the last step. `data`: of each plane for each job, shape (planes,
    jobs).
    """

    end: float
    data: FloatArray


def level_timing(jobs: LaneJobs, used: UsedPlanes) -> PlaneTiming | None:
    """Return the timing with which all planes of a job end together.

    A plane that would come after the others are through is left out, and keeps what
    it holds.

    `used`: whether a plane may serve a job, shape (planes, jobs).

    Returns ``None`` where a job has no plane.
    """
    planes = range(len(used))
    ready, holds = [jobs.first] * len(used), [-1] * len(used)
    data = np.zeros(used.shape)
    released = end = 0.0
    now = 0
    for job, (step, lane, need) in enumerate(
        zip(jobs.step.tolist(), jobs.lane.tolist(), jobs.data.tolist(), strict=True)
    ):
        if step != now:
            now, released = step, end
        starts = sorted(
            (
                max(released, ready[p] + jobs.delay * (holds[p] not in (-1, lane))),
                p,
            )
            for p in planes
            if used[p, job]
        )
        if not starts:
            return None
        total, count, done = 0.0, 0, 0.0
        for start, _ in starts:
            if count and start + jobs.alpha >= done:
                break
            total += start + jobs.alpha
            count += 1
            done = (need + total) / count
        for start, plane in starts[:count]:
            ready[plane], holds[plane] = done, lane
            data[plane, job] = done - start - jobs.alpha
        end = max(end, done)
    return PlaneTiming(end, data)


def exact_timing(jobs: LaneJobs, used: UsedPlanes) -> PlaneTiming | None:
    """Return the timing that ends soonest where planes serve given jobs.

    A linear program: a plane may be through before others, and change.

    Returns ``None`` where a job has no plane.
    """
    if not used.any(axis=0).all():
        return None
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    plane, job = np.nonzero(used)
    count = len(plane)
    matrix, upper = _order_of_times(jobs, plane, job)
    width = matrix.shape[1]
    whole = csr_array(
        (np.ones(count), (job, count + np.arange(count))), shape=(used.shape[1], width)
    )
    lower = np.zeros(width)
    lower[:count] = jobs.first
    cost = np.zeros(width)
    cost[-1] = 1.0
    found = linprog(
        cost,
        A_ub=matrix,
        b_ub=upper,
        A_eq=whole,
        b_eq=jobs.data,
        bounds=np.column_stack([lower, np.full(width, np.inf)]),
        method="highs-ds",
    )
    if found.x is None:
        return None
    data = np.zeros(used.shape)
    data[plane, job] = np.maximum(found.x[count : 2 * count], 0.0)
    return PlaneTiming(float(found.fun), data)


def _order_of_times(
    jobs: LaneJobs, plane: IntArray, job: IntArray
) -> tuple[csr_array, FloatArray]:
    """Return rows over starts, data and ends of steps, and what they are at most.

    A job is served before the end of its step, after the end of the step before, and
    after the job before on the same plane.
    """
    from scipy.sparse import csr_array

    count, steps = len(plane), int(jobs.step[-1]) + 1
    served = np.arange(count)
    step = jobs.step[job]
    later = served[step > 0]
    next_ = served[1:][plane[1:] == plane[:-1]]
    other = jobs.lane[job[next_]] != jobs.lane[job[next_ - 1]]
    blocks = [
        (served, [(served, 1), (count + served, 1), (2 * count + step, -1)]),
        (later, [(later, -1), (2 * count + step[later] - 1, 1)]),
        (next_, [(next_ - 1, 1), (count + next_ - 1, 1), (next_, -1)]),
    ]
    rows, columns, values, at = [], [], [], 0
    for which, entries in blocks:
        for column, value in entries:
            rows.append(at + np.arange(len(which)))
            columns.append(column)
            values.append(np.full(len(which), float(value)))
        at += len(which)
    upper = np.concatenate(
        [
            np.full(count, -jobs.alpha),
            np.zeros(len(later)),
            -jobs.alpha - jobs.delay * other,
        ]
    )
    matrix = csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(at, 2 * count + steps),
    )
    return matrix, upper
