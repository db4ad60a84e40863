"""What the circuits of pairs share, so that a linear program may weigh ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring


@dataclass(frozen=True, eq=False)
class PairLines:
    """A line of each pair: pairs with the same number share its rate.

    `line`: number of the line of each pair, from 0 on, shape (pairs,). `amount`: what a
    byte of each pair takes of it, shape (pairs,).
    """

    line: IntArray
    amount: IntArray
    bits_per_s: int


def end_lines(src: IntArray, dst: IntArray, bits_per_s: int) -> list[PairLines]:
    """Return what nodes send, and what they receive, as lines.

    `src`, `dst`: ends of the pairs, shape (pairs,); or numbers of ports there.
    """
    once = np.ones(len(src), dtype=np.int64)
    return [PairLines(end, once, bits_per_s) for end in (src, dst)]


def ring_lines(
    ring: Ring, src: IntArray, dst: IntArray, which: IntArray
) -> list[PairLines]:
    """Return what nodes send and receive on rings, and the spans of each, as lines.

    `src`, `dst`: places on the ring of each pair, shape (pairs,). `which`: number of
    the ring of each pair.
    """
    first = which * ring.nodes
    spans = ring.directions * ring.nodes * ring.wavelengths
    crossed = PairLines(
        which, ring.least_spans(src, dst), spans * ring.bits_per_second_per_wavelength
    )
    return [*end_lines(first + src, first + dst, ring.node_bits_per_s), crossed]
