"""A fabric of one's own: a record and a plug, and everything works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
import numpy as np
import pytest

from lightloom.core.circuit import Circuits
from lightloom.core.columns import column
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.fabric import Usage
from lightloom.core.schedule import Segment, StepPart
from lightloom.core.task import Collective, Demand
from lightloom.formats.schedule_reader import read_schedule
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics import FABRICS, FabricKind
from lightloom.instances.instance import Instance
from lightloom.replay import replay
from lightloom.synth.demand_subsets import largest_pairs
from lightloom.synth.fabrics import PLUGS
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Realiser
from lightloom.synth.fabrics.training_plug import TrainingCircuits
from lightloom.synth.publish import publish
from lightloom.synth.realisation import Realisation, take_rows
from lightloom.synth.synthesise import synthesise
from lightloom.training.planner import Planner
from lightloom.training.training_plan import TrainingRequest
from lightloom.validate import verify
from tests.examples.small_trainings import training

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFault, FabricTable
    from lightloom.synth.traffic import TrafficRound
    from lightloom.training.fabric_networks import CircuitMode

# -- what would be instances/fabrics/crossbar.py -------------------------------------


class Crossbar(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One switch that joins every input to one output."""

    plane_count: ClassVar[int] = 1
    ports_per_node: ClassVar[int] = 1
    circuit_columns: ClassVar[tuple[str, ...]] = ()
    initial_configuration_charged: ClassVar[bool] = True
    dark_while_reconfiguring: ClassVar[str] = "plane"

    kind: Literal["crossbar"] = "crossbar"
    nodes: int
    bits_per_second: int = 10**11
    alpha_ps: int = 1000
    reconfiguration_ps: int = 5000

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.nodes

    @property
    def node_bits_per_s(self) -> int:
        """Rate of the circuit of a node."""
        return self.bits_per_second

    def table(self) -> FabricTable:
        """Return the fabric as its instance table."""
        table: FabricTable = msgspec.to_builtins(self)
        return table

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield nothing: any two ports can be joined."""
        del circuits
        yield from ()

    def usage(self, circuits: Circuits) -> Usage:
        """Return the input and the output of each circuit."""
        row = np.arange(len(circuits), dtype=np.int64)
        ports = np.concatenate([circuits.src, self.nodes + circuits.dst])
        return Usage(np.concatenate([row, row]), ports, np.ones_like(ports))

    def capacity(self, resources: IntArray) -> IntArray:
        """Return one for every port."""
        return np.ones_like(resources)

    def resource_rule(self, resource: int) -> str:
        """Return the rule of a port."""
        return "switch-inputs" if resource < self.nodes else "switch-outputs"

    def resource_name(self, resource: int) -> str:
        """Return the port in words."""
        side = "input" if resource < self.nodes else "output"
        return f"{side} of node {resource % self.nodes}"

    def circuit_bits_per_s(self, circuits: Circuits) -> IntArray:
        """Return the rate of each circuit."""
        return np.full(len(circuits), self.bits_per_second, dtype=np.int64)


FABRIC = FabricKind("crossbar", Crossbar)

# -- what would be synth/fabrics/crossbar.py -----------------------------------------


class CrossbarRealiser(Realiser[Crossbar]):
    """Sets the switch for every port of every round, unless it is set so already."""

    @property
    def ports(self) -> int:
        """One."""
        return 1

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return a segment for each change of the switch."""
        segments: list[Segment] = []
        parts: list[StepPart] = []
        before = b""
        for step, one in enumerate(rounds):
            for port in np.unique(one.port):
                rows = np.flatnonzero(one.port == port)
                moved = take_rows(one.transfers, rows)
                pairs = np.unique(np.stack([moved.src, moved.dst]), axis=1)
                if pairs.tobytes() != before:
                    before = pairs.tobytes()
                    segments.append(Segment(0, len(segments), Circuits(*pairs)))
                parts.append(StepPart(step, 0, len(segments) - 1, moved))
        return Realisation(tuple(segments), tuple(parts))


def _kept(fabric: Crossbar, demand: Demand) -> dict[int, Circuits]:
    """Return the circuits of an iteration in which every node has one partner."""
    kept = largest_pairs(demand, fabric.ports_per_node)
    if len(kept.src) < len(demand.src):
        what, allowed = "a node has several partners", "one partner"
        raise InfeasibleError(what, where="traffic", allowed=allowed)
    return {0: Circuits(column(kept.src), column(kept.dst))}


PLUG = FabricPlug(
    "crossbar",
    realiser=CrossbarRealiser,
    circuits=TrainingCircuits(
        ports=lambda fabric: fabric.ports_per_node,
        lasting=_kept,
        estimated=_kept,
        following=_kept,
        period_ps=lambda fabric: 6 * fabric.reconfiguration_ps,
    ),
)

# -- what is to be had for that ------------------------------------------------------


@pytest.fixture
def crossbar(monkeypatch: pytest.MonkeyPatch) -> Crossbar:
    """Return a fabric of a kind that is registered for one test."""
    for catalogue, entry in ((FABRICS, FABRIC), (PLUGS, PLUG)):
        monkeypatch.setattr(catalogue, "_registered", {})
        catalogue.register(entry)
    return Crossbar(nodes=8)


@pytest.mark.parametrize("op", COLLECTIVES)
def test_collectives_are_synthesised(
    crossbar: Crossbar, op: str, tmp_path: Path
) -> None:
    """Verified and replayed, also after a round through a file."""
    task = Collective(op, tuple(range(8)), 8 * 960)
    made = synthesise(Instance(crossbar, task, "a test")).incumbent
    assert made is not None
    assert len(made.compared) > 1
    path = str(tmp_path / "x.jsonl")
    assert publish(made.schedule, path).valid
    read = read_schedule(path)
    assert verify(read).violations == ()
    assert replay(read).completion_time_ps == made.completion_time_ps
    assert made.certificate is not None
    assert made.certificate.bound <= made.completion_time_ps


def test_demands_are_synthesised(crossbar: Crossbar) -> None:
    """Both algorithms for demands serve them."""
    demand = Demand.from_rows([(0, 1, 500), (0, 2, 700), (3, 1, 90), (7, 6, 5)])
    made = synthesise(Instance(crossbar, demand, "a test")).incumbent
    assert made is not None
    assert verify(made.schedule).violations == ()
    compared = {one.algorithm for one in made.compared}
    assert compared == {"edge-colouring", "greedy"}


def test_without_a_plug_nothing_is_made(
    crossbar: Crossbar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to register."""
    monkeypatch.setattr(PLUGS, "_registered", {})
    task = Collective("all-reduce", tuple(range(8)), 960)
    with pytest.raises(InputError, match=r"crossbar.*add-a-fabric"):
        synthesise(Instance(crossbar, task, "a test"))


@pytest.mark.parametrize("circuits", ["one-shot", "controlled"])
def test_trainings_run(crossbar: Crossbar, circuits: CircuitMode) -> None:
    """Replicas sum their gradients around the ring that the switch is set to."""
    request = TrainingRequest(model_parallel=1, replicas=8, circuits=circuits)
    plan = Planner(training(8)).plan(crossbar, request)
    assert plan.partners == 1
    assert plan.iteration_ps > 0
