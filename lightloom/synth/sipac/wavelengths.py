"""Wavelengths for the pairs of a segment: the shuffle, a colouring, or multicast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import ALONE, Circuits
from lightloom.core.columns import Ragged
from lightloom.core.units import transmission_ps_columns
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.lightpath.wavelength_allocation import divide_lasers

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.sipac import Sipac
    from lightloom.synth.sipac.segment_pairs import SegmentPairs


def best_circuits(fabric: Sipac, pairs: SegmentPairs) -> tuple[int, Circuits]:
    """Return the fastest of the ways to light all pairs at once, and its time.

    The time is that of the rounds of `pairs` in picoseconds, reconfigurations left
    out; among equals the shuffle is taken, then circuits of one destination each.

    `pairs`: who sends how much to whom in each round.
    """
    found = [shuffled(fabric, pairs)]
    if fabric.switching == "tunable":
        found += [
            made
            for made in (coloured(fabric, pairs), shared(fabric, pairs))
            if made is not None
        ]
    timed = [(rounds_ps(fabric, pairs, made), made) for made in found]
    return min(timed, key=lambda one: one[0])


def rounds_ps(fabric: Sipac, pairs: SegmentPairs, circuits: Circuits) -> int:
    """Return how long rounds take, in picoseconds, reconfigurations left out.

    `pairs`: who sends how much to whom in each round. `circuits`: row i is the circuit
    of pair i.
    """
    rate = fabric.circuit_bits_per_s(circuits)
    total = 0
    for size_bytes in pairs.size_bytes:
        used = size_bytes > 0
        lasts = transmission_ps_columns(size_bytes[used], rate[used])
        total += fabric.alpha_ps + int(lasts.max(initial=0))
    return total


def shuffled(fabric: Sipac, pairs: SegmentPairs) -> Circuits:
    """Return the circuits of the shuffle: equally many wavelengths for every pair."""
    further = fabric.port(pairs.dst, pairs.level) - fabric.port(pairs.src, pairs.level)
    group = (further - (not fabric.loopback)) % fabric.radix
    each = fabric.wavelengths_per_peer
    colour = group[:, None] + np.arange(each, dtype=np.int64) * fabric.groups
    lengths = np.full(len(group), each, dtype=np.int64)
    wavelengths = Ragged.from_lengths(lengths, colour.reshape(-1))
    return Circuits(pairs.src, pairs.dst, wavelengths)


def coloured(fabric: Sipac, pairs: SegmentPairs) -> Circuits | None:
    """Return circuits in which pairs share a fibre's wavelengths as they need them.

    The pairs of a level fall into as few partial permutations of ports as there can
    be, each of which gets some wavelengths. ``None`` if there are too few.
    """
    colour = np.zeros(len(pairs.src), dtype=np.int64)
    for level in range(fabric.levels):
        mine = np.flatnonzero(pairs.level == level)
        colour[mine] = edge_colours(pairs.src[mine], pairs.dst[mine])
    wavelengths = _dealt(fabric, pairs, colour)
    return None if wavelengths is None else Circuits(pairs.src, pairs.dst, wavelengths)


def shared(fabric: Sipac, pairs: SegmentPairs) -> Circuits | None:
    """Return circuits of several destinations wherever these get the same.

    All that a source sends to on a level hear it on the same wavelengths. Sources
    whose destinations overlap take different ones: colours are given greedily, in
    order of (level, source). ``None`` if nothing is shared, or there are too few.
    """
    port = pairs.src * fabric.levels + pairs.level
    lit = np.where(pairs.alike, port, -1 - np.arange(len(port)))
    _, circuit = np.unique(lit, return_inverse=True)
    several = np.bincount(circuit)[circuit] > 1
    if not several.any():
        return None
    colour = _overlap_colours(fabric, pairs, circuit, port)
    wavelengths = _dealt(fabric, pairs, colour)
    if wavelengths is None:
        return None
    multicast = np.full(len(port), ALONE, dtype=np.int64)
    _, number = np.unique(circuit[several], return_inverse=True)
    multicast[several] = number
    return Circuits(pairs.src, pairs.dst, wavelengths, multicast=multicast)


def _overlap_colours(
    fabric: Sipac, pairs: SegmentPairs, circuit: IntArray, port: IntArray
) -> IntArray:
    """Return the least colour free at a circuit's source and all destinations."""
    bus = pairs.dst * fabric.levels + pairs.level
    order = np.lexsort((pairs.dst, circuit, port, pairs.level))
    rows = np.split(order, np.flatnonzero(np.diff(circuit[order])) + 1)
    sent: dict[int, int] = {}
    heard: dict[int, int] = {}
    colour = np.zeros(len(port), dtype=np.int64)
    for mine in rows:
        source = int(port[mine[0]])
        taken = sent.get(source, 0)
        for number in bus[mine].tolist():
            taken |= heard.get(number, 0)
        free = (taken + 1) & ~taken
        colour[mine] = free.bit_length() - 1
        sent[source] = sent.get(source, 0) | free
        for number in bus[mine].tolist():
            heard[number] = heard.get(number, 0) | free
    return colour


def _dealt(fabric: Sipac, pairs: SegmentPairs, colour: IntArray) -> Ragged | None:
    """Return the wavelengths of each pair, dealt to the colours of its level.

    Colours that move more get more, so that the rounds together end soonest.
    """
    first = np.zeros(len(colour), dtype=np.int64)
    count = np.zeros(len(colour), dtype=np.int64)
    for level in range(fabric.levels):
        mine = np.flatnonzero(pairs.level == level)
        if not len(mine):
            continue
        colours = int(colour[mine].max()) + 1
        most = np.zeros((len(pairs.size_bytes), colours), dtype=np.int64)
        for number, size_bytes in enumerate(pairs.size_bytes):
            np.maximum.at(most[number], colour[mine], size_bytes[mine])
        sizes, often = np.unique(most, axis=0, return_counts=True)
        rounds = tuple(
            (number, tuple(row))
            for number, row in zip(often.tolist(), sizes.tolist(), strict=True)
        )
        dealt = divide_lasers((1,) * colours, rounds, fabric.wavelengths)
        if dealt is None:
            return None
        each = np.array(dealt, dtype=np.int64)
        count[mine] = each[colour[mine]]
        first[mine] = (np.cumsum(each) - each)[colour[mine]]
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return Ragged.from_lengths(count, np.repeat(first, count) + within)
