"""Parts of a block that ranks hear step by step: none of the block is lost."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.instances.catalogue import load_instance
from lightloom.plans.step_program import prefix_parts
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_all_of_the_block_arrives_in_order(data: st.DataObject) -> None:
    """Amounts that rounding made too small leave nothing out and send nothing early."""
    ranks = data.draw(st.integers(2, 7))
    steps = data.draw(st.integers(1, 6))
    arcs = [
        (teller, rank)
        for rank in range(1, ranks)
        for teller in sorted(
            data.draw(st.sets(st.integers(0, rank - 1), min_size=1, max_size=2))
        )
    ]
    share = st.sampled_from([0.0, 0.05, 1 / 3, 0.4, 0.99])
    amount = np.array([[data.draw(share) for _ in range(steps)] for _ in arcs])
    src, dst = (np.array(column) for column in zip(*arcs, strict=True))
    step, tellers, heard, lo, hi = prefix_parts(np.arange(ranks), src, dst, amount)
    columns = (column.tolist() for column in (step, lo, hi, tellers, heard))
    moves = sorted(zip(*columns, strict=True))
    held = np.zeros(ranks)
    held[0] = 1.0
    for _, group in itertools.groupby(moves, key=lambda move: move[0]):
        before = held.copy()
        for _, begin, end, teller, rank in group:
            assert held[rank] == begin < end <= before[teller]
            held[rank] = end
    assert (held == 1.0).all()


@pytest.mark.parametrize("op", ["broadcast", "reduce"])
def test_many_small_amounts(op: str) -> None:
    """In twenty steps, more than the tolerance was lost of a small part."""
    instance = load_instance(f"fat-tree-16/{op}-64MiB")
    found = synthesise(instance, "part-trees", {"steps": 20}).incumbent
    assert found is not None
    assert verify(found.schedule).violations == ()
