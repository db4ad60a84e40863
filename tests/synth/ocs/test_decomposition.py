"""Demands in configurations of switches that take turns: sound, near their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.instance import Instance
from lightloom.papers.switches.tables import permutation_matrix, pipeline_matrix
from lightloom.replay import completion_time_ps
from lightloom.synth.bounds import LowerBounds
from lightloom.synth.ocs.decomposition import decomposition_schedules
from lightloom.synth.ocs.matrix_permutations import (
    coloured_by_level,
    exchanged,
    peel,
    split_by_magnitude,
)
from lightloom.synth.ocs.slots import HeldPairs, best_durations, refined
from lightloom.synth.publish import signed
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray

_UNIT_BYTES = 10**9
"""Bytes of a line of sum 1, which a circuit of `_switches` carries in a second."""


def _switches(nodes: int, count: int, delay: float, *, charged: bool = True) -> Ocs:
    return Ocs(
        nodes=nodes,
        switches=count,
        bits_per_second_per_node=count * 8 * _UNIT_BYTES,
        alpha_ps=0,
        reconfiguration_ps=round(delay * 10**12),
        initial_configuration_charged=charged,
    )


def _demand(matrix: FloatArray) -> Demand:
    return Demand.from_matrix(np.rint(matrix * _UNIT_BYTES).astype(np.int64))


def _line_sum(matrix: FloatArray) -> float:
    return float(max(matrix.sum(axis=0).max(), matrix.sum(axis=1).max()))


def _gap(fabric: Ocs, demand: Demand) -> float:
    """Return how far the decomposition is from its bound, its schedule verified."""
    schedule = next(decomposition_schedules(fabric, demand))
    whole = signed(schedule, Instance(fabric, demand, "test"))
    assert verify(whole).violations == ()
    bound = LowerBounds(fabric, demand).best()
    assert bound is not None
    return completion_time_ps(schedule) / int(bound.bound) - 1


@st.composite
def _traffic(draw: st.DrawFn) -> tuple[Ocs, Demand]:
    nodes = draw(st.integers(2, 7))
    sizes = st.lists(
        st.sampled_from([0, 0, 1, 7, 1000, 123_456_789, 2**56 - 1]),
        min_size=nodes * nodes,
        max_size=nodes * nodes,
    )
    matrix = np.array(draw(sizes)).reshape(nodes, nodes)
    np.fill_diagonal(matrix, 0)
    matrix[0, 1] = max(1, int(matrix[0, 1]))
    count = draw(st.integers(1, 4))
    fabric = Ocs(
        nodes=nodes,
        switches=count,
        bits_per_second_per_node=draw(st.sampled_from([10**14, 10**18])),
        alpha_ps=draw(st.sampled_from([0, 1000])),
        reconfiguration_ps=draw(st.sampled_from([0, 10**6, 10**13])),
        bidirectional=draw(st.booleans()),
        initial_configuration_charged=draw(st.booleans()),
        dark_while_reconfiguring=draw(st.sampled_from(["plane", "changed-circuits"])),
    )
    return fabric, Demand.from_matrix(matrix)


@settings(max_examples=25, deadline=None)
@given(_traffic())
def test_any_demand_has_a_schedule(question: tuple[Ocs, Demand]) -> None:
    """It verifies, and no bound is above it."""
    fabric, demand = question
    for schedule in decomposition_schedules(fabric, demand):
        verdict = verify(signed(schedule, Instance(fabric, demand, "test")))
        assert verdict.violations == ()


@pytest.mark.parametrize("seed", [0, 1])
def test_permutations_cover_a_matrix(seed: int) -> None:
    """As many as the busiest line has entries, of parts that sum to the matrix."""
    rng = np.random.default_rng(seed)
    size = np.where(rng.random((30, 30)) < 0.5, rng.random((30, 30)), 0.0)
    size /= _line_sum(size)
    degree = max((size > 0).sum(axis=0).max(), (size > 0).sum(axis=1).max())
    src, dst = np.nonzero(size)
    peeled = [exchanged(peel(size, power), 512) for power in (0, 1, 2)]
    for one in [*peeled, split_by_magnitude(src, dst, size[src, dst])]:
        assert len(one.column) == degree
        assert (np.sort(one.column, axis=1) == np.arange(one.column.shape[1])).all()
        total = np.zeros_like(size)
        for column, part in zip(one.column, one.part, strict=True):
            total[np.arange(len(size)), column] += part
        assert np.allclose(total, size, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("delay", "most"), [(0.01, 0.012), (0.02, 0.012), (0.04, 0.01), (0.08, 0.002)]
)
def test_pipeline_traffic_nears_its_bound(delay: float, most: float) -> None:
    """On 16 switches: .0745, .0859, .1107 and .1525 of the busiest line's time."""
    demand = _demand(pipeline_matrix(0))
    assert _gap(_switches(32, 16, delay), demand) <= most


@pytest.mark.parametrize(
    ("switches", "delay", "most"), [(4, 0.01, 0.0001), (16, 0.01, 0.033)]
)
def test_random_permutations_are_found_again(
    switches: int, delay: float, most: float
) -> None:
    """On four switches the answer is optimal, but for rounding."""
    demand = _demand(permutation_matrix(0))
    assert _gap(_switches(100, switches, delay), demand) <= most


@pytest.mark.parametrize(("switches", "most"), [(4, 0.04), (16, 0.045)])
def test_noise_is_evened_out(switches: int, most: float) -> None:
    """Entries move to permutations of like ones; large ones share several slots."""
    demand = _demand(permutation_matrix(0, noise=0.003))
    assert _gap(_switches(100, switches, 0.02), demand) <= most


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9), aimed=st.booleans())
def test_moves_of_pairs_keep_slots_sound(seed: int, *, aimed: bool) -> None:
    """No two pairs of a slot share an end, all are served, and none ends later."""
    rng = np.random.default_rng(seed)
    lines, slots = int(rng.integers(2, 8)), int(rng.integers(2, 7))
    held = [np.zeros((lines, lines), dtype=bool) for _ in range(slots)]
    for slot in held:
        slot[np.arange(lines), rng.permutation(lines)] = rng.random(lines) < 0.8
    held[0][0] = np.eye(lines, dtype=bool)[1]
    held[0][1:, 1] = False
    src, dst = np.nonzero(np.any(held, axis=0))
    size = rng.choice([1e-14, 0.1, 0.3, 1.0], len(src))
    pairs = HeldPairs(
        src, dst, size, lines, [np.flatnonzero(s[src, dst]) for s in held]
    )
    switch = rng.integers(0, 2, slots)
    fixed = 0.1 * np.bincount(switch, minlength=2)
    before = best_durations(size, pairs.held(), switch, fixed)
    aim = rng.random(slots) if aimed else None
    after = refined(pairs, switch, fixed, aim, 2**16)
    assert before is not None
    assert after.total <= before.total + 1e-9
    served = np.zeros(len(src))
    for rows, lasts in zip(pairs.held(), after.slot, strict=True):
        assert len(set(src[rows])) == len(set(dst[rows])) == len(rows)
        served[rows] += lasts
    assert (served >= size - 1e-6).all()
    assert pairs.complete()


def test_one_configuration_stays_where_it_wins() -> None:
    """Equal pairs on idle switches are served at once; more partners take turns."""
    fabric = _switches(6, 4, 0.5)
    ring = Demand(tuple(range(6)), (1, 2, 3, 4, 5, 0), (_UNIT_BYTES,) * 6)
    found = synthesise(Instance(fabric, ring, "test")).incumbent
    assert found is not None
    assert found.schedule.algorithm.name == "saturated-port"
    fan = Demand((0,) * 5, (1, 2, 3, 4, 5), (_UNIT_BYTES,) * 5)
    found = synthesise(Instance(fabric, fan, "test")).incumbent
    assert found is not None
    assert found.schedule.algorithm.name == "decomposition"
    with pytest.raises(InputError, match="more partners than there are switches"):
        synthesise(Instance(fabric, fan, "test"), "saturated-port")


@pytest.mark.parametrize("kind", ["ring", "ring-2d"])
def test_rings_take_turns_too(kind: str) -> None:
    """Each of 8 nodes sends to all others, more than two wavelengths carry at once."""
    fabric = (
        Ring(nodes=8, wavelengths=2, bits_per_second_per_wavelength=10**10, reach=7)
        if kind == "ring"
        else Ring2d(rows=1, cols=8, row_wavelengths=2, column_wavelengths=2)
    )
    matrix = np.full((8, 8), 10**6)
    np.fill_diagonal(matrix, 0)
    matrix[0, 1] = 10**8
    instance = Instance(fabric, Demand.from_matrix(matrix), "test")
    found = synthesise(instance).incumbent
    assert found is not None
    assert verify(found.schedule).violations == ()
    assert len(found.schedule.segments) > 1


def test_circuits_that_stay_are_counted_on() -> None:
    """One large pair among small ones on one switch transmits while these change."""
    fabric = Ocs(
        nodes=4,
        switches=1,
        bits_per_second_per_node=8 * _UNIT_BYTES,
        alpha_ps=0,
        reconfiguration_ps=10**12,
        dark_while_reconfiguring="changed-circuits",
    )
    rows = [(0, 1, 5 * _UNIT_BYTES), (2, 3, _UNIT_BYTES), (3, 2, 2 * _UNIT_BYTES)]
    demand = Demand.from_rows([*rows, (2, 0, _UNIT_BYTES), (3, 0, _UNIT_BYTES)])
    times = [completion_time_ps(one) for one in decomposition_schedules(fabric, demand)]
    assert len(times) == 2
    assert times[1] < times[0]


def test_large_entries_are_coloured_apart() -> None:
    """Four permutations of .175 hold all large entries, also where two of them meet."""
    random = np.random.default_rng(0)
    matrix = np.zeros((60, 60))
    for weight in [0.175] * 4 + [0.025] * 12:
        matrix[np.arange(60), random.permutation(60)] += weight
    found = coloured_by_level(matrix)
    assert found is not None
    held = np.zeros_like(matrix)
    for column, part in zip(found.column, found.part, strict=True):
        assert sorted(column.tolist()) == list(range(60))
        held[np.arange(60), column] += part
    assert np.abs(held - matrix).max() < 1e-12
    weight = np.sort(found.part.max(axis=1))[::-1]
    assert (weight > 0.1).sum() == 4
    assert weight.sum() < 1.35
    assert coloured_by_level(np.sign(matrix)) is None
