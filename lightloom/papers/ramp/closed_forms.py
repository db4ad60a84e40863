"""Completion times of collectives in closed form, from steps that are alike, counted.

RAMP paper, section 7.4: a step lasts its head-to-head time (propagation, and the way
between memory and transceiver at both ends), its head-to-tail time (data over rate),
and the time to compute on what came in, by the roofline model. Replay of a schedule
says the first two; no schedule is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.ramp.team import STEPS, per_pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.synth.ramp.team import Shape

_NOTHING = Fraction(0)


@dataclass(frozen=True)
class Processor:
    """What computes at a node; defaults are those of an A100 at half precision."""

    memory_bytes_per_s: int = 2 * 10**12
    flops_per_s: int = 130 * 10**12
    element_bytes: int = 2

    def reduction_ps(self, sources: int, size_bytes: Fraction) -> Fraction:
        """Return the time to add `sources` buffers of `size_bytes` into one.

        Roofline: all are read and one is written, and each element takes one addition
        less than there are sources; the slower of the two counts.
        """
        moved = (sources + 1) * size_bytes / self.memory_bytes_per_s
        added = (sources - 1) * size_bytes / self.element_bytes / self.flops_per_s
        return max(moved, added) * PS_PER_S


@dataclass(frozen=True)
class Estimate:
    """A completion time in its parts, each summed over the steps, exact."""

    steps: int
    head_to_head_ps: Fraction
    head_to_tail_ps: Fraction
    compute_ps: Fraction

    @property
    def total_ps(self) -> Fraction:
        """Completion time."""
        return self.head_to_head_ps + self.head_to_tail_ps + self.compute_ps


@dataclass(frozen=True)
class RepeatedSteps:
    """Steps that are alike for the slowest node.

    In each it sends `wire_bytes` on average, after `head_to_head_ps`; at its end
    `sources` buffers of `reduced_bytes` are added, its own included (1: none are).
    """

    steps: int
    wire_bytes: Fraction
    bits_per_s: int
    head_to_head_ps: int
    reduced_bytes: Fraction = _NOTHING
    sources: int = 1

    @property
    def wire_ps(self) -> Fraction:
        """Time from the first bit of a step to its last."""
        return self.wire_bytes * BITS_PER_BYTE * PS_PER_S / self.bits_per_s


def total(runs: Iterable[RepeatedSteps], processor: Processor) -> Estimate:
    """Return the completion time of runs that follow each other."""
    steps = 0
    head = tail = compute = _NOTHING
    for run in runs:
        steps += run.steps
        head += run.steps * run.head_to_head_ps
        tail += run.steps * run.wire_ps
        if run.sources > 1:
            added = processor.reduction_ps(run.sources, run.reduced_bytes)
            compute += run.steps * added
    return Estimate(steps, head, tail, compute)


def together(
    left: Iterable[RepeatedSteps], right: Iterable[RepeatedSteps]
) -> list[RepeatedSteps]:
    """Return two sequences of runs that run at once on links of their own.

    Step i of one coincides with step i of the other: the slower counts, and a node
    adds up what came in by both, buffers of equal numbers of sources.
    """
    waiting = [list(left), list(right)]
    merged: list[RepeatedSteps] = []
    while all(waiting):
        first, second = waiting[0][0], waiting[1][0]
        count = min(first.steps, second.steps)
        slower = max(first, second, key=lambda run: run.wire_ps)
        merged.append(
            replace(
                slower,
                steps=count,
                head_to_head_ps=max(first.head_to_head_ps, second.head_to_head_ps),
                reduced_bytes=first.reduced_bytes + second.reduced_bytes,
                sources=max(first.sources, second.sources),
            )
        )
        for runs in waiting:
            rest = runs[0].steps - count
            runs[:1] = [replace(runs[0], steps=rest)] if rest else []
    return merged + waiting[0] + waiting[1]


def ramp_runs(
    shape: Shape,
    op: str,
    size_bytes: int,
    transceivers: int,
    bits_per_s: int,
    head_to_head_ps: int,
    steps: tuple[int, ...] = STEPS,
) -> Iterator[RepeatedSteps]:
    """Yield the steps of an operation on all nodes of a shape (Table 8, corrected).

    It is a collective or ``barrier``; for broadcast see `broadcast_run`. `steps` are
    those whose subgroups are whole: all, but where one number of every rack takes part,
    which leaves out those along the numbers.
    """
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
    """Return the steps of a broadcast by a tree (equation 1, corrected).

    The buffer passes in k pieces down s - 1 hops of depth, at the rate of a feeder to
    its class, that of a node where each feeds one.
    """
    piece = Fraction(size_bytes, pieces)
    return RepeatedSteps(pieces + depth - 1, piece, bits_per_s, head_to_head_ps)
