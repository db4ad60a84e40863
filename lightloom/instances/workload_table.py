"""``[workload]`` of an instance file: a graph of operations, and where it may run."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from lightloom.core.computation import refuse_cycle
from lightloom.core.errors import InputError
from lightloom.core.record import convert
from lightloom.core.task import Workload
from lightloom.formats.operation_graph import read_op_graph

if TYPE_CHECKING:
    from pathlib import Path

_Time = Annotated[int, Meta(ge=0, le=10**15)]
_Bytes = Annotated[int, Meta(ge=0, le=2**60 - 1)]
_Row = Annotated[int, Meta(ge=0)]
_COLUMNS = ("op", "duration_ps", "memory_bytes", "src", "dst", "bytes")


class _WorkloadTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A graph file or its columns; `devices` and `distance` default to all."""

    graph: str | None = None
    op: tuple[str, ...] | None = None
    duration_ps: tuple[_Time, ...] | None = None
    memory_bytes: tuple[_Bytes, ...] | None = None
    src: tuple[_Row, ...] | None = None
    dst: tuple[_Row, ...] | None = None
    bytes: tuple[_Bytes, ...] | None = None
    devices: Annotated[int, Meta(ge=1)] | None = None
    distance: Annotated[int, Meta(ge=0)] | None = None
    device_memory_bytes: _Bytes | None = None


def read_workload(
    table: dict[str, object], node_count: int, name: str, folder: Path
) -> Workload:
    """Return the workload of an instance table.

    Raises `InputError`: unknown key; both a graph and columns, or neither; columns that
    do not fit each other; more devices than nodes; a graph that is not right.
    """
    where = f"{name}: workload"
    raw = convert(table, _WorkloadTable, where=where)
    columns: dict[str, Any] = {key: getattr(raw, key) for key in _COLUMNS}
    given = [column is not None for column in columns.values()]
    if (raw.graph is not None) == any(given) or any(given) != all(given):
        what, allowed = "a workload is given in one way", "graph, or all columns"
        found = sorted(table)
        raise InputError(what, where=where, found=found, allowed=allowed)
    if raw.graph is not None:
        columns = _graph_columns(folder / raw.graph)
    devices = node_count if raw.devices is None else raw.devices
    if devices > node_count:
        what, allowed = "more devices than nodes", f"1 to {node_count}"
        place = f"{where}.devices"
        raise InputError(what, where=place, found=devices, allowed=allowed)
    distance = devices - 1 if raw.distance is None else raw.distance
    workload = Workload(
        **columns,
        devices=devices,
        distance=distance,
        device_memory_bytes=raw.device_memory_bytes,
    )
    check_workload(workload, where)
    return workload


def _graph_columns(path: Path) -> dict[str, tuple[object, ...]]:
    """Return the columns of a graph file; edges of one pair add up."""
    graph = read_op_graph(path)
    row = {op.id: number for number, op in enumerate(graph.ops)}
    size_of: dict[tuple[int, int], int] = {}
    for edge in graph.edges:
        pair = row[edge.src], row[edge.dst]
        size_of[pair] = size_of.get(pair, 0) + edge.bytes
    edges = sorted(size_of)
    return {
        "op": tuple(op.id for op in graph.ops),
        "duration_ps": tuple(op.duration_ps for op in graph.ops),
        "memory_bytes": tuple(op.memory_bytes for op in graph.ops),
        "src": tuple(src for src, _ in edges),
        "dst": tuple(dst for _, dst in edges),
        "bytes": tuple(size_of[pair] for pair in edges),
    }


def check_workload(workload: Workload, where: str) -> None:
    """Raise unless a workload is sound: columns, devices, edges and names.

    `workload`: the workload: columns of its operations, and columns of its edges, whose
    ends are rows of operations.

    Raises `InputError`: columns that do not fit each other, nothing to place, two
    operations of one name, a negative time or size, no device, a negative distance, an
    edge to nowhere, or edges that go round in a cycle, which is printed.
    """
    for keys in (_COLUMNS[:3], _COLUMNS[3:]):
        lengths = [len(getattr(workload, key)) for key in keys]
        if len(set(lengths)) > 1:
            what = f"the columns {', '.join(keys)} differ in length"
            raise InputError(what, where=where, found=lengths)
    if not workload.op:
        raise InputError("there is no operation to place", where=where)
    for before, after in pairwise(sorted(workload.op)):
        if before == after:
            raise InputError("two operations of one name", where=where, found=before)
    _check_amounts(workload, where)
    edges = list(zip(workload.src, workload.dst, strict=True))
    for number, edge in enumerate(edges):
        for end in edge:
            if not 0 <= end < len(workload.op):
                what, allowed = "unknown operation", f"rows 0 to {len(workload.op) - 1}"
                place = f"{where}, edge {number}"
                raise InputError(what, where=place, found=end, allowed=allowed)
    refuse_cycle(workload.op, edges, where)


def _check_amounts(workload: Workload, where: str) -> None:
    """Raise if a time or size is negative, or there is no device."""
    for key in ("duration_ps", "memory_bytes", "bytes"):
        for row, amount in enumerate(getattr(workload, key)):
            if amount < 0:
                place, allowed = f"{where}.{key}, row {row}", "0 or more"
                raise InputError("negative", where=place, found=amount, allowed=allowed)
    if workload.devices < 1:
        place, found = f"{where}.devices", workload.devices
        raise InputError(
            "invalid number of devices", where=place, found=found, allowed="1 or more"
        )
    for key in ("distance", "device_memory_bytes"):
        amount = getattr(workload, key)
        if amount is not None and amount < 0:
            place, allowed = f"{where}.{key}", "0 or more"
            raise InputError("negative", where=place, found=amount, allowed=allowed)
