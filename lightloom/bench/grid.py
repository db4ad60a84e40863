"""Grids of questions: one instance, some of its keys at several values, algorithms."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.bench.job import BenchJob, instance_hash
from lightloom.bench.participants import COMPLETION_TIME, entrant
from lightloom.core.errors import InputError
from lightloom.instances.catalogue import load_changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.core.schedule import ParameterValue

ALGORITHM = "algorithm"
_MOST_POINTS = 10_000


@dataclass(frozen=True)
class GridPoint:
    """One question of a grid.

    Attributes
    ----------
    values
        Value of each key, then of ``algorithm``.
    job
        The question for the harness of benchmarks.
    """

    values: Mapping[str, ParameterValue]
    job: BenchJob


def grid_points(
    instance: str,
    axes: Mapping[str, Sequence[ParameterValue]],
    algorithms: Sequence[str],
    *,
    seed: int = 0,
    time_limit_s: float = 600.0,
) -> tuple[GridPoint, ...]:
    """Return the questions of a grid, the last axis first to change.

    Parameters
    ----------
    instance
        A name of the catalogue or a TOML file.
    axes
        Values by key with its table, for example ``{"fabric.lasers": (4, 8)}``.
    algorithms
        Names of algorithms; ``auto`` for the best.
    seed
        Seed of everything random.
    time_limit_s
        Seconds that a question may take.

    Raises
    ------
    InputError
        Unknown key or algorithm, a value that the instance cannot have, or more than
        10,000 points.
    """
    count = math.prod(map(len, axes.values())) * len(algorithms)
    if count > _MOST_POINTS:
        what, allowed = "too many points", f"at most {_MOST_POINTS}"
        raise InputError(what, where="the grid", found=count, allowed=allowed)
    entrants = [entrant(COMPLETION_TIME, name, "--algorithm") for name in algorithms]
    points = []
    for values in itertools.product(*axes.values()):
        changes = dict(zip(axes, values, strict=True))
        asked = load_changed(instance, changes)
        digest = instance_hash(asked)
        points += [
            GridPoint(
                {**changes, ALGORITHM: one.solver},
                BenchJob(
                    suite="sweep",
                    problem=COMPLETION_TIME,
                    entrant=one,
                    instance=asked,
                    instance_sha256=digest,
                    seed=seed,
                    time_limit_s=time_limit_s,
                    memory_limit_bytes=None,
                ),
            )
            for one in entrants
        ]
    return tuple(points)
