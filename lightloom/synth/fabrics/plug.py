"""The record of what synthesis and trainings have to know of one kind of fabric."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lightloom.core.task import Collective
from lightloom.synth.fabrics.training_plug import TrainingCircuits, TrainingLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lightloom.core.certificate import Certificate
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance
    from lightloom.synth.fabrics.realiser import Realiser

FabricT = TypeVar("FabricT")


@dataclass(frozen=True, eq=False)
class MadeSchedule:
    """A schedule of a synthesiser of its own.

    `certificates`: bounds on other objectives than its completion time, without value.
    """

    schedule: Schedule
    certificates: tuple[Certificate, ...] = ()


def _of_demands(instance: Instance, _algorithm: str) -> bool:
    """Tell whether the task is a demand."""
    return not isinstance(instance.communication, Collective)


def _never(_instance: Instance) -> bool:
    return False


@dataclass(frozen=True)
class FabricPlug(Generic[FabricT]):
    """How schedules are made on one kind of fabric, and how trainings use it.

    Attributes
    ----------
    name
        The kind, as in ``[fabric] kind``.
    realiser
        Makes the `Realiser` of a fabric from (fabric, seed, router): algorithms of
        the catalogue are put on its circuits. ``None`` where they cannot be.
    schedules
        ``schedules(instance, algorithm, parameters, seed)`` yields schedules of the
        fabric's own algorithms instead, of which the fastest is taken. `algorithm` is
        ``auto`` or a name; it raises `InputError` on unknown names and parameters,
        and on a task that it cannot do. Deterministic.
    own
        ``own(instance, algorithm)`` says whether `schedules` is asked where there is a
        realiser too: by default of demands.
    compared
        ``compared(instance)`` says whether ``auto`` compares what `schedules` yields
        with algorithms of the catalogue: by default it does not.
    circuits
        How circuits are kept for a training; ``None`` on fabrics without circuits,
        and where nobody sets any.
    layout
        Where replicas of a training stand.
    """

    name: str
    realiser: Callable[[FabricT, int, str], Realiser[Any]] | None = None
    schedules: (
        Callable[
            [Instance, str, Mapping[str, object], int],
            Iterator[MadeSchedule],
        ]
        | None
    ) = None
    own: Callable[[Instance, str], bool] = _of_demands
    compared: Callable[[Instance], bool] = _never
    circuits: TrainingCircuits[FabricT] | None = None
    layout: TrainingLayout[FabricT] = field(default_factory=TrainingLayout)
