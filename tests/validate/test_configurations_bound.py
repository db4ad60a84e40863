"""The bound by configurations: known values, true for schedules, never claimed."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.synth.bounds import find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates.completion_time.configurations import BOUND
from lightloom.validate.certificates.witness import WitnessError


def pareto_pairs(nodes: int, density: float, seed: int) -> Demand:
    """Return a random matrix with a few large entries."""
    rng = seeded_random(seed)
    return Demand.from_rows(
        [
            (src, dst, int(1e5 * rng.paretovariate(1.2)))
            for src in range(nodes)
            for dst in range(nodes)
            if src != dst and rng.random() < density
        ]
    )


@pytest.mark.parametrize(
    ("rows", "cols", "density", "seed", "known_us"),
    [
        (4, 4, 0.3, 7100, 316.25),
        (4, 4, 0.8, 7102, 113.77),
        (8, 8, 0.08, 7104, 29.71),
        (3, 5, 0.4, 7106, 33.58),
    ],
)
def test_known_bounds(
    rows: int, cols: int, density: float, seed: int, known_us: float
) -> None:
    """Computed outside by linear programs over units; one configuration exactly."""
    fabric = Lightpath(rows=rows, cols=cols)
    found = find_bound(
        "configurations", fabric, pareto_pairs(rows * cols, density, seed)
    )
    assert found is not None
    assert int(found.bound) / 1e6 == pytest.approx(known_us, abs=0.02)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.sampled_from(["greedy", "edge-colouring"]),
    st.sampled_from(["plane", "changed-circuits"]),
)
def test_no_schedule_beats_it(
    seed: int, lasers: int, algorithm: str, dark: str
) -> None:
    """Whatever the algorithm, and where configurations cost little or much."""
    rng = seeded_random(seed)
    fabric = Lightpath(
        rows=2,
        cols=3,
        lasers=lasers,
        alpha_ps=rng.choice([0, 700]),
        reconfiguration_ps=rng.choice([0, 1000, 10**6]),
        initial_configuration_charged=rng.random() < 0.5,
        dark_while_reconfiguring=cast("Any", dark),
    )
    rows = [
        (src, dst, rng.choice([1, 7, 10**3, 10**6]))
        for src in range(6)
        for dst in range(6)
        if src != dst and rng.random() < 0.5
    ]
    demand = Demand.from_rows(rows)
    found = find_bound("configurations", fabric, demand)
    made = synthesise(Instance(fabric, demand), algorithm).incumbent
    assert made is not None
    if found is not None:
        assert int(found.bound) <= made.completion_time_ps


def test_witnesses_that_claim_too_much_are_refused() -> None:
    """A weight too large, a number of configurations left out or not reached."""
    fabric, demand = Lightpath(rows=4, cols=4), pareto_pairs(16, 0.8, 7102)
    found = find_bound("configurations", fabric, demand)
    assert found is not None
    witness = dict(found.witness)
    flat = cast("list[int]", witness["weights"])
    weights = [flat[first : first + 5] for first in range(0, len(flat), 5)]
    assert BOUND.prove(fabric, demand, witness) == found.bound

    def refused(**changed: object) -> None:
        if "weights" in changed:
            rows = cast("list[list[int]]", changed["weights"])
            changed["weights"] = [each for row in rows for each in row]
        with pytest.raises(WitnessError):
            BOUND.prove(fabric, demand, cast("Any", {**witness, **changed}))

    for count in {row[0] for row in weights}:
        more = [
            [*row[:4], row[4] + row[4] // 50] if row[0] == count else row
            for row in weights
        ]
        refused(weights=more)
    assert weights[-1][0] > weights[0][0]
    refused(weights=[row for row in weights if row[0] != weights[0][0]])
    assert BOUND.prove(fabric, demand, {**witness, "weights": []}) < found.bound
    refused(weights=[[row[0] + 1, *row[1:]] for row in weights])
    refused(weights=[[*row[:3], 0, row[4] - 1] for row in weights])
    refused(weights=[[*row[:4], -1] for row in weights])
    refused(least=int(cast("int", witness["least"])) + 1)
    refused(least=0)
    refused(weights=[*weights, [1]])
    refused(unit=0)
    with pytest.raises(WitnessError, match="demands on LIGHTPATH"):
        BOUND.prove(fabric, Collective("all-reduce", tuple(range(16)), 64), witness)
