"""Figures and tables of the RAMP paper, at sizes that a test can afford."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from lightloom.papers import FIGURES
from lightloom.papers.ramp.fig6 import Fig6
from lightloom.papers.ramp.fig7 import Fig7, is_served
from lightloom.papers.ramp.fig8 import Fig8
from lightloom.papers.ramp.fig15 import Fig15
from lightloom.papers.ramp.fig18 import Fig18
from lightloom.papers.ramp.fig19 import Fig19
from lightloom.papers.ramp.fig20 import Fig20
from lightloom.papers.ramp.fig21 import Fig21
from lightloom.papers.ramp.fig22 import Fig22
from lightloom.papers.ramp.fig23 import Fig23
from lightloom.papers.ramp.systems import GB, MB, on_ramp, size_text
from lightloom.papers.ramp.table3 import Table3
from lightloom.papers.ramp.table4 import Table4
from lightloom.papers.ramp.table9 import Table9
from lightloom.papers.ramp.table10 import Table10
from lightloom.papers.reproduction import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.papers import Figure
    from lightloom.papers.reproduction import Comparison, Reproduction

SMALL = (
    Fig6(groups=(8, 32)),
    Fig7(groups=(8, 10, 32), per_group=(1, 256)),
    Fig8(),
    Fig15(sizes=(2, 16, 1024)),
    Fig18(),
    Fig19(rates=(200, 12_800)),
    Fig20(sizes=(MB, 10 * GB)),
    Fig21(nodes=(16, 65_536), buffers=(MB, 10 * GB)),
    Fig22(nodes=(16, 65_536), buffers=(MB, 10 * GB)),
    Fig23(nodes=(16, 65_536)),
    Table3(),
    Table4(),
    Table9(losses=("2.5", "2.0", "1.0")),
    Table10(gpus=(256, 4096)),
)


def silent(_: str) -> None:
    """Say nothing."""


def claim(found: Reproduction, begins: str) -> Comparison:
    """Return the one comparison whose claim begins so."""
    (only,) = (one for one in found.comparisons if one.claim.startswith(begins))
    return only


def test_all_that_can_be_computed_is_in_the_catalogue() -> None:
    """Figures and tables, each under its own name."""
    names = {name for name in FIGURES if name.startswith("ramp-")}
    assert names == {small.name for small in SMALL}


@pytest.mark.parametrize("small", SMALL, ids=lambda small: small.name)
def test_a_figure_leaves_data_claims_and_plots(small: Figure, tmp_path: Path) -> None:
    """Rows under their columns, a reason where a claim fails, four files."""
    found = small.run(silent)
    assert found.name == small.name
    assert found.notes
    for row in found.rows:
        assert len(row) == len(found.columns)
    for comparison in found.comparisons:
        assert comparison.ours
        assert comparison.why or comparison.verdict == Verdict.MATCHES
    paths = found.save(tmp_path / "out")
    assert [path.name for path in paths] == [
        *("data.csv", "comparison.csv", f"{small.name}.png", f"{small.name}.svg"),
    ]
    with paths[0].open(newline="") as file:
        assert len(list(csv.reader(file))) == 1 + len(found.rows)


def test_steps_are_the_closed_forms() -> None:
    """Ring n - 1, grid a + b - 2, tiers of 8, 16, 16 and 32, RAMP one a dimension."""
    rows = {row[0]: row[1:] for row in Fig15(sizes=(16, 1024, 65_536)).run(silent).rows}
    assert rows == {
        16: (15, 6, 8, 1),
        1024: (1023, 62, 29, 2),
        65_536: (65_535, 510, 68, 4),
    }


def test_the_greatest_buffer_gains_what_the_paper_says() -> None:
    """10 GB: 7.3 times the 2D torus; and all-reduce takes the golden times."""
    found = Fig20(sizes=(MB, 10 * GB)).run(silent)
    assert claim(found, "least speed-up with 10 GB").verdict == Verdict.MATCHES
    assert claim(found, "head to tail and computing").verdict == Verdict.DIFFERS
    for row in found.rows:
        assert sum(row[4:7]) == pytest.approx(100)  # type: ignore[arg-type]
    assert on_ramp("all-reduce", MB).us == pytest.approx(13.42, rel=4e-4)
    assert on_ramp("all-reduce", GB).us == pytest.approx(1834.8, rel=4e-4)


def test_speed_ups_are_least_and_greatest_where_the_paper_says() -> None:
    """Reduce-scatter and all-to-all; their values need what is not printed."""
    found = Fig18().run(silent)
    assert claim(found, "the speed-up is least").verdict == Verdict.MATCHES
    assert claim(found, "the speed-up is greatest").verdict == Verdict.MATCHES
    assert claim(found, "least speed-up of all-to-all").verdict == Verdict.DIFFERS
    all_to_all = {row[1]: row[2] for row in found.rows if row[0] == "all-to-all"}
    assert all_to_all["ramp"] == "direct 65536"


def test_ramp_falls_behind_where_one_transceiver_is_idle() -> None:
    """At 200 Gb/s a node, 31 of 32 transceivers count for more than steps do."""
    found = Fig19(rates=(200, 12_800)).run(silent)
    gains = {row[:3]: row[5] for row in found.rows}
    assert gains[200, "all-gather", "fat-tree"] < 1  # type: ignore[operator]
    assert gains[12_800, "all-gather", "fat-tree"] > 1  # type: ignore[operator]
    assert claim(found, "RAMP is the fastest at every rate").verdict == Verdict.DIFFERS


def test_computing_all_sources_at_once_pays() -> None:
    """3 N - 3 buffers read and written beside d + 1 in each of four steps."""
    (row,) = Fig23(nodes=(65_536,)).run(silent).rows
    assert row[1] == pytest.approx(1500 * 65_535 / 65_536)
    portions = 33 / 32 + 33 / 32**2 + 33 / 32**3 + 3 / 65_536
    assert row[2] == pytest.approx(500 * portions)


def test_the_example_of_the_paper_is_no_ramp() -> None:
    """Of x from 8 to 32 only 8, 16 and 32 divide 64."""
    assert [x for x in range(8, 33) if is_served(x)] == [8, 16, 32]


def test_sizes_for_people() -> None:
    """The largest decimal unit that divides them."""
    sizes = (1, 999, 1000, MB, 1500 * 1000, 10 * GB)
    shown = ["1 B", "999 B", "1 kB", "1 MB", "1500 kB", "10 GB"]
    assert [size_text(size) for size in sizes] == shown
