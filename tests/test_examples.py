"""Examples in docstrings and in the documentation do what they show."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "lightloom").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
BLOCKS = [
    (path.relative_to(ROOT), textwrap.dedent(block))
    for path in PAGES
    for block in re.findall(
        r"^ *```python\n(.*?)^ *```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    """Every ``>>>`` of a module prints what stands below it."""
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert not done.failed


@pytest.mark.parametrize(
    ("path", "block"),
    BLOCKS,
    ids=[f"{path}-{at}" for at, (path, _) in enumerate(BLOCKS)],
)
def test_python_in_the_documentation(path: Path, block: str) -> None:
    """A block of Python is valid, and what it imports of lightloom is there."""
    for node in ast.walk(ast.parse(block, filename=str(path))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "lightl"
        ):
            module = importlib.import_module(node.module or "")
            for alias in node.names:
                assert hasattr(module, alias.name), f"{path}: {node.module}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "lightloom":
                    importlib.import_module(alias.name)
