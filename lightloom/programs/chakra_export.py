"""Schedules as Chakra traces that a network simulator runs as a custom collective.

The simulator has one wire for each pair, so a message is sized such that its pair's
rate comes out, and one of its nanoseconds stands for a picosecond. It has no barriers:
a rank sends when it has received all of the step before in which it took part.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, GIB
from lightloom.formats.chakra import (
    CollectiveType,
    NodeType,
    TraceNode,
    chakra_bytes,
)
from lightloom.replay import replay

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.replay import Timeline

COLLECTIVE_TYPES = {
    "all-reduce": CollectiveType.ALL_REDUCE,
    "all-gather": CollectiveType.ALL_GATHER,
    "all-to-all": CollectiveType.ALL_TO_ALL,
    "reduce-scatter": CollectiveType.REDUCE_SCATTER,
}
"""Collectives for which a simulator takes an implementation of one's own."""
_TICKS_A_MICRO = 1000
"""Picoseconds that a microsecond of a trace stands for."""
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class ChakraExport:
    """What a simulator needs, file by file.

    Attributes
    ----------
    files
        Contents by file name.
    completion_time_ps
        What `replay` says, which the simulator reports in nanoseconds.
    """

    files: dict[str, bytes]
    completion_time_ps: int


def chakra_export(schedule: Schedule) -> ChakraExport:
    """Return the traces of all ranks, with workload, system and network.

    Parameters
    ----------
    schedule
        A valid schedule of a collective on a fabric with circuits.

    Raises
    ------
    InputError
        A demand, an operation that simulators take no implementation of, a fabric
        without circuits, whose peers share a node's rate, a reconfiguration that is
        no whole number of nanoseconds, or rates that do not fit 64 bits together.

    Notes
    -----
    The simulator agrees with `replay` to a picosecond a transfer where all ranks end
    a step together; where some do not, it has no barrier, and ends no later.
    """
    task = schedule.task
    if not isinstance(task, Collective):
        what = "a demand is no collective"
        raise InputError(what, where="task", allowed=", ".join(COLLECTIVE_TYPES))
    if task.op not in COLLECTIVE_TYPES:
        raise InputError(
            "simulators take no implementation of this operation",
            where="task.collective.op",
            found=task.op,
            allowed=", ".join(COLLECTIVE_TYPES),
        )
    if not schedule.segments:
        raise InputError(
            "peers share a node's rate here, and a simulator's wires do not",
            where="fabric.kind",
            found=schedule.fabric["kind"],
            allowed="a fabric with circuits",
        )
    timeline = replay(schedule)
    pairs = timeline.pairs
    wire_bits_per_s = lcm(*map(int, set(pairs.bits_per_s.tolist())))
    sizes = [
        size * (wire_bits_per_s // rate)
        for size, rate in zip(
            pairs.bytes.tolist(), pairs.bits_per_s.tolist(), strict=True
        )
    ]
    if max(sizes, default=0) > _LARGEST:
        what, found = "sizes of messages do not fit 64 bits", max(sizes)
        raise InputError(what, where="fabric", found=found)
    files = _configuration(schedule, task, wire_bits_per_s)
    for rank, nodes in enumerate(_traces(task, timeline, sizes)):
        files[f"collective.{rank}.et"] = chakra_bytes(nodes)
    return ChakraExport(files, timeline.completion_time_ps)


def _traces(
    task: Collective, timeline: Timeline, sizes: list[int]
) -> list[list[TraceNode]]:
    """Return the nodes of every rank."""
    rank_of = {node: rank for rank, node in enumerate(task.nodes)}
    makers = [_Maker() for _ in task.nodes]
    changes = {
        (change.plane, change.segment): change for change in timeline.reconfigurations
    }
    pairs = timeline.pairs
    columns = (pairs.step, pairs.plane, pairs.segment, pairs.src, pairs.dst)
    rows: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for number, row in enumerate(
        zip(*(each.tolist() for each in columns), strict=True)
    ):
        rows[row[0]].append((*row[1:], number))
    for _, moves in sorted(rows.items()):
        for maker in makers:
            maker.next_step()
        for plane, segment, src, dst, number in moves:
            change = changes.get((plane, segment))
            dark_ps = 0 if change is None else change.end_ps - change.start_ps
            if dark_ps % _TICKS_A_MICRO:
                raise InputError(
                    "a trace has whole nanoseconds for a reconfiguration",
                    where="fabric.reconfiguration_ps",
                    found=dark_ps,
                    allowed=f"multiples of {_TICKS_A_MICRO}",
                )
            ends = {"comm_src": rank_of[src], "comm_dst": rank_of[dst]}
            message = ends | {"comm_tag": number, "comm_size": sizes[number]}
            for node, kind in ((src, NodeType.SEND), (dst, NodeType.RECEIVE)):
                maker = makers[rank_of[node]]
                maker.set_circuits(plane, segment, dark_ps)
                maker.add(kind, plane, message)
    return [maker.finished() for maker in makers]


class _Maker:
    """Makes the trace of one rank."""

    def __init__(self) -> None:
        self._nodes: list[TraceNode] = []
        self._before: tuple[int, ...] = ()
        self._now: list[int] = []
        self._held: dict[int, tuple[int, tuple[int, ...]]] = {}

    def next_step(self) -> None:
        """Let what comes wait for what this rank did last."""
        if self._now:
            self._before, self._now = tuple(self._now), []

    def set_circuits(self, plane: int, segment: int, dark_ps: int) -> None:
        """Let the plane hold a segment, which takes this rank some time."""
        if plane in self._held and self._held[plane][0] == segment:
            return
        ready: tuple[int, ...] = ()
        if dark_ps:
            name = f"reconfigure plane {plane} to segment {segment}"
            node = TraceNode(
                len(self._nodes),
                name,
                NodeType.COMPUTE,
                self._before,
                dark_ps // _TICKS_A_MICRO,
                {"is_cpu_op": False},
            )
            self._nodes.append(node)
            ready = (node.id,)
        self._held[plane] = (segment, ready)

    def add(self, kind: NodeType, plane: int, message: dict[str, int]) -> None:
        """Add one end of a message."""
        waits = tuple(sorted({*self._before, *self._held[plane][1]}))
        name = f"{kind.name.lower()} {message['comm_tag']}"
        attributes: dict[str, int | bool] = {"is_cpu_op": False, **message}
        number = len(self._nodes)
        self._nodes.append(TraceNode(number, name, kind, waits, 0, attributes))
        self._now.append(number)

    def finished(self) -> list[TraceNode]:
        """Return the nodes, one at least."""
        idle = TraceNode(0, "idle", NodeType.COMPUTE, (), 1, {"is_cpu_op": False})
        return self._nodes or [idle]


def _configuration(
    schedule: Schedule, task: Collective, wire_bits_per_s: int
) -> dict[str, bytes]:
    """Return system, network and the one-node workload of every rank."""
    bytes_per_ns = wire_bits_per_s // BITS_PER_BYTE / 1000 / GIB
    network = (
        "topology: [FullyConnected]\n"
        f"npus_count: [{task.rank_count}]\n"
        f"bandwidth: [{bytes_per_ns!r}]  # GiB per simulated second\n"
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
    kind = int(COLLECTIVE_TYPES[task.op])
    work = TraceNode(
        0,
        task.op,
        NodeType.COLLECTIVE,
        attributes={
            "is_cpu_op": False,
            "comm_type": kind,
            "comm_size": task.buffer_bytes,
        },
    )
    files = {
        "network.yml": network.encode(),
        "system.json": (json.dumps(system, indent=2) + "\n").encode(),
    }
    for rank in range(task.rank_count):
        files[f"workload.{rank}.et"] = chakra_bytes([work])
    return files
