"""Nonsense: tasks that no synthesiser may answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of

if TYPE_CHECKING:
    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance


def nonsense(instance: Instance, choice: int) -> tuple[str, Instance]:
    """Return what is wrong, and an instance of which that alone is wrong."""
    task = instance.communication
    if isinstance(task, Collective):
        ways = _of_collective(task, instance.fabric.node_count)
    else:
        ways = _of_demand(task, instance.fabric.node_count)
    what, fields = ways[choice % len(ways)]
    odd = msgspec.structs.replace(task, **fields)
    spoilt = replace(instance, requests=None)
    # The constructor would refuse it, and the synthesiser is to be asked.
    object.__setattr__(spoilt, "task", odd)
    return what, spoilt


def _of_collective(
    task: Collective, node_count: int
) -> list[tuple[str, dict[str, object]]]:
    ways: list[tuple[str, dict[str, object]]] = [
        ("unknown collective", {"op": "all-confuse"}),
        ("no nodes", {"nodes": (), "root": None}),
        ("node beyond the fabric", {"nodes": (*task.nodes, node_count)}),
        ("negative node", {"nodes": (*task.nodes, -1)}),
        ("node repeated", {"nodes": (*task.nodes, task.nodes[0])}),
        ("no bytes", {"buffer_bytes": 0}),
        ("negative bytes", {"buffer_bytes": -task.buffer_bytes}),
        ("chunks that do not divide the buffer", {"chunks": task.buffer_bytes + 1}),
    ]
    if op_of(task).rooted:
        ways.append(("root that is no rank", {"root": node_count}))
    if op_of(task).uses_blocks and task.rank_count > 1:
        odd: dict[str, object] = {"buffer_bytes": task.rank_count + 1, "chunks": None}
        ways.append(("buffer that blocks do not divide", odd))
    return ways


def _of_demand(task: Demand, node_count: int) -> list[tuple[str, dict[str, object]]]:
    last = task.src[-1]
    return [
        ("node that sends to itself", {"dst": (*task.dst[:-1], last)}),
        ("node beyond the fabric", {"src": (*task.src[:-1], node_count)}),
        ("no bytes", {"bytes": (*task.bytes[:-1], 0)}),
        ("negative bytes", {"bytes": (*task.bytes[:-1], -1)}),
        ("columns of different length", {"bytes": task.bytes[:-1]}),
    ]
