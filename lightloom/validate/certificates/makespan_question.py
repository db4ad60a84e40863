"""Bounds of the makespan of placements, as certificates hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.validate.certificates.completion_time.kind import WitnessError
from lightloom.validate.certificates.proofs.makespan import (
    CriticalPath,
    CrowdedOps,
    check_placement_witness,
)
from lightloom.validate.certificates.witness import keys, number, require, rows

if TYPE_CHECKING:
    from lightloom.core.certificate import Number, StoredWitness
    from lightloom.core.task import Workload
    from lightloom.validate.certificates.proofs.makespan import PlacementWitness

__all__ = ["OBJECTIVE", "PlacementQuestion", "placement_witness"]

OBJECTIVE = "makespan"
_PATH, _CROWD = "critical-path", "crowded-operations"


@dataclass(frozen=True)
class PlacementQuestion:
    """Least makespan of a workload on its ring of devices, in picoseconds."""

    workload: Workload

    @property
    def kinds(self) -> tuple[str, ...]:
        """A path, or operations on few devices."""
        return (_PATH, _CROWD)

    def prove(self, kind: str, witness: StoredWitness, bound: Number) -> None:
        """See `lightloom.validate.certificates.objectives.objective.Question.prove`."""
        told = self._path(witness) if kind == _PATH else self._crowd(witness)
        try:
            proven = check_placement_witness(self.workload, told)
        except InputError as problem:
            raise WitnessError(str(problem)) from None
        require(bound, proven)

    def _path(self, witness: StoredWitness) -> CriticalPath:
        keys(witness, "operations")
        return CriticalPath(tuple(rows(witness, "operations", 0).tolist()))

    def _crowd(self, witness: StoredWitness) -> CrowdedOps:
        near = () if set(witness) == {"operations"} else ("centre", "back", "forth")
        keys(witness, "operations", *near)
        crowd = tuple(rows(witness, "operations", 0).tolist())
        count = len(self.workload.op)
        return CrowdedOps(crowd, *(number(witness, key, count) for key in near))


def placement_witness(witness: PlacementWitness) -> tuple[str, StoredWitness]:
    """Return the kind of a placement's witness, and what a file holds of it."""
    told: StoredWitness = {"operations": [*witness.ops]}
    if isinstance(witness, CriticalPath):
        return _PATH, told
    if witness.centre is not None:
        near = {"centre": witness.centre, "back": witness.back, "forth": witness.forth}
        told.update(near)
    return _CROWD, told
