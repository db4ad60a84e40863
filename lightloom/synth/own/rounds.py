"""Rounds of a collective, by structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.synth.own import OwnAlgorithm, OwnAnswer
from lightloom.synth.rounds.few_rounds import few_rounds

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return a collective in few rounds, with the bound on their number."""
    found = few_rounds(instance, seed=seed)
    why = f"at least {found.bound.rounds} rounds ({found.bound.kind})"
    detail = (f"made by {found.method}", f"{why}: {found.bound.reason}")
    return OwnAnswer(found.rounds, found.bound.rounds, detail, found.schedule())


OWN = OwnAlgorithm("rounds", "rounds", solve)
