"""Every schedule of the catalogue that a runtime takes, its checker accepts."""

from __future__ import annotations

import pytest

from tests.programs.catalogue_exports import fabrics, measure

REASONS = {"accepted", "steps in a thread block", "thread blocks"}
"""What may come of an export; anything else, or a broken rule, is a defect."""


FEW = [name for name in sorted(fabrics()) if int(name.rsplit("-", 1)[1]) <= 8]
"""The script measures the larger ones: they take minutes to hours."""


@pytest.mark.slow
@pytest.mark.parametrize("fabric", FEW)
def test_what_is_exported_is_accepted(fabric: str) -> None:
    """By all four runtimes; what is refused is too large, or has no operation."""
    names = [name for name in fabrics()[fabric] if name.endswith("-1MiB")]
    for counts in measure(names, set()).values():
        assert counts["accepted"]
        assert set(counts) <= REASONS
