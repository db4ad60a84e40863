"""Section sums: three rounds of one configuration, every rank counted once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.section_sums import section_shape
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates.completion_time.step_costs import summed_in_three


def _arcs_and_values(ranks: int, ports: int) -> tuple[int, bool]:
    """Return the most arcs at a rank, and whether all hold each value once."""
    made = make_algorithm("section-sums", {}, op="all-reduce")
    plan = made.plan(Collective("all-reduce", tuple(range(ranks)), 4, 1), ports)
    assert len(plan.rounds) == 3
    held = np.eye(ranks, dtype=np.int16)
    for one in plan.rounds:
        copied = one.op == int(Op.COPY)
        assert len(np.unique(one.dst[copied])) == np.count_nonzero(copied)
        assert not np.isin(one.dst[~copied], one.dst[copied]).any()
        after = held.copy()
        after[one.dst[copied]] = held[one.src[copied]]
        np.add.at(after, one.dst[~copied], held[one.src[~copied]])
        held = after
    every = np.unique(
        np.concatenate([one.src * ranks + one.dst for one in plan.rounds])
    )
    ends = (every // ranks, every % ranks)
    assert (ends[0] != ends[1]).all()
    return max(int(np.bincount(end).max()) for end in ends), bool((held == 1).all())


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 140), st.integers(1, 9))
def test_all_sums_are_right_or_refused(ranks: int, ports: int) -> None:
    """Where there is a shape, arcs fit the ports; it never exceeds the theorem."""
    if section_shape(ranks, ports) is None:
        with pytest.raises(InputError, match="no shape of three rounds"):
            _arcs_and_values(ranks, ports)
        return
    arcs, right = _arcs_and_values(ranks, ports)
    assert right
    assert arcs <= ports
    assert ranks <= summed_in_three(ports)


def test_shapes_for_16_ports() -> None:
    """For 4 to 1,071 ranks, 512 and 1024 among them, and for no more."""
    tried = (2, 3, 4, 5, 257, 512, 1008, 1023, 1024, 1071, 1072, 1441)
    there = [ranks for ranks in tried if section_shape(ranks, 16) is not None]
    assert there == [4, 5, 257, 512, 1008, 1023, 1024, 1071]
    assert _arcs_and_values(1024, 16) == (16, True)


def test_auto_takes_three_rounds() -> None:
    """100 tiles of 8 lasers: three steps of one configuration, 2 % proved."""
    task = Collective("all-reduce", tuple(range(100)), 1024)
    fabric = Lightpath(rows=10, cols=10, lasers=8)
    found = synthesise(Instance(fabric, task, "test"))
    assert found.incumbent is not None
    assert found.incumbent.schedule.algorithm.name == "section-sums"
    # 3.7 us, and three times 0.7 us and 1 KiB at 150 Gb/s.
    assert found.objective == 3_700_000 + 3 * (700_000 + 54_614)
    assert found.bound is not None
    assert 100 * (found.objective - found.bound) <= 3 * found.bound
