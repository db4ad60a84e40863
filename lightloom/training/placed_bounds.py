"""What no iteration of a placed replica can beat: its paths, devices and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.replay.workload.execute import Launch
from lightloom.training.placement.operation_graph import op_graph

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.training.node_layout import NodeLayout
    from lightloom.training.replica import Replica

_LESS = 1 - 1e-12
"""Far more than what doubles lose when bytes are divided by a rate."""
_TWIN = -1


@dataclass(frozen=True, eq=False)
class _Rows:
    """Bytes that some devices of a replica receive, of shape (rows,) each.

    `src` is `_TWIN` where they come from copies of the device in other replicas, and
    `dst` receives so much on average over these. Nothing moves before `head`, and
    `tail` follows the arrival.
    """

    src: IntArray
    dst: IntArray
    bytes: IntArray
    head: IntArray
    tail: IntArray


@dataclass(frozen=True, eq=False)
class _Passes:
    """The passes of a replica's parts, forward ones first; columns (2 * parts,).

    `device`, `lasts`: where each runs, and how long it keeps its device. `head`,
    `tail`: the longest paths that lead to it, and from it. `transfers`: tensors that go
    between devices.
    """

    device: IntArray
    lasts: IntArray
    head: IntArray
    tail: IntArray
    transfers: _Rows


@dataclass(eq=False)
class PlacedBounds:
    """Lower bounds on the time of an iteration, given where parts are.

    No pass begins before the longest path that leads to it, each pass and transfer on
    it as fast as can be. What a device has to compute, or a link to carry, after some
    time takes as long as its work does, and then comes the shortest path that is left:
    the one-machine bound of shop scheduling (Carlier 1982), without its order of jobs.
    This holds in whatever order operations run and however links are shared.

    A node is a link for all that it receives. The replicas of a sum over l copies of S
    bytes receive 2 (l - 1) S together, and those of a device as much on average.

    `launch`: what operations cost beside their durations.
    """

    launch: Launch = field(default_factory=Launch)
    _passes: dict[tuple[int, int, int], _Passes] = field(default_factory=dict)
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)
    _kept: list[Replica] = field(default_factory=list)

    def nodes_ps(
        self,
        replica: Replica,
        laid: NodeLayout,
        bits_per_s: int,
        alpha_ps: int,
        *,
        rings: bool,
    ) -> int:
        """Return a bound that knows of a fabric what a node receives, and alpha.

        `alpha_ps`: least fixed cost of a transfer, and of each step of a collective.
        """
        asked = laid.rings if rings else laid.replicas
        key = id(replica), asked, bits_per_s, alpha_ps, rings
        if key not in self._known:
            made = self._passes_of(replica, bits_per_s, alpha_ps)
            steps = _steps_before(laid) if rings else 1
            sums = _sums(replica, made, laid.replicas, steps * alpha_ps, alpha_ps)
            if not rings:
                sums = _taken(sums, sums.src == _TWIN)
            rows = _joined(made.transfers, sums)
            took = _took_ps(rows.bytes, np.full(len(rows.bytes), bits_per_s))
            self._known[key] = max(
                int((made.head + made.lasts + made.tail).max()),
                _busiest_ps(made.device, made.head, made.lasts, made.tail),
                _busiest_ps(rows.dst, rows.head, took, rows.tail),
            )
        return self._known[key]

    def links_ps(
        self, replica: Replica, laid: NodeLayout, *, coarsely: bool = False
    ) -> int:
        """Return a bound by the links of a packet network, with rings of twins.

        `coarsely`: whether all that a device sends to another is taken to be there when
        the first of it is: less work, and a bound that is no more.
        """
        fabric = laid.fabric
        assert isinstance(fabric, PacketFabric)
        alpha_ps = fabric.alpha_ps + fabric.latency_ps
        made = self._passes_of(replica, fabric.node_bits_per_s, alpha_ps)
        steps = _steps_before(laid)
        sums = _sums(replica, made, laid.replicas, steps * alpha_ps, alpha_ps)
        rows = _joined(made.transfers, sums)
        if coarsely:
            rows = _by_pair(rows)
        nodes = np.array(laid.nodes, dtype=np.int64)
        twin = rows.src == _TWIN
        before = np.where(twin, np.roll(nodes, 1, axis=0)[:, rows.dst], 0)
        src = np.where(twin, before, nodes[:, np.where(twin, 0, rows.src)])
        if not len(rows.bytes):
            return 0
        usage = fabric.link_usage(src.ravel(), nodes[:, rows.dst].ravel())
        row = usage.circuit % len(rows.bytes)
        rate = fabric.link_bits_per_s(usage.resource)
        return _busiest_ps(
            usage.resource,
            rows.head[row],
            _took_ps(rows.bytes[row], rate),
            rows.tail[row],
        )

    def _passes_of(self, replica: Replica, bits_per_s: int, alpha_ps: int) -> _Passes:
        key = id(replica), bits_per_s, alpha_ps
        if key not in self._passes:
            self._kept.append(replica)  # so that no other gets its id
            self._passes[key] = _timed(replica, self.launch, bits_per_s, alpha_ps)
        return self._passes[key]


def _timed(replica: Replica, launch: Launch, bits_per_s: int, alpha_ps: int) -> _Passes:
    """Return the passes of a replica with their longest paths."""
    split, parts = replica.split, len(replica.device)
    costs = [
        operation.split(cut.dimension)
        for operation, cut in zip(split.graph.ops, split.cuts, strict=True)
    ]
    cuts = [(one, cut.parts) for one, cut in zip(costs, split.cuts, strict=True)]
    forth = np.array([one.forward_time_ps(count) for one, count in cuts])[split.op]
    back = np.array([one.backward_time_ps(count) for one, count in cuts])[split.op]
    lasts = np.concatenate([forth, back]).astype(np.int64)
    launched = launch.latency_ps + np.maximum(lasts, launch.minimum_ps)
    lasts = np.where(lasts > 0, launched, 0)
    load = split.workload
    level = np.array(op_graph(load).level, dtype=np.int64)
    level = np.concatenate([level, 2 * int(level.max()) + 1 - level])
    tail, head = np.array([load.src, load.dst], dtype=np.int64).reshape(2, -1)
    here = np.arange(parts)
    src = np.concatenate([tail, head + parts, here])
    dst = np.concatenate([head, tail + parts, here + parts])
    size = np.array(load.bytes, dtype=np.int64)
    size = np.concatenate([size, size, 0 * here])
    device = np.concatenate([replica.device, replica.device])
    moves = (device[src] != device[dst]) & (size > 0)
    took = alpha_ps + _took_ps(size, np.full(len(size), bits_per_s))
    took = np.where(moves, took, 0)
    earliest = _longest(src, dst, lasts[src] + took, level)
    left = _longest(dst, src, lasts[dst] + took, -level)
    rows = np.flatnonzero(moves)
    one, other = src[rows], dst[rows]
    transfers = _Rows(
        device[one],
        device[other],
        size[rows],
        earliest[one] + lasts[one] + alpha_ps,
        lasts[other] + left[other],
    )
    return _Passes(device, lasts, earliest, left, transfers)


def _longest(src: IntArray, dst: IntArray, cost: IntArray, level: IntArray) -> IntArray:
    """Return the longest path to each row; edges go to higher levels."""
    found = np.zeros(len(level), dtype=np.int64)
    order = np.argsort(level[dst], kind="stable")
    firsts = np.flatnonzero(np.diff(level[dst][order])) + 1
    for edges in np.split(order, firsts):
        np.maximum.at(found, dst[edges], found[src[edges]] + cost[edges])
    return found


def _sums(
    replica: Replica, made: _Passes, replicas: int, twins_ps: int, alpha_ps: int
) -> _Rows:
    """Return what devices receive in rings that sum gradients, of each operation.

    Sums over replicas wait `twins_ps` before they move anything, others `alpha_ps`.
    """
    split, parts = replica.split, len(replica.device)
    done = made.head[parts:] + made.lasts[parts:]
    rows: list[tuple[int, int, int, int]] = []
    for row, (operation, cut) in enumerate(
        zip(split.graph.ops, split.cuts, strict=True)
    ):
        size = operation.gradient_bytes
        if not size:
            continue
        first = int(np.searchsorted(split.op, row))
        where = replica.device[first : first + cut.parts]
        ends = done[first : first + cut.parts]
        devices, count = np.unique(where, return_counts=True)
        share = size // len(devices)
        for device, several in zip(devices.tolist(), count.tolist(), strict=True):
            end = int(ends.max())
            if operation.split(cut.dimension).divides_parameters:
                share = size * several // cut.parts
                end = int(ends[where == device].max())
            moved = 2 * (replicas - 1) * share // replicas
            rows.append((_TWIN, device, moved, end + twins_ps))
        if len(devices) > 1 and not operation.split(cut.dimension).divides_parameters:
            moved = 2 * (len(devices) - 1) * size // len(devices)
            pairs = zip(devices.tolist(), np.roll(devices, -1).tolist(), strict=True)
            rows += [(*pair, moved, int(ends.max()) + alpha_ps) for pair in pairs]
    rows = [each for each in rows if each[2]]
    src, dst, moves, head = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return _Rows(src, dst, moves, head, np.zeros_like(head))


def _steps_before(laid: NodeLayout) -> int:
    """Return how many steps pass before a sum over replicas moves its first bytes."""
    rings = [length for length in laid.rings if length > 1]
    return 2 * (rings[0] - 1) if len(rings) == 1 else 1


def _joined(one: _Rows, other: _Rows) -> _Rows:
    pairs = zip(_columns(one), _columns(other), strict=True)
    return _Rows(*(np.concatenate(pair) for pair in pairs))


def _by_pair(rows: _Rows) -> _Rows:
    """Return what each device receives from each other as a row each."""
    ends = np.stack([rows.src, rows.dst])
    (src, dst), of = np.unique(ends, axis=1, return_inverse=True)
    size, head, tail = (np.zeros(len(src), dtype=np.int64) for _ in range(3))
    np.add.at(size, of, rows.bytes)
    head += np.iinfo(np.int64).max
    tail += np.iinfo(np.int64).max
    np.minimum.at(head, of, rows.head)
    np.minimum.at(tail, of, rows.tail)
    return _Rows(src, dst, size, head, tail)


def _taken(rows: _Rows, which: np.typing.NDArray[np.bool_]) -> _Rows:
    return _Rows(*(column[which] for column in _columns(rows)))


def _columns(rows: _Rows) -> tuple[IntArray, ...]:
    return rows.src, rows.dst, rows.bytes, rows.head, rows.tail


def _took_ps(size_bytes: IntArray, bits_per_s: IntArray) -> IntArray:
    """Return a time that bytes at least take, a picosecond or so less than it is."""
    took = size_bytes * (BITS_PER_BYTE * PS_PER_S / bits_per_s) * _LESS
    return np.floor(took).astype(np.int64)


def _busiest_ps(
    machine: IntArray, head: IntArray, work: IntArray, tail: IntArray
) -> int:
    """Return the one-machine bound of jobs; all columns of shape (jobs,).

    Over all machines and times t: t, the work of the jobs whose heads are t or more,
    and the least of their tails.
    """
    if not len(machine):
        return 0
    order = np.lexsort((head, machine))
    machine, head, work, tail = (each[order] for each in (machine, head, work, tail))
    after = np.append(np.cumsum(work[::-1])[::-1], 0)
    last = np.searchsorted(machine, machine, side="right")
    # Machines are told apart by an offset, so that one minimum runs over all of them.
    place = np.searchsorted(np.unique(machine), machine) * (int(tail.max()) + 1)
    least = np.minimum.accumulate((tail + place)[::-1])[::-1] - place
    return int((head + after[:-1] - after[last] + least).max())
