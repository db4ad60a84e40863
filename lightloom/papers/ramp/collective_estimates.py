"""The steps of collectives on RAMP in closed form (Table 8 of the paper, corrected)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.papers.ramp.repeated_steps import RepeatedSteps
from lightloom.synth.ramp.subgroups import STEPS
from lightloom.synth.ramp.transceivers import per_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.synth.ramp.subgroups import Shape


def ramp_runs(
    shape: Shape,
    op: str,
    size_bytes: int,
    transceivers: int,
    bits_per_s: int,
    head_to_head_ps: int,
    steps: tuple[int, ...] = STEPS,
) -> Iterator[RepeatedSteps]:
    """Yield the steps of an operation on all nodes of a shape (Table 8, corrected)."""
    rates = {
        step: per_pair(transceivers, shape, step) * bits_per_s
        for step in steps
        if shape.members(step) > 1
    }
    sweeps = _sweeps(shape, Fraction(size_bytes), rates, head_to_head_ps)
    if op not in sweeps:
        what, allowed = "unknown operation", ", ".join(sweeps)
        raise InputError(what, where="op", found=op, allowed=allowed)
    for sweep in sweeps[op]:
        yield from sweep


def _sweeps(
    shape: Shape, size_bytes: Fraction, rates: dict[int, int], head_to_head_ps: int
) -> dict[str, list[list[RepeatedSteps]]]:
    """Return what each operation takes: once or twice through the active steps.

    `rates` are those of a pair, in bits per second, by step.
    """
    piece = size_bytes
    narrow, moved, whole, items = [], [], [], []
    for step, rate in rates.items():
        members = shape.members(step)
        piece /= members
        narrow.append(RepeatedSteps(1, piece, rate, head_to_head_ps, piece, members))
        moved.append(RepeatedSteps(1, piece, rate, head_to_head_ps))
        items.append(RepeatedSteps(1, size_bytes / members, rate, head_to_head_ps))
        added = (size_bytes, members)
        whole.append(RepeatedSteps(1, size_bytes, rate, head_to_head_ps, *added))
    return {
        "all-gather": [moved[::-1]],
        "all-reduce": [narrow, moved[::-1]],
        "all-to-all": [items],
        "barrier": [whole],
        "gather": [moved[::-1]],
        "reduce": [narrow, moved[::-1]],
        "reduce-scatter": [narrow],
        "scatter": [moved],
    }


def broadcast_run(
    size_bytes: int, pieces: int, depth: int, bits_per_s: int, head_to_head_ps: int
) -> RepeatedSteps:
    """Return the steps of a broadcast by a tree (equation 1, corrected)."""
    piece = Fraction(size_bytes, pieces)
    return RepeatedSteps(pieces + depth - 1, piece, bits_per_s, head_to_head_ps)
