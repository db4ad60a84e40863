"""Schedules as Chakra traces that a network simulator runs as a custom collective.

A trace is the graph of one rank: a node starts when those it waits for have ended.
What `replay` lets wait for others becomes an edge wherever the rank has seen it: a step
waits for all that the rank did in the step before, the change of a plane for all that
the rank moved on the plane's segment before, a message for the change into its segment.
What a rank cannot see (a barrier, or a plane, that waits for others only) is a *timer*:
a compute node that ends at the picosecond at which `replay` goes on. So every message
begins and ends when `replay` says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, GIB, PS_PER_S
from lightloom.formats.chakra import (
    COLLECTIVES,
    NodeType,
    TraceNode,
    chakra_bytes,
    comm_size,
)
from lightloom.instances.fabrics import load_fabric
from lightloom.replay import replay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.schedule import Schedule
    from lightloom.formats.chakra import Attribute
    from lightloom.replay.timeline import PairTimes, Reconfiguration, Timeline

_TICKS_A_MICRO = 1000
"""Picoseconds that a microsecond of a trace stands for."""


@dataclass(frozen=True)
class ChakraExport:
    """What a simulator needs, file by file.

    `files`: contents by file name. `completion_time_ps`: what `replay` says, which the
    simulator reports in nanoseconds.
    """

    files: dict[str, bytes]
    completion_time_ps: int


def chakra_export(schedule: Schedule) -> ChakraExport:
    """Return the traces of all ranks, with workload, system and network.

    The simulator agrees with `replay` to a picosecond a transfer: it rounds a message
    down, `replay` rounds every transfer up.

    `schedule`: a valid one of a collective on a fabric with circuits.

    Raises `InputError`: a demand, an operation that simulators take no implementation
    of, or a fabric without circuits, whose peers share a node's rate.
    """
    task = schedule.task
    allowed = ", ".join(COLLECTIVES.values())
    if not isinstance(task, Collective):
        raise InputError("a demand is no collective", where="task", allowed=allowed)
    if task.op not in COLLECTIVES.values():
        raise InputError(
            "simulators take no implementation of this operation",
            where="task.collective.op",
            found=task.op,
            allowed=allowed,
        )
    if not isinstance(load_fabric(schedule.fabric), CircuitFabric):
        raise InputError(
            "peers share a node's rate here, and a simulator's wires do not",
            where="fabric.kind",
            found=schedule.fabric["kind"],
            allowed="a fabric with circuits",
        )
    timeline = replay(schedule)
    messages = _messages(timeline.pairs, int(schedule.fabric["alpha_ps"]))
    files = _configuration(schedule, task, messages.wire_bits_per_s)
    for rank, nodes in enumerate(_traces(task, timeline, messages)):
        files[f"collective.{rank}.et"] = chakra_bytes(nodes)
    return ChakraExport(files, timeline.completion_time_ps)


@dataclass(frozen=True)
class _Messages:
    """What goes over the wires, one row for each row of `PairTimes`.

    `start_ps`: when a message begins. `size`: its bytes; 0 where the message before it
    on the wire lasts as long, and stands for it. `wire_bits_per_s`: rate of every wire.
    """

    start_ps: list[int]
    size: list[int]
    wire_bits_per_s: int


def _messages(pairs: PairTimes, alpha_ps: int) -> _Messages:
    """Return the messages of all pairs, on one wire for each.

    Two planes may serve a pair at a time, but a wire carries one message after another:
    the later one begins when the wire is free, and ends when it should. Where that, or
    a second rate, makes sizes differ from the bytes moved, a byte takes a picosecond.
    """
    begin, end = pairs.start_ps.tolist(), (pairs.end_ps - alpha_ps).tolist()
    key = zip(pairs.src.tolist(), pairs.dst.tolist(), strict=True)
    pair = list(key)
    free_ps: dict[tuple[int, int], int] = {}
    start = list(begin)
    for row in np.lexsort((pairs.end_ps, pairs.start_ps)).tolist():
        start[row] = max(begin[row], free_ps.get(pair[row], 0))
        free_ps[pair[row]] = max(start[row], end[row])
    rates = set(pairs.bits_per_s.tolist())
    if start == begin and len(rates) == 1:
        return _Messages(start, pairs.bytes.tolist(), rates.pop())
    size = [max(0, last - first) for first, last in zip(start, end, strict=True)]
    return _Messages(start, size, BITS_PER_BYTE * PS_PER_S)


def _traces(
    task: Collective, timeline: Timeline, messages: _Messages
) -> list[list[TraceNode]]:
    """Return the nodes of every rank."""
    rank_of = {node: rank for rank, node in enumerate(task.nodes)}
    ranks = [_Rank() for _ in task.nodes]
    changes = {
        (change.plane, change.segment): change for change in timeline.reconfigurations
    }
    pairs = timeline.pairs
    columns = (pairs.step, pairs.plane, pairs.segment, pairs.src, pairs.dst)
    rows = list(zip(*(each.tolist() for each in columns), strict=True))
    end = pairs.end_ps.tolist()
    carriers: dict[tuple[int, int], tuple[int, ...]] = {}
    step_before = -1
    for number in np.lexsort((pairs.end_ps, pairs.start_ps, pairs.step)).tolist():
        step, plane, segment, *pair = rows[number]
        src, dst = (rank_of[node] for node in pair)
        if step > step_before:
            for rank in ranks:
                rank.next_step()
            step_before = step
        for rank in ranks[src], ranks[dst]:
            rank.hold(plane, segment)
        if messages.size[number]:
            span_ps = messages.start_ps[number], end[number]
            said = {"comm_src": src, "comm_dst": dst, "comm_tag": number}
            said["comm_size"] = messages.size[number]
            carriers[src, dst] = tuple(
                rank.add(kind, said, span_ps, plane, changes.get((plane, segment)))
                for rank, kind in (
                    (ranks[src], NodeType.SEND),
                    (ranks[dst], NodeType.RECEIVE),
                )
            )
        for rank, node in zip(
            (ranks[src], ranks[dst]), carriers[src, dst], strict=True
        ):
            rank.used(plane, node)
    return [rank.finished() for rank in ranks]


@dataclass
class _Plane:
    """What a rank knows of a plane: nodes that used it, before and with its segment."""

    segment: int
    before: tuple[int, ...] = ()
    now: list[int] = field(default_factory=list)
    change: int | None = None


class _Rank:
    """Makes the trace of one rank, and knows when each node ends by `replay`."""

    def __init__(self) -> None:
        self._nodes: list[TraceNode] = []
        self._end_ps: list[int] = []
        self._before: tuple[int, ...] = ()
        self._now: list[int] = []
        self._planes: dict[int, _Plane] = {}
        self._ticks: list[int] = []
        self._timers: dict[int, int] = {}

    def next_step(self) -> None:
        """Let what comes wait for what this rank did last."""
        if self._now:
            self._before, self._now = tuple(self._now), []

    def hold(self, plane: int, segment: int) -> None:
        """Let a plane hold a segment."""
        held = self._planes.get(plane)
        if held is None:
            self._planes[plane] = _Plane(segment)
        elif held.segment != segment:
            self._planes[plane] = _Plane(segment, tuple(held.now))

    def used(self, plane: int, node: int) -> None:
        """Let the plane's next segment, and the next step, wait for a node."""
        self._planes[plane].now.append(node)
        self._now.append(node)

    def add(
        self,
        kind: NodeType,
        message: dict[str, int],
        span_ps: tuple[int, int],
        plane: int,
        change: Reconfiguration | None,
    ) -> int:
        """Add one end of a message over a plane's segment; return its node."""
        start_ps, end_ps = span_ps
        held = self._planes[plane]
        causes = [*self._before, *held.before]
        if change is not None and change.start_ps < change.end_ps <= start_ps:
            if held.change is None:
                held.change = self._changed(change, held.before)
            causes = [*self._before, held.change]
        name = f"{kind.name.lower()} {message['comm_tag']}"
        waits = self._waits(causes, start_ps)
        return self._compute_or_move(name, kind, waits, end_ps, said=message)

    def _changed(self, change: Reconfiguration, before: tuple[int, ...]) -> int:
        """Add the change of a plane, which waits for what it moved here before."""
        micros = (change.end_ps - change.start_ps) // _TICKS_A_MICRO
        return self._compute_or_move(
            f"reconfigure plane {change.plane} to segment {change.segment}",
            NodeType.COMPUTE,
            self._waits(before, change.start_ps),
            change.start_ps + max(1, micros * _TICKS_A_MICRO),
            micros=micros,
        )

    def _waits(self, causes: Iterable[int], start_ps: int) -> tuple[int, ...]:
        """Return the causes that have ended by then, and a timer if none ends then."""
        waits = sorted({node for node in causes if self._end_ps[node] <= start_ps})
        if max((self._end_ps[node] for node in waits), default=0) < start_ps:
            waits.append(self._timer(start_ps))
        return tuple(waits)

    def _timer(self, end_ps: int) -> int:
        """Return a node that ends then: whole microseconds after single ticks.

        A compute node of no duration lasts one tick.
        """
        if end_ps not in self._timers:
            micros, ticks = divmod(end_ps, _TICKS_A_MICRO)
            while len(self._ticks) < ticks:
                number = len(self._ticks) + 1
                waits = tuple(self._ticks[-1:])
                self._ticks.append(
                    self._compute_or_move(
                        f"tick {number}", NodeType.COMPUTE, waits, number
                    )
                )
            waits = tuple(self._ticks[ticks - 1 : ticks])
            self._timers[end_ps] = (
                waits[0]
                if not micros
                else self._compute_or_move(
                    f"until {end_ps} ps", NodeType.COMPUTE, waits, end_ps, micros=micros
                )
            )
        return self._timers[end_ps]

    def _compute_or_move(
        self,
        name: str,
        kind: NodeType,
        waits: tuple[int, ...],
        end_ps: int,
        *,
        micros: int = 0,
        said: dict[str, int] | None = None,
    ) -> int:
        """Add a node; return its number."""
        number = len(self._nodes)
        attributes: dict[str, Attribute] = {"is_cpu_op": False, **(said or {})}
        self._nodes.append(TraceNode(number, name, kind, waits, micros, attributes))
        self._end_ps.append(end_ps)
        return number

    def finished(self) -> list[TraceNode]:
        """Return the nodes, one at least."""
        if not self._nodes:
            self._compute_or_move("idle", NodeType.COMPUTE, (), 1)
        return self._nodes


def _configuration(
    schedule: Schedule, task: Collective, wire_bits_per_s: int
) -> dict[str, bytes]:
    """Return system, network and the one-node workload of every rank."""
    gib_per_s = wire_bits_per_s / (BITS_PER_BYTE * _TICKS_A_MICRO * GIB)
    network = (
        "topology: [FullyConnected]\n"
        f"npus_count: [{task.rank_count}]\n"
        f"bandwidth: [{gib_per_s!r}]  # GiB per simulated second\n"
        f"latency: [{schedule.fabric['alpha_ps']}]  # one tick is a picosecond\n"
    )
    system = {
        "scheduling-policy": "LIFO",
        "endpoint-delay": 0,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 1,
        f"{task.op}-implementation-custom": ["collective"],
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1_000_000,
        "boost-mode": 0,
    }
    [kind] = [kind for kind, op in COLLECTIVES.items() if op == task.op]
    work = TraceNode(
        0,
        task.op,
        NodeType.COLLECTIVE,
        attributes={
            "is_cpu_op": False,
            "comm_type": int(kind),
            "comm_size": comm_size(task.op, task.buffer_bytes, task.rank_count),
        },
    )
    files = {
        "network.yml": network.encode(),
        "system.json": (json.dumps(system, indent=2) + "\n").encode(),
    }
    for rank in range(task.rank_count):
        files[f"workload.{rank}.et"] = chakra_bytes([work])
    return files
