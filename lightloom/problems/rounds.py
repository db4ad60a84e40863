"""Rounds of a collective, by structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Collective
from lightloom.instances.collectives import check_collective, op_of
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems import OwnAlgorithm, OwnAnswer, ProblemBounds, asked_of
from lightloom.problems.fewest_rounds.few_rounds import few_rounds
from lightloom.problems.fewest_rounds.round_bounds import round_bounds
from lightloom.validate.certificates.rounds import RoundsQuestion

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return a collective in few rounds, with the bound on their number."""
    found = few_rounds(instance, seed=seed)
    why = f"at least {found.bound.rounds} rounds ({found.bound.kind})"
    detail = (f"made by {found.method}", f"{why}: {found.bound.reason}")
    certificates = (found.bound.certificate,)
    return OwnAnswer(
        found.rounds, found.bound.rounds, detail, found.schedule, certificates
    )


def bounds(instance: Instance, seed: int) -> ProblemBounds:
    """Return the bounds on the number of rounds, chunks as few as can be."""
    del seed
    fabric, task = instance.fabric, instance.task
    if not isinstance(fabric, Lightpath) or not isinstance(task, Collective):
        what = "rounds are those of a collective on a fabric of kind lightpath"
        raise InputError(what, where=instance.name, found=asked_of(instance))
    if task.chunks is None:
        blocks = op_of(task).uses_blocks or task.op == "all-reduce"
        task = msgspec.structs.replace(task, chunks=task.rank_count if blocks else 1)
    check_collective(task, fabric.node_count)
    if not fabric.lasers and task.rank_count > 1:
        what = "nothing can be sent: the tiles have no lasers"
        raise InfeasibleError(what, where="fabric.lasers", found=0)
    found = sorted(round_bounds(fabric, task), key=lambda bound: -bound.rounds)
    certificates = tuple(bound.certificate for bound in found)
    return ProblemBounds(RoundsQuestion(fabric, task), certificates)


OWN = OwnAlgorithm("rounds", "rounds", solve, bounds)
