"""Every algorithm on every operation it offers, executed on real buffers."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.instances.collectives import COLLECTIVES
from lightloom.plans.algorithms import ALGORITHMS, make_algorithm
from lightloom.synth.chunking import choose_chunks
from tests.oracle.rank_buffers import execute, port_chunks
from tests.synth.some_ranks import SOME_RANKS

_OFFERED = [
    (entry.name, op) for entry in ALGORITHMS.values() for op in sorted(entry.ops)
]
_EVERYWHERE = [one for one in _OFFERED if one[0] not in SOME_RANKS]
_MOST_CELLS = 2**25
_MOST_RANKS = {"packed-trees": 4, "part-trees": 24}
"""Where each plan takes a search or a series of linear programs."""
"""Of the buffers that a plan is executed on."""
_TREES = ("disjoint-trees", "spanning-tree")


def _parameters(data: st.DataObject, name: str, op: str) -> dict[str, object]:
    """Return some parameters that go with any number of ranks."""
    parameters: dict[str, object] = {}
    if name in ("multiport", "tree", "scatter-gather", *_TREES):
        parameters["ports"] = data.draw(st.none() | st.integers(1, 8))
    if name == "multiport":
        parameters["signed"] = data.draw(st.booleans())
    if name == "double-binary-tree" or name in _TREES:
        parameters["pieces"] = data.draw(st.integers(1, 5))
    if name == "spanning-tree":
        parameters["far_first"] = data.draw(st.booleans())
    near_first = ("full-exchange", "lumorph-2", "lumorph-4", "radices")
    if name in near_first and op == "all-reduce":
        parameters["near_first"] = data.draw(st.booleans())
    return parameters


@pytest.mark.parametrize(("name", "op"), _EVERYWHERE)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_plan_does_its_collective(name: str, op: str, data: st.DataObject) -> None:
    """For any n, k, chunks and root the buffers end as numpy would have them."""
    most = _MOST_RANKS.get(name, 40)
    ranks, ports = data.draw(st.integers(1, most)), data.draw(st.integers(1, 16))
    made = make_algorithm(name, _parameters(data, name, op), op=op)
    kind = COLLECTIVES[op]
    wanted = made.granularity(ranks, ports)
    # The buffers of an all-to-all have a chunk for each pair of ranks and more.
    cells = wanted * ranks ** (2 if kind.chunks_per_rank else 1)
    few = st.integers(1, 60)
    kept = few | st.just(wanted) if cells <= _MOST_CELLS else few
    chunks = data.draw(kept, label="chunks")
    if kind.uses_blocks:
        chunks = -(-chunks // ranks) * ranks
    root = data.draw(st.integers(0, ranks - 1)) if kind.rooted else None
    collective = Collective(op, tuple(range(ranks)), 4 * chunks, chunks, root)
    plan = made.plan(collective, ports)
    assert plan.collective == collective
    execute(plan)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(_EVERYWHERE),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(1, 400),
)
def test_plan_with_chosen_chunks(
    offered: tuple[str, str], ranks: int, ports: int, elements: int
) -> None:
    """Chunk counts as they are chosen for small odd buffers work too."""
    name, op = offered
    made = make_algorithm(name, {}, op=op)
    size = elements * ranks if COLLECTIVES[op].uses_blocks else elements
    task = Collective(op, tuple(range(ranks)), size)
    chunked = choose_chunks(task, made.granularity(ranks, ports))
    execute(made.plan(chunked, ports))


@pytest.mark.parametrize(("name", "op"), _OFFERED)
def test_one_rank_has_nothing_to_do(name: str, op: str) -> None:
    """A single rank needs no round."""
    plan = make_algorithm(name, {}).plan(Collective(op, (7,), 12, 3), 4)
    assert plan.rounds == ()


@pytest.mark.parametrize("ranks", [2, 3, 7, 16, 40])
@pytest.mark.parametrize("op", ["all-gather", "all-reduce", "reduce-scatter"])
def test_ring_closed_form(ranks: int, op: str) -> None:
    """The ring moves one block per round, n - 1 rounds each way, on one lane."""
    plan = make_algorithm("ring", {}).plan(
        Collective(op, tuple(range(ranks)), 12 * ranks, 3 * ranks), 16
    )
    ways = 2 if op == "all-reduce" else 1
    assert len(plan.rounds) == ways * (ranks - 1)
    for one in plan.rounds:
        assert port_chunks(one).tolist() == [3]
        assert ((one.dst - one.src) % ranks == 1 % ranks).all()


@pytest.mark.parametrize(
    ("ranks", "ports"), list(itertools.product([2, 5, 16, 17, 18, 100], [1, 2, 16]))
)
def test_tree_has_the_fewest_rounds(ranks: int, ports: int) -> None:
    """Holders multiply by k + 1 and nobody drives more than k peers."""
    rounds = 0
    while (ports + 1) ** rounds < ranks:
        rounds += 1
    for op in ("broadcast", "gather", "reduce", "scatter"):
        task = Collective(op, tuple(range(ranks)), ranks, ranks)
        plan = make_algorithm("tree", {}).plan(task, ports)
        assert len(plan.rounds) == rounds
        assert max(int(one.port.max()) for one in plan.rounds) < ports


def test_scatter_gather_moves_twice_the_buffer() -> None:
    """Broadcast of B bytes over 64 ranks and 3 ports costs 2 (n - 1) / n B."""
    task = Collective("broadcast", tuple(range(64)), 192, 192)
    plan = make_algorithm("scatter-gather", {}).plan(task, 3)
    sent = sum(3 * int(port_chunks(one).max()) for one in plan.rounds)
    assert len(plan.rounds) == 6
    assert sent == 2 * 192 * 63 // 64


def test_direct_is_one_round_of_single_blocks() -> None:
    """Direct exchange has n - 1 ports that carry one block each."""
    for op in ("all-gather", "all-to-all", "gather", "reduce-scatter", "scatter"):
        task = Collective(op, tuple(range(9)), 18, 18)
        (one,) = make_algorithm("direct", {}).plan(task, 2).rounds
        assert port_chunks(one).tolist() == [2] * 8
