"""What the default install promises works without any extra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.bench.suites import write_suite
from tests.cli.program import START

ROOT = Path(__file__).parents[1]
EXTRAS = ("dask", "distributed", "gurobipy", "hypothesis", "onnx", "ortools", "pandas")
HIDE = f"""
import sys

class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Hiding, sys.meta_path)
"""
"""Hides packages from this process and, as it is on their path, from its children."""

ONNX = """
[fabric]
kind = "ocs"
nodes = 16
switches = 16
bits_per_second_per_node = 1000000000000
alpha_ps = 0
reconfiguration_ps = 0
[computation]
onnx = "net.onnx"
batch_size = 64
"""


ONE_BY_ONE = """
import json
import sys

from lightloom.cli.main import main

for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as end:
        if end.code:
            sys.exit(f"{arguments}: {end.code}")
"""
"""Commands in one process, until one of them fails."""


def without_extras(
    folder: Path, *arguments: str, start: str = START
) -> subprocess.CompletedProcess[str]:
    """Run the program where no package of an extra can be imported."""
    (folder / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
    path = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", start, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_everyday_commands(tmp_path: Path) -> None:
    """A schedule is made, verified, replayed and bounded; problems are solved."""
    commands = [
        ["instances", "show", "lightpath-8/all-reduce-1MiB"],
        ["synth", "lightpath-8/all-reduce-1MiB", "-o", "made.jsonl"],
        ["verify", "made.jsonl"],
        ["replay", "made.jsonl"],
        ["bound", "lightpath-8/all-reduce-1MiB"],
        ["solve", "ring-8/groups-3MB", "--problem", "ring"],
        ["solve", "ocs-8/groups-3MB", "--problem", "ocs", "--solver", "highs"],
        ["model", "ocs-8/groups-3MB", "--problem", "ocs", "--write", "out.lp"],
        ["train", "ocs-16/bert-large-batch64", "--replayed", "1"],
        ["solvers"],
    ]
    done = without_extras(tmp_path, json.dumps(commands), start=ONE_BY_ONE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.lp").exists()
    wrong = [["verify", "made.jsonl"], ["verify", "missing.jsonl"]]
    failed = without_extras(tmp_path, json.dumps(wrong), start=ONE_BY_ONE)
    assert "missing.jsonl'" in failed.stderr.splitlines()[-1]


def test_benchmarks_on_this_machine(tmp_path: Path) -> None:
    """A suite runs without Dask."""
    suite = write_suite(tmp_path, by=["lightloom", "highs"])
    done = without_extras(tmp_path, "bench", "run", suite, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["made"] == 2


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("ortools", ("solve", "ocs-8/groups-3MB", "--problem", "ocs", "--solver")),
        ("gurobi", ("solve", "ocs-8/groups-3MB", "--problem", "ocs", "--solver")),
        ("dask", ("bench", "run", "smoke", "--scheduler", "tcp://127.0.0.1:9")),
        ("onnx", ("train", "net.toml")),
        ("testing", ("conform", "tests.examples.synthesisers:honest")),
    ],
)
def test_a_missing_extra_is_one_line(
    extra: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """It names the command that installs it; exit code 2, no traceback."""
    (tmp_path / "net.toml").write_text(ONNX, encoding="utf-8")
    solver = {"ortools": ("cp-sat",), "gurobi": ("gurobi",)}
    done = without_extras(tmp_path, *arguments, *solver.get(extra, ()))
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("lightloom: error: ")
    assert f"pip install 'lightloom[{extra}]'" in last
    assert "Traceback" not in done.stderr


def test_extras_are_installed_for_development() -> None:
    """The extra `dev`, and so the lock, holds all of the others; `all` names them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = set(extras) - {"all", "dev"}
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == names
    for name in sorted(names):
        assert set(extras[name]) <= set(extras["dev"]), name
