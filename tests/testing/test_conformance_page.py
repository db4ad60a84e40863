"""The page on checking a synthesiser names what is checked."""

from __future__ import annotations

import re
from pathlib import Path

from lightloom.testing.conformance.check import PROPERTIES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "check-your-synthesiser.md").read_text("utf-8")


def test_every_property_is_on_the_page() -> None:
    """The table has the properties of the suite, in their order."""
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert rows == list(PROPERTIES)
