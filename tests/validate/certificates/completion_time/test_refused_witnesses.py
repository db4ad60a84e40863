"""Witnesses of no form, and questions that a kind of bound does not speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lightloom.core.task import Collective, Demand
from lightloom.core.units import MIB
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_tiers import IdealSwitch, SuperPod
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.validate.certificates.completion_time import proven_ps
from lightloom.validate.certificates.witness import WitnessError
from tests.examples.relays import ASKED, STRAIGHT, SWITCH

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

RACK, DARK = Lightpath(rows=16, cols=16), Lightpath(rows=16, cols=16, lasers=0)
THREE, POD = IdealSwitch(nodes=3), SuperPod(nodes=4, gpus_per_server=2)
FOURS, RAMP = Sipac(radix=4), Ramp(groups=2, racks=2, nodes_per_rack=2)
RING, FULL_RING = Ring(nodes=6, wavelengths=4), Ring(nodes=16, wavelengths=16)
GRID = Ring2d(rows=3, cols=4, row_wavelengths=6, column_wavelengths=6, directions=2)
OCS = Ocs(nodes=4, switches=2, bits_per_second_per_node=2 * 10**9)
PAIR = Demand.from_rows([(0, 1, 5), (0, 3, 6), (1, 5, 8)])
NEAR = Demand.from_rows([(0, 1, 5), (0, 2, 6), (1, 2, 8), (0, 4, 7)])
PAIR_OF_NODES = Demand.from_rows([(0, 1, 10)])
DIRECT = Demand.from_rows([(0, 1, 5), (1, 2, 7)])


def _task(op: str, ranks: int, size_bytes: int = 64) -> Collective:
    return Collective(op, tuple(range(ranks)), size_bytes)


SUM = _task("all-reduce", 256, MIB)
GATHER, SEND = (_task(op, 3, 3 * MIB) for op in ("all-gather", "broadcast"))
ONE, LINE = {"node": 0}, {"node": 0, "direction": 0}
LENGTHS: Witness = {"links": [0], "lengths": [1]}
PORT: Witness = {"resources": [0], "prices": [1]}
TWO_WAYS = Ring(nodes=6, wavelengths=4, directions=2)

REFUSED: tuple[tuple[Any, ...], ...] = (
    ("receive", RACK, SUM, "", {}, {"node": 256}, {"node": [1]}),
    ("send", RACK, SUM, "", {"node": -1}, LINE),
    ("volume", RACK, SUM, "", ONE),
    ("volume", DARK, _task("all-reduce", 2, MIB), "carries nothing", {}),
    ("growth", RACK, SUM, "", ONE, {"node": 0, "direction": 2}),
    ("cut", RACK, SUM, "", {"nodes": 3}, {"nodes": [0, 0]}, {"nodes": [0, 256]}),
    ("cut", RACK, SUM, "keys", {"nodes": [0], "node": 0}),
    ("busiest-link", THREE, DIRECT, "", {}, {"link": -1}, {"link": 10**9}),
    ("busiest-link", THREE, Demand.from_rows([(0, 1, 5)]), "no route", {"link": 2}),
    ("busiest-link", THREE, GATHER, "about demands", {"link": 0}),
    ("link-lengths", THREE, GATHER, "keys", {}),
    ("link-lengths", THREE, GATHER, "or none", {"links": [], "lengths": []}),
    ("link-lengths", THREE, GATHER, "", {**LENGTHS, "lengths": [-1]}),
    ("link-lengths", THREE, GATHER, "", {**LENGTHS, "lengths": [0]}),
    ("link-lengths", THREE, GATHER, "", {**LENGTHS, "lengths": [2**30]}),
    ("link-lengths", THREE, GATHER, "", {"links": [0, 0], "lengths": [1, 1]}),
    ("link-lengths", THREE, GATHER, "", {"links": [0, 1], "lengths": [1]}),
    ("link-lengths", THREE, GATHER, "no route uses", {"links": [6], "lengths": [1]}),
    ("link-lengths", THREE, DIRECT, "about collectives", LENGTHS),
    ("link-lengths", RACK, GATHER, "on packet fabrics", LENGTHS),
    ("link-stream", THREE, GATHER, "", {"out": [0], "into": [4, 5]}),
    ("link-stream", THREE, SEND, "", {"out": [1], "into": [4, 5]}),
    ("link-stream", THREE, SEND, "", {"out": [0], "into": []}),
    ("link-stream", THREE, SEND, "", {"out": [0], "into": [3]}),
    ("link-stream", POD, _task("broadcast", 4), "", {"out": [12], "into": [20, 21]}),
    ("distance", GRID, _task("broadcast", 12), "", {}, {"node": 1}, {"node": 12}),
    ("distance", GRID, _task("broadcast", 2), "takes no part", {"node": 5}),
    ("distance", GRID, _task("scatter", 12, 24), "about broadcast", {"node": 5}),
    ("distance", THREE, _task("reduce", 2), "about broadcast", {"node": 1}),
    ("spans", GRID, PAIR, "", {}, {"axis": 2}),
    ("spans", RING, PAIR, "", {"axis": 1}),
    ("spans", Sipac(radix=3), PAIR, "about rings", {"axis": 0}),
    ("level", FOURS, NEAR, "", {"level": 0}, {**LINE, "level": 2}),
    ("level", FOURS, NEAR, "", {**LINE, "level": 0, "node": 16}),
    ("level", FOURS, NEAR, "", {**LINE, "level": 0, "direction": 2}),
    ("level", FOURS, NEAR, "", {**LINE, "level": [0]}),
    (
        "level",
        FOURS,
        _task("all-to-all", 16),
        "",
        {},
        {"level": -1},
        {**ONE, "level": 0},
    ),
    ("level", THREE, _task("all-to-all", 2), "about SiPAC", {"level": 0}),
    ("prices", TWO_WAYS, DIRECT, "or none", {"resources": [], "prices": []}),
    ("prices", TWO_WAYS, DIRECT, "equally many", {"resources": [0], "prices": [1, 1]}),
    ("prices", TWO_WAYS, DIRECT, "twice", {"resources": [0, 0], "prices": [1, 1]}),
    ("prices", TWO_WAYS, DIRECT, "from 0", {"resources": [-1], "prices": [1]}),
    ("prices", TWO_WAYS, DIRECT, "not below 24", {"resources": [24], "prices": [1]}),
    ("prices", TWO_WAYS, DIRECT, "from 0", {"resources": [12], "prices": [-1]}),
    ("prices", TWO_WAYS, DIRECT, "from 0", {"resources": [12], "prices": [2**24 + 1]}),
    ("prices", TWO_WAYS, DIRECT, "own resources", {**PORT, "crowd": [1]}),
    ("prices", TWO_WAYS, DIRECT, "equally many", {**PORT, "crowd": []}),
    ("prices", TWO_WAYS, DIRECT, "keys", {"resources": [12], "crowd": [1]}),
    ("prices", TWO_WAYS, DIRECT, "keys", {**PORT, "more": 1}),
    ("prices", RAMP, DIRECT, "are not below", {"resources": [24], "prices": [1]}),
    ("prices", IdealSwitch(nodes=6), DIRECT, "", {"resources": [24], "prices": [1]}),
    (
        *("prices", Sipac(radix=3), DIRECT, "crowd is about"),
        {"resources": [18], "prices": [1], "crowd": [1]},
    ),
    ("line", OCS, PAIR_OF_NODES, "", {}, ONE, {**LINE, "node": 4}),
    ("switch-uses", OCS, PAIR_OF_NODES, "", {}, ONE, {**LINE, "direction": 2}),
    ("line", OCS, _task("all-to-all", 4), "about demands", LINE),
    ("switch-uses", OCS, _task("all-to-all", 4), "about demands", LINE),
    ("ring-hops", FULL_RING, _task("all-gather", 16), "allowed: none", ONE),
    ("ring-hops", FULL_RING, _task("all-gather", 8), "all nodes", {}),
    ("ring-hops", FULL_RING, _task("all-to-all", 16), "about gossip", {}),
    ("ring-hops", FULL_RING, _task("scatter", 16), "about gossip", {}),
    ("hops", RACK, _task("all-to-all", 256), "allowed: none", ONE),
    ("hops", RACK, _task("all-gather", 256), "the kind hops", {}),
    ("hops", THREE, _task("all-to-all", 3), "the kind hops", {}),
    ("hops", DARK, _task("all-to-all", 256), "carries nothing", {}),
    ("sums", RACK, SUM, "allowed: none", ONE),
    ("sums", RACK, _task("all-gather", 256), "the kind sums", {}),
    ("sums", THREE, _task("all-reduce", 3), "the kind sums", {}),
    ("sums", DARK, SUM, "carries nothing", {}),
    ("planes", THREE, GATHER, "the kind planes is about", {}),
    ("planes", OCS, GATHER, "keys", ONE),
    ("relays", SWITCH, STRAIGHT, "allow relays", {}),
    ("relays", SWITCH, ASKED, "keys", ONE),
)
"""Kind, fabric, task, words of the refusal, and witnesses that are refused so."""


@pytest.mark.parametrize(
    ("kind", "fabric", "task", "words", "witness"),
    [
        pytest.param(*row[:4], witness, id=f"{row[0]}-{number}-{place}")
        for number, row in enumerate(REFUSED)
        for place, witness in enumerate(row[4:])
    ],
)
def test_refused(
    kind: str, fabric: AnyFabric, task: Task, words: str, witness: Witness
) -> None:
    """Other keys, types, nodes and resources, other fabrics and tasks prove nothing."""
    with pytest.raises(WitnessError, match=words or None):
        proven_ps(kind, fabric, task, witness)
