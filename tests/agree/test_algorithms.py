"""Algorithms: bound <= exact <= every algorithm, on the smallest collectives."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.errors import InputError
from lightloom.core.outcome import Reason
from lightloom.core.schedule import Transfers
from lightloom.core.task import Collective
from lightloom.instances.collectives import COLLECTIVES
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.problems.fewest_rounds.exact_rounds import fewest_rounds
from lightloom.synth.bounds import all_bounds
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.examples.collectives_on_grids import grid

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance

ALL_REDUCE = "all-reduce"
WITH_MODEL = tuple(name for name in sorted(COLLECTIVES) if name != ALL_REDUCE)
PARTS_OF_ALL_REDUCE = ("reduce", "reduce-scatter")
"""What an all-reduce has done as well: it needs no fewer rounds than either."""
SHAPES = (
    {"rows": 1, "cols": 3, "lasers": 1, "waveguides": 1},
    {"rows": 2, "cols": 2, "lasers": 1, "waveguides": 1},
    {"rows": 2, "cols": 2, "lasers": 3, "waveguides": 2},
)
CASES = [(shape, op) for shape in range(len(SHAPES)) for op in WITH_MODEL]


def _ranks(shape: int) -> int:
    return SHAPES[shape]["rows"] * SHAPES[shape]["cols"]


@functools.cache
def _instance(shape: int, op: str, chunks: int | None = None) -> Instance:
    keys = SHAPES[shape]
    if chunks is None:
        chunks = _ranks(shape) if COLLECTIVES[op].uses_blocks else 2
    return grid(
        keys["rows"],
        keys["cols"],
        op,
        lasers=keys["lasers"],
        waveguides=keys["waveguides"],
        chunks=chunks,
    )


@functools.cache
def _fewest(shape: int, op: str, chunks: int | None = None) -> int:
    outcome = fewest_rounds(_instance(shape, op, chunks), paths=9)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective is not None
    return int(outcome.objective)


def _carried(circuits: Circuits, part: Transfers) -> int:
    """Return the rounds that a part would take were a circuit to carry one chunk."""
    assert circuits.wavelengths is not None
    most = 0
    for src, dst in {*zip(part.src.tolist(), part.dst.tolist(), strict=True)}:
        rows = np.flatnonzero((circuits.src == src) & (circuits.dst == dst))
        lit = int(circuits.wavelengths.lengths[rows].sum())
        mine = (part.src == src) & (part.dst == dst)
        chunks = int((part.chunk_hi - part.chunk_lo)[mine].sum())
        most = max(most, -(-chunks // lit))
    return most


def _rounds(made: Schedule) -> int:
    """Return the rounds of one chunk a circuit that a schedule can be cut into.

    What copies within a step read is there before it, so that its parts, and the
    chunks of a pair, may as well go one after another.
    """
    circuits = {(each.plane, each.index): each.circuits for each in made.segments}
    total = 0
    for part in made.parts:
        assert part.plane is not None
        assert part.segment is not None
        assert isinstance(part.transfers, Transfers)
        total += _carried(circuits[part.plane, part.segment], part.transfers)
    return total


def _check_all(instance: Instance, fewest: int) -> None:
    """Assert that no algorithm takes fewer rounds, and that there is one."""
    task = instance.task
    assert isinstance(task, Collective)
    tried = []
    for name, entry in ALGORITHMS.items():
        if task.op not in entry.ops:
            continue
        try:
            outcome = synthesise(instance, name)
        except InputError:  # not for this number of ranks
            continue
        assert outcome.incumbent is not None
        made = outcome.incumbent.schedule
        assert made.task == task
        assert verify(made).violations == ()
        assert fewest <= _rounds(made), name
        tried.append(name)
    assert tried


@pytest.mark.parametrize(("shape", "op"), CASES)
def test_no_algorithm_needs_fewer_rounds_than_the_least(shape: int, op: str) -> None:
    """Cut into rounds of one chunk a circuit, no schedule has fewer than the model."""
    _check_all(_instance(shape, op), _fewest(shape, op))


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_no_all_reduce_is_shorter_than_a_part_of_it(shape: int) -> None:
    """It leaves everyone with what a reduce, and a reduce-scatter, leaves to some."""
    chunks = _ranks(shape)
    fewest = max(_fewest(shape, op, chunks) for op in PARTS_OF_ALL_REDUCE)
    _check_all(_instance(shape, ALL_REDUCE, chunks), fewest)


@pytest.mark.parametrize(("shape", "op"), CASES)
def test_the_exact_schedule_beats_no_bound(shape: int, op: str) -> None:
    """Its rounds are the least, and its time is above every bound on time."""
    instance = _instance(shape, op)
    outcome = fewest_rounds(instance, paths=9)
    assert outcome.incumbent is not None
    made = outcome.incumbent.schedule
    assert verify(made).violations == ()
    assert _rounds(made) == _fewest(shape, op)
    assert made.footer is not None
    assert isinstance(made.task, Collective)
    for bound in all_bounds(instance.fabric, made.task).values():
        assert bound.bound <= made.footer.completion_time_ps
