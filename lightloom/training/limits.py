"""How much a plan of a training may take: all numbers that trade time for quality."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingLimits:
    """Limits of work, not of seconds: the same plan on every machine.

    *Strategies.* `work`: parts of replicas that are placed and estimated. One estimate
    counts as `estimate_work` parts beside its own: about what its traffic takes.
    `turns`: by how many turns strategies come later whose replicas have twice as many
    devices, which cost more to place. `early`: estimates behind which the best so far
    is replayed, beside those that were asked for: it rules others out.

    *Circuits.* `auto_nodes`: nodes up to which ``auto`` sets circuits for each call
    too: synthesis for more takes minutes. `rounds`: replays after which no better
    circuits that stay are looked for. `auto_tasks`: tasks that ``auto`` replays in all
    these rounds. `stale`: rounds in a row that may bring circuits replayed before.

    *Calls.* `exact_kinds`: kinds of collectives in an iteration up to which each has
    its own synthesis. Others are synthesised on a ladder: `base_bytes` of a rank at
    its foot, which 2 to 10 divide, and each rung `factor` times the one before.
    """

    work: int = 40_000
    estimate_work: int = 100
    turns: int = 4
    early: int = 24
    auto_nodes: int = 64
    rounds: int = 6
    auto_tasks: int = 40_000
    stale: int = 2
    exact_kinds: int = 4
    base_bytes: int = 5040
    factor: int = 16


LIMITS = TrainingLimits()
