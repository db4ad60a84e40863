"""Demands on rings in turns: whatever is asked, near a bound that none can beat."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.seed import seeded_random
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import Instance
from lightloom.synth.bounds import all_bounds, find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import proven_ps

NOT_IN_ORDER = Demand.from_rows([(3, 0, 400), (1, 2, 10**6), (0, 2, 9), (1, 0, 70_000)])


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_no_demand_beats_its_bounds(data: st.DataObject) -> None:
    """For rings of one and two directions, shared transceivers, both dark modes."""
    nodes = data.draw(st.integers(3, 7))
    directions = data.draw(st.integers(1, 2))
    fabric = Ring(
        nodes=nodes,
        wavelengths=data.draw(st.integers(1, 3)),
        directions=directions,
        reach=data.draw(
            st.integers(nodes - 1 if directions == 1 else nodes // 2, nodes)
        ),
        shared_transceivers=data.draw(st.booleans()),
        reconfiguration_ps=data.draw(st.sampled_from([0, 10**6, 10**8])),
        dark_while_reconfiguring=data.draw(
            st.sampled_from(["plane", "changed-circuits"])
        ),
    )
    pair = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    pairs = data.draw(st.lists(pair, min_size=1, unique=True))
    size = st.sampled_from([1, 1000, 10**5, 10**7])
    rows = [(a, b, data.draw(size)) for a, b in pairs if a != b]
    demand = Demand.from_rows(rows)
    made = synthesise(Instance(fabric, demand, "a test")).objective
    assert made is not None
    assert all(one.bound <= made for one in all_bounds(fabric, demand).values())


def test_turns_are_near_the_bound_of_spans() -> None:
    """Durations searched first, then wavelengths: 21 % above it the other way round."""
    fabric = Ring(nodes=8, wavelengths=4, directions=2, reach=4)
    random = seeded_random(2)
    rows = [
        (a, b, int(10**4 * random.paretovariate(1.2)))
        for a in range(8)
        for b in range(8)
        if a != b and random.random() < 0.6
    ]
    made = synthesise(Instance(fabric, Demand.from_rows(rows), "a test")).incumbent
    assert made is not None
    assert made.certificate is not None
    assert made.schedule.algorithm.name == "decomposition"
    assert made.certificate.kind == "prices"
    assert verify(made.schedule).valid
    assert made.completion_time_ps < made.certificate.bound * 1.1


def test_prices_by_hand() -> None:
    """Two pairs over a span of one wavelength: two turns, and the bytes of both."""
    fabric = Ring(nodes=3, wavelengths=1, bits_per_second_per_wavelength=8 * 10**9)
    demand = Demand.from_rows([(0, 2, 1000), (2, 1, 3000)])
    prove = functools.partial(proven_ps, "spans")
    told: dict[str, Any] = {"axis": 0, "prices": [1, 0, 0], "crowd": [1, 0, 0]}
    once_ps, data_ps = 25_000_000 + 700_000, 4000 * 1000
    assert prove(fabric, demand, told) == 2 * once_ps + data_ps
    assert prove(fabric, demand, {**told, "crowd": [0, 1, 0]}) == once_ps + data_ps
    found = find_bound("prices", fabric, demand)
    assert found is not None
    assert found.bound == 2 * once_ps + data_ps
    for wrong in ([1, 0], [1, 0, -1], [1 << 40, 0, 0]):
        for key in ("prices", "crowd"):
            with pytest.raises(WitnessError, match=r"prices|crowd"):
                prove(fabric, demand, {**told, key: wrong})


def test_rows_in_any_order_are_served() -> None:
    """By turns too, where one configuration would do."""
    fabric = Ring(nodes=4, wavelengths=1, directions=2, reach=2, reconfiguration_ps=10)
    made = synthesise(
        Instance(fabric, NOT_IN_ORDER, "a test"), algorithm="decomposition"
    )
    assert made.objective is not None
