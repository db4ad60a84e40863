"""What figures have to say for themselves: bands, every point, the best algorithms."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from lightloom.papers.claims import ClaimVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Reproduction

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
