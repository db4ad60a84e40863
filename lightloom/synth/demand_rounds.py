"""Rounds for demands, by the LUMORPH paper's greedy, by edge colouring, or by size.

A demand asks for bytes between pairs (LAYERTOLAYER transfers of the LUMORPH
paper). Served by thin pipes, one wavelength a pair, it takes at least
``ceil(max degree / lasers)`` rounds, and a bipartite edge colouring reaches that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError, nearest
from lightloom.core.schedule import FluidTransfers
from lightloom.core.seed import seeded_random
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.ocs.matrix_permutations import ports_by_size
from lightloom.synth.traffic import TrafficRound

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.task import Demand

EDGE_COLOURING = "edge-colouring"
GREEDY = "greedy"
DECOMPOSITION = "decomposition"
CONFIGURATIONS = "configurations"
"""See `lightloom.synth.demand_configurations`. Not made of these rounds either."""
RELAYS = "relays"
"""Over one circuit or two: see `lightloom.synth.relays`. Not made of these rounds."""


def edge_colouring(demand: Demand, lasers: int, seed: int) -> tuple[TrafficRound, ...]:
    """Return a demand as one round of max-degree ports.

    Realisation divides the ports among ``ceil(max degree / lasers)`` segments, the
    fewest there can be, with all lasers of a segment in use. Deterministic.
    """
    del lasers, seed
    round_ = _round(demand, np.arange(len(demand.src)))
    return (round_,) if len(demand.src) else ()


def greedy(demand: Demand, lasers: int, seed: int) -> tuple[TrafficRound, ...]:
    """Return a demand as the rounds of the paper's Algorithm 3.

    In every round each destination, in ascending order, picks up to `lasers` of its
    remaining sources at random. The printed algorithm never limits what a *source*
    sends; here a source whose lasers are all taken is passed over until the next
    round, else the round could not be lit.
    """
    rng = seeded_random(seed)
    remaining: dict[int, list[int]] = {}
    for row, dst in enumerate(demand.dst):
        remaining.setdefault(dst, []).append(row)
    rounds: list[TrafficRound] = []
    while remaining:
        sending: dict[int, int] = {}
        picked: list[int] = []
        for dst in sorted(remaining):
            rows = remaining[dst]
            rng.shuffle(rows)
            kept: list[int] = []
            taken = 0
            for row in rows:
                src = demand.src[row]
                if taken < lasers and sending.get(src, 0) < lasers:
                    sending[src] = sending.get(src, 0) + 1
                    picked.append(row)
                    taken += 1
                else:
                    kept.append(row)
            remaining[dst] = kept
        remaining = {dst: rows for dst, rows in remaining.items() if rows}
        rounds.append(_round(demand, np.array(sorted(picked), dtype=np.int64)))
    return tuple(rounds)


def decomposition(demand: Demand, lasers: int, seed: int) -> tuple[TrafficRound, ...]:
    """Return a demand as one round of max-degree ports, each of pairs of like size.

    Realisation divides the ports among segments, those that move most first: a
    segment is not held up by one large pair among small ones. Deterministic.
    """
    del lasers, seed
    if not demand.src:
        return ()
    src, dst, size_bytes = (
        np.array(each, dtype=np.int64)
        for each in (demand.src, demand.dst, demand.bytes)
    )
    port = ports_by_size(src, dst, size_bytes)
    return (TrafficRound(FluidTransfers(src, dst, size_bytes), size_bytes, port),)


@dataclass(frozen=True)
class DemandAlgorithm:
    """An algorithm for demands.

    Attributes
    ----------
    name
        Name, as in ``--algorithm``.
    summary
        One line that says what it does.
    rounds
        From a demand, the lasers of a node and a seed to the rounds that serve it.
    """

    name: str
    summary: str
    rounds: Callable[[Demand, int, int], tuple[TrafficRound, ...]]


DEMAND_ALGORITHMS = {
    one.name: one
    for one in (
        DemandAlgorithm(
            EDGE_COLOURING,
            "fewest rounds of one circuit a pair, by bipartite edge colouring",
            edge_colouring,
        ),
        DemandAlgorithm(
            GREEDY,
            "rounds in which every destination picks sources at random (LUMORPH)",
            greedy,
        ),
        DemandAlgorithm(
            DECOMPOSITION,
            "configurations that take turns, each of pairs of like size",
            decomposition,
        ),
    )
}
"""Every algorithm for demands, by name."""


def demand_traffic(
    name: str, demand: Demand, lasers: int, seed: int
) -> tuple[TrafficRound, ...]:
    """Return the rounds in which an algorithm serves a demand.

    Raises `InputError` if there is no such algorithm for demands.
    """
    if name not in DEMAND_ALGORITHMS:
        raise InputError(
            "unknown algorithm for a demand",
            where="algorithm",
            found=name,
            allowed=", ".join(["auto", *DEMAND_ALGORITHMS, RELAYS]),
            fix=nearest(name, [*DEMAND_ALGORITHMS, RELAYS]),
        )
    return DEMAND_ALGORITHMS[name].rounds(demand, lasers, seed)


def _round(demand: Demand, rows: np.ndarray) -> TrafficRound:
    """Return some rows of a demand as one round, its ports by edge colouring."""
    src = np.array(demand.src, dtype=np.int64)[rows]
    dst = np.array(demand.dst, dtype=np.int64)[rows]
    size_bytes = np.array(demand.bytes, dtype=np.int64)[rows]
    port = edge_colours(src, dst)
    return TrafficRound(FluidTransfers(src, dst, size_bytes), size_bytes, port)
