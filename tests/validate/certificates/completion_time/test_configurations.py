"""The bound by configurations: known values, true for schedules, never claimed."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.synth.bounds import find_bound
from lightloom.synth.bounds.configurations import CoverSearch
from lightloom.synth.demand_configurations.durations import LineCheck
from lightloom.synth.demand_configurations.exact_division import (
    BoxSearch,
    WholeDivision,
)
from lightloom.synth.demand_configurations.lines import shared_lines
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates.completion_time.configurations import (
    BOUND,
    NEVER,
    DividedLines,
    LineKey,
    SharedLine,
    least_cost,
)
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
    """Not below what was computed outside by linear programs over units."""
    fabric = Lightpath(rows=rows, cols=cols)
    found = find_bound(
        "configurations", fabric, pareto_pairs(rows * cols, density, seed)
    )
    assert found is not None
    assert known_us - 0.02 <= int(found.bound) / 1e6 <= known_us * 1.05


def test_times_beyond_64_bits_are_bounded() -> None:
    """A terabyte at 1 bit/s takes 8 * 2**40 s, in picoseconds more than 2**63."""
    fabric = Lightpath(rows=1, cols=2, lasers=1, bits_per_second_per_wavelength=1)
    found = find_bound("configurations", fabric, Demand((0,), (1,), (2**40,)))
    assert found is not None
    time_ps = 8 * 2**40 * 10**12
    assert time_ps * 999 // 1000 <= found.bound <= time_ps + fabric.alpha_ps


QUESTIONS = given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.sampled_from(["greedy", "edge-colouring"]),
    st.sampled_from(["plane", "changed-circuits"]),
)


def _bound_holds(cols: int, seed: int, lasers: int, algorithm: str, dark: str) -> None:
    """Assert that the schedule of a random demand on two rows takes no less."""
    rng = seeded_random(seed)
    fabric = Lightpath(
        rows=2,
        cols=cols,
        lasers=lasers,
        alpha_ps=rng.choice([0, 700]),
        reconfiguration_ps=rng.choice([0, 1000, 10**6]),
        initial_configuration_charged=rng.random() < 0.5,
        dark_while_reconfiguring=cast("Any", dark),
    )
    rows = [
        (src, dst, rng.choice([1, 7, 10**3, 10**6]))
        for src in range(2 * cols)
        for dst in range(2 * cols)
        if src != dst and rng.random() < 0.5
    ]
    demand = Demand.from_rows(rows)
    found = find_bound("configurations", fabric, demand)
    made = synthesise(Instance(fabric, demand), algorithm).incumbent
    assert made is not None
    if found is not None:
        assert int(found.bound) <= made.completion_time_ps


@settings(max_examples=12, deadline=None)
@QUESTIONS
def test_no_schedule_beats_it(
    seed: int, lasers: int, algorithm: str, dark: str
) -> None:
    """Whatever the algorithm, and where configurations cost little or much."""
    _bound_holds(2, seed, lasers, algorithm, dark)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@QUESTIONS
def test_no_schedule_of_many_beats_it(
    seed: int, lasers: int, algorithm: str, dark: str
) -> None:
    """The same of more and larger demands."""
    _bound_holds(3, seed, lasers, algorithm, dark)


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
    covers = cast("list[int]", witness["covers"])
    count, total_ps, length, *walk = covers[: 3 + covers[2]]
    assert BOUND.prove(fabric, demand, {**witness, "covers": []}) < found.bound
    refused(covers=[count, total_ps + total_ps // 10, length, *walk])
    refused(covers=[count, total_ps, length - 1, *walk[:-1]])
    refused(covers=[count, total_ps, length + 1, *walk, 0])
    refused(covers=[count, total_ps, length, *walk, 2])
    refused(covers=[1, total_ps, length, *walk])
    refused(covers=[count, total_ps, length, *[0] * length])
    with pytest.raises(WitnessError, match="demands on LIGHTPATH"):
        BOUND.prove(fabric, Collective("all-reduce", tuple(range(16)), 64), witness)


def _one_line(need: list[int], units: int) -> DividedLines:
    """Return pairs of one line; a byte takes a picosecond on a unit."""
    line = SharedLine(np.arange(len(need)), units)
    return DividedLines(np.array(need), 8 * 10**12, units, {(0, 0): line})


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(1, 3))
def test_covered_durations_serve_no_line(seed: int, count: int, units: int) -> None:
    """By the exact test of lines, at random durations of the sum that is covered."""
    rng = seeded_random(seed)
    need = [rng.randint(1, 30) for _ in range(rng.randint(2, 6))]
    divided = _one_line(need, units)
    search = CoverSearch(divided, [(0, 0)])
    lines = shared_lines(divided)
    for total_ps in range(5, 60, 9):
        walk = search.walk(total_ps, count, 2 * 10**6)
        if walk is None:
            continue
        assert divided.fault(total_ps, count, walk) is None
        for _ in range(5):
            cuts = sorted(rng.randint(0, total_ps) for _ in range(count - 1))
            durations = np.diff([0, *cuts, total_ps])[::-1]
            assert not LineCheck(lines, [0]).passes(np.maximum(durations, 1e-9))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), min_size=1, max_size=3),
    st.integers(1, 3),
)
def test_least_costs_by_brute_force(
    need: list[int], kinds: list[tuple[int, int]], units: int
) -> None:
    """All numbers of units of each configuration are tried."""
    times, prices = zip(*kinds, strict=True)
    ranges = ((0, units),) * len(times)
    worth = [[n * time_ps for n in range(units + 1)] for time_ps in times]
    found = least_cost(np.array(need), worth, ranges, prices).tolist()
    every = list(itertools.product(range(units + 1), repeat=len(times)))
    for each, cost in zip(need, found, strict=True):
        enough = [n for n in every if np.dot(n, times) >= each]
        assert cost == min((int(np.dot(n, prices)) for n in enough), default=NEVER)


def _served(divided: DividedLines, durations: tuple[int, ...]) -> bool:
    """Return whether all lines can be served, by trying all units of all pairs."""
    units = range(divided.units + 1)
    every = np.array(list(itertools.product(units, repeat=len(durations))))
    enough = every @ np.array(durations)
    loads = {(0,) * (len(divided.lines) * len(durations))}
    room = np.repeat([line.room for line in divided.lines.values()], len(durations))
    for pair, need in enumerate(divided.need_ps.tolist()):
        crossed = [pair in line.pairs for line in divided.lines.values()]
        taken = {
            tuple((np.array(load) + np.kron(crossed, each)).tolist())
            for load in loads
            for each in every[enough >= need]
        }
        loads = {load for load in taken if (np.array(load) <= room).all()}
    return bool(loads)


@pytest.mark.parametrize("seed", range(12))
def test_small_demands_take_no_less_than_is_proven(seed: int) -> None:
    """By all units at all whole durations: what is found is there, nothing is below."""
    rng = seeded_random(seed)
    count, units = ((2, 2), (3, 1))[seed % 2]
    pairs = rng.sample([(a, b) for a in range(3) for b in range(3) if a != b], 4)
    lines: dict[LineKey, SharedLine] = {}
    for direction in (0, 1):
        for node in range(3):
            of_node = [k for k, each in enumerate(pairs) if each[direction] == node]
            if of_node:
                lines[node, direction] = SharedLine(np.array(of_node), units)
    sizes = np.array([rng.randint(1, 6) for _ in pairs])
    divided = DividedLines(sizes, 8 * 10**12, units, lines)
    search = BoxSearch(divided, count)
    total_ps = int(sizes.max()) * count
    found: object = None
    while not isinstance(found, list):
        found = search.run(total_ps, 10_000, improve=True)
        if isinstance(found, WholeDivision):
            assert found.total_ps <= total_ps
            assert (found.counts @ found.durations_ps >= sizes).all()
            for line in lines.values():
                assert (found.counts[line.pairs].sum(axis=0) <= units).all()
            total_ps = found.total_ps - 1
        assert found is not None
    assert divided.fault(total_ps, count, found) is None
    every = itertools.product(range(total_ps + 1), repeat=count)
    ordered = [
        each
        for each in every
        if sum(each) == total_ps and sorted(each)[::-1] == [*each]
    ]
    assert not any(_served(divided, each) for each in ordered)


def test_walks_that_prove_nothing_are_refused() -> None:
    """Words that are none, pairs and lines that are not there, units out of range."""
    divided = _one_line([5, 5, 5], 1)
    walk = BoxSearch(divided, 3).run(14, 100, improve=False)
    assert isinstance(walk, list)
    assert divided.fault(14, 3, walk) is None
    assert divided.fault(15, 3, walk) is not None
    for wrong in (
        [],
        [*walk, 1],
        [-4],
        [-1, 2],
        [-2, 3, 0, 0],
        [-2, 0, 3, 0],
        [-2, 0, 0, 1],
        [-2, 0, 0, -1],
        [-3, 1, 3, 1],
        [-3, 1, 0, -1],
        [-3, 10**15],
        [-3, 1, 0, 1],
        [2, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1],
        [1, 0, 1, 1, 1, 1],
        [1, 0, 0, 1, 1, 2**40],
        [1, 0, 0, 1, 1],
    ):
        assert divided.fault(14, 3, wrong) is not None


def test_what_leaves_a_cut_limits_configurations() -> None:
    """Eight pairs across the middle of a row of tiles, on one waveguide of a laser."""
    fabric = Lightpath(rows=1, cols=4, wafer_rows=1, lasers=1, waveguides=1)
    demand = Demand.from_rows([(a, b, 3 * 10**6) for a in (0, 1) for b in (2, 3)])
    found = find_bound("configurations", fabric, demand)
    assert found is not None
    assert found.witness["least"] == 4
    made = synthesise(Instance(fabric, demand), "configurations").incumbent
    assert made is not None
    assert made.completion_time_ps == found.bound
    witness = dict(found.witness)
    for cuts in ([], [5, 0], [0], [1, 4], [2, 2, 3], [4, 0, 1, 2, 3]):
        with pytest.raises(WitnessError):
            BOUND.prove(fabric, demand, {**witness, "cuts": cuts})
