"""The level bound on SiPAC: never above a schedule, and met where it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective, Demand
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.instance import Instance
from lightloom.synth.bounds import LowerBounds, find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates.completion_time import proven_ps
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task

MB = 10**6
FABRIC = Sipac(radix=4)
ALL = tuple(range(16))
PAIR = Demand.from_rows([(0, 1, 5), (0, 2, 6), (1, 2, 8), (0, 4, 7)])


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["all-to-all", "gather", "scatter", "all-gather", "reduce"]),
    st.sampled_from([Sipac(radix=3), Sipac(radix=2, level=2), FABRIC]),
    st.integers(1, 400),
    st.data(),
)
def test_no_collective_beats_it(
    op: str, fabric: Sipac, block_bytes: int, data: st.DataObject
) -> None:
    """Random schedules of collectives on any box take at least the bound."""
    spans = [
        data.draw(st.lists(st.integers(0, fabric.radix - 1), min_size=1, unique=True))
        for _ in range(fabric.levels)
    ]
    nodes = [0]
    for span in spans:
        nodes = [node * fabric.radix + port for node in nodes for port in span]
    task = Collective(op, tuple(nodes), block_bytes * len(nodes))
    found = synthesise(Instance(fabric, task, "a test"))
    for level in range(fabric.levels):
        bound_ps = proven_ps("level", fabric, task, {"level": level})
        assert bound_ps <= (found.objective or 0)
        bound = find_bound("prices", fabric, task)
        assert bound_ps <= (bound.bound if bound else 0)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 15), st.integers(0, 1), st.integers(1, 3)),
        min_size=1,
        max_size=12,
        unique=True,
    ),
    st.sampled_from(["auto", "greedy"]),
)
def test_no_demand_beats_it(near: list[tuple[int, int, int]], algorithm: str) -> None:
    """Random schedules of demands take at least the bound."""
    rows = []
    for src, level, by in near:
        digit = src // 4**level % 4
        rows.append((src, src + ((digit + by) % 4 - digit) * 4**level, 1000 * by))
    task = Demand.from_rows(rows)
    found = synthesise(Instance(FABRIC, task, "a test"), algorithm)
    bound = find_bound("prices", FABRIC, task)
    assert bound is not None
    assert found.objective is not None
    assert bound.bound <= found.objective


def test_a_demand_by_hand() -> None:
    """Node 2 hears 14 bytes over its bus of level 0; node 0 sends but 11 and 7."""
    bound = LowerBounds(FABRIC, PAIR).best()
    assert bound is not None
    assert bound.kind == "prices"
    bus = 32 + 16 * FABRIC.levels + 2 * FABRIC.levels
    assert bound.witness == {"resources": [bus], "prices": [1]}
    port = FABRIC.wavelengths * FABRIC.bits_per_second_per_wavelength
    assert bound.bound == 700_000 + transmission_ps(14, port)


def test_all_to_all_is_nearly_optimal() -> None:
    """Twelve of 16 blocks of each node cross a level, all of its fibre all the time."""
    task = Collective("all-to-all", ALL, 16 * MB)
    found = synthesise(Instance(FABRIC, task, "a test"))
    port = FABRIC.wavelengths * FABRIC.bits_per_second_per_wavelength
    assert found.bound == 2 * 700_000 + transmission_ps(12 * MB, port)
    assert found.objective is not None
    assert found.objective - found.bound < 20


@pytest.mark.parametrize(
    ("task", "witness"),
    [
        (PAIR, {"level": 0}),
        (PAIR, {"level": 2, "node": 0, "direction": 0}),
        (PAIR, {"level": 0, "node": 16, "direction": 0}),
        (PAIR, {"level": 0, "node": 0, "direction": 2}),
        (PAIR, {"level": [0], "node": 0, "direction": 1}),
        (Collective("all-to-all", ALL, 16), {}),
        (Collective("all-to-all", ALL, 16), {"level": -1}),
        (Collective("all-to-all", ALL, 16), {"level": 0, "node": 0}),
    ],
)
def test_bad_witnesses_are_refused(task: Task, witness: Witness) -> None:
    """Other keys, types and numbers prove nothing."""
    with pytest.raises(WitnessError):
        proven_ps("level", FABRIC, task, witness)


def test_other_fabrics_have_no_levels() -> None:
    """On other fabrics the bound is neither found nor accepted."""
    task = Collective("all-to-all", (0, 1), 16)
    with pytest.raises(WitnessError, match="about SiPAC"):
        proven_ps("level", IdealSwitch(nodes=2), task, {"level": 0})
