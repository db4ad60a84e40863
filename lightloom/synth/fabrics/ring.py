"""The plug of fibre rings, which serves demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.fabrics.demand_task import demand_of
from lightloom.synth.fabrics.plug import FabricPlug, MadeSchedule, TrainingLayout
from lightloom.synth.ring.training_circuits import CIRCUITS
from lightloom.synth.ring.wavelengths import (
    ALGORITHM,
    ring_certificates,
    ring_schedule,
    ring_wavelengths,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lightloom.instances.instance import Instance

__all__ = ["PLUG"]


def schedules(
    instance: Instance, algorithm: str, parameters: Mapping[str, object], seed: int
) -> Iterator[MadeSchedule]:
    """Yield the schedule of a demand, with the bound of its ratio: see `FabricPlug`.

    Parameters
    ----------
    instance
        A demand on a ring.
    algorithm
        ``auto`` or the name of the only algorithm.
    parameters
        Must be empty.
    seed
        Seed of the search for wavelengths, 0 or more.

    Raises
    ------
    InputError
        A collective, another algorithm, or parameters.
    InfeasibleError
        A pair out of reach, or more pairs than there is light for.
    NoAnswerError
        No wavelengths were found.
    """
    fabric = instance.fabric
    assert isinstance(fabric, Ring)
    demand = demand_of(instance, algorithm, parameters, known=ALGORITHM)
    plan = ring_wavelengths(fabric, demand, seed=seed)
    yield MadeSchedule(ring_schedule(fabric, plan), ring_certificates(plan))


def _alike(fabric: Ring, devices: int) -> Ring:
    """Return a ring of replicas on which no circuit comes near the other way round."""
    replicas = max(3, -(-(2 * fabric.reach + 1) // devices))
    return replace(fabric, nodes=replicas * devices)


PLUG = FabricPlug(
    "ring",
    schedules=schedules,
    circuits=CIRCUITS,
    layout=TrainingLayout(alike=_alike, ring=True, blocks="required"),
)
