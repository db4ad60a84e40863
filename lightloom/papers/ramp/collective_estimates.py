"""Completion times of collectives in closed form, computing included.

RAMP paper, section 7.4: a step lasts its head-to-head time (propagation, and the way
between memory and transceiver at both ends), its head-to-tail time (data over rate),
and the time to compute on what came in, by the roofline model. Replay of a schedule
says the first two; no schedule is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.ramp.shape import STEPS
from lightloom.synth.ramp.transceivers import per_pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.synth.ramp.shape import Shape


@dataclass(frozen=True)
class Processor:
    """What computes at a node; defaults are those of an A100 at half precision.

    Attributes
    ----------
    memory_bytes_per_s
        Bandwidth of its memory.
    flops_per_s
        Peak rate of additions.
    element_bytes
        Bytes of an element.
    """

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
class StepLoad:
    """One step as seen by its slowest node.

    Attributes
    ----------
    pair_bytes
        Data of a pair.
    pair_bits_per_s
        Rate of a pair.
    sources
        Buffers that are added at its end, its own included; 1 where none are.
    """

    pair_bytes: Fraction
    pair_bits_per_s: int
    sources: int = 1


@dataclass(frozen=True)
class Estimate:
    """A completion time in its parts, exact, in picoseconds.

    Attributes
    ----------
    steps
        Number of steps.
    head_to_head_ps, head_to_tail_ps, compute_ps
        Sums over the steps.
    """

    steps: int
    head_to_head_ps: Fraction
    head_to_tail_ps: Fraction
    compute_ps: Fraction

    @property
    def total_ps(self) -> Fraction:
        """Completion time."""
        return self.head_to_head_ps + self.head_to_tail_ps + self.compute_ps


def estimate(
    loads: Iterable[StepLoad], head_to_head_ps: int, processor: Processor
) -> Estimate:
    """Return the completion time of steps that follow each other.

    Parameters
    ----------
    loads
        The steps, of RAMP or of any other network.
    head_to_head_ps
        What every step takes before its last bit sets out.
    processor
        What adds the buffers.
    """
    steps = 0
    tail = compute = Fraction(0)
    for load in loads:
        steps += 1
        bits = load.pair_bytes * BITS_PER_BYTE
        tail += bits * PS_PER_S / load.pair_bits_per_s
        if load.sources > 1:
            compute += processor.reduction_ps(load.sources, load.pair_bytes)
    return Estimate(steps, Fraction(head_to_head_ps * steps), tail, compute)


def ramp_loads(
    shape: Shape,
    op: str,
    size_bytes: int,
    transceivers: int,
    bits_per_s: int,
    steps: tuple[int, ...] = STEPS,
) -> Iterator[StepLoad]:
    """Yield the steps of an operation on all nodes of a shape (Table 8, corrected).

    Parameters
    ----------
    shape
        The network that is used.
    op
        A collective, or ``barrier``; for broadcast see `broadcast_loads`.
    size_bytes
        The full buffer: see `lightloom.core.task.Collective`.
    transceivers, bits_per_s
        Of a node, and the rate of one.
    steps
        Steps whose subgroups are whole: all of them, but where one number of every
        rack takes part, which leaves out those along the numbers.

    Raises
    ------
    InputError
        An operation there is not.
    """
    sweeps = _sweeps(shape, size_bytes, transceivers, bits_per_s, steps)
    if op not in sweeps:
        what, allowed = "no such operation", ", ".join(sweeps)
        raise InputError(what, where="op", found=op, allowed=allowed)
    for sweep in sweeps[op]:
        yield from sweep


def _sweeps(
    shape: Shape,
    size_bytes: int,
    transceivers: int,
    bits_per_s: int,
    steps: tuple[int, ...],
) -> dict[str, list[list[StepLoad]]]:
    """Return what each operation takes: once or twice through the active steps."""
    portion = Fraction(size_bytes)
    narrow, whole, items = [], [], []
    for step in steps:
        members = shape.members(step)
        if members == 1:
            continue
        rate = per_pair(transceivers, shape, step) * bits_per_s
        portion /= members
        narrow.append(StepLoad(portion, rate, members))
        items.append(StepLoad(Fraction(size_bytes, members), rate))
        whole.append(StepLoad(Fraction(size_bytes), rate, members))
    moved = [StepLoad(load.pair_bytes, load.pair_bits_per_s) for load in narrow]
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


def broadcast_loads(
    size_bytes: int, pieces: int, depth: int, bits_per_s: int
) -> list[StepLoad]:
    """Return the steps of a broadcast by a tree (equation 1, corrected).

    Parameters
    ----------
    size_bytes
        The full buffer.
    pieces, depth
        Pieces that it passes in, k in the paper; hops from the root to the last node,
        s - 1 in the paper.
    bits_per_s
        Rate of a feeder to its class, that of a node where each feeds one.
    """
    load = StepLoad(Fraction(size_bytes, pieces), bits_per_s)
    return [load] * (pieces + depth - 1)
