"""The gap: how far a value is from a bound, in one place for all who state it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lightloom.core.certificate import CertificateStatus, gap
from lightloom.validate import CertificateReport


@pytest.mark.parametrize(
    ("value", "bound", "share"),
    [
        (125, 100, 0.25),
        (100, 100, 0.0),
        (0, 0, 0.0),
        (Fraction(3, 8), Fraction(1, 2), 0.25),
        (10**30 + 1, 10**30, 1e-30),
        (3, 0, None),
        (None, 3, None),
        (3, None, None),
        (3, float("inf"), None),
    ],
)
def test_gap_is_relative_to_the_bound(
    value: int | Fraction | None, bound: float | Fraction | None, share: float | None
) -> None:
    """Exact before it is rounded, whichever way is better; unknown without a bound."""
    assert gap(value, bound) == share


def test_reports_state_it() -> None:
    """A report without bound has none."""
    assert CertificateReport("rounds", CertificateStatus.NO_BOUND).gap is None
    found = CertificateReport("rounds", CertificateStatus.GAP, "cut", 4, 5)
    assert found.gap == 0.25
