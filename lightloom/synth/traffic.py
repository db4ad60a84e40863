"""The rounds of a plan or demand as traffic between nodes, with its size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import distinct
from lightloom.core.schedule import FluidTransfers, Transfers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.plans.plan import Plan


@dataclass(frozen=True, eq=False)
class TrafficRound:
    """Transfers released together, between nodes, with ports as in `plan.Round`.

    `transfers`: what moves, in node ids. `port`: partial permutation each row belongs
    to.
    """

    transfers: Transfers | FluidTransfers
    size_bytes: IntArray
    port: IntArray


@dataclass(frozen=True, eq=False)
class Lane:
    """A partial permutation of nodes: what one wavelength can carry at a time.

    Sorted by source; no source and no destination appears twice.
    """

    src: IntArray
    dst: IntArray

    def key(self) -> bytes:
        """Return an identity to look the lane up by."""
        return self.src.tobytes() + self.dst.tobytes()


@dataclass(frozen=True, eq=False)
class LaneRound:
    """One round as lanes: ``lanes[i]`` has a pair with ``size_bytes[i]`` to move."""

    lanes: tuple[int, ...]
    size_bytes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LaneTraffic:
    """Rounds over a shared list of distinct lanes.

    ``lane_of_row[r][i]`` is the lane that row i of round r uses.
    """

    lanes: tuple[Lane, ...]
    rounds: tuple[LaneRound, ...]
    lane_of_row: tuple[IntArray, ...]


def plan_traffic(plan: Plan, nodes: Sequence[int]) -> tuple[TrafficRound, ...]:
    """Return a plan's rounds with rank r played by ``nodes[r]``.

    `nodes`: a node for each rank, all different.
    """
    node = np.array(nodes, dtype=np.int64)
    chunk_bytes = plan.collective.chunk_bytes
    return tuple(
        TrafficRound(
            Transfers(
                node[step.src], node[step.dst], step.chunk_lo, step.chunk_hi, step.op
            ),
            (step.chunk_hi - step.chunk_lo) * chunk_bytes,
            step.port,
        )
        for step in plan.rounds
    )


def lane_traffic(rounds: Sequence[TrafficRound]) -> LaneTraffic:
    """Return the rounds as lanes; equal lanes of different rounds become one.

    Every port of a round is a lane. Where the pairs that a port has in all rounds
    together are still a partial permutation, they are one lane: the port's
    circuits can stay. A lane whose pairs are all pairs of a larger lane becomes that
    one, so that rounds that fill and drain a pipeline share their circuits.

    Raises `ValueError`: a port of a round that is no partial permutation: a defect of
    an algorithm.
    """
    steady = _steady_lanes(rounds)
    found: dict[bytes, int] = {}
    lanes: list[Lane] = []
    uses: list[list[tuple[int, int]]] = []  # per round: (lane, bytes) by port
    rows: list[IntArray] = []
    for round_ in rounds:
        of_port = np.zeros(int(round_.port.max(initial=-1)) + 1, dtype=np.int64)
        used: list[tuple[int, int]] = []
        for port, own, size_bytes in _port_lanes(round_):
            lane = steady.get(port, own)
            index = found.setdefault(lane.key(), len(lanes))
            if index == len(lanes):
                lanes.append(lane)
            of_port[port] = index
            used.append((index, size_bytes))
        uses.append(used)
        rows.append(of_port[round_.port])
    kept = _absorb(lanes)
    return LaneTraffic(
        tuple(lanes),
        tuple(_lane_round(used, kept) for used in uses),
        tuple(kept[row] for row in rows),
    )


def _steady_lanes(rounds: Sequence[TrafficRound]) -> dict[int, Lane]:
    """Return the lane of each port whose pairs never conflict over all rounds.

    Only where all ports are so: else a configuration for all rounds has no room.
    """
    if len(rounds) <= 1:
        return {}
    src, dst, port = (
        np.concatenate(columns)
        for columns in zip(
            *((one.transfers.src, one.transfers.dst, one.port) for one in rounds),
            strict=True,
        )
    )
    width = 1 + int(max(src.max(initial=0), dst.max(initial=0)))
    pairs = distinct((port * width + src) * width + dst)
    port, src, dst = pairs // width**2, pairs // width % width, pairs % width
    for end in (src, dst):
        if len(distinct(port * width + end)) < len(pairs):
            return {}
    first = np.flatnonzero(np.diff(port, prepend=-1))
    return {
        int(port[start]): Lane(src[start:end], dst[start:end])
        for start, end in pairwise([*first.tolist(), len(port)])
    }


def _port_lanes(round_: TrafficRound) -> Iterator[tuple[int, Lane, int]]:
    """Yield each port with its pairs, and the most bytes that one of them moves."""
    if not len(round_.port):
        return
    src, dst = round_.transfers.src, round_.transfers.dst
    width = 1 + int(max(src.max(), dst.max()))
    order = np.argsort(round_.port * width + src, kind="stable")
    end = round_.port[order] * width + src[order]
    first = np.flatnonzero(np.diff(end, prepend=-1))
    port, sources = np.divmod(end[first], width)
    targets = dst[order][first]
    repeats = np.diff(first, append=len(order))
    alike = (np.repeat(targets, repeats) == dst[order]).all()
    if not alike or len(distinct(port * width + targets)) < len(first):
        message = "a port of a round is not a partial permutation"
        raise ValueError(message)
    moved = np.add.reduceat(round_.size_bytes[order], first)
    starts = np.flatnonzero(np.diff(port, prepend=-1))
    most = np.maximum.reduceat(moved, starts).tolist()
    spans = pairwise([*starts.tolist(), len(port)])
    for (start, stop), size_bytes in zip(spans, most, strict=True):
        lane = Lane(sources[start:stop], targets[start:stop])
        yield int(port[start]), lane, size_bytes


def _lane_round(used: list[tuple[int, int]], kept: IntArray) -> LaneRound:
    """Return one round over the kept lanes; ports of a round share no pair."""
    sizes: dict[int, int] = {}
    for lane, size_bytes in used:
        index = int(kept[lane])
        sizes[index] = max(sizes.get(index, 0), size_bytes)
    return LaneRound(tuple(sizes), tuple(sizes.values()))


def _absorb(lanes: list[Lane]) -> IntArray:
    """Return for each lane the largest lane that has all its pairs, else itself."""
    kept = np.arange(len(lanes), dtype=np.int64)
    sizes = np.array([len(lane.src) for lane in lanes], dtype=np.int64)
    if not len(lanes) or (sizes == sizes[0]).all():
        return kept
    width = 1 + max(int(max(lane.src.max(), lane.dst.max())) for lane in lanes)
    pairs = [np.sort(lane.src * width + lane.dst) for lane in lanes]
    by_size = np.argsort(-sizes, kind="stable")
    # Who has a pair, the largest lanes first.
    every = np.concatenate([pairs[index] for index in by_size])
    order = np.argsort(every, kind="stable")
    every, owner = every[order], np.repeat(by_size, sizes[by_size])[order]
    for index in by_size.tolist():
        mine = pairs[index]
        start, end = np.searchsorted(every, [mine[0], mine[0] + 1])
        for other in owner[start:end].tolist():
            if other == index:
                break
            if (
                kept[other] == other
                and np.isin(mine, pairs[other], assume_unique=True).all()
            ):
                kept[index] = other
                break
    return kept
