"""Iterations cut and placed elsewhere, from logs of calls and traces, on any fabric."""

from __future__ import annotations

import heapq
import json
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged, column
from lightloom.core.errors import (
    FormatError,
    InfeasibleError,
    InputError,
    NoAnswerError,
)
from lightloom.core.fabric import NearCircuits, step_ps
from lightloom.core.iteration import (
    NO_CALL,
    Collectives,
    Dependencies,
    Iteration,
    Operations,
)
from lightloom.core.training import DEFAULT_GPU, DEFAULT_PRECISION
from lightloom.core.units import PS_PER_US
from lightloom.formats.chakra import (
    COLLECTIVES,
    CollectiveType,
    NodeType,
    check_nodes,
    full_buffer_bytes,
)
from lightloom.formats.communication_log import AllReduceCall
from lightloom.instances.computation_table import GPUS
from lightloom.replay.workload import RingCollectives
from lightloom.replay.workload.network import CollectiveFlows
from lightloom.training.call_schedules import CallSchedules, with_control
from lightloom.training.fabric_networks import modes
from lightloom.training.replayed_iteration import called_replay, kept_replay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.formats.chakra import TraceNode
    from lightloom.formats.communication_log import Call, LayerTransfer
    from lightloom.instances.computation_table import Gpu
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload.network import CollectiveModel
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.training_plan import ReplayedIteration, TrainingRequest


def replay_recorded(
    iteration: Iteration, fabric: AnyFabric, request: TrainingRequest, seed: int = 0
) -> ReplayedIteration:
    """Return the fastest replay of an iteration over the ways to set circuits.

    What goes between nodes that no circuit joins is passed on by others; see `relayed`
    and `RelayedRings`.

    Raises `InputError`: more devices than nodes, or a way to set circuits that the
    fabric lacks; `InfeasibleError, NoAnswerError`: no way serves the iteration.
    """
    if iteration.device_count > fabric.node_count:
        raise InputError(
            "more devices than nodes",
            where="devices",
            found=iteration.device_count,
            allowed=f"at most {fabric.node_count}",
            fix="use a larger fabric",
        )
    fabric = with_control(fabric, request)
    iteration = relayed(iteration, fabric)
    replays: list[ReplayedIteration] = []
    failed: InfeasibleError | NoAnswerError | None = None
    for way in modes(fabric, request.circuits, request.controlled_by):
        try:
            replays.append(_replayed(iteration, fabric, request, way, seed))
        except (InfeasibleError, NoAnswerError) as problem:
            failed = failed or problem
    if not replays:
        assert failed is not None
        raise failed
    return min(replays, key=lambda replay: replay.iteration_ps)


def _replayed(
    iteration: Iteration,
    fabric: AnyFabric,
    request: TrainingRequest,
    way: CircuitMode,
    seed: int,
) -> ReplayedIteration:
    if way == "per-call":
        schedules = CallSchedules(fabric, request.collectives, seed)
        return called_replay(iteration, schedules, request.launch)
    collectives = RelayedRings(fabric, RingCollectives(step_ps(fabric)))
    return kept_replay(iteration, fabric, collectives, way, request)


@dataclass(frozen=True, eq=False)
class RelayedRings:
    """Collectives on rings, where nodes pass on what no circuit joins.

    `rings`: the collectives as they would be if all nodes could be joined.
    """

    fabric: AnyFabric
    rings: CollectiveModel

    def flows(self, op: str, devices: IntArray, size_bytes: int) -> CollectiveFlows:
        """Return the flows of a collective, one for each leg.

        Every step waits for its longest way, each leg of which costs what a step does.
        """
        ring_flows, fabric = self.rings.flows(op, devices, size_bytes), self.fabric
        if not isinstance(fabric, NearCircuits) or not len(ring_flows.src):
            return ring_flows
        legs = int(fabric.circuits_apart(ring_flows.src, ring_flows.dst).max())
        if legs <= 1:
            return ring_flows
        moved: Counter[tuple[int, int]] = Counter()
        ends = zip(ring_flows.src.tolist(), ring_flows.dst.tolist(), strict=True)
        for (src, dst), size in zip(ends, ring_flows.bytes.tolist(), strict=True):
            way = _way(fabric, src, dst, fabric.node_count)
            for leg in pairwise((src, *way, dst)):
                moved[leg] += size
        src, dst = (column(leg[end] for leg in moved) for end in range(2))
        return CollectiveFlows(
            src, dst, column(moved.values()), ring_flows.delay_ps * legs
        )


def relayed(iteration: Iteration, fabric: AnyFabric) -> Iteration:
    """Return an iteration in which no transfer needs several circuits in a row.

    A transfer between nodes that no circuit of the fabric can join goes by way of
    others, as few as can be: each passes the data on when it has all of them, which
    takes it no time. Of several that would do the sum of the ends says which. What was
    one call is one call for each leg.

    `fabric`: the fabric, with at least as many nodes.
    """
    moving = np.flatnonzero(iteration.is_transfer)
    if not isinstance(fabric, NearCircuits) or not len(moving):
        return iteration
    links, operations = iteration.dependencies, iteration.operations
    src, dst = (operations.device[ends[moving]] for ends in (links.src, links.dst))
    apart = fabric.circuits_apart(src, dst)
    legs = int(apart.max())
    if legs <= 1:
        return iteration
    count, far = len(operations), moving[apart > 1]
    pairs = list(zip(src[apart > 1].tolist(), dst[apart > 1].tolist(), strict=True))
    ways = {pair: _way(fabric, *pair, fabric.node_count) for pair in set(pairs)}
    devices = [relay for pair in pairs for relay in ways[pair]]
    names = tuple(
        f"{operations.name[links.src[row]]} by {relay}"
        for row, pair in zip(far.tolist(), pairs, strict=True)
        for relay in ways[pair]
    )
    call = np.where(links.call == NO_CALL, NO_CALL, links.call * legs)
    near = np.ones(len(links), dtype=np.bool_)
    near[far] = False
    rows = [np.stack([links.src, links.dst, links.bytes, call])[:, near]]
    # Operations of relays stand behind the others, before collectives.
    rows[0][:2] += np.where(rows[0][:2] >= count, len(devices), 0)
    passed: list[tuple[int, int, int, int]] = []
    task = count
    for row, pair in zip(far.tolist(), pairs, strict=True):
        between = range(task, task + len(ways[pair]))
        task = between.stop
        stops = [int(links.src[row]), *between, int(links.dst[row])]
        for leg, ends in enumerate(pairwise(stops)):
            of_call = NO_CALL if call[row] == NO_CALL else int(call[row]) + leg
            passed.append((*ends, int(links.bytes[row]), of_call))
    rows.append(np.array(passed, dtype=np.int64).T)
    return replace(
        iteration,
        operations=_with_relays(operations, names, devices),
        dependencies=Dependencies(*np.concatenate(rows, axis=1)),
    )


def _way(fabric: NearCircuits, src: int, dst: int, nodes: int) -> list[int]:
    """Return the nodes between two that no circuit joins."""
    every = np.arange(nodes, dtype=np.int64)
    to_dst = fabric.circuits_apart(every, np.full(nodes, dst))
    way = [src]
    while to_dst[way[-1]] > 1:
        near = fabric.circuits_apart(np.full(nodes, way[-1]), every) == 1
        nearer = np.flatnonzero(near & (to_dst == to_dst[way[-1]] - 1))
        way.append(int(nearer[(src + dst) % len(nearer)]))
    return way[1:]


def _with_relays(
    operations: Operations, names: tuple[str, ...], devices: list[int]
) -> Operations:
    """Return operations with those of relays, of no time, behind them."""
    more = np.zeros(len(devices), dtype=np.int64)
    last = 1 + int(operations.priority.max(initial=0))
    return Operations(
        (*operations.name, *names),
        np.concatenate([operations.device, np.array(devices, dtype=np.int64)]),
        np.concatenate([operations.duration_ps, more]),
        np.concatenate([operations.priority, more + last]),
    )


_FOLLOWED = (
    NodeType.METADATA,
    NodeType.COMPUTE,
    NodeType.SEND,
    NodeType.RECEIVE,
    NodeType.COLLECTIVE,
)


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
        summed = calls[number]
        assert isinstance(summed, AllReduceCall)
        rows.op.append("all-reduce")
        rows.bytes.append(summed.bytes)
        rows.members.append(list(summed.gpus))
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


def chakra_iteration(
    traces: Mapping[int, Sequence[TraceNode]],
    groups: Mapping[str, Sequence[int]] | None = None,
    compute: ComputeRate | None = None,
) -> Iteration:
    """Return the iteration of Chakra traces, one for each rank.

    Computing nodes are operations: of their duration, else of the roofline. Nodes of a
    rank are issued when what they wait for has been, the least id first. The i-th send
    of a pair and tag meets the i-th receive, the i-th collective of a process group and
    tag is the same at every member. A group is what `groups` or a metadata node says,
    else of the ranks that name it; a collective without a group is of all ranks.

    `traces`: nodes by rank, numbered from 0. `groups`: ranks of each process group by
    name. `compute`: what nodes without a duration compute with, by default the GPU of a
    training.

    Raises `FormatError`: ranks that are not numbered from 0, nodes of one id, a node
    that waits for a missing one; a group that is given twice or is not of these ranks;
    a collective that its ranks do not agree on, a send or receive without the other;
    what is not followed: kinds of nodes and of collectives, several priorities,
    dimensions of a network.
    """
    ranks = sorted(traces)
    if ranks != list(range(len(ranks))):
        what, allowed = "ranks are not numbered from 0", f"0 to {len(ranks) - 1}"
        raise FormatError(what, where="ranks", found=ranks, allowed=allowed)
    rows = _Rows()
    issued = {rank: _issue_order(traces[rank], f"rank {rank}") for rank in ranks}
    compute = compute or ComputeRate()
    tasks = {rank: _rank_tasks(rows, rank, issued[rank], compute) for rank in ranks}
    _join_collectives(rows, issued, tasks, _process_groups(issued, groups or {}))
    _join_transfers(rows, issued, tasks)
    return rows.iteration(len(ranks))


@dataclass(frozen=True)
class ComputeRate:
    """What nodes of a trace compute with, where they say operations and bytes only."""

    gpu: Gpu = GPUS[DEFAULT_GPU]
    precision: str = DEFAULT_PRECISION

    def node_ps(self, node: TraceNode, where: str) -> int:
        """Return how long a computing node lasts."""
        if node.duration_micros:
            return node.duration_micros * PS_PER_US
        flops, moved_bytes = (
            _whole(node, name, where, default=0) for name in ("num_ops", "tensor_size")
        )
        return self.gpu.roofline_ps(flops, moved_bytes, self.precision)


def _whole(node: TraceNode, name: str, where: str, default: int | None = None) -> int:
    """Return an attribute that counts something, from 0."""
    value = node.attributes.get(name, default)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        what, place = f"{name} is missing or no count", f"{where}, node {node.id}"
        raise FormatError(what, where=place, found=value, allowed="0, 1, ...")
    return value


def _issue_order(nodes: Sequence[TraceNode], where: str) -> list[TraceNode]:
    """Return the nodes of a rank as they are issued: the least id that may be.

    Nodes in a cycle come last; the iteration refuses them.
    """
    check_nodes(nodes, where)
    node_of = {node.id: node for node in nodes}
    missing = {node.id: len(set(node.data_deps)) for node in nodes}
    heard: dict[int, list[int]] = {number: [] for number in node_of}
    for node in nodes:
        if node.type not in _FOLLOWED:
            name = NodeType(node.type).name
            raise FormatError(
                f"nodes of type {name}_NODE are not followed",
                where=f"{where}, node {node.id}",
                allowed=", ".join(f"{kind.name}_NODE" for kind in _FOLLOWED),
            )
        for dep in set(node.data_deps):
            if dep not in heard:
                what = "a node waits for a missing one"
                raise FormatError(what, where=f"{where}, node {node.id}", found=dep)
            heard[dep].append(node.id)
    ready = [number for number, count in missing.items() if not count]
    heapq.heapify(ready)
    order: dict[int, TraceNode] = {}
    while ready:
        number = heapq.heappop(ready)
        order[number] = node_of[number]
        for waiting in heard[number]:
            missing[waiting] -= 1
            if not missing[waiting]:
                heapq.heappush(ready, waiting)
    return list((order | node_of).values())


def _rank_tasks(
    rows: _Rows, rank: int, nodes: Sequence[TraceNode], compute: ComputeRate
) -> dict[int, tuple[int, int]]:
    """Add the nodes of a rank; return (what waits, what others wait for) of each.

    Around communication these are two marks that take no time.
    """
    tasks: dict[int, tuple[int, int]] = {}
    for node in nodes:
        computes = node.type == NodeType.COMPUTE
        lasts_ps = compute.node_ps(node, f"rank {rank}") if computes else 0
        begin = rows.add(f"{node.name} {rank}", rank, lasts_ps)
        apart = node.type in (NodeType.RECEIVE, NodeType.COLLECTIVE)
        end = rows.add(f"{node.name} {rank} done", rank) if apart else begin
        if apart:
            rows.link(begin, end)
        tasks[node.id] = begin, end
    for node in nodes:
        for dep in node.data_deps:
            rows.link(tasks[dep][1], tasks[node.id][0])
    return tasks


def _process_groups(
    traces: Mapping[int, Sequence[TraceNode]], given: Mapping[str, Sequence[int]]
) -> dict[str, list[int]]:
    """Return the ranks of each process group that is listed anywhere."""
    groups: dict[str, list[int]] = {}
    for name, ranks in given.items():
        groups[name] = _checked_group(name, ranks, len(traces), "process groups")
    for rank, nodes in traces.items():
        for node in nodes:
            if node.type != NodeType.METADATA or '"pg_name"' not in node.inputs:
                continue
            where = f"rank {rank}, node {node.id}"
            for name, listed in _listed_groups(node, where):
                # A list without ranks stands for all of them.
                ranks = _checked_group(name, listed or list(traces), len(traces), where)
                if groups.setdefault(name, ranks) != ranks:
                    what = f"process group {name!r} is of other ranks elsewhere"
                    raise FormatError(what, where=where, found=ranks)
    return groups


def _listed_groups(node: TraceNode, where: str) -> list[tuple[str, list[int]]]:
    """Return the groups in a metadata node: a JSON list, written as a Python list."""
    text = node.inputs.strip().removeprefix("['").removesuffix("']")
    try:
        return [(str(row["pg_name"]), list(row["ranks"])) for row in json.loads(text)]
    except (ValueError, TypeError, KeyError, RecursionError):
        what = "process groups that cannot be read"
        allowed = 'a list of {"pg_name": ..., "ranks": [...]}'
        raise FormatError(what, where=where, allowed=allowed) from None


def _checked_group(
    name: str, ranks: Sequence[int], rank_count: int, where: str
) -> list[int]:
    """Return the ranks of a group, each a rank and there once."""
    valid = [rank for rank in ranks if type(rank) is int and 0 <= rank < rank_count]
    if not valid or len(set(valid)) < len(ranks):
        what = f"process group {name!r} is not of distinct ranks of these traces"
        allowed = f"0 to {rank_count - 1}"
        raise FormatError(what, where=where, found=list(ranks), allowed=allowed)
    return valid


def _join_collectives(
    rows: _Rows,
    traces: Mapping[int, Sequence[TraceNode]],
    tasks: Mapping[int, Mapping[int, tuple[int, int]]],
    groups: Mapping[str, list[int]],
) -> None:
    """Make one collective of the i-th of a group and tag at each of its ranks."""
    issued: dict[tuple[str, int], dict[int, list[TraceNode]]] = {}
    priorities: set[int] = set()
    for rank, nodes in traces.items():
        for node in nodes:
            if node.type != NodeType.COLLECTIVE:
                continue
            where = f"rank {rank}"
            group = str(node.attributes.get("pg_name", ""))
            tag = _whole(node, "comm_tag", where, default=0)
            priorities.add(_whole(node, "comm_priority", where, default=0))
            _refuse_dimensions(node, where)
            issued.setdefault((group, tag), {}).setdefault(rank, []).append(node)
    if len(priorities) > 1:
        what, allowed = "comm_priority is not followed", "one priority for all"
        where, found = "collectives", sorted(priorities)
        raise FormatError(what, where=where, found=found, allowed=allowed)
    for (group, _), of_rank in issued.items():
        named = f"collectives of process group {group!r}" if group else "collectives"
        # Without a name, all ranks; a group nobody lists is of those that name it.
        members = groups.get(group, sorted(of_rank) if group else list(traces))
        concerned = sorted({*members, *of_rank})
        counts = {rank: len(of_rank.get(rank, [])) for rank in concerned}
        if len(concerned) > len(members) or len(set(counts.values())) > 1:
            what = "ranks with different numbers of collectives"
            raise FormatError(what, where=named, found=counts)
        several = zip(*(of_rank[rank] for rank in members), strict=True)
        for number, nodes in enumerate(several):
            placed = zip(members, nodes, strict=True)
            ends = [tasks[rank][node.id] for rank, node in placed]
            _join_collective(rows, nodes, members, ends, f"{named}, number {number}")


def _refuse_dimensions(node: TraceNode, where: str) -> None:
    """Raise if a collective is of some dimensions of a network only."""
    for name in ("involved_dim", "involved_dims"):
        dimensions = node.attributes.get(name, True)
        if dimensions is not True and not (
            isinstance(dimensions, tuple) and all(dimensions)
        ):
            raise FormatError(
                f"{name} is not followed",
                where=f"{where}, node {node.id}",
                found=dimensions,
                allowed="all dimensions",
                fix="name a process group by pg_name",
            )


def _join_collective(
    rows: _Rows,
    nodes: Sequence[TraceNode],
    members: list[int],
    ends: Sequence[tuple[int, int]],
    where: str,
) -> None:
    """Add a collective that begins and ends at some tasks of its members."""
    kind, size = _agreed(nodes, where)
    if size and len(members) > 1:
        op = COLLECTIVES[kind]
        rows.op.append(op)
        rows.bytes.append(full_buffer_bytes(op, size, len(members)))
        rows.members.append(members)
        task = -len(rows.op)
    else:  # Nothing moves, but all wait for each other.
        task = rows.add(f"all of {len(members)} ranks", members[0])
    for begin, end in ends:
        rows.link(begin, task)
        rows.link(task, end)


def _agreed(nodes: Sequence[TraceNode], where: str) -> tuple[CollectiveType, int]:
    """Return what all members call a collective: its type, and its size."""
    said = {
        (node.attributes.get("comm_type"), node.attributes.get("comm_size"))
        for node in nodes
    }
    [(kind, _), *others] = said
    if others:
        what = "a collective that ranks do not agree on (comm_type, comm_size)"
        raise FormatError(what, where=where, found=sorted(said, key=str))
    names: dict[object, str] = {int(each): each.name for each in CollectiveType}
    if kind == CollectiveType.BARRIER:
        return CollectiveType.BARRIER, 0
    if not isinstance(kind, int) or kind not in COLLECTIVES:
        what = f"a collective of comm_type {names.get(kind, str(kind))} is not followed"
        followed = (*COLLECTIVES, CollectiveType.BARRIER)
        allowed = ", ".join(f"{int(each)} ({each.name})" for each in followed)
        raise FormatError(what, where=where, allowed=allowed)
    return CollectiveType(kind), _whole(nodes[0], "comm_size", where)


def _join_transfers(
    rows: _Rows,
    traces: Mapping[int, Sequence[TraceNode]],
    tasks: Mapping[int, Mapping[int, tuple[int, int]]],
) -> None:
    """Link each send to the receive of its pair, tag and size."""
    waiting: dict[tuple[int, int, int], deque[tuple[int, TraceNode]]] = {}
    for rank, nodes in traces.items():
        for node in nodes:
            if node.type == NodeType.RECEIVE:
                key = _message(node, rank)
                waiting.setdefault(key, deque()).append((rank, node))
    for rank, nodes in traces.items():
        for node in nodes:
            if node.type == NodeType.SEND:
                several = waiting.get(_message(node, rank))
                if not several:
                    at = f"rank {rank}, node {node.id}"
                    raise FormatError("a send without its receive", where=at)
                receiver, receive = several.popleft()
                size = _agreed_size((rank, node), (receiver, receive))
                ends = tasks[rank][node.id][1], tasks[receiver][receive.id][1]
                rows.link(*ends, size)
    _refuse_left(one for left in waiting.values() for one in left)


def _refuse_left(receives: Iterable[tuple[int, TraceNode]]) -> None:
    """Raise if a receive is left to which nobody sends."""
    for rank, node in receives:
        where = f"rank {rank}, node {node.id}"
        raise FormatError("a receive without its send", where=where)


def _agreed_size(send: tuple[int, TraceNode], receive: tuple[int, TraceNode]) -> int:
    """Return the bytes of a message, as (rank, node) of both sides say."""
    sizes = [_whole(node, "comm_size", f"rank {at}") for at, node in (send, receive)]
    if sizes[0] != sizes[1]:
        places = [f"rank {at}, node {node.id}" for at, node in (send, receive)]
        what, allowed = f"comm_size differs from that of {places[1]}", str(sizes[1])
        raise FormatError(what, where=places[0], found=sizes[0], allowed=allowed)
    return sizes[0]


def _message(node: TraceNode, rank: int) -> tuple[int, int, int]:
    """Return (source, destination, tag) of one end of a message."""
    where = f"rank {rank}"
    sends = node.type == NodeType.SEND
    src = _whole(node, "comm_src", where, default=rank if sends else None)
    dst = _whole(node, "comm_dst", where, default=None if sends else rank)
    if rank != (src if sends else dst):
        what = "a send from another rank" if sends else "a receive at another rank"
        found = src if sends else dst
        place = f"{where}, node {node.id}"
        raise FormatError(what, where=place, found=found, allowed=str(rank))
    return src, dst, _whole(node, "comm_tag", where, default=0)
