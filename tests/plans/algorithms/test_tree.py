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
from lightloom.plans.algorithms.tree import StrideTrees
from lightloom.synth.synthesise import synthesise
from tests.oracle.rank_buffers import execute


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_they_do_their_collective(data: st.DataObject) -> None:
    """For any root, stride, hubs and pieces; arcs are no longer than stated."""
    op = data.draw(st.sampled_from(["broadcast", "reduce", "gather", "scatter"]))
    ranks, stride = data.draw(st.integers(2, 14)), data.draw(st.integers(1, 5))
    both_ways = data.draw(st.booleans())
    further = st.sets(st.integers(stride + 1, 9), max_size=2)
    hubs = sorted(data.draw(further), reverse=True) if op[0] in "br" else []
    blocks = ranks * data.draw(st.integers(1, 3)) if op[0] in "gs" else 17
    keys = {"stride": stride, "both_ways": both_ways, "hubs": hubs}
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
    if op[0] in "br" and keys["pieces"] <= blocks:
        made = StrideTrees(stride=stride, both_ways=both_ways, hubs=tuple(hubs))
        rounds = made.broadcast_rounds(ranks, np.array([keys["pieces"]]))
        assert len(plan.rounds) == rounds[0]
    halved = op[0] in "gs" and both_ways and keys["pieces"] == 2
    around = both_ways and op[0] in "br" and 2 * stride < ranks
    used = [one for one in hubs if one * (1 + both_ways) < ranks]
    levels = 1 + len(used)
    assert ranks - 1 <= len(arcs) <= (ranks - 1) * (1 + around) * levels + halved
    crossed = np.zeros((2, ranks), dtype=np.int64)
    for src, dst in arcs:
        ahead = (dst - src) % ranks
        back = both_ways and ahead > ranks - ahead
        if not both_ways and op in ("gather", "reduce"):
            ahead = ahead if op == "reduce" else ranks - ahead
        spans = ranks - ahead if back else ahead
        assert spans <= max([stride, *used])
        first = dst if back else src
        crossed[int(back), (first + np.arange(spans)) % ranks] += 1
    twice = both_ways and 2 * max([stride, *used]) >= ranks
    assert crossed.max() <= (stride + len(used)) * (1 + twice)


@pytest.mark.parametrize(
    ("ranks", "hubs", "pieces", "rounds"),
    [(64, (), 2, 32), (64, (8,), 1, 7), (64, (8,), 15, 14), (64, (16, 4), 6, 7)],
)
def test_hubs_save_rounds(
    ranks: int, hubs: tuple[int, ...], pieces: int, rounds: int
) -> None:
    """In (k + D - 1) / 2 rounds: D is 63, then 8 + 8 - 2, and 4 + 4 + 4 - 3."""
    tree = StrideTrees(hubs=hubs)
    assert tree.broadcast_rounds(ranks, np.array(pieces)) == rounds


@pytest.mark.parametrize(
    ("op", "keys", "why"),
    [
        ("scatter", {"hubs": [2]}, "does not do"),
        ("broadcast", {"hubs": [2, 3]}, "not in order.*each less than"),
        ("broadcast", {"hubs": [4, 4]}, "not in order.*each less than"),
        ("broadcast", {"hubs": [4], "stride": 4}, "not in order.*more than 4"),
    ],
)
def test_hubs_that_cannot_be_are_refused(
    op: str, keys: dict[str, object], why: str
) -> None:
    """Blocks differ; and hubs that are farther apart come first."""
    with pytest.raises(InputError, match=why):
        make_algorithm("stride-trees", keys, op=op)


NEAR = {
    "ring-64/gather-64KiB": 0.002,
    "ring-64/scatter-1MiB": 0.02,
    "ring-64/broadcast-64KiB": 0.09,
    "ring-16/scatter-1GiB": 0.001,
    "ring-64/reduce-256KiB": 0.15,
}


@pytest.mark.parametrize("name", NEAR)
def test_rings_of_little_reach_are_served_near_their_bound(name: str) -> None:
    """In seconds, where each span has light for far fewer pairs than there are."""
    made = synthesise(load_instance(name)).incumbent
    assert made is not None
    assert made.certificate is not None
    assert made.schedule.algorithm.name == "stride-trees"
    assert made.completion_time_ps <= made.certificate.bound * (1 + NEAR[name])
