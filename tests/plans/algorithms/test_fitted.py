"""Algorithms that choose arcs and pieces by the rates of links, on packet fabrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.cli.main import lightloom
from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.packet_forwarding import BCube, TopoOpt, Torus
from lightloom.instances.fabrics.packet_tiers import FatTree, SuperPod
from lightloom.instances.instance import AnyFabric, Instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify

if TYPE_CHECKING:
    from pathlib import Path

FABRICS: tuple[AnyFabric, ...] = (
    Torus(rows=3, cols=4),
    Torus(rows=2, cols=2),
    TopoOpt(nodes=9, degree=3),
    BCube(radix=3),
    SuperPod(nodes=8, gpus_per_server=4),
    FatTree(nodes=8, nodes_per_leaf=4, oversubscription=4),
)
NAMES = ("one-relay", "part-trees", "translated-trees")
OFFERED = [(name, op) for name in NAMES for op in ALGORITHMS[name].ops]


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_any_size_and_root_on_any_fabric(data: st.DataObject) -> None:
    """Schedules are valid, down to blocks of four bytes."""
    name, op = data.draw(st.sampled_from(OFFERED))
    fabric = data.draw(st.sampled_from(FABRICS))
    count = fabric.node_count
    root = None
    if op in ("broadcast", "gather", "reduce", "scatter"):
        root = data.draw(st.integers(0, count - 1))
    parameters = {"steps": data.draw(st.integers(2, 7))}
    size_bytes = count * data.draw(st.sampled_from([4, 12, 4096, 10**6]))
    task = Collective(op, tuple(range(count)), size_bytes, None, root)
    found = synthesise(Instance(fabric, task, "a test"), name, parameters).incumbent
    assert found is not None
    assert verify(found.schedule).violations == ()


@pytest.mark.parametrize(
    ("name", "most_us"),
    [
        ("superpod-64/all-gather-256MiB", 1503.9),
        ("superpod-64/gather-4MiB", 28.2),
        ("superpod-16/broadcast-256MiB", 1740.0),
        ("topoopt-64/all-to-all-256MiB", 3919.9),
        pytest.param("topoopt-16/all-reduce-4MiB", 36.0, marks=pytest.mark.slow),
        pytest.param("torus-64/scatter-256MiB", 1033.6, marks=pytest.mark.slow),
        ("torus-16/scatter-256MiB", 984.5),
        pytest.param("torus-16/broadcast-256MiB", 1160.0, marks=pytest.mark.slow),
        ("fat-tree-64/reduce-scatter-4MiB", 18.3),
    ],
)
def test_auto_finds_them(name: str, most_us: float) -> None:
    """Times as they were constructed by hand, or better."""
    found = synthesise(load_instance(name)).objective
    assert found is not None
    assert found <= most_us * 10**6


@pytest.mark.parametrize("op", ["all-gather", "all-to-all"])
def test_some_ranks_are_refused(op: str) -> None:
    """Ranks that do not look alike have no translations; the message says so."""
    name = "translated-trees" if op == "all-gather" else "one-relay"
    instance = Instance(FABRICS[0], Collective(op, (0, 1, 5), 12), "a test")
    with pytest.raises(InputError, match=r"look alike.*all nodes"):
        synthesise(instance, name)


def test_a_number_of_steps_is_no_list(tmp_path: Path) -> None:
    """Another algorithm has steps too, a list of them; each is read as its own."""
    name = str(tmp_path / "made.jsonl")
    given = ("--algorithm", "part-trees", "--param", "steps=6", "-o", name)
    result = CliRunner().invoke(lightloom, ["synth", "fat-tree-16/reduce-4MiB", *given])
    assert result.exit_code == 0, result.output
