"""Baselines of overlap: an algorithm on switches that change at fixed times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.algorithms import make_algorithm
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.ocs.collective_realisation import SwitchRounds
from lightloom.synth.traffic import plan_traffic

if TYPE_CHECKING:
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ocs import Ocs

__all__ = ["baseline_schedule", "ideal_ps"]


def baseline_schedule(
    fabric: Ocs, task: Collective, algorithm: str, baseline: str
) -> Schedule:
    """Return the schedule of an algorithm with a port a rank, without footer.

    Parameters
    ----------
    fabric
        The switches.
    task
        The collective, its chunk count open.
    algorithm
        Name of an algorithm, for example ``lumorph-2``.
    baseline
        `EVERY_STEP` or `ONE_SHOT` of `lightloom.synth.ocs.overlapped_walks`.

    Raises
    ------
    InfeasibleError
        More configurations than switches, for one shot.
    """
    maker = make_algorithm(algorithm, {}, op=task.op)
    wanted = maker.granularity(task.rank_count, 1) * fabric.switches
    chunked = choose_chunks(task, wanted)
    rounds = plan_traffic(maker.plan(chunked, 1), chunked.nodes)
    realised = SwitchRounds(fabric, rounds).realisation(baseline)
    made_by = Algorithm(algorithm, {"planes": baseline})
    return Schedule(fabric.table(), chunked, made_by, realised.segments, realised.parts)


def ideal_ps(fabric: Ocs, task: Collective, algorithm: str) -> float:
    """Return what an algorithm would take if reconfigurations cost nothing.

    An estimate, which no schedule need reach: every round has all switches.

    Parameters
    ----------
    fabric, task, algorithm
        As of `baseline_schedule`.
    """
    maker = make_algorithm(algorithm, {}, op=task.op)
    chunked = choose_chunks(task, maker.granularity(task.rank_count, 1))
    byte_ps = BITS_PER_BYTE * PS_PER_S / fabric.node_bits_per_s
    return sum(
        fabric.alpha_ps + float(one.size_bytes.max()) * byte_ps
        for one in plan_traffic(maker.plan(chunked, 1), chunked.nodes)
    )
