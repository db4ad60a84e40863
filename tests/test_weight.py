"""The weight of a tree: what counts, and which way it may go."""

from __future__ import annotations

import runpy
from pathlib import Path

WEIGHT = runpy.run_path(
    str(Path(__file__).parents[1] / ".ci" / "check_weight.py"), run_name="weight"
)
SOURCE = '''"""A file."""

from a import (
    b,
)

LIMIT = 3
"""Why three."""


def half(number):
    """Return
    half."""
    import c  # counts as an import

    # a comment counts
    return """not
    a docstring"""
'''


def test_code_is_what_is_no_docstring_import_or_blank(tmp_path: Path) -> None:
    """Comments and texts that are values count, words about code do not."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "empty.py").touch()
    weighed = WEIGHT["weight"](tmp_path)
    assert weighed == {"files": 2, "lines": 18, "code_lines": 5}


def test_writing_only_lowers() -> None:
    """What is heavier than allowed stays at what is allowed."""
    allowed = {"tests": {"files": 3, "lines": 10}}
    text = WEIGHT["lowered"](allowed, {"tests": {"files": 2, "lines": 11}})
    assert "files = 2\nlines = 10\n" in text
