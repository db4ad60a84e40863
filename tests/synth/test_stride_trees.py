"""Trees of chains on rings: on real buffers, by their arcs, and near their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.front_door import load_instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.synth.synthesise import synthesise
from tests.oracle.rank_buffers import execute


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_they_do_their_collective(data: st.DataObject) -> None:
    """For any root, stride, leap and pieces; arcs are no longer than stated."""
    op = data.draw(st.sampled_from(["broadcast", "reduce", "gather", "scatter"]))
    ranks, stride = data.draw(st.integers(2, 14)), data.draw(st.integers(1, 5))
    both_ways = data.draw(st.booleans())
    leap = data.draw(st.integers(1, 4)) if both_ways and op[0] in "br" else 1
    blocks = ranks * data.draw(st.integers(1, 3)) if op[0] in "gs" else 17
    keys = {"stride": stride, "both_ways": both_ways, "leap": leap}
    keys |= {"pieces": data.draw(st.integers(1, 2 if op[0] in "gs" else 30))}
    root = data.draw(st.integers(0, ranks - 1))
    task = Collective(op, tuple(range(ranks)), 4 * blocks, blocks, root)
    plan = make_algorithm("stride-trees", keys, op=op).plan(task, 3)
    execute(plan)
    arcs = {
        pair
        for one in plan.rounds
        for pair in zip(one.src.tolist(), one.dst.tolist(), strict=True)
    }
    halved = op[0] in "gs" and both_ways and keys["pieces"] == 2
    around = both_ways and leap == 1 and op[0] in "br" and 2 * stride < ranks
    assert ranks - 1 <= len(arcs) <= (ranks - 1) * (1 + around) + halved
    if around:
        assert len(plan.rounds) == (keys["pieces"] + -(-(ranks - 1) // stride)) // 2
    crossed = np.zeros((2, ranks), dtype=np.int64)
    for src, dst in arcs:
        ahead = (dst - src) % ranks
        back = both_ways and ahead > ranks - ahead
        spans = ranks - ahead if back else ahead
        if not both_ways and op in ("gather", "reduce"):
            assert ahead <= stride if op == "reduce" else ranks - ahead <= stride
            continue
        assert spans <= stride * leap
        first = dst if back else src
        crossed[int(back), (first + np.arange(spans)) % ranks] += 1
    assert crossed.max() <= stride * (2 if 2 * stride * leap >= ranks else 1)


@pytest.mark.parametrize("keys", [{"leap": 2}, {"leap": 2, "both_ways": False}])
def test_leaps_that_cannot_be_are_refused(keys: dict[str, object]) -> None:
    """Blocks differ; and leaps need a fibre back."""
    op = "scatter" if "both_ways" not in keys else "broadcast"
    with pytest.raises(InputError, match="does not do"):
        make_algorithm("stride-trees", keys, op=op)


NEAR = {
    "ring-64/gather-64KiB": 0.002,
    "ring-64/scatter-1MiB": 0.02,
    "ring-64/broadcast-64KiB": 0.19,
    "ring-16/scatter-1GiB": 0.001,
    "ring-64/reduce-256KiB": 0.39,
}


@pytest.mark.parametrize("name", NEAR)
def test_rings_of_little_reach_are_served_near_their_bound(name: str) -> None:
    """In seconds, where each span has light for far fewer pairs than there are."""
    made = synthesise(load_instance(name)).incumbent
    assert made is not None
    assert made.certificate is not None
    assert made.schedule.algorithm.name == "stride-trees"
    assert made.completion_time_ps <= made.certificate.bound * (1 + NEAR[name])
