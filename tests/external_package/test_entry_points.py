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
    return _child(site, "-c", code)


def _child(site: Path, *arguments: str, code: int = 0) -> str:
    """Return what Python prints in `site`, which ends with an exit code."""
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=site,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == code, done.stderr
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


STAR = """
[fabric]
kind = "star"
nodes = 6
wavelengths = 4
"""


def test_every_command_knows_circuits_from_outside(site: Path) -> None:
    """One file says what a star is: the rest follows, its own bound included."""

    def lightloom(*arguments: str, code: int = 0) -> str:
        return _child(site, "-m", "lightloom", *arguments, code=code)

    task = '[collective]\nop = "all-gather"\nbuffer_bytes = 6291456\n'
    (site / "star.toml").write_text(STAR + task, encoding="utf-8")
    # One setting, and two steps at least, as a node hears two others at a time; then 30
    # messages of 1 MiB share 4 wavelengths of 100 Gb/s.
    least_us = 1 + 2 * 0.7 + 30 * 2**20 * 8 / (4 * 1e5)
    rows = [line.split() for line in lightloom("bound", "star.toml").splitlines()]
    assert ["prices", f"{least_us:.3f}", "us"] in [row[:3] for row in rows]
    lightloom("synth", "star.toml", "-o", "star.jsonl")
    assert "witness checked" in lightloom("verify", "star.jsonl")
    assert "completion time" in lightloom("replay", "star.jsonl")
    planes = lightloom("export", "star.jsonl", "--to", "csv", "-o", "-")
    assert planes.startswith("time_ps,established_ps,plane,action,src,dst,wavelengths")
    lightloom("export", "star.jsonl", "--to", "msccl", "-o", "star.xml")


TWO_WAVELENGTHS = """
[fabric]
kind = "star"
nodes = 6
wavelengths = 2
lasers = 1

[collective]
op = "all-gather"
buffer_bytes = 6144
"""


def test_a_kind_of_bound_from_outside(site: Path) -> None:
    """It is searched for, written, and verified; without its package it is named."""

    def lightloom(*arguments: str, code: int = 0) -> str:
        return _child(site, "-m", "lightloom", *arguments, code=code)

    (site / "star.toml").write_text(TWO_WAVELENGTHS, encoding="utf-8")
    # 6 nodes hear on 2 wavelengths: 3 segments of a setting and a portion each, and 30
    # messages of 1 KiB share 2 wavelengths of 100 Gb/s.
    least_us = 3 * 1 + 3 * 0.7 + 30 * 2**10 * 8 / (2 * 1e5)
    bound = lightloom("bound", "star.toml")
    assert f"no schedule ends before {least_us:.3f} us (hearers)" in bound
    lightloom("synth", "star.toml", "-o", "star.jsonl")
    assert "hearers bound" in lightloom("verify", "star.jsonl")
    for entry_points in site.glob("*.dist-info/entry_points.txt"):
        text = entry_points.read_text(encoding="utf-8")
        kept = [part for part in text.split("\n\n") if "hearers" not in part]
        entry_points.write_text("\n\n".join(kept), encoding="utf-8")
    refused = lightloom("verify", "star.jsonl", code=1)
    assert "certificate-kind" in refused
    assert "unknown kind 'hearers'" in refused


@pytest.mark.parametrize("group", ["lightloom.bounds", "lightloom.searches"])
def test_a_broken_bound_breaks_itself_alone(site: Path, group: str) -> None:
    """What cannot be loaded is told, and the other kinds are found as ever."""
    name = "lost" if group.endswith("bounds") else "hearers"
    for entry_points in site.glob("*.dist-info/entry_points.txt"):
        text = entry_points.read_text(encoding="utf-8")
        ours = "hearers = loom_extras.hearers_search:SEARCH"
        entry_points.write_text(text.replace(ours, ""), encoding="utf-8")
    _offer(site, "broken", {group: {name: "no_such_module:X"}})
    (site / "star.toml").write_text(TWO_WAVELENGTHS, encoding="utf-8")
    printed = _run(
        site,
        "import lightloom as ll\n"
        "from lightloom.synth.bounds import usable_kinds\n"
        "told = []\n"
        "kinds = usable_kinds(told.append)\n"
        f"print('prices' in kinds, {name!r} in kinds)\n"
        "print(ll.bound('star.toml').certificates[0].kind)\n"
        "print(*told)\n",
    )
    found, kind, told = printed.splitlines()
    assert found == "True False"
    assert kind == "prices"
    assert told.startswith(f"entry point {group}: {name} of broken: ")


def test_resources_from_outside_are_counted(site: Path) -> None:
    """A wavelength that two circuits take is named, under a rule of the fabric."""
    printed = _run(
        site,
        "from dataclasses import replace\n"
        "import lightloom as ll\n"
        "from lightloom.core.columns import Ragged\n"
        "fabric = ll.fabrics.Star(nodes=6, wavelengths=4)\n"
        "task = ll.Collective('all-gather', buffer_bytes=6144)\n"
        "made = ll.synthesise(ll.Instance(fabric, task)).schedule\n"
        "first, *others = made.segments\n"
        "same = Ragged.from_lists([[0] for _ in first.circuits.src])\n"
        "circuits = replace(first.circuits, wavelengths=same)\n"
        "first = replace(first, circuits=circuits)\n"
        "broken = replace(made, segments=(first, *others))\n"
        "found = [one for one in ll.verify(broken).violations if one.resource]\n"
        "print(sorted({(one.rule, one.resource) for one in found})[0])\n",
    )
    assert printed == "('coupler', 'wavelength 0')\n"


def test_a_training_sets_circuits_from_outside(site: Path) -> None:
    """Light that serves pairs of a step also serves an iteration."""
    (site / "train.toml").write_text(
        STAR + '[computation]\nmodel = "ncf"\nbatch_size = 64\n', encoding="utf-8"
    )
    shape = ("--model-parallel", "1", "--replicas", "4", "--circuits", "one-shot")
    told = _child(site, "-m", "lightloom", "train", "train.toml", *shape)
    assert "1 x 4" in told


def test_demands_on_circuits_from_outside(site: Path) -> None:
    """Pairs of more than there is light for are lit one after another."""
    printed = _run(
        site,
        "import lightloom as ll\n"
        "rows = [(a, b, 10**6 * (1 + a)) for a in range(6) for b in range(6) if a != b]"
        "\n"
        "fabric = ll.fabrics.Star(nodes=6, wavelengths=4)\n"
        "made = ll.synthesise(ll.Instance(fabric, ll.Demand.from_rows(rows)))\n"
        "print(ll.verify(made.schedule).valid)\n"
        "print(made.certificate.bound <= made.completion_time_ps)\n",
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
