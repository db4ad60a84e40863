"""No algorithm beats a bound, of any kind, on racks with few and many lasers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.core.units import KIB, MIB
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.synth.bounds import all_bounds
from lightloom.synth.synthesise import synthesise
from tests.synth.some_ranks import SOME_RANKS

OFFERED = [
    (entry.name, op)
    for entry in ALGORITHMS.values()
    for op in sorted(entry.ops)
    if entry.name not in SOME_RANKS
]
RACK = Lightpath(rows=8, cols=8)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_no_algorithm_beats_a_bound(data: st.DataObject) -> None:
    """Whatever the fabric costs, every certificate stays at or below replay."""
    name, op = data.draw(st.sampled_from(OFFERED))
    rack = Lightpath(
        rows=data.draw(st.integers(1, 4)),
        cols=data.draw(st.integers(2, 4)),
        lasers=data.draw(st.integers(1, 8)),
        waveguides=8,
        alpha_ps=data.draw(st.sampled_from([0, 1, 700_000])),
        reconfiguration_ps=data.draw(st.sampled_from([0, 10, 3_700_000])),
        initial_configuration_charged=data.draw(st.booleans()),
        dark_while_reconfiguring=data.draw(
            st.sampled_from(["plane", "changed-circuits"])
        ),
    )
    nodes = tuple(range(data.draw(st.integers(2, rack.node_count))))
    size_bytes = len(nodes) * data.draw(st.sampled_from([4, 1200, 10**6]))
    task = Collective(op, nodes, size_bytes)
    found = synthesise(Instance(rack, task, "test"), name)
    assert found.objective is not None
    for certificate in all_bounds(rack, task).values():
        assert certificate.bound <= found.objective, certificate


@pytest.mark.parametrize(
    ("op", "size_bytes", "percent"),
    [
        ("all-gather", 256 * KIB, 3),
        ("all-reduce", KIB, 2),
        ("all-reduce", 4 * MIB, 5),
        ("all-to-all", 256 * KIB, 6),
        ("broadcast", 4 * MIB, 5),
        ("reduce", 256 * KIB, 10),
        ("scatter", 64 * KIB, 3),
        ("scatter", 4 * MIB, 6),
    ],
)
def test_certified_gap_on_64_tiles(op: str, size_bytes: int, percent: int) -> None:
    """What `auto` finds and what is proved are so near each other."""
    task = Collective(op, tuple(range(64)), size_bytes)
    found = synthesise(Instance(RACK, task, "test"))
    assert found.objective is not None
    assert found.bound is not None
    assert 100 * (found.objective - found.bound) <= percent * found.objective


@pytest.mark.parametrize(
    ("rows", "cols", "op", "size_bytes", "percent"),
    [
        (4, 8, "all-reduce", 16 * KIB, 9),
        (4, 8, "broadcast", 256 * KIB, 4),
        (4, 8, "gather", MIB, 2),
        (8, 16, "all-to-all", 4 * MIB, 1),
    ],
)
def test_certified_gap_on_other_racks(
    rows: int, cols: int, op: str, size_bytes: int, percent: int
) -> None:
    """Where subspaces, late trees, split blocks and even steps are best."""
    rack = Lightpath(rows=rows, cols=cols)
    task = Collective(op, tuple(range(rack.node_count)), size_bytes)
    found = synthesise(Instance(rack, task, "test"))
    assert found.objective is not None
    assert found.bound is not None
    assert 100 * (found.objective - found.bound) <= percent * found.objective
