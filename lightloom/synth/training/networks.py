"""Networks: how each kind of fabric carries the iterations of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.fabric import PacketFabric
from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.replay.workload import (
    RING_PERIOD_PS,
    Configuration,
    ControlledCircuits,
    HeldCircuits,
    SharedLinks,
    ocs_period_ps,
)
from lightloom.synth.ocs.switches import switch_circuits
from lightloom.synth.ring.wavelengths import ring_wavelengths
from lightloom.synth.training.controllers import RingController, SwitchController
from lightloom.synth.training.traffic import most_partners

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.task import Demand
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload.collective_flows import CollectiveModel
    from lightloom.replay.workload.network import NetworkKind

__all__ = ["CIRCUITS", "CircuitMode", "network_for", "one_shot_circuits", "ports_of"]

CircuitMode: TypeAlias = Literal["one-shot", "controlled"]
"""Circuits that stay for the whole iteration, or follow the traffic."""

CIRCUITS: tuple[CircuitMode, ...] = ("one-shot", "controlled")


def ports_of(fabric: AnyFabric) -> int | None:
    """Return how many partners a node may have at once, ``None`` for any number.

    Of a ring, as many as there are nodes in reach (SiP-ML's degree of 16).

    Raises
    ------
    InputError
        A fabric whose circuits nobody here sets for a training.
    """
    if isinstance(fabric, PacketFabric):
        return None
    if isinstance(fabric, Ocs):
        return fabric.switches
    if isinstance(fabric, Ring):
        return min(fabric.reach, fabric.ports_per_node)
    what = "no circuits for trainings on this kind of fabric"
    allowed = "ocs, ring, or a fabric without circuits"
    raise InputError(what, where="fabric.kind", found=fabric.kind, allowed=allowed)


def one_shot_circuits(fabric: Ocs | Ring, demand: Demand) -> dict[int, Circuits]:
    """Return circuits for a whole iteration, by plane (SiP-ML, section 3.3).

    The slowest pair has as many circuits a byte as can be; on a ring, as were found.

    Raises
    ------
    InfeasibleError
        A node has more partners than ports, or a pair is out of reach.
    NoAnswerError
        No wavelengths were found.
    """
    if isinstance(fabric, Ring):
        return {0: ring_wavelengths(fabric, demand).circuits}
    plan = switch_circuits(fabric, demand)
    if plan.ratio == 0:
        raise InfeasibleError(
            "a node has more partners than there are switches",
            where="traffic of the iteration",
            found=most_partners(demand),
            allowed=f"{fabric.switches} partners",
            fix="share the model between fewer devices, or add switches",
        )
    return dict(enumerate(plan.switches))


def network_for(
    fabric: AnyFabric,
    demand: Demand,
    collectives: CollectiveModel,
    circuits: CircuitMode,
    period_ps: int | None = None,
) -> NetworkKind:
    """Return how a fabric carries an iteration with this traffic.

    Parameters
    ----------
    fabric
        The fabric.
    demand
        Traffic of the iteration.
    collectives
        How collectives load it.
    circuits
        ``one-shot``: they are there when the iteration begins, as in all iterations
        before. ``controlled``: they begin so, and are set anew for the traffic of each
        period. Of no concern to fabrics without circuits.
    period_ps
        From one decision to the next; by default 100 us on a ring, six delays on
        switches (dark for one, held for five).

    Raises
    ------
    InputError
        A kind of fabric without circuits for trainings, or a period too short.
    InfeasibleError, NoAnswerError
        No circuits for this traffic, see `one_shot_circuits`.
    """
    if isinstance(fabric, PacketFabric):
        return SharedLinks(fabric, collectives)
    ports_of(fabric)  # raises on kinds of fabrics that are none of these
    assert isinstance(fabric, Ocs | Ring)
    if not demand.src:
        return HeldCircuits(fabric, (), collectives)
    if circuits == "one-shot":
        held = one_shot_circuits(fabric, demand)
        return HeldCircuits(
            fabric,
            tuple(Configuration(plane, held[plane]) for plane in sorted(held)),
            collectives,
            "refuse",
        )
    controller = (
        RingController(fabric, demand)
        if isinstance(fabric, Ring)
        else SwitchController(fabric, demand)
    )
    if period_ps is None:
        ring = isinstance(fabric, Ring)
        period_ps = RING_PERIOD_PS if ring else ocs_period_ps(fabric) or PS_PER_US
    first = controller.circuits(demand)
    return ControlledCircuits(fabric, controller, period_ps, first, collectives)
