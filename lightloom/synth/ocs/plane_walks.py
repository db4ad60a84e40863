"""What each switch holds, segment by segment, for rounds of lanes, and when.

When steps end on planes that change independently, and who moves how much.

A *job* is what one lane moves in one step. A plane serves the jobs it is given in
order. Between two of different lanes it is reconfigured, as soon as it is through with
the first; what it holds decides, not what other planes do.

Which planes serve which steps, where planes change independently of one another.

A search over used sets: from some starts, planes join and leave jobs as long as that
ends sooner. A closed recursion (`level_timing`) times most of them, a linear program
(`exact_timing`) the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.synth.lightpath.reconfiguration_dp import Configuration

    UsedPlanes = npt.NDArray[np.bool_]
    from collections.abc import Iterable, Iterator


class LaneLayer(NamedTuple):
    """Pairs of a lane that one switch can hold: all, where circuits lead one way."""

    lane: int
    layer: int


@dataclass(frozen=True, eq=False)
class PlaneWalks:
    """What each switch holds in turn, and which switches serve a round.

    `held`: for each plane the layers that it holds, in order. `served`: for each round
    the (plane, segment) pairs that hold each layer, by layer. `shares`: for each round
    what each of these moves of what a pair moves, as integers in proportion, by layer;
    ``None`` where all move the same.
    """

    held: tuple[tuple[LaneLayer, ...], ...]
    served: tuple[dict[LaneLayer, tuple[tuple[int, int], ...]], ...]
    shares: tuple[dict[LaneLayer, tuple[int, ...]], ...] | None = None

    @property
    def changes(self) -> int:
        """How often planes are reconfigured after their first circuits."""
        return sum(max(0, len(held) - 1) for held in self.held)


def walks_of(
    configurations: Sequence[Configuration], rounds: int, planes: int
) -> PlaneWalks:
    """Return what planes hold so that they pass through configurations.

    A plane that holds what a configuration needs keeps it, and is not reconfigured.
    Other layers go to planes that have been idle longest: these may change while
    earlier rounds still transmit.

    `configurations`: in order; each has as many wavelengths as there are planes, or
    fewer.
    """
    held: list[list[LaneLayer]] = [[] for _ in range(planes)]
    last_used = [-1] * planes
    served: list[dict[LaneLayer, tuple[tuple[int, int], ...]]] = [
        {} for _ in range(rounds)
    ]
    for index, configuration in enumerate(configurations):
        wanted = [
            (LaneLayer(share.lane, layer), share.wavelengths)
            for share in configuration.shares
            for layer in share.layers
        ]
        taken: dict[LaneLayer, list[int]] = {}
        for layer, count in wanted:
            keeping = [p for p in range(planes) if held[p] and held[p][-1] == layer]
            taken[layer] = keeping[:count]
        busy = {plane for some in taken.values() for plane in some}
        free = [plane for plane in range(planes) if plane not in busy]
        free.sort(key=lambda plane: (last_used[plane], plane))
        spare = iter(free)
        for layer, count in wanted:
            for _ in range(count - len(taken[layer])):
                plane = next(spare)
                held[plane].append(layer)
                taken[layer].append(plane)
            for plane in taken[layer]:
                last_used[plane] = index
        for round_ in range(configuration.first_round, configuration.last_round + 1):
            for layer, used in taken.items():
                places = tuple((plane, len(held[plane]) - 1) for plane in sorted(used))
                served[round_][layer] = places
    return PlaneWalks(tuple(tuple(some) for some in held), tuple(served))


def predicted_ps(
    fabric: Ocs, walks: PlaneWalks, sizes: Sequence[dict[LaneLayer, int]]
) -> int:
    """Return when rounds end, each plane changing as soon as it can.

    `sizes`: for each round the most bytes that a pair of each layer moves, by layer;
    layers that move nothing are left out.

    Returns exact where the planes that hold a pair can share its bytes evenly, to
    within the rounding of single transfers; else less than replay says, unless a plane
    without a share could change before the others.
    """
    delay_ps = fabric.reconfiguration_ps
    first_ps = delay_ps if fabric.initial_configuration_charged else 0
    rate = fabric.bits_per_second_per_circuit
    # By plane: the segment that is there, since when, and the end of its transfers.
    there = [(0, first_ps, first_ps)] * len(walks.held)
    released_ps = 0
    for round_, moved in zip(walks.served, sizes, strict=True):
        ended_ps = released_ps
        for layer, size_bytes in moved.items():
            places = round_[layer]
            lasts_ps = fabric.alpha_ps
            lasts_ps += transmission_ps(size_bytes, rate * len(places))
            for plane, segment in places:
                index, since_ps, free_ps = there[plane]
                while index < segment:
                    since_ps = free_ps = free_ps + delay_ps
                    index += 1
                end_ps = max(released_ps, since_ps) + lasts_ps
                there[plane] = (index, since_ps, end_ps)
                ended_ps = max(ended_ps, end_ps)
        released_ps = ended_ps
    return released_ps


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


_PAIR_MOVES = 64
"""Most (plane, job) places for which two moves are tried at once."""
_LEVEL_WORK = 2**19
"""Most places that are timed by recursion, for each start."""
_EXACT_WORK = 2**15
"""Most places that are timed by linear programs."""
_POLISHED = 3
_GAIN = 1e-9


def every_step(jobs: LaneJobs, planes: int) -> UsedPlanes:
    """Return all planes for every job, divided among the lanes of a step.

    Where a step has more lanes than there are planes, a plane serves several in turn.
    """
    used = np.zeros((planes, len(jobs.step)), dtype=bool)
    for step in np.unique(jobs.step).tolist():
        mine = np.flatnonzero(jobs.step == step)
        for number in range(max(planes, len(mine))):
            used[number % planes, mine[number % len(mine)]] = True
    return used


def one_shot(jobs: LaneJobs, planes: int) -> UsedPlanes | None:
    """Return planes that keep one lane each; ``None`` where there are more lanes.

    Lanes with most data to move get what planes are left over.
    """
    lanes, which = np.unique(jobs.lane, return_inverse=True)
    if len(lanes) > planes:
        return None
    if not len(lanes):
        return np.zeros((planes, 0), dtype=bool)
    total = np.bincount(which, weights=jobs.data)
    count = np.ones(len(lanes), dtype=np.int64)
    for _ in range(planes - len(lanes)):
        count[int(np.argmax(total / (count * (count + 1))))] += 1
    lane_of_plane = np.repeat(np.arange(len(lanes)), count)
    used: UsedPlanes = lane_of_plane[:, None] == which[None, :]
    return used


def best_timing(jobs: LaneJobs, starts: Iterable[UsedPlanes], seed: int) -> PlaneTiming:
    """Return the timing that ends soonest of those that are found.

    Never worse than any start. Deterministic; the work is limited, not the time.

    `starts`: used sets to begin with, each with a plane for every job; one or more.
    """
    found: list[tuple[float, int, UsedPlanes]] = []
    best: PlaneTiming | None = None
    for start in starts:
        for used in (start, _climbed(jobs, start.copy(), seed)):
            timing = exact_timing(jobs, used)
            if timing is None:
                continue
            found.append((timing.end, len(found), used))
            if best is None or timing.end < best.end:
                best = timing
    assert best is not None
    for _, _, used in sorted(found, key=lambda one: one[:2])[:_POLISHED]:
        timing = _polished(jobs, used.copy(), seed)
        if timing.end < best.end:
            best = timing
    return best


def _climbed(jobs: LaneJobs, used: UsedPlanes, seed: int) -> UsedPlanes:
    """Return used sets whose level timing no move improves, or the work is done."""
    timing = level_timing(jobs, used)
    assert timing is not None
    best, work = timing.end, _LEVEL_WORK // used.size
    moves = [tuple(move) for move in np.argwhere(used | True).tolist()]
    np.random.default_rng(seed).shuffle(moves)
    gained = True
    while gained and work > 0:
        gained = False
        for flips in _flips(moves, pairs=used.size <= _PAIR_MOVES):
            for place in flips:
                used[place] ^= True
            timing, work = level_timing(jobs, used), work - 1
            if timing is not None and timing.end < best - _GAIN * best:
                best, gained = timing.end, True
                continue
            for place in flips:
                used[place] ^= True
            if work <= 0:
                break
    timing = level_timing(jobs, used)
    assert timing is not None
    return timing.data > 0


def _flips(
    moves: list[tuple[int, ...]], *, pairs: bool
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield each move by itself, then with another of its plane or of its job."""
    for move in moves:
        yield (move,)
    if pairs:
        for index, first in enumerate(moves):
            for second in moves[index + 1 :]:
                if first[0] == second[0] or first[1] == second[1]:
                    yield first, second


def _polished(jobs: LaneJobs, used: UsedPlanes, seed: int) -> PlaneTiming:
    """Return the exact timing of used sets that no single move improves."""
    best = exact_timing(jobs, used)
    assert best is not None
    moves = [tuple(move) for move in np.argwhere(used | True).tolist()]
    np.random.default_rng(seed).shuffle(moves)
    work, since, turn = _EXACT_WORK // used.size, 0, 0
    while since < len(moves) and work > 0:
        place = moves[turn % len(moves)]
        turn, since, work = turn + 1, since + 1, work - 1
        used[place] ^= True
        timing = exact_timing(jobs, used)
        if timing is not None and timing.end < best.end - _GAIN * best.end:
            best, since = timing, 0
        else:
            used[place] ^= True
    return best


__all__ = ["EVERY_STEP", "ONE_SHOT", "baseline_walks", "may_overlap", "overlapped"]

EVERY_STEP, ONE_SHOT = "every-step", "one-shot"
"""Baselines: all planes serve every step evenly; or each keeps its first circuits."""

_MOST_PLACES = 128
"""Most planes times jobs of a search."""
_WHOLE = 2**20
_LEAST_GAIN = 0.01
"""Chunks are not divided without end: less than this share is not counted on."""


def may_overlap(
    fabric: Ocs, walks: PlaneWalks, sizes: Sequence[dict[LaneLayer, int]]
) -> bool:
    """Return whether planes that change by themselves may end sooner, and are few.

    They cannot where all planes serve all rounds on circuits that never change.
    """
    jobs = sum(len(moved) for moved in sizes)
    if fabric.switches * jobs > _MOST_PLACES or fabric.switches == 1:
        return False
    idle = any(
        sum(len(served[layer]) for layer in moved) < fabric.switches
        for served, moved in zip(walks.served, sizes, strict=True)
    )
    return idle or bool(walks.changes)


def overlapped(
    fabric: Ocs, walks: PlaneWalks, sizes: Sequence[dict[LaneLayer, int]]
) -> PlaneWalks:
    """Return walks that end sooner than given ones, or these if none are found.

    Times are in doubles; what is found is put in whole chunks and replayed exactly.
    """
    keys = [(step, layer) for step, moved in enumerate(sizes) for layer in moved]
    before_ps = predicted_ps(fabric, walks, sizes)
    jobs = _jobs(fabric, keys, sizes, before_ps)
    starts = [_used(walks, keys, fabric.switches)]
    if max(len(moved) for moved in sizes) <= fabric.switches:
        starts.append(every_step(jobs, fabric.switches))
    apart = one_shot(jobs, fabric.switches)
    if apart is not None:
        starts.append(apart)
    timing = best_timing(jobs, starts, seed=0)
    if timing.end > 1 - _LEAST_GAIN:
        return walks
    return _walks(keys, timing.data, len(sizes), fabric.switches)


def baseline_walks(
    fabric: Ocs, sizes: Sequence[dict[LaneLayer, int]], baseline: str
) -> PlaneWalks:
    """Return the walks of a baseline, data divided evenly over the planes of a layer.

    Raises `InputError`: more layers than planes, for `ONE_SHOT`.
    """
    keys = [(step, layer) for step, moved in enumerate(sizes) for layer in moved]
    jobs = _jobs(fabric, keys, sizes, unit_ps=1)
    used = every_step(jobs, fabric.switches)
    if baseline == ONE_SHOT:
        dedicated = one_shot(jobs, fabric.switches)
        if dedicated is None:
            raise InputError(
                "more configurations than switches that keep one each",
                where="algorithm",
                found=len(np.unique(jobs.lane)),
                allowed=f"at most {fabric.switches}",
                fix=f"more switches, or `--algorithm {EVERY_STEP}`",
            )
        used = dedicated
    shares = jobs.data * used / used.sum(axis=0)
    return _walks(keys, shares, len(sizes), fabric.switches)


def _jobs(
    fabric: Ocs,
    keys: Sequence[tuple[int, LaneLayer]],
    sizes: Sequence[dict[LaneLayer, int]],
    unit_ps: int,
) -> LaneJobs:
    """Return what layers move in each round, in a unit of time."""
    names = dict.fromkeys(layer for _, layer in keys)
    layers = {layer: number for number, layer in enumerate(names)}
    rate = fabric.bits_per_second_per_circuit
    byte_ps = BITS_PER_BYTE * PS_PER_S / rate
    delay = fabric.reconfiguration_ps / unit_ps
    steps = np.array([step for step, _ in keys], dtype=np.int64)
    return LaneJobs(
        np.unique(steps, return_inverse=True)[1].astype(np.int64),
        np.array([layers[layer] for _, layer in keys], dtype=np.int64),
        np.array([sizes[step][layer] * byte_ps / unit_ps for step, layer in keys]),
        delay,
        fabric.alpha_ps / unit_ps,
        delay if fabric.initial_configuration_charged else 0.0,
    )


def _used(
    walks: PlaneWalks, keys: Sequence[tuple[int, LaneLayer]], planes: int
) -> UsedPlanes:
    used = np.zeros((planes, len(keys)), dtype=bool)
    for job, (step, layer) in enumerate(keys):
        for plane, _ in walks.served[step][layer]:
            used[plane, job] = True
    return used


def _walks(
    keys: Sequence[tuple[int, LaneLayer]], moved: FloatArray, rounds: int, planes: int
) -> PlaneWalks:
    """Return what planes hold so that they move given data of each job."""
    held: list[list[LaneLayer]] = [[] for _ in range(planes)]
    served: list[dict[LaneLayer, tuple[tuple[int, int], ...]]] = [
        {} for _ in range(rounds)
    ]
    shares: list[dict[LaneLayer, tuple[int, ...]]] = [{} for _ in range(rounds)]
    for job, (step, layer) in enumerate(keys):
        data = moved[:, job]
        if not data.any():  # next to nothing: where it is held already, if anywhere
            holds = [bool(some) and some[-1] == layer for some in held]
            data = np.eye(planes)[int(np.argmax(holds))]
        weight = np.rint(data / data.sum() * _WHOLE).astype(np.int64)
        places = []
        for plane in np.flatnonzero(weight).tolist():
            if not held[plane] or held[plane][-1] != layer:
                held[plane].append(layer)
            places.append((plane, len(held[plane]) - 1))
        served[step][layer] = tuple(places)
        shares[step][layer] = tuple(weight[weight > 0].tolist())
    return PlaneWalks(tuple(tuple(some) for some in held), tuple(served), tuple(shares))
