"""Shapes: what the links of packet fabrics suggest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.task import Collective
from lightloom.instances.catalogue import clusters
from lightloom.instances.fabrics.packet_forwarding import Torus
from lightloom.instances.fabrics.packet_tiers import IdealSwitch, SuperPod
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm, proposed
from lightloom.synth.fabrics import realiser_of
from lightloom.synth.synthesise import synthesise

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.auto import Proposal

_SHAPED = ("level-scatter-gather", "levels", "torus-rings")


def shape_of(fabric: AnyFabric) -> tuple[int, ...]:
    """Return the box of a collective of all nodes."""
    task = Collective("all-reduce", tuple(range(fabric.node_count)), 64)
    return realiser_of(fabric).arrange(task).shape


def shaped_proposals(fabric: AnyFabric, task: Collective) -> list[Proposal]:
    """Return the proposals that follow links."""
    realiser = realiser_of(fabric)
    setting = realiser.setting(task, realiser.arrange(task))
    return [proposal for proposal in proposed(setting) if proposal[0] in _SHAPED]


def test_shapes_follow_the_numbering_of_nodes() -> None:
    """Layers before rows before columns; servers before their GPUs; digits."""
    assert shape_of(Torus(rows=3, cols=4, layers=2)) == (2, 3, 4)
    assert shape_of(Torus(rows=1, cols=4)) == (4,)
    assert shape_of(clusters(64)["bcube"]) == (8, 8)
    assert shape_of(SuperPod(nodes=24)) == (3, 8)
    assert shape_of(SuperPod(nodes=25)) == ()
    assert shape_of(SuperPod(nodes=8)) == ()
    assert shape_of(IdealSwitch(nodes=16)) == ()


@pytest.mark.parametrize("op", ["all-reduce", "all-gather", "broadcast", "all-to-all"])
@pytest.mark.parametrize("kind", ["torus", "bcube", "superpod", "topoopt"])
def test_proposals_can_be_made(kind: str, op: str) -> None:
    """Each is an algorithm that does the operation on as many ranks; none twice."""
    fabric = clusters(16)[kind]
    task = Collective(op, tuple(range(16)), 4096)
    found = shaped_proposals(fabric, task)
    for name, parameters in found:
        made = make_algorithm(name, parameters, op=op)
        assert made.granularity(16, 15) >= 16
    assert len({str(proposal) for proposal in found}) == len(found)
    assert bool(found) == (kind != "topoopt")


def test_some_nodes_or_another_order_have_no_shape() -> None:
    """Neighbours of ranks are then not neighbours of nodes."""
    fabric = Torus(rows=4, cols=4)
    for nodes in ((0, 1, 2, 3), tuple(reversed(range(16))), (5,)):
        task = Collective("all-reduce", nodes, 64)
        assert shaped_proposals(fabric, task) == []


def test_large_blocks_are_not_cut_in_parts() -> None:
    """Beyond two million rows whole blocks travel; all-reduce has ranges anyway."""
    fabric = Torus(rows=32, cols=64)
    nodes = tuple(range(2048))
    gather = shaped_proposals(fabric, Collective("all-gather", nodes, 2**22))
    assert {parameters["parts"] for _, parameters in gather} == {1}
    reduce = shaped_proposals(fabric, Collective("all-reduce", nodes, 2**22))
    assert {parameters["parts"] for _, parameters in reduce} == {1, 2}


@pytest.mark.parametrize("kind", ["torus", "topoopt", "superpod", "fat-tree"])
def test_auto_predicts_packets_exactly_before_it_realises(kind: str) -> None:
    """What was realised took the predicted time; no other is predicted to be faster."""
    fabric = clusters(16)[kind]
    task = Collective("all-reduce", tuple(range(16)), 2**20)
    found = synthesise(Instance(fabric, task, "test")).incumbent
    assert found is not None
    best = found.compared[0]
    assert best.completion_time_ps is not None
    for one in found.compared:
        if one.completion_time_ps is not None:
            assert one.predicted_ps == one.completion_time_ps
        else:
            assert one.predicted_ps >= best.completion_time_ps
