"""Solutions of the overlap model as schedules: what each switch holds, step by step."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.errors import FormatError, InputError
from lightloom.core.schedule import (
    Algorithm,
    Footer,
    Schedule,
    SealedSchedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.task import Collective
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.plan import Round
from lightloom.synth.certify import signed
from lightloom.validate import verify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lightloom.core.violation import Violation
    from lightloom.formats.optimiser_solutions import OverlapParameters, OverlapSolution

OVERLAP_ALGORITHMS = {
    "ar_having-doubling": ("all-reduce", "lumorph-2"),
    "rs_having-doubling": ("reduce-scatter", "lumorph-2"),
    "ag_having-doubling": ("all-gather", "lumorph-2"),
    "a2a_pairwise": ("all-to-all", "direct"),
    "a2a_bruck": ("all-to-all", "bruck"),
    "ar_recursive-doubling": ("all-reduce", "full-exchange"),
    "ar_ring": ("all-reduce", "ring"),
}
"""The model's algorithms: the collective, and the plan that has the same steps."""
_BYTES_PER_MB = 10**6
_BITS_PER_GB = 8 * 10**9
_PS_PER_MS = 10**9
_TOLERANCE = 1e-4
"""Part of a step's volume by which a solver's answer may miss it."""


def overlap_fabric(parameters: OverlapParameters) -> Ocs:
    """Return the switches of the model; the first setting of each is paid for."""
    per_switch = round(parameters.B * _BITS_PER_GB)
    return Ocs(
        nodes=_ranks(parameters),
        switches=parameters.k,
        bits_per_second_per_node=parameters.k * max(1, per_switch),
        alpha_ps=round(parameters.T_lat * _PS_PER_MS),
        reconfiguration_ps=round(parameters.T_reconf * _PS_PER_MS),
    )


def overlap_schedule(
    solution: OverlapSolution, parameters: OverlapParameters, source: str
) -> Schedule:
    """Return a solution as a schedule, right or wrong, without footer.

    A switch holds what it was last reconfigured for. Where it is used without holding
    the circuits of the step, the schedule says so, and `verify` names it.

    Raises `InputError`: the algorithm is unknown, or the solution has other switches,
    steps or volumes than the collective needs.
    """
    collective, rounds = _rounds(parameters, source)
    fabric = overlap_fabric(parameters)
    steps, planes = solution.volume_mb.shape
    if steps != len(rounds) or planes > fabric.switches:
        what = f"the solution is not one of {parameters.algorithm} with these numbers"
        found = f"{steps} steps on {planes} switches"
        allowed = f"{len(rounds)} steps on {fabric.switches} switches"
        raise FormatError(what, where=source, found=found, allowed=allowed)
    segments: list[Segment] = []
    parts: list[StepPart] = []
    held = [-1] * planes
    for step, one in enumerate(rounds):
        for plane in range(planes):
            if solution.reconfigured[step, plane]:
                held[plane] += 1
                segments.append(Segment(plane, held[plane], _circuits(one)))
        volume_mb = solution.volume_mb[step]
        _check_volume(collective, one, float(volume_mb.sum()), step, source)
        for plane, moved in enumerate(_shares(one, volume_mb)):
            if not len(moved):
                continue
            if held[plane] < 0:  # used, and never configured: it holds nothing
                held[plane] = 0
                segments.append(
                    Segment(plane, 0, Circuits(moved.src[:0], moved.dst[:0]))
                )
            parts.append(StepPart(step, plane, held[plane], moved))
    made = Algorithm("imported", {"source": Path(source).name})
    return Schedule(fabric.table(), collective, made, tuple(segments), tuple(parts))


def judged_schedule(
    schedule: Schedule, solution: OverlapSolution
) -> tuple[SealedSchedule, tuple[Violation, ...]]:
    """Return a schedule with a footer, and what is wrong with it.

    `solution`: of which a schedule that breaks a rule keeps the time that it claims: it
    has no other.
    """
    faults = verify(schedule).violations
    if not faults:
        fabric = load_fabric(schedule.fabric)
        return signed(schedule, Instance(fabric, schedule.task, "imported")), ()
    footer = Footer(
        len(schedule.segments),
        schedule.step_count,
        schedule.circuit_count,
        schedule.transfer_count,
        round(solution.completion_ms * _PS_PER_MS),
    )
    return SealedSchedule.of(schedule, footer), faults


def _ranks(parameters: OverlapParameters) -> int:
    """Return the number of nodes that the model keeps."""
    if parameters.algorithm.endswith(("pairwise", "ring")):
        return parameters.p
    return 1 << (parameters.p.bit_length() - 1)


def _rounds(
    parameters: OverlapParameters, source: str
) -> tuple[Collective, list[Round]]:
    """Return the collective, a byte a chunk, and its rounds, a permutation each."""
    if parameters.algorithm not in OVERLAP_ALGORITHMS:
        allowed = ", ".join(OVERLAP_ALGORITHMS)
        found = parameters.algorithm
        what = "unknown algorithm of the overlap model"
        raise InputError(what, where=source, found=found, allowed=allowed)
    op, name = OVERLAP_ALGORITHMS[parameters.algorithm]
    n = _ranks(parameters)
    whole = parameters.m * _BYTES_PER_MB
    # An all-to-all of the model leaves out what stays where it is.
    block = round(whole / (n - 1 if name == "direct" else n))
    if block < 1:
        what = "a block has less than a byte"
        raise InputError(what, where=source, found=parameters.m)
    collective = Collective(op, tuple(range(n)), n * block, n * block)
    plan = make_algorithm(name, {}, op).plan(collective, 1)
    rounds = []
    for one in plan.rounds:
        for port in np.unique(one.port):
            rows = one.port == port
            columns = (one.src, one.dst, one.chunk_lo, one.chunk_hi, one.op, one.port)
            rounds.append(Round(*(each[rows] for each in columns)))
    return collective, rounds


def _circuits(one: Round) -> Circuits:
    """Return the circuits of a round, a partial permutation."""
    pairs = np.unique(np.stack([one.src, one.dst], axis=1), axis=0)
    return Circuits(pairs[:, 0].copy(), pairs[:, 1].copy())


def _check_volume(
    collective: Collective, one: Round, volume_mb: float, step: int, source: str
) -> None:
    """Raise if a step moves another volume than the collective's."""
    sent = np.bincount(one.src, one.chunk_hi - one.chunk_lo).max()
    asked_mb = float(sent) * collective.chunk_bytes / _BYTES_PER_MB
    if abs(volume_mb - asked_mb) > _TOLERANCE * asked_mb:
        what = f"step {step + 1} moves another volume than {collective.op} needs"
        found, allowed = f"{volume_mb:.6g} MB", f"{asked_mb:.6g} MB"
        raise FormatError(what, where=source, found=found, allowed=allowed)


def _shares(one: Round, volume_mb: NDArray[np.float64]) -> list[Transfers]:
    """Return what each plane moves, in whole bytes, in the order of planes."""
    total = volume_mb.sum()
    size = one.chunk_hi - one.chunk_lo
    ends = np.concatenate([[0.0], np.cumsum(volume_mb) / total])
    ends[-1] = 1.0
    cuts = [one.chunk_lo + np.rint(size * end).astype(np.int64) for end in ends]
    shares = []
    for low, high in pairwise(cuts):
        rows = np.flatnonzero(high > low)
        columns = (one.src[rows], one.dst[rows], low[rows], high[rows], one.op[rows])
        shares.append(Transfers(*columns))
    return shares
