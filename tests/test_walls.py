"""The checking rooms stand apart from the rooms that make what they check."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FORBIDDEN = (
    "lightloom.plans",
    "lightloom.problems",
    "lightloom.synth",
    "lightloom.testing",
    "lightloom.training",
    "lightloom.models",
    "lightloom.solvers",
    "pyomo",
    "highspy",
    "ortools",
)


@pytest.mark.parametrize("room", ["lightloom.validate", "lightloom.replay"])
def test_checkers_load_no_maker(room: str) -> None:
    """Importing a checking room, all of it, loads no algorithm and no solver."""
    script = (
        "import importlib, pkgutil, sys\n"
        f"room = importlib.import_module({room!r})\n"
        "for info in pkgutil.walk_packages(room.__path__, room.__name__ + '.'):\n"
        "    importlib.import_module(info.name)\n"
        "print('\\n'.join(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.split()
    assert room in loaded
    for module in loaded:
        for name in FORBIDDEN:
            assert module != name
            assert not module.startswith(name + ".")


def test_replay_does_not_know_validate() -> None:
    """The judge asks the clock, never the other way round."""
    script = (
        "import lightloom.replay, sys\n"
        "print(any(name.startswith('lightloom.validate') for name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "False"


PACKAGE = Path(__file__).parents[1] / "lightloom"


def _imports() -> dict[str, set[str]]:
    """Return what each module imports of the package, for types or in functions too."""
    trees = {
        path.relative_to(PACKAGE.parent).with_suffix("").parts: ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    modules = {
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts): tree
        for parts, tree in trees.items()
    }
    imported: dict[str, set[str]] = {}
    for module, tree in modules.items():
        names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level:
                members = {f"{node.module}.{alias.name}" for alias in node.names}
                inner = members & modules.keys()
                names |= inner
                if len(inner) < len(members):
                    names.add(str(node.module))
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
        imported[module] = names & modules.keys()
    return imported


def test_no_two_modules_import_each_other() -> None:
    """Whoever reads one of them can stop at the other: no pair is one thing in two."""
    imported = _imports()
    pairs = [
        (module, other)
        for module, others in imported.items()
        for other in sorted(others)
        if module < other and module in imported[other]
    ]
    assert pairs == []
