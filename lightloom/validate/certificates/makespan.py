"""Makespan: how long the operations of a workload take on a ring of devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from lightloom.validate.certificates.objective import InapplicableError, Objective
from lightloom.validate.certificates.proofs.makespan import (
    CriticalPath,
    CrowdedOps,
    check_placement_witness,
)
from lightloom.validate.certificates.witness import keys, number, require, rows

if TYPE_CHECKING:
    from lightloom.core.certificate import Number, Witness
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Workload
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.proofs.makespan import PlacementWitness

__all__ = ["OBJECTIVE", "PlacementQuestion", "placement_witness"]

_PATH, _CROWD = "critical-path", "crowded-operations"


@dataclass(frozen=True)
class PlacementQuestion:
    """Least makespan of a workload on its ring of devices, in picoseconds."""

    workload: Workload

    @property
    def kinds(self) -> tuple[str, ...]:
        """A path, or operations on few devices."""
        return (_PATH, _CROWD)

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `lightloom.validate.certificates.objective.Question.prove`.

        Parameters
        ----------
        kind, witness, bound
            As of `Question.prove`.
        """
        told = self._path(witness) if kind == _PATH else self._crowd(witness)
        require(bound, check_placement_witness(self.workload, told))

    def _path(self, witness: Witness) -> CriticalPath:
        keys(witness, "operations")
        return CriticalPath(tuple(rows(witness, "operations", 0).tolist()))

    def _crowd(self, witness: Witness) -> CrowdedOps:
        near = () if set(witness) == {"operations"} else ("centre", "back", "forth")
        keys(witness, "operations", *near)
        crowd = tuple(rows(witness, "operations", 0).tolist())
        count = len(self.workload.op)
        return CrowdedOps(crowd, *(number(witness, key, count) for key in near))


def placement_witness(witness: PlacementWitness) -> tuple[str, Witness]:
    """Return the kind of a placement's witness, and how a certificate states it.

    Parameters
    ----------
    witness
        A path, or operations on few devices.
    """
    ops = [*witness.ops]
    if isinstance(witness, CriticalPath):
        return _PATH, {"operations": ops}
    if witness.centre is None:
        return _CROWD, {"operations": ops}
    near = {"centre": witness.centre, "back": witness.back, "forth": witness.forth}
    return _CROWD, {"operations": ops, **near}


def measure(fabric: AnyFabric, schedule: Schedule) -> NoReturn:
    """Raise `InapplicableError`: a placement is no schedule.

    Parameters
    ----------
    fabric, schedule
        Any.
    """
    del fabric, schedule
    message = "the makespan is that of a placement, not of a schedule"
    raise InapplicableError(message)


OBJECTIVE = Objective("makespan", largest=False, measure=measure)
