"""Measures: work in stages, one of which is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.bench.isolation import execute
from lightloom.bench.measures import MEASURES
from lightloom.bench.results import Ending
from lightloom.core.errors import InputError
from tests.bench.suites import suite_of

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.bench.job import BenchJob

GRID = {"family": "permutations", "rows": 4, "cols": 4}
SWITCH = {"family": "network", "kind": "ideal-switch", "nodes": 16}
OCS = {"family": "network", "kind": "ocs", "nodes": 16}
SMALL = (
    ({"solver": "all-to-all-slots"}, GRID, 0),
    ({"solver": "fair-shares", "flows": 20, "changes": 5}, SWITCH, None),
    ({"solver": "graph-routing", "graph": "regular-3"}, GRID, 0),
    ({"solver": "graph-routing", "graph": "closed-edges"}, GRID, None),
    ({"solver": "layers-replay", "layers": 4}, SWITCH, None),
    ({"solver": "layers-replay", "layers": 4, "scattered": True}, SWITCH, None),
    ({"solver": "layers-replay", "layers": 4}, OCS, None),
    (
        {"solver": "ramp-check", "op": "barrier"},
        {"name": "ramp-16/all-reduce-1MiB"},
        None,
    ),
    ({"solver": "training-replay", "model": "ncf", "model_parallel": 2}, OCS, None),
    *(
        ({"solver": "schedule-file", "shape": shape, "transfers": 200}, SWITCH, None)
        for shape in ("ring", "direct", "doubling", "shifts")
    ),
)


def measure_job(folder: Path, by: dict[str, object], instance: object) -> BenchJob:
    """Return the only job of a suite that asks one measure."""
    suite = suite_of(folder, problem="measure", by=[by], instances=[instance])
    (job,) = suite.jobs
    return job


def test_every_measure_is_tried() -> None:
    """A new measure must join the tests here."""
    assert {by["solver"] for by, _, _ in SMALL} == set(MEASURES)


@pytest.mark.parametrize(
    ("by", "instance", "value"), SMALL, ids=lambda case: str(case)[:40]
)
def test_a_measure_gives_a_number_at_every_stage(
    by: dict[str, object],
    instance: dict[str, object],
    value: int | None,
    tmp_path: Path,
) -> None:
    """The last stage by default; each is timed by itself."""
    last = execute(measure_job(tmp_path, by, instance), lambda _: None)
    assert (last.ending, last.detail) == (Ending.ANSWER, "")
    assert last.solve_s is not None
    assert value is None or last.answer == str(value)
    stages = MEASURES[by["solver"]].stages
    for stage in stages:
        found = execute(
            measure_job(tmp_path, {**by, "stage": stage}, instance), lambda _: None
        )
        assert found.ending is Ending.ANSWER
    assert found.answer == last.answer


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ({"solver": "fair-share", "flows": 2}, "fair-shares"),
        ({"solver": "fair-shares", "flow": 2}, "flows"),
        ({"solver": "fair-shares", "flows": "2"}, "int"),
        ({"solver": "fair-shares", "flows": 2, "stage": "sharing"}, "replace"),
    ],
)
def test_what_a_measure_does_not_take_is_refused(
    by: dict[str, object], said: str, tmp_path: Path
) -> None:
    """Names, parameters, types and stages."""
    with pytest.raises(InputError, match=said):
        measure_job(tmp_path, by, SWITCH)
