"""Iterations that were cut and placed elsewhere: from logs of calls, and traces."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged, column
from lightloom.core.errors import FormatError, InputError
from lightloom.core.iteration import (
    NO_CALL,
    Collectives,
    Dependencies,
    Iteration,
    Operations,
)
from lightloom.core.units import PS_PER_US
from lightloom.formats.chakra import CollectiveType, NodeType
from lightloom.formats.communication_log import AllReduceCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.formats.chakra import TraceNode
    from lightloom.formats.communication_log import Call, LayerTransfer

_OPS = {
    CollectiveType.ALL_REDUCE: "all-reduce",
    CollectiveType.ALL_GATHER: "all-gather",
    CollectiveType.ALL_TO_ALL: "all-to-all",
    CollectiveType.REDUCE_SCATTER: "reduce-scatter",
}


@dataclass
class _Rows:
    """The rows of an iteration while they are gathered."""

    name: list[str] = field(default_factory=list)
    device: list[int] = field(default_factory=list)
    duration_ps: list[int] = field(default_factory=list)
    links: list[tuple[int, int, int, int]] = field(default_factory=list)
    op: list[str] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)

    def add(self, name: str, device: int, duration_ps: int = 0) -> int:
        """Add an operation; return its task."""
        self.name.append(name)
        self.device.append(device)
        self.duration_ps.append(duration_ps)
        return len(self.name) - 1

    def link(self, src: int, dst: int, size: int = 0, call: int = NO_CALL) -> None:
        """Let a task wait for another one."""
        self.links.append((src, dst, size, call))

    def iteration(self, device_count: int) -> Iteration:
        """Return everything; collective j is task -1 - j until here."""
        count = len(self.name)
        links = np.array(self.links, dtype=np.int64).reshape(-1, 4)
        for end in links[:, 0], links[:, 1]:
            end[end < 0] = count - 1 - end[end < 0]
        operations = Operations(
            tuple(self.name),
            column(self.device),
            column(self.duration_ps),
            np.arange(count, dtype=np.int64),
        )
        collectives = Collectives(
            tuple(self.op), column(self.bytes), Ragged.from_lists(self.members)
        )
        dependencies = Dependencies(*links.T.copy())
        return Iteration(device_count, operations, dependencies, collectives)


def log_iteration(calls: Sequence[Call], node_count: int) -> Iteration:
    """Return the iteration of a communication log of the LUMORPH paper.

    The log has no times: nothing is computed. The transfers of a layer in a direction
    are one call, which waits for the one before it in the file; an all-reduce waits
    for the call of transfers before it, and delays none. What a device sends to
    itself takes no time and is left out.

    Raises `InputError`: a device that the fabric does not have.
    """
    rows = _Rows()
    grouped: dict[tuple[int, bool], list[LayerTransfer]] = {}
    before: dict[int, tuple[int, bool] | None] = {}
    last: tuple[int, bool] | None = None
    for number, call in enumerate(calls):
        if isinstance(call, AllReduceCall):
            _require_devices(number, call.gpus, node_count)
            before[number] = last
            continue
        _require_devices(number, (call.src, call.dst), node_count)
        last = call.layer, call.backward
        grouped.setdefault(last, []).append(call)
    ends: dict[tuple[int, bool] | None, int] = {None: rows.add("begin", 0)}
    for (earlier, _), (key, transfers) in pairwise([(None, []), *grouped.items()]):
        ends[key] = _layer(rows, transfers, ends[earlier], len(ends) - 1)
    for number, group in before.items():
        one = calls[number]
        assert isinstance(one, AllReduceCall)
        rows.op.append("all-reduce")
        rows.bytes.append(one.bytes)
        rows.members.append(list(one.gpus))
        rows.link(ends[group], -len(rows.op))
    return rows.iteration(node_count)


def _layer(
    rows: _Rows, transfers: Sequence[LayerTransfer], after: int, call: int
) -> int:
    """Add the transfers of a layer; return a task that waits for all of them."""
    first = transfers[0]
    name = f"layer {first.layer} {'backward' if first.backward else 'forward'}"
    out: dict[int, int] = {}
    arrived: dict[int, int] = {}
    end = rows.add(f"{name} done", first.src)
    rows.link(after, end)
    for one in transfers:
        if one.src == one.dst or not one.bytes:
            continue
        if one.src not in out:
            out[one.src] = rows.add(f"{name} from {one.src}", one.src)
            rows.link(after, out[one.src])
        if one.dst not in arrived:
            arrived[one.dst] = rows.add(f"{name} at {one.dst}", one.dst)
            rows.link(arrived[one.dst], end)
        rows.link(out[one.src], arrived[one.dst], one.bytes, call)
    return end


def _require_devices(number: int, devices: Sequence[int], node_count: int) -> None:
    for device in devices:
        if device >= node_count:
            raise InputError(
                "a device that the fabric does not have",
                where=f"call {number + 1} of the log",
                found=device,
                allowed=f"0 to {node_count - 1}",
                fix="use a larger fabric",
            )


def chakra_iteration(traces: Mapping[int, Sequence[TraceNode]]) -> Iteration:
    """Return the iteration of Chakra traces, one for each rank.

    Computing nodes are operations. A send meets the receive of the other rank with its
    tag, in the order in which they stand. All ranks take part in a collective, whose
    ``comm_size`` is the full buffer; the i-th of each rank are one, and must agree.

    `traces`: nodes by rank; ranks are numbered from 0.

    Raises `FormatError`: ranks that are not numbered from 0; a node that waits for a
    missing one; a collective that the ranks do not agree on, or of another kind; a send
    without its receive.
    """
    ranks = sorted(traces)
    if ranks != list(range(len(ranks))):
        what, allowed = "ranks are not numbered from 0", f"0 to {len(ranks) - 1}"
        raise FormatError(what, where="ranks", found=ranks, allowed=allowed)
    rows = _Rows()
    tasks = {rank: _rank_tasks(rows, rank, traces[rank]) for rank in ranks}
    _join_collectives(rows, traces, tasks)
    _join_transfers(rows, traces, tasks)
    return rows.iteration(len(ranks))


def _rank_tasks(
    rows: _Rows, rank: int, nodes: Sequence[TraceNode]
) -> dict[int, tuple[int, int]]:
    """Add the nodes of a rank; return (what waits, what others wait for) of each.

    Around communication these are two marks that take no time.
    """
    tasks: dict[int, tuple[int, int]] = {}
    for node in nodes:
        lasts = node.duration_micros * PS_PER_US
        begin = rows.add(f"{node.name} {rank}", rank, lasts * (node.type == 4))
        apart = node.type in (NodeType.RECEIVE, NodeType.COLLECTIVE)
        end = rows.add(f"{node.name} {rank} done", rank) if apart else begin
        if apart:
            rows.link(begin, end)
        tasks[node.id] = begin, end
    for node in nodes:
        for dep in node.data_deps:
            if dep not in tasks:
                what, where = "a node waits for a missing one", f"rank {rank}"
                raise FormatError(what, where=f"{where}, node {node.id}", found=dep)
            rows.link(tasks[dep][1], tasks[node.id][0])
    return tasks


def _join_collectives(
    rows: _Rows,
    traces: Mapping[int, Sequence[TraceNode]],
    tasks: Mapping[int, Mapping[int, tuple[int, int]]],
) -> None:
    """Make one collective of the i-th of each rank."""
    asked = {
        rank: [node for node in nodes if node.type == NodeType.COLLECTIVE]
        for rank, nodes in traces.items()
    }
    if len({len(each) for each in asked.values()}) > 1:
        found = {rank: len(each) for rank, each in asked.items()}
        what = "ranks with different numbers of collectives"
        raise FormatError(what, where="collectives", found=found)
    for number, several in enumerate(zip(*asked.values(), strict=True)):
        kinds = {
            (node.attributes.get("comm_type"), node.attributes.get("comm_size"))
            for node in several
        }
        [(kind, size), *others] = sorted(kinds, key=str)
        if others or kind not in _OPS or not isinstance(size, int):
            what = "a collective that ranks do not agree on, or of unknown kind"
            where = f"collective {number}"
            raise FormatError(what, where=where, found=sorted(kinds, key=str))
        op = CollectiveType(kind)
        rows.op.append(_OPS[op])
        rows.bytes.append(size)
        rows.members.append(list(asked))
        for rank, node in zip(asked, several, strict=True):
            begin, end = tasks[rank][node.id]
            rows.link(begin, -len(rows.op))
            rows.link(-len(rows.op), end)


def _join_transfers(
    rows: _Rows,
    traces: Mapping[int, Sequence[TraceNode]],
    tasks: Mapping[int, Mapping[int, tuple[int, int]]],
) -> None:
    """Link each send to the receive of its pair and tag."""
    key: tuple[object, ...]
    waiting: dict[tuple[object, ...], list[int]] = {}
    for rank, nodes in traces.items():
        for node in nodes:
            if node.type == NodeType.RECEIVE:
                said = node.attributes
                key = said.get("comm_src"), rank, said.get("comm_tag")
                waiting.setdefault(key, []).append(tasks[rank][node.id][1])
    for rank, nodes in traces.items():
        for node in nodes:
            if node.type != NodeType.SEND:
                continue
            said = node.attributes
            key = rank, said.get("comm_dst"), said.get("comm_tag")
            if not waiting.get(key):
                where = f"rank {rank}, node {node.id}"
                raise FormatError("a send without its receive", where=where)
            size = int(said.get("comm_size", 0))
            rows.link(tasks[rank][node.id][1], waiting[key].pop(0), size)
