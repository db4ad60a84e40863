"""Figures of the SiP-ML paper, at sizes that a test can afford."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.papers import FIGURES, figure
from lightloom.papers.claims import ClaimVerdict
from lightloom.papers.reproduction import Data
from lightloom.papers.sipml.setup import FLAT, TRANSFORMER, Trained, fabrics
from lightloom.papers.sipml.sweeps import SPEEDUPS
from tests.papers.judged import check_verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.papers.reproduction import Figure

NCF = Trained("ncf", (256, 1024), 100, 512)

SMALL = (
    figure("sipml-fig5").at(gpus=16, rates=(128, 512), models=(NCF,)),
    figure("sipml-fig6").at(gpus=16, rates=(128, 8192), models=(NCF,)),
    figure("sipml-fig7").at(gpus=32, shown=8, degrees=(2, 4), trained=NCF),
    figure("sipml-fig8").at(gpus=16, rates=(128, 2048), switches=(1, 4), trained=NCF),
    figure("sipml-fig9").at(gpus=16, rates=(128,), delays_us=(30, 100), trained=NCF),
    figure("sipml-fig10").at(sizes=(16, 32), rate=256, models=(NCF,)),
    figure("sipml-table1").at(sizes=(8, 16), latencies_us=(1, 100), trained=NCF),
)


FINDINGS = {
    "sipml-fig5": (
        *("at most twice the rate of Elect-Flat", "hybrid beats data parallelism"),
        *("as fast as Elect-Cluster", "levels off", "below 1 Tb/s"),
    ),
    "sipml-fig8": ("improves with more OCSs", "beyond 12 OCSs", "less sensitive"),
    "sipml-fig9": ("a smaller delay always helps", "one-shot beats reconfiguration"),
    "sipml-fig10": ("close to Elect-Flat", "taper off with scale"),
    "sipml-table1": ("latencies above about 10 us hurt",),
}
"""What the paper finds, by figure: each is a claim with a verdict."""


def silent(_: str) -> None:
    """Say nothing."""


def test_the_catalogue_has_every_computable_figure() -> None:
    """Six figures and a table are listed."""
    assert sorted(name for name in FIGURES if name.startswith("sipml")) == [
        *("sipml-fig10", "sipml-fig5", "sipml-fig6", "sipml-fig7"),
        *("sipml-fig8", "sipml-fig9", "sipml-table1"),
    ]


@pytest.mark.parametrize("small", SMALL, ids=lambda small: small.name)
def test_a_figure_leaves_data_claims_and_plots(small: Figure, tmp_path: Path) -> None:
    """Rows under their columns, a verdict with a reason, four files."""
    reproduction = small.run(silent)
    assert reproduction.data.rows
    for row in reproduction.data.rows:
        assert len(row) == len(reproduction.data.columns)
    assert reproduction.comparisons
    check_verdicts(reproduction.comparisons)
    claims = " ".join(comparison.claim for comparison in reproduction.comparisons)
    assert all(finding in claims for finding in FINDINGS.get(small.name, ()))
    assert any("roofline" in note for note in reproduction.figure.notes)
    names = [path.name for path in reproduction.save(tmp_path)]
    assert names == [
        *("data.csv", "comparison.csv", f"{small.name}.png", f"{small.name}.svg"),
    ]


@pytest.mark.parametrize("small", SMALL[1:3], ids=lambda small: small.name)
def test_the_same_figure_comes_out_every_time(small: Figure) -> None:
    """Two runs give the same data and verdicts."""
    first, second = small.run(silent), small.run(silent)
    assert first.data.rows == second.data.rows
    assert first.comparisons == second.comparisons


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
