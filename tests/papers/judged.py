"""What every verdict has to say for itself: bands, and every point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import ClaimVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.papers.claims import Comparison


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
