"""Figures of the SiP-ML paper, at sizes that a test can afford."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from lightloom.papers import figure
from lightloom.papers.claims import ClaimVerdict
from lightloom.papers.reproduction import Data
from lightloom.papers.sipml.setup import FLAT, TRANSFORMER, fabrics
from lightloom.papers.sipml.sweeps import SPEEDUPS


def test_curves_lie_between_perfect_scaling_and_none() -> None:
    """Twice the batch takes between half as many iterations and as many."""
    curve = TRANSFORMER.curve()
    batches = sorted(curve)
    for small, large in pairwise(batches):
        assert curve[large] < curve[small] < curve[large] * large / small


def test_findings_that_do_not_hold_are_said_to_differ() -> None:
    """Of Fig. 9, from times that contradict it, and from times that do not."""

    def verdicts(times: dict[tuple[int, int | None], float]) -> list[ClaimVerdict]:
        rows = tuple((*key, 0, 0.0, minutes) for key, minutes in times.items())
        chosen = figure("sipml-fig9")
        return [each.verdict for each in chosen.claims(Data(chosen.columns, rows))]

    as_found = {(1, 10): 4.0, (1, 1_000): 6.0, (1, None): 5.0}
    as_found |= {(2, 10): 3.0, (2, 1_000): 3.5, (2, None): 3.0}
    assert set(verdicts(as_found)) == {ClaimVerdict.MATCHES}
    contrary = {(1, 10): 5.5, (1, 1_000): 5.2, (1, None): 5.0}
    contrary |= {(2, 10): 2.8, (2, 1_000): 2.5, (2, None): 3.0}
    # At the lower rate circuits that stay are faster than those with a long delay.
    found = sorted(verdicts(contrary))
    assert found == [ClaimVerdict.DIFFERS] * 5 + [ClaimVerdict.MATCHES]


def test_all_fabrics_have_the_rate_of_a_gpu_and_the_latency() -> None:
    """But for what whole wavelengths and switches leave over."""
    named = fabrics(64, 1024, latency_ps=7)
    for fabric in named.values():
        assert fabric.alpha_ps == 7
        assert fabric.node_count == 64
        assert 0.97 * 1024e9 < fabric.node_bits_per_s <= 1024e9
    assert FLAT in named
    assert len(named) == 5


def test_the_paper_loses_speed_with_latency_in_each_row() -> None:
    """In each row of the paper's table the speed falls with the latency."""
    for row in SPEEDUPS.values():
        values = [row[us] for us in sorted(row)]
        assert values == sorted(values, reverse=True)
    assert np.all(np.diff([row[1] for row in SPEEDUPS.values()]) > 0)
