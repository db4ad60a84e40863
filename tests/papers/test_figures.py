"""Every figure at a size that a test can afford: data, bands, best algorithms."""

from __future__ import annotations

import csv
from itertools import product
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.papers import FIGURES, FOLDERS, figure
from lightloom.papers.claims import ClaimVerdict, declared
from tests.papers.small_figures import SMALL, small_run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Figure, Reproduction

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


_RACK, _SWITCH = "auto", "auto (switch)"
_SYSTEMS = ("ramp", "fat-tree", "2d-torus", "topoopt")
BEST_ROWS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "lumorph-fig6": (("waveguides", "router"), "algorithm", (_RACK,)),
    "lumorph-fig7": (("gpus", "buffer"), "algorithm", (_RACK, _SWITCH)),
    "lumorph-fig8a": (("delay_us",), "algorithm", (_RACK,)),
    "lumorph-fig8b": (("laser_gbit_per_s", "buffer"), "algorithm", (_RACK,)),
    "lumorph-fig11": (("model", "gpus"), "algorithm", (_RACK, _SWITCH)),
    "sipac-fig3": (("network",), "choice", ("auto",)),
    "sipac-fig4a": (("units", "pattern", "cluster"), "choice", ("auto",)),
    "overlap-table1": (("nodes",), "method", ("auto",)),
    "ramp-fig18": (("operation",), "system", _SYSTEMS),
    "ramp-fig19": (("gbit_per_s", "operation"), "system", _SYSTEMS),
    "ramp-fig20": (("buffer",), "system", _SYSTEMS),
}
"""Columns of a case, then the rows that each case must have.

On 65,536 nodes they are the fastest of the strategies whose times are estimated, which
`ramp-fig18` and `-fig19` name; `ramp-fig20` has them all.
"""
SAID = {"sipac": ("DCTCP", "not modelled"), "sipml": ("roofline",)}
"""What a note of every figure of a paper says."""
SWITCHES = ("bruck-table1", "decomposition-table1", "overlap-table1")
"""Tables whose every known value is met, or beaten."""
BY_AUTO = {"sipac-fig4b": ("all_reduce_by", "all_to_all_by")}
"""Figures all of whose rows are by `auto`, and the columns that name what it chose."""
PLANNED = {
    *("ramp-fig16", "ramp-fig17", "sipml-fig5", "sipml-fig8", "sipml-fig9"),
    *("sipml-fig10", "sipml-table1"),
}
"""Training: on every network the fastest plan of one search, or its best strategy."""
ONE_NETWORK = {
    *("bruck-table1", "decomposition-table1", "lumorph-fig3", "lumorph-fig5"),
    *("lumorph-fig10", "ramp-fig6", "ramp-fig7", "ramp-fig8", "ramp-fig15"),
    *("ramp-fig21", "ramp-fig22", "ramp-fig23", "ramp-table3", "ramp-table4"),
    *("ramp-table9", "ramp-table10", "sipml-fig6", "sipml-fig7"),
}
"""No times of several networks: one, its parts, its cost, or all strategies of it."""


def check_best_rows(found: Reproduction) -> None:
    """Look for the best known algorithm of every network in every case."""
    name, data = found.figure.name, found.data
    if name in BY_AUTO:
        for column in BY_AUTO[name]:
            assert all(data.values(column))
        return
    columns, who, wanted = BEST_ROWS[name]
    cases = {tuple(row) for row in zip(*map(data.values, columns), strict=True)}
    for case, best in product(cases, wanted):
        rows = data.where(**dict(zip(columns, case, strict=True)), **{who: best}).rows
        assert rows, (case, best)


def check_verdicts(comparisons: Iterable[Comparison]) -> None:
    """Read every band and every point: a match is all points in bands that bind."""
    for one in comparisons:
        labels = [point.label for point in one.points]
        assert len(labels) == len(set(labels)), one.claim
        inside = []
        for point in one.points:
            assert point.least is not None or point.most is not None, one.claim
            low = float("-inf") if point.least is None else point.least
            high = float("inf") if point.most is None else point.most
            assert low <= high, one.claim
            inside.append(low <= point.value <= high)
        if one.verdict == ClaimVerdict.NOT_REPRODUCIBLE:
            assert not one.points
        else:
            assert inside
            assert (one.verdict == ClaimVerdict.MATCHES) == all(inside), one.claim
            assert f"{sum(inside)} of {len(inside)}" in one.band
        assert one.ours
        assert one.why or one.verdict == ClaimVerdict.MATCHES


def test_all_figures_are_in_the_catalogue() -> None:
    """Each is found by walking, under its name; unknown names suggest one."""
    assert list(FIGURES) == sorted(small.name for small in SMALL)
    with pytest.raises(InputError, match="lumorph-fig7"):
        figure("lumorph-fig77")


@pytest.mark.parametrize("folder", FOLDERS)
def test_all_that_is_declared_is_told(folder: str) -> None:
    """No table without its figure, no shared note that none has, a section for each."""
    tables = dict(declared(f"lightloom.papers.{folder}"))
    shared, _ = tables.pop("shared", {}), tables.pop("unknown", ())
    assert set(tables) <= set(FIGURES)
    assert set(shared) <= {note for one in tables.values() for note in one["notes"]}
    if folder != "switches":
        assert all(figure(name).section for name in tables)
    for name in tables:
        notes = figure(name).notes
        assert notes
        assert not set(notes) & set(shared)
        assert all(note == " ".join(note.split()) for note in notes)


@pytest.mark.parametrize("small", SMALL, ids=lambda small: small.name)
def test_a_figure_leaves_data_claims_and_plots(small: Figure, tmp_path: Path) -> None:
    """Rows under their columns, a verdict for every claim, best rows, four files."""
    found = small_run(small.name)
    assert found.figure.name == small.name
    assert found.data.rows
    assert found.panels
    assert all(len(row) == len(found.data.columns) for row in found.data.rows)
    # The only claim of Fig. 3 is about a rack of 128.
    assert found.comparisons or small.name == "lumorph-fig3"
    check_verdicts(found.comparisons)
    claims = " ".join(comparison.claim for comparison in found.comparisons)
    assert all(finding in claims for finding in FINDINGS.get(small.name, ()))
    words = SAID.get(small.name.split("-")[0], ())
    assert any(all(word in note for word in words) for note in found.figure.notes)
    if small.name in BEST_ROWS or small.name in BY_AUTO:
        check_best_rows(found)
    paths = found.save(tmp_path / "out")
    assert [path.name for path in paths] == [
        *("data.csv", "comparison.csv", f"{small.name}.png", f"{small.name}.svg"),
    ]
    with paths[0].open(newline="") as file:
        assert len(list(csv.reader(file))) == 1 + len(found.data.rows)
    assert found.data_table().row_count == len(found.data.rows)
    assert found.comparison_table().row_count == len(found.comparisons)
    if small.name in SWITCHES:
        for comparison in found.comparisons:
            assert comparison.verdict == ClaimVerdict.MATCHES, comparison


@pytest.mark.parametrize(
    "small",
    [small for small in SMALL if small.name in ("sipml-fig6", "sipml-fig7")],
    ids=lambda small: small.name,
)
def test_the_same_figure_comes_out_every_time(small: Figure) -> None:
    """Two runs give the same data and verdicts."""
    first, second = small_run(small.name), small.run(lambda _: None)
    assert first.data.rows == second.data.rows
    assert first.comparisons == second.comparisons


def test_every_figure_says_which_rows_are_the_best_known() -> None:
    """A comparison of networks has them, checked wherever it is computed."""
    known = {*BEST_ROWS, *BY_AUTO, *PLANNED, *ONE_NETWORK}
    figures = {name for name in FIGURES if not name.endswith("-text")}
    assert figures <= known


@pytest.mark.slow
@pytest.mark.parametrize("name", SWITCHES[1:])
def test_whole_tables_match_what_is_known(name: str) -> None:
    """All cases of the literature."""
    for comparison in figure(name).run(lambda _: None).comparisons:
        assert comparison.verdict == ClaimVerdict.MATCHES, comparison
