"""Baselines of overlap: an algorithm on switches that change at fixed times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from lightloom.core.record import convert
from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.collectives import COLLECTIVES
from lightloom.plans.algorithms import ALGORITHMS, AlgorithmEntry, make_algorithm
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.ocs.collective_realisation import SwitchRounds
from lightloom.synth.ocs.plane_walks import EVERY_STEP, ONE_SHOT
from lightloom.synth.traffic import plan_traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ocs import Ocs

_USUAL = ("lumorph-2", "bruck", "tree")


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a baseline."""

    of: Annotated[
        str | None,
        msgspec.Meta(
            description="Name of the algorithm, with one port a rank. By default"
            " halving and doubling (lumorph-2), bruck for all-to-all, or tree."
        ),
    ] = None


BASELINES = {
    name: AlgorithmEntry(name, summary, (*COLLECTIVES,), Baseline)
    for name, summary in (
        (EVERY_STEP, "baseline: all switches change before every round, and serve it"),
        (ONE_SHOT, "baseline: each switch keeps the circuits it has first"),
    )
}
"""Baselines that `synth` makes on optical switches, by name."""


def named_baseline(
    fabric: Ocs, task: Collective, baseline: str, parameters: Mapping[str, object]
) -> Schedule:
    """Return the schedule of a baseline as it is asked for, without footer.

    Raises `InputError`: invalid parameters, an algorithm that does not do the
    collective, or more configurations than switches that keep one each.
    """
    given = convert(dict(parameters), Baseline, where=f"algorithm.{baseline}")
    named = given.of or next(
        name for name in _USUAL if task.op in ALGORITHMS.get(name).ops
    )
    return baseline_schedule(fabric, task, named, baseline)


def baseline_schedule(
    fabric: Ocs, task: Collective, algorithm: str, baseline: str
) -> Schedule:
    """Return the schedule of an algorithm with a port a rank, without footer.

    `algorithm`: name of an algorithm, for example ``lumorph-2``.

    Raises `InputError`: an algorithm that does not do the collective; more
    configurations than switches, for one shot.
    """
    maker = make_algorithm(algorithm, {}, op=task.op)
    wanted = maker.granularity(task.rank_count, 1) * fabric.switches
    chunked = choose_chunks(task, wanted)
    rounds = plan_traffic(maker.plan(chunked, 1), chunked.nodes)
    realised = SwitchRounds(fabric, rounds).realisation(baseline)
    made_by = Algorithm(baseline, {"of": algorithm})
    return Schedule(fabric.table(), chunked, made_by, realised.segments, realised.parts)


def ideal_ps(fabric: Ocs, task: Collective, algorithm: str) -> float:
    """Return what an algorithm would take if reconfigurations cost nothing.

    An estimate, which no schedule need reach: every round has all switches.
    """
    maker = make_algorithm(algorithm, {}, op=task.op)
    chunked = choose_chunks(task, maker.granularity(task.rank_count, 1))
    byte_ps = BITS_PER_BYTE * PS_PER_S / fabric.node_bits_per_s
    return sum(
        fabric.alpha_ps + float(one.size_bytes.max()) * byte_ps
        for one in plan_traffic(maker.plan(chunked, 1), chunked.nodes)
    )
