"""Tables about optical switches: known values, ours beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.papers import FIGURES, figure
from lightloom.papers.claims import ClaimVerdict
from tests.papers.judged import (
    BEST_ROWS,
    BY_AUTO,
    ONE_NETWORK,
    PLANNED,
    check_best_rows,
    check_verdicts,
)

if TYPE_CHECKING:
    from lightloom.papers.reproduction import Figure

SMALL = (
    figure("bruck-table1").at(mebibytes=(1,)),
    figure("decomposition-table1").at(delays=(0.04, 0.08), matrices=("pipeline",)),
    figure("overlap-table1").at(cases=((16, 4, 25.0, 8.0), (8, 2, 50.0, 32.0))),
)


@pytest.mark.parametrize("small", SMALL, ids=lambda small: small.name)
def test_tables_match_what_is_known(small: Figure) -> None:
    """Every value that is known is met, or beaten."""
    found = small.run(lambda _: None)
    assert found.comparisons
    check_verdicts(found.comparisons)
    if small.name in BEST_ROWS:
        check_best_rows(found)
    for comparison in found.comparisons:
        assert comparison.verdict == ClaimVerdict.MATCHES, comparison
    assert found.panels
    assert all(len(row) == len(found.data.columns) for row in found.data.rows)


def test_every_figure_says_which_rows_are_the_best_known() -> None:
    """A comparison of networks has them, checked wherever it is computed."""
    known = {*BEST_ROWS, *BY_AUTO, *PLANNED, *ONE_NETWORK}
    figures = {name for name in FIGURES if not name.endswith("-text")}
    assert figures <= known


@pytest.mark.slow
@pytest.mark.parametrize("name", ["decomposition-table1", "overlap-table1"])
def test_whole_tables_match_what_is_known(name: str) -> None:
    """All cases of the literature."""
    for comparison in figure(name).run(lambda _: None).comparisons:
        assert comparison.verdict == ClaimVerdict.MATCHES, comparison
