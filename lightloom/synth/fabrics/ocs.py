"""The plug of parallel optical switches, which serves demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from lightloom.instances.fabrics.ocs import Ocs
from lightloom.synth.fabrics.demand_task import demand_of
from lightloom.synth.fabrics.plug import FabricPlug, MadeSchedule, TrainingLayout
from lightloom.synth.ocs.switch_circuits import (
    ALGORITHM,
    ocs_schedule,
    port_certificates,
    switch_circuits,
)
from lightloom.synth.ocs.training_circuits import CIRCUITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lightloom.instances.instance import Instance

__all__ = ["PLUG"]


def schedules(
    instance: Instance, algorithm: str, parameters: Mapping[str, object], seed: int
) -> Iterator[MadeSchedule]:
    """Yield the schedule of a demand, with its most crowded port: see `FabricPlug`.

    Parameters
    ----------
    instance
        A demand on parallel optical switches.
    algorithm
        ``auto`` or the name of the only algorithm.
    parameters
        Must be empty.
    seed
        Not used: nothing is random.

    Raises
    ------
    InputError
        A collective, another algorithm, parameters, or bidirectional circuits.
    InfeasibleError
        A node with more partners than there are switches.
    """
    del seed
    fabric = instance.fabric
    assert isinstance(fabric, Ocs)
    plan = switch_circuits(
        fabric, demand_of(instance, algorithm, parameters, known=ALGORITHM)
    )
    yield MadeSchedule(ocs_schedule(fabric, plan), port_certificates(plan))


def _alike(fabric: Ocs, devices: int) -> Ocs:
    """Return switches for two replicas: a ring with two different neighbours' links."""
    return replace(fabric, nodes=2 * devices)


PLUG = FabricPlug(
    "ocs",
    schedules=schedules,
    circuits=CIRCUITS,
    layout=TrainingLayout(alike=_alike, blocks="any"),
)
