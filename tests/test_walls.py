"""The checking rooms stand apart from the rooms that make what they check."""

from __future__ import annotations

import subprocess
import sys

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
