"""The realisation of rounds on SiPAC, by segments of one-hop circuits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import ALONE, Circuits
from lightloom.core.columns import Ragged
from lightloom.core.schedule import Segment, StepPart, Transfers
from lightloom.core.units import transmission_ps_columns
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.lightpath.wavelength_allocation import divide_lasers
from lightloom.synth.realisation import Realisation
from lightloom.synth.shared_configurations import best_configurations

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.sipac import Sipac
    from lightloom.synth.traffic import TrafficRound


@dataclass(frozen=True, eq=False)
class _Served:
    """Rounds ``first .. last`` (inclusive) on circuits that stay throughout."""

    first: int
    last: int
    circuits: Circuits
    duration_ps: int


def realise_sipac(fabric: Sipac, rounds: Sequence[TrafficRound]) -> Realisation:
    """Return segments and steps that carry rounds, one step for each round.

    All pairs of the fabric can be lit at once by the shuffle, so one segment is always
    enough. Where switches can be tuned, rounds may instead be cut into several
    segments, each with the circuits that are best for it (`best_circuits`), such that
    they end soonest (`best_configurations`). Transfers must go one hop.

    Deterministic. Consecutive rounds with the same pairs are never cut apart; where all
    cuts together would not save a reconfiguration, none is tried.

    `rounds`: traffic in order, between nodes that share a switch.
    """
    if not rounds:
        return Realisation((), ())
    runs = _runs(rounds)
    whole = _serve(fabric, rounds, 0, len(rounds) - 1)
    served = [whole]
    least_ps = len(rounds) * fabric.alpha_ps
    worth = whole.duration_ps - least_ps > fabric.reconfiguration_ps
    if fabric.switching == "tunable" and len(runs) > 1 and worth:

        def serve(start: int, end: int) -> _Served:
            """Return the best circuits for some runs."""
            if end - start == len(runs) - 1:
                return whole
            return _serve(fabric, rounds, runs[start][0], runs[end][1])

        served = best_configurations(len(runs), serve, fabric.reconfiguration_ps)
    segments = tuple(
        Segment(0, index, one.circuits) for index, one in enumerate(served)
    )
    parts = tuple(
        StepPart(step, 0, index, rounds[step].transfers)
        for index, one in enumerate(served)
        for step in range(one.first, one.last + 1)
    )
    return Realisation(segments, parts)


def _serve(
    fabric: Sipac, rounds: Sequence[TrafficRound], first: int, last: int
) -> _Served:
    """Return the best circuits for some rounds."""
    pairs = pairs_of(fabric, rounds[first : last + 1])
    duration_ps, circuits = best_circuits(fabric, pairs)
    return _Served(first, last, circuits, duration_ps)


def _runs(rounds: Sequence[TrafficRound]) -> list[tuple[int, int]]:
    """Return (first, last) of the runs of rounds that use the same pairs."""
    runs: list[tuple[int, int]] = []
    before = b""
    for number, one in enumerate(rounds):
        ends = np.stack([one.transfers.src, one.transfers.dst])
        now = np.unique(ends, axis=1).tobytes()
        if runs and now == before:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
        before = now
    return runs


@dataclass(frozen=True, eq=False)
class SegmentPairs:
    """The (src, dst) pairs of some rounds, each one hop apart.

    `src`, `dst`, `level`: shape (pairs,); sorted by src, then dst. `size_bytes`: what
    each pair moves in each round, shape (rounds, pairs). `alike`: whether, in every
    round, what the pair's source sends on its level is the same for all whom it sends
    to there, shape (pairs,).
    """

    src: IntArray
    dst: IntArray
    level: IntArray
    size_bytes: IntArray
    alike: npt.NDArray[np.bool_]


def pairs_of(fabric: Sipac, rounds: Sequence[TrafficRound]) -> SegmentPairs:
    """Return the pairs of rounds in which all transfers go one hop.

    `rounds`: traffic in order, between nodes that share a switch; one round or more.
    """
    count = fabric.node_count
    keys = [one.transfers.src * count + one.transfers.dst for one in rounds]
    pair = np.unique(np.concatenate(keys))
    src, dst = pair // count, pair % count
    level = fabric.level_of(src, dst)
    size_bytes = np.zeros((len(rounds), len(pair)), dtype=np.int64)
    alike = np.ones(len(pair), dtype=np.bool_)
    port = src * fabric.levels + level
    for number, (one, key) in enumerate(zip(rounds, keys, strict=True)):
        place = np.searchsorted(pair, key)
        np.add.at(size_bytes[number], place, one.size_bytes)
        alike &= ~np.isin(port, port[_odd(one, place, port)])
    return SegmentPairs(src, dst, level, size_bytes, alike)


def _odd(one: TrafficRound, place: IntArray, port: IntArray) -> IntArray:
    """Return pairs that send other chunks than the first pair of their port does.

    `place`: the pair of each of its rows. `port`: which source and level each pair is
    of.
    """
    moved = one.transfers
    if not isinstance(moved, Transfers):
        return np.unique(place)  # nobody else's bytes are the same
    order = np.argsort(place, kind="stable")
    present, begin = np.unique(place[order], return_index=True)
    length = np.diff(begin, append=len(order))
    lead_of: dict[int, int] = {}
    lead = [
        lead_of.setdefault(number, index)
        for index, number in enumerate(port[present].tolist())
    ]
    odd = length != length[lead]
    same = np.flatnonzero(~odd)
    within = np.arange(int(length[same].sum()))
    within -= np.repeat(np.cumsum(length[same]) - length[same], length[same])
    mine = order[np.repeat(begin[same], length[same]) + within]
    other = order[np.repeat(begin[np.array(lead)[same]], length[same]) + within]
    differ = moved.chunk_lo[mine] != moved.chunk_lo[other]
    differ |= moved.chunk_hi[mine] != moved.chunk_hi[other]
    odd[np.repeat(same, length[same])[differ]] = True
    found: IntArray = present[odd]
    return found


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
