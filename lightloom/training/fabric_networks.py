"""How each kind of fabric carries the iterations of a training."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lightloom.core.errors import InputError
from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Demand
from lightloom.replay.workload import (
    ControlledCircuits,
    HeldCircuits,
    PlaneConfiguration,
    SharedLinks,
)
from lightloom.synth.fabrics import PLUGS, plug_of
from lightloom.training.limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import CircuitFabric
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload.network import CollectiveModel, NetworkKind
    from lightloom.synth.fabrics.training_plug import PlaneCircuits, TrainingCircuits


MAX_MIN = "max-min"
"""Controllers that serve the slowest pair best: ours, of every kind of fabric."""


@dataclass(frozen=True)
class ControllerTime:
    """What a controller cost on this machine.

    `name`: `MAX_MIN`, or a name of another one. `decisions`: how often it computed
    circuits. `mean_s`, `longest_s`: seconds of a decision, on average and at most. Not
    reproducible.
    """

    name: str
    decisions: int
    mean_s: float
    longest_s: float


@dataclass(frozen=True, eq=False)
class TrafficController:
    """Circuits for the traffic of a period, and one for each pair of the iteration.

    `following`: circuits for a demand, by plane; pairs that find none wait. `known`:
    traffic of a whole iteration. Its pairs keep a circuit each where ports allow, or
    those that begin after a period was measured would wait for the next one.
    """

    following: Callable[[Demand], PlaneCircuits]
    known: Demand
    name: str = MAX_MIN
    _set: dict[Demand, PlaneCircuits] = field(default_factory=dict)
    _seconds: list[float] = field(default_factory=list)

    def circuits(self, demand: Demand) -> PlaneCircuits:
        """Return the circuits of every plane."""
        if demand not in self._set:
            began_s = perf_counter()
            self._set[demand] = self.following(_with_pairs(demand, self.known))
            self._seconds.append(perf_counter() - began_s)
        return self._set[demand]

    @property
    def time(self) -> ControllerTime:
        """What it cost so far."""
        spent, count = self._seconds, len(self._seconds)
        mean_s = sum(spent) / count if count else 0.0
        return ControllerTime(self.name, count, mean_s, max(spent, default=0.0))


def _with_pairs(demand: Demand, known: Demand) -> Demand:
    """Return a demand with a byte for each known pair that it leaves out."""
    bytes_of_pair = dict.fromkeys(zip(known.src, known.dst, strict=True), 1)
    bytes_of_pair |= {
        (src, dst): size
        for src, dst, size in zip(demand.src, demand.dst, demand.bytes, strict=True)
    }
    return Demand.from_rows(
        [(*pair, size) for pair, size in sorted(bytes_of_pair.items())]
    )


CircuitMode: TypeAlias = Literal[
    "auto", "per-call", "one-shot", "critical-path", "controlled"
]
"""Circuits that are set for each call, stay for the whole iteration (following its
bytes, or what it waits for where that is faster), or follow the traffic; ``auto`` is
the fastest of the first three."""


def modes(
    fabric: AnyFabric, asked: CircuitMode, controlled_by: str = MAX_MIN
) -> tuple[CircuitMode, ...]:
    """Return the ways to set circuits that are tried on a fabric.

    `fabric`: the fabric; where it has no circuits, ``one-shot`` is sharing its links.

    Raises `InputError`: a way, or a controller, for which nobody sets circuits of this
    kind of fabric.
    """
    if asked in ("one-shot", "critical-path", "controlled"):
        _controller(_circuits(fabric), fabric, controlled_by)
    if asked != "auto":
        return (asked,)
    if isinstance(fabric, PacketFabric):
        return ("one-shot",)
    if plug_of(fabric).circuits is None:
        return ("per-call",)
    few = fabric.node_count <= LIMITS.auto_nodes
    return ("critical-path", "per-call") if few else ("critical-path",)


def ports_of(fabric: AnyFabric) -> int | None:
    """Return how many partners a node may have at once, ``None`` for any number.

    Raises `InputError`: a fabric whose circuits nobody here keeps for a training.
    """
    circuits = _circuits(fabric)
    return None if circuits is None else circuits.ports(fabric)


def estimated_circuits(fabric: AnyFabric, demand: Demand) -> PlaneCircuits | None:
    """Return circuits to estimate an iteration with; ``None`` where there are none.

    Raises `InputError`: a kind of fabric without circuits for trainings;
    `InfeasibleError, NoAnswerError`: no circuits for this traffic.
    """
    circuits = _circuits(fabric)
    return None if circuits is None else circuits.estimated(fabric, demand)


def network_for(
    fabric: AnyFabric,
    demand: Demand,
    collectives: CollectiveModel,
    circuits: CircuitMode,
    period_ps: int | None = None,
    controlled_by: str = MAX_MIN,
) -> NetworkKind:
    """Return how a fabric carries an iteration with this traffic.

    `circuits`: ``one-shot``: they are there when the iteration begins, as in all
    iterations before. ``controlled``: they begin so, and are set anew for the traffic
    of each period. Of no concern to fabrics without circuits. Not ``per-call`` or
    ``critical-path``. `period_ps`: from one decision to the next; by default 100 us on
    rings, elsewhere six delays (dark for one, held for five). `controlled_by`: who sets
    circuits that follow the traffic: `MAX_MIN`, or a name among the fabric's
    `TrainingCircuits.others`.

    Raises `InputError`: a kind of fabric without circuits for trainings, or without
    this controller, or a period too short; `InfeasibleError`: a node has more partners
    than ports, a pair is out of reach or has no way; `NoAnswerError`: no circuits were
    found.
    """
    if isinstance(fabric, PacketFabric):
        return SharedLinks(fabric, collectives)
    kept = kept_circuits(fabric)
    if not demand.src:
        return HeldCircuits(fabric, (), collectives)
    if circuits == "one-shot":
        return held_network(fabric, kept.lasting(fabric, demand), collectives)
    following = _controller(kept, fabric, controlled_by)
    assert following is not None
    controller = TrafficController(
        lambda asked: following(fabric, asked), demand, controlled_by
    )
    if period_ps is None:
        period_ps = kept.period_ps(fabric)
    first = controller.circuits(demand)
    return ControlledCircuits(fabric, controller, period_ps, first, collectives)


def held_network(
    fabric: CircuitFabric, held: PlaneCircuits, collectives: CollectiveModel
) -> HeldCircuits:
    """Return a fabric whose planes hold the same circuits for the whole iteration.

    `held`: circuits of each plane; a transfer without one is refused.
    """
    configurations = tuple(PlaneConfiguration(*plane) for plane in sorted(held.items()))
    return HeldCircuits(fabric, configurations, collectives, "refuse")


def controller_time(network: NetworkKind) -> ControllerTime | None:
    """Return what the controller of a network cost so far, ``None`` without one."""
    if not isinstance(network, ControlledCircuits):
        return None
    controller = network.controller
    assert isinstance(controller, TrafficController)
    return controller.time


def _controller(
    kept: TrainingCircuits[Any] | None, fabric: AnyFabric, name: str
) -> Callable[[Any, Demand], PlaneCircuits] | None:
    """Return how circuits that follow the traffic are found, by name."""
    controllers = {MAX_MIN: None if kept is None else kept.following}
    controllers |= {} if kept is None else kept.others
    if name not in controllers:
        what = f"invalid controller for a fabric of kind {fabric.kind}"
        allowed = ", ".join(controllers)
        raise InputError(what, where="controlled_by", found=name, allowed=allowed)
    return controllers[name]


def _circuits(fabric: AnyFabric) -> TrainingCircuits[Any] | None:
    """Return how circuits of a fabric are kept, ``None`` where there are none."""
    return None if isinstance(fabric, PacketFabric) else kept_circuits(fabric)


def kept_circuits(fabric: CircuitFabric) -> TrainingCircuits[Any]:
    """Return how the circuits of a fabric are kept for a training.

    Raises `InputError`: a kind of fabric without circuits for trainings.
    """
    circuits = plug_of(fabric).circuits
    if circuits is None:
        kinds = [name for name, plug in PLUGS.items() if plug.circuits]
        what = "no circuits that stay for a training on this kind of fabric"
        allowed = f"{', '.join(kinds)}, or a fabric without circuits"
        fix = "set circuits for each call, or train on one of these"
        raise InputError(
            what, where="fabric.kind", found=fabric.kind, allowed=allowed, fix=fix
        )
    return circuits


def circuit_rates(
    fabric: CircuitFabric, circuits: Mapping[int, Circuits]
) -> dict[int, int]:
    """Return the bits a second of each pair, by ``src * nodes + dst``.

    `circuits`: of each plane; rates of a pair add up.
    """
    rates: dict[int, int] = {}
    for held in circuits.values():
        keys = (held.src * fabric.node_count + held.dst).tolist()
        for key, rate in zip(
            keys, fabric.circuit_bits_per_s(held).tolist(), strict=True
        ):
            rates[key] = rates.get(key, 0) + rate
    return rates
