"""Walks of planes that change by themselves while others transmit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.ocs.plane_search import best_timing, every_step, one_shot
from lightloom.synth.ocs.plane_timing import LaneJobs
from lightloom.synth.ocs.plane_walks import LaneLayer, PlaneWalks, predicted_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.synth.ocs.plane_timing import UsedPlanes

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
