"""Figures and tables of the RAMP paper, at sizes that a test can afford."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.papers import figure
from lightloom.papers.claims import ClaimVerdict
from lightloom.papers.ramp.closed_forms import apart, fat_tree
from lightloom.papers.ramp.components import is_served
from lightloom.papers.ramp.systems import GB, MB, on_ramp, size_text

if TYPE_CHECKING:
    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Reproduction


def silent(_: str) -> None:
    """Say nothing."""


def claim(found: Reproduction, begins: str) -> Comparison:
    """Return the one comparison whose claim begins so."""
    (only,) = (one for one in found.comparisons if one.claim.startswith(begins))
    return only


def test_steps_are_the_closed_forms() -> None:
    """Ring n - 1, grid a + b - 2, tiers of 8, 16, 16 and 32, RAMP one a dimension."""
    rows = {
        row[0]: row[1:]
        for row in figure("ramp-fig15")
        .at(sizes=(16, 1024, 65_536))
        .run(silent)
        .data.rows
    }
    assert rows == {
        16: (15, 6, 8, 1),
        1024: (1023, 62, 29, 2),
        65_536: (65_535, 510, 68, 4),
    }


def test_the_greatest_buffer_gains_what_the_paper_says() -> None:
    """10 GB: 7.3 times the 2D torus; and all-reduce takes the golden times."""
    found = figure("ramp-fig20").at(sizes=(MB, 10 * GB)).run(silent)
    assert claim(found, "least speed-up with 10 GB").verdict == ClaimVerdict.MATCHES
    assert claim(found, "head to tail and computing").verdict == ClaimVerdict.DIFFERS
    for row in found.data.rows:
        assert sum(row[4:7]) == pytest.approx(100)  # type: ignore[arg-type]
    assert on_ramp("all-reduce", MB).us == pytest.approx(13.42, rel=4e-4)
    assert on_ramp("all-reduce", GB).us == pytest.approx(1834.8, rel=4e-4)


def test_speed_ups_are_least_and_greatest_where_the_paper_says() -> None:
    """Reduce-scatter and all-to-all; their values need what is not printed."""
    found = figure("ramp-fig18").run(silent)
    least, greatest = (
        claim(found, f"the speed-up is {which}") for which in ("least", "greatest")
    )
    assert (least.best, greatest.best) == ("reduce-scatter", "all-to-all")
    assert claim(found, "least speed-up of all-to-all").verdict == ClaimVerdict.DIFFERS
    rows = [row for row in found.data.rows if row[0] == "all-to-all"]
    all_to_all = {row[1]: row[2] for row in rows}
    times = {row[1]: row[3] for row in rows}
    assert times["ramp"] <= 1280
    assert times["ramp-as-printed"] == pytest.approx(11_880.8, abs=1)
    assert all_to_all["ramp"] == "two-phase 65536"
    assert all_to_all["fat-tree"] == "levels 65536"
    assert times["fat-tree"] < times["fat-tree-as-printed"]


def test_ramp_falls_behind_where_one_transceiver_is_idle() -> None:
    """At 200 Gb/s a node, 31 of 32 transceivers count for more than steps do."""
    found = figure("ramp-fig19").at(rates=(200, 12_800)).run(silent)
    gathers = found.data.where(operation="all-gather")

    def gain(rate: int, system: str) -> float:
        return gathers.number("times_ramp", gbit_per_s=rate, system=system)

    assert gain(200, "fat-tree") < 1 < gain(12_800, "fat-tree-as-printed")
    # In as few steps as RAMP's the fat tree sends with all its rate.
    assert gain(12_800, "fat-tree") < 1
    assert (
        claim(found, "RAMP is the fastest at every rate").verdict
        == ClaimVerdict.DIFFERS
    )


def test_iterations_are_their_collectives_and_a_given_time() -> None:
    """Six all-reduces in each of 56 layers, and one of the gradients of 32 replicas."""
    rows = figure("ramp-fig16").at(losses=("2.2",)).run(silent).data
    model_ms = 6 * 56 * on_ramp("all-reduce", 150 * MB, 4).us / 1000
    data_ms = on_ramp("all-reduce", 1780 * MB, 32).us / 1000
    assert rows.number("model_parallel_ms", system="ramp") == pytest.approx(model_ms)
    assert rows.number("data_parallel_ms", system="ramp") == pytest.approx(data_ms)
    given = rows.numbers("computation_ms_given")
    assert len(set(given)) == 1


def test_replicas_are_apart_on_a_fat_tree() -> None:
    """Neighbours share a server of 8; 32 blocks of 4 reach two and sixteen of them."""
    tree = fat_tree(8 * 10**12, 10**12)
    sizes = [tier.members for tier in apart(tree, 4, 32).tiers]
    assert sizes == [2, 16]
    assert [tier.members for tier in apart(tree, 512, 128).tiers] == [4, 32]
    assert apart(tree, 1, 16).tiers == tree.part(16).tiers


def test_computing_all_sources_at_once_pays() -> None:
    """3 N - 3 buffers read and written beside d + 1 in each of four steps."""
    (row,) = figure("ramp-fig23").at(nodes=(65_536,)).run(silent).data.rows
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
