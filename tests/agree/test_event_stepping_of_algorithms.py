"""Every algorithm's schedules, on every fabric, against the event-stepping replays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics import FABRICS, load_fabric
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.problems import PROBLEMS
from lightloom.synth.auto import AUTO
from lightloom.synth.fabrics import plug_of
from lightloom.synth.synthesise import synthesise
from tests.oracle.circuit_agreement import agree_on_circuits
from tests.oracle.packet_stepping import agree_on_packets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.core.schedule import Schedule

TABLES: dict[str, dict[str, Any]] = {
    "bcube": {"radix": 2, "level": 2, "hop_latency_ps": 5},
    "electrical-cluster": {"nodes": 8, "nodes_per_server": 4},
    "fat-tree": {"nodes": 8, "nodes_per_leaf": 2, "leaves_per_pod": 2},
    "ideal-switch": {"nodes": 8, "switch_latency_ps": 3},
    "lightpath": {"rows": 2, "cols": 4, "lasers": 3, "waveguides": 2},
    "ocs": {"nodes": 4, "switches": 3, "bits_per_second_per_node": 10**12},
    "ramp": {"groups": 2, "racks": 2, "nodes_per_rack": 2},
    "ring": {"nodes": 4, "wavelengths": 4},
    "ring-2d": {
        "rows": 2,
        "cols": 2,
        "row_wavelengths": 4,
        "column_wavelengths": 4,
    },
    "sipac": {"radix": 2, "level": 2},
    "superpod": {"nodes": 8, "gpus_per_server": 2, "servers_per_unit": 2},
    "topoopt": {"nodes": 8, "degree": 2, "hop_latency_ps": 5},
    "torus": {"rows": 2, "cols": 4, "hop_latency_ps": 5},
}
WITHOUT_DEMANDS = ("ramp",)
CHOICE_OF_ITS_OWN = ("ramp", "ring-2d", "sipac")
"""Where `auto` is more than the best of the algorithms."""
SEARCHED = {"packed-trees": ("lightpath",)}
"""Algorithms that search long, and where the fast suite has them."""
LARGER: dict[str, tuple[dict[str, Any], dict[str, object]]] = {
    "hub-relays": ({"kind": "ideal-switch", "nodes": 72}, {"degree": 6}),
}
"""Fabrics and parameters for algorithms that need more nodes."""


def _collective(table: dict[str, Any], op: str) -> Instance:
    fabric = load_fabric(table)
    count = fabric.node_count
    task = Collective(op, tuple(range(count)), 840 * count)
    return Instance(fabric, task, "test")


def _demand(table: dict[str, Any]) -> Instance:
    fabric = load_fabric(table)
    nodes = range(fabric.node_count)
    rows = [(node, node ^ 1, 1000 + 7 * node) for node in nodes]
    return Instance(fabric, Demand.from_rows(rows), "test")


def _agree(made: Schedule) -> None:
    if isinstance(load_fabric(made.fabric), CircuitFabric):
        agree_on_circuits(made)
    else:
        agree_on_packets(made)


def _made(name: str, kinds: Iterable[str]) -> Iterator[Schedule]:
    """Yield what an algorithm makes of every collective that it does."""
    entry = ALGORITHMS[name]
    cases: list[tuple[dict[str, Any], dict[str, object]]] = [
        ({"kind": kind, **TABLES[kind]}, {}) for kind in kinds
    ]
    for table, parameters in [LARGER[name]] if name in LARGER else cases:
        for op in entry.ops:
            try:
                outcome = synthesise(_collective(table, op), name, parameters)
            except (InputError, InfeasibleError):  # not on this fabric
                continue
            assert outcome.incumbent is not None
            yield outcome.incumbent.schedule


def test_every_fabric_is_listed() -> None:
    """A new fabric belongs in `TABLES`, and has a plug that makes schedules for it."""
    assert set(TABLES) == set(FABRICS)
    for kind, table in TABLES.items():
        plug = plug_of(load_fabric({"kind": kind, **table}))
        assert plug.realiser is not None or plug.schedules is not None


@pytest.mark.parametrize("name", ALGORITHMS)
def test_collectives_of_an_algorithm(name: str) -> None:
    """On whichever fabrics it makes a schedule, both replays time it alike."""
    made = list(_made(name, SEARCHED.get(name, TABLES)))
    for schedule in made:
        _agree(schedule)
    assert made


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHED)
def test_collectives_of_a_long_search(name: str) -> None:
    """Likewise on the other fabrics."""
    made = list(_made(name, sorted({*TABLES} - {*SEARCHED[name]})))
    for schedule in made:
        _agree(schedule)
    assert made


@pytest.mark.parametrize("op", COLLECTIVES)
@pytest.mark.parametrize("kind", CHOICE_OF_ITS_OWN)
def test_fabrics_with_ways_of_their_own(kind: str, op: str) -> None:
    """So they do what a fabric's own synthesiser takes for the best."""
    outcome = synthesise(_collective({"kind": kind, **TABLES[kind]}, op), AUTO)
    assert outcome.incumbent is not None
    _agree(outcome.incumbent.schedule)


@pytest.mark.parametrize("kind", sorted({*TABLES} - {*WITHOUT_DEMANDS}))
def test_demands(kind: str) -> None:
    """Bytes between pairs take the same time in both replays."""
    outcome = synthesise(_demand({"kind": kind, **TABLES[kind]}), AUTO)
    assert outcome.incumbent is not None
    _agree(outcome.incumbent.schedule)


@pytest.mark.parametrize("name", sorted({*PROBLEMS} - {"placement"}))
def test_answers_to_problems(name: str) -> None:
    """So do the schedules that our own algorithms for the problems answer with."""
    made = list(_answers(name))
    for schedule in made:
        _agree(schedule)
    assert made


def _answers(name: str) -> Iterator[Schedule]:
    """Yield the schedules of a problem's answers, wherever it is one."""
    tables = [{"kind": kind, **keys} for kind, keys in TABLES.items()]
    instances = [_demand(table) for table in tables]
    instances += [_collective(table, op) for table in tables for op in COLLECTIVES]
    for instance in instances:
        try:
            answer = PROBLEMS[name].solve(instance, 0)
            assert answer.schedule is not None
            yield answer.schedule()
        except (InputError, InfeasibleError, NoAnswerError):  # none, or not at once
            continue
