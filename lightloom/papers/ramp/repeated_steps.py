"""Steps that are alike, counted: what collectives on large networks take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.papers.ramp.collective_estimates import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.papers.ramp.collective_estimates import Processor, StepLoad

_NOTHING = Fraction(0)


@dataclass(frozen=True)
class Run:
    """Steps that are alike for the slowest node.

    Attributes
    ----------
    steps
        How many there are.
    wire_bytes
        Data that a node sends in one of them, on average.
    bits_per_s
        Rate at which it does.
    head_to_head_ps
        What a step takes before its last bit sets out.
    reduced_bytes
        Size of each of the buffers that are added at its end.
    sources
        Number of these buffers, the node's own included; 1 where none are added.
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


def total(runs: Iterable[Run], processor: Processor) -> Estimate:
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


def of_loads(loads: Iterable[StepLoad], head_to_head_ps: int) -> Iterator[Run]:
    """Yield a run for each step of RAMP."""
    for load in loads:
        reduced = load.pair_bytes if load.sources > 1 else _NOTHING
        yield Run(
            1,
            load.pair_bytes,
            load.pair_bits_per_s,
            head_to_head_ps,
            reduced,
            load.sources,
        )


def together(left: Iterable[Run], right: Iterable[Run]) -> list[Run]:
    """Return two sequences of runs that run at once on links of their own.

    Step i of one coincides with step i of the other: the slower counts, and a node
    adds up what came in by both, buffers of equal numbers of sources.
    """
    waiting = [list(left), list(right)]
    merged: list[Run] = []
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
        for one in waiting:
            rest = one[0].steps - count
            one[:1] = [replace(one[0], steps=rest)] if rest else []
    return merged + waiting[0] + waiting[1]
