"""Entry points: what another package offers works as if it were ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Install the package of this folder as a wheel would, without a network."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))
    shutil.copytree(HERE / "loom_extras", tmp_path / "loom_extras")
    _offer(tmp_path, "loom_extras", project["project"]["entry-points"])
    return tmp_path


def _offer(site: Path, name: str, groups: dict[str, dict[str, str]]) -> None:
    """Write the metadata of an installed package with entry points."""
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (folder / "METADATA").write_text(metadata, encoding="utf-8")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {place}\n" for key, place in points.items())
        for group, points in groups.items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def _run(site: Path, code: str) -> str:
    """Return what a child process prints that finds packages in `site` too."""
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fabric_and_algorithm_from_outside(site: Path) -> None:
    """Its record stands with ours, and its schedule passes every check."""
    printed = _run(
        site,
        "import lightloom as ll\n"
        "fabric = ll.fabrics.Bus(nodes=4)\n"
        "task = ll.Collective('all-gather', buffer_bytes=4096)\n"
        "made = ll.synthesise(ll.Instance(fabric, task), 'straight')\n"
        "print(made.schedule.algorithm.name, ll.verify(made.schedule).valid)\n"
        "from lightloom.plans.algorithms import ALGORITHMS\n"
        "print('straight' in ALGORITHMS.names, 'direct' in ALGORITHMS.names)\n"
        "try:\n"
        "    ll.fabrics.Bus(nodes=0)\n"
        "except ll.LightloomError as problem:\n"
        "    print(problem)\n",
    )
    assert printed.splitlines() == [
        "straight True",
        "True True",
        "Bus.nodes: value not allowed; found 0; allowed: integer >= 1",
    ]


def test_auto_compares_an_algorithm_from_outside(site: Path) -> None:
    """One file is enough, on a fabric of ours and on one from outside."""
    printed = _run(
        site,
        "import lightloom as ll\n"
        "task = ll.Collective('all-gather', buffer_bytes=4096)\n"
        "for fabric in (ll.fabrics.Bus(nodes=4), ll.fabrics.IdealSwitch(nodes=4)):\n"
        "    made = ll.synthesise(ll.Instance(fabric, task))\n"
        "    times = {one.algorithm: one.predicted_ps for one in made.compared}\n"
        "    print(times['straight'] == times['direct'] > 0)\n",
    )
    assert printed.splitlines() == ["True", "True"]


def test_solver_from_outside(site: Path) -> None:
    """It solves in a process of its own, as ours do."""
    printed = _run(
        site,
        "import pyomo.environ as pyo\n"
        "from lightloom.solvers import run\n"
        "model = pyo.ConcreteModel()\n"
        "model.x = pyo.Var(bounds=(2, 7))\n"
        "model.cost = pyo.Objective(expr=model.x)\n"
        "print(run(model, 'borrowed').objective)\n",
    )
    assert printed == "2.0\n"


def test_a_broken_package_breaks_itself_alone(site: Path) -> None:
    """Its entry says what cannot be loaded and from where; ours work all the same."""
    _offer(site, "broken", {"lightloom.algorithms": {"lost": "no_such_module:X"}})
    printed = _run(
        site,
        "import lightloom as ll\n"
        "made = ll.synthesise('ideal-switch-4/all-gather-1KiB', 'direct')\n"
        "print(made.schedule.algorithm.name)\n"
        "made = ll.synthesise('ideal-switch-4/all-gather-1KiB')\n"
        "print('straight' in [one.algorithm for one in made.compared])\n"
        "from lightloom.plans.algorithms import ALGORITHMS\n"
        "print(ALGORITHMS.get('direct').name)\n"
        "try:\n"
        "    ALGORITHMS.get('lost')\n"
        "except ll.LightloomError as problem:\n"
        "    print(problem)\n",
    )
    ours, compared, known, said = printed.splitlines()
    assert (ours, compared, known) == ("direct", "True", "direct")
    assert said.startswith("entry point lightloom.algorithms: lost of broken: ")
    assert "No module named 'no_such_module'" in said
    assert said.endswith("mend or uninstall broken")


def test_two_packages_of_one_name(site: Path) -> None:
    """Which of them is meant would be chance."""
    _offer(site, "twin", {"lightloom.algorithms": {"straight": "loom_extras.bus:Bus"}})
    printed = _run(
        site,
        "import lightloom as ll\n"
        "from lightloom.plans.algorithms import ALGORITHMS\n"
        "try:\n"
        "    ALGORITHMS.names\n"
        "except ll.LightloomError as problem:\n"
        "    print(problem)\n",
    )
    assert "a second algorithm of this name; found 'straight'" in printed
