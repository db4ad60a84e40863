"""Every schedule of the catalogue that a runtime takes, its checker accepts."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.programs.catalogue_exports import fabrics, measure

REASONS = {"accepted", "steps in a thread block", "thread blocks"}
"""What may come of an export; anything else, or a broken rule, is a defect."""


MOST_RANKS = 16
SLOW = ("ring-2d-16",)
"""Its trees take minutes to make. The script measures it, and up to 64 ranks."""


@pytest.mark.slow
def test_what_is_exported_is_accepted() -> None:
    """By all four runtimes; what is refused is too large."""
    seen: set[bytes] = set()
    accepted = Counter[str]()
    for fabric, instances in sorted(fabrics().items()):
        if int(fabric.rsplit("-", 1)[1]) > MOST_RANKS or fabric in SLOW:
            continue
        names = [name for name in instances if name.endswith("-1MiB")]
        for runtime, counts in measure(names, seen).items():
            assert set(counts) <= REASONS
            accepted[runtime] += counts["accepted"]
    assert len(accepted) == 4
    assert min(accepted.values()) > 200
