"""Makespan: how long the operations of a workload take on a ring of devices."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, NoReturn

from lightloom.validate.certificates.objective import InapplicableError, Objective
from lightloom.validate.certificates.proofs.makespan import check_placement_witness
from lightloom.validate.certificates.proofs.placement_witnesses import (
    Case,
    CriticalPath,
    CrowdedOps,
    CrowdsInCases,
)
from lightloom.validate.certificates.witness import WitnessError, keys, require, rows

if TYPE_CHECKING:
    from lightloom.core.certificate import Number, Witness
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Workload
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.proofs.placement_witnesses import (
        PlacementWitness,
    )

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
        """See `lightloom.validate.certificates.objective.Question.prove`."""
        told = self._path(witness) if kind == _PATH else self._crowds(witness)
        require(bound, check_placement_witness(self.workload, told))

    def _path(self, witness: Witness) -> CriticalPath:
        keys(witness, "operations")
        return CriticalPath(tuple(rows(witness, "operations", 0).tolist()))

    def _crowds(self, witness: Witness) -> CrowdsInCases:
        keys(witness, "cases", "crowds", "operations")
        members: list[list[int]] = [[] for _ in rows(witness, "crowds", 4)]
        for crowd, op in rows(witness, "operations", 2).tolist():
            if not 0 <= crowd < len(members):
                message = f"crowd {crowd} is not among 0 to {len(members) - 1}"
                raise WitnessError(message)
            members[crowd].append(op)
        told = rows(witness, "crowds", 4).tolist()
        crowds = tuple(
            CrowdedOps(tuple(ops), None if centre < 0 else centre, reach, case, part)
            for ops, (case, part, centre, reach) in zip(members, told, strict=True)
        )
        cases = rows(witness, "cases", 6).tolist()
        return CrowdsInCases(crowds, tuple(Case(*case) for case in cases))


def placement_witness(witness: PlacementWitness) -> tuple[str, Witness]:
    """Return the kind of a placement's witness, and how a certificate states it."""
    if isinstance(witness, CriticalPath):
        return _PATH, {"operations": [*witness.ops]}
    crowds = [
        [crowd.case, crowd.part, -1 if crowd.centre is None else crowd.centre]
        for crowd in witness.crowds
    ]
    members = enumerate(crowd.ops for crowd in witness.crowds)
    return _CROWD, {
        "cases": [[*astuple(case)] for case in witness.cases],
        "crowds": [
            [*row, crowd.reach]
            for row, crowd in zip(crowds, witness.crowds, strict=True)
        ],
        "operations": [[crowd, op] for crowd, ops in members for op in ops],
    }


def measure(fabric: AnyFabric, schedule: Schedule) -> NoReturn:
    """Raise `InapplicableError`: a placement is no schedule."""
    del fabric, schedule
    message = "the makespan is that of a placement, not of a schedule"
    raise InapplicableError(message)


OBJECTIVE = Objective("makespan", largest=False, measure=measure)
