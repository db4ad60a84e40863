"""Instance files: TOML tables to instances and back."""

from __future__ import annotations

import re
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
from msgspec import Meta

from lightloom.core.computation import refuse_cycle
from lightloom.core.errors import InputError, nearest, placed
from lightloom.core.record import convert
from lightloom.core.task import Collective, Demand, Workload
from lightloom.formats.csv_table import read_matrix, read_pairs
from lightloom.formats.json_file import read_toml
from lightloom.formats.operation_graph import read_op_graph
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance, check_demand_rows

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric


_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_TASKS = ("collective", "computation", "demand", "workload")
_TABLES = ("fabric", *_TASKS)

_INDENT = 4
"""Spaces before the members of a list."""
_WIDTH = 80
"""Columns of a line of numbers."""
_NUMBERS = re.compile(r"\[\n((?: *-?[0-9]+,\n)+) *\]")
"""A list of numbers, one a line. Strings have no line ends: they are escaped."""


class _CollectiveTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[collective]`` as a person writes it: `nodes` defaults to all."""

    op: str
    buffer_bytes: int
    nodes: tuple[_Int64, ...] | None = None
    chunks: int | None = None
    root: int | None = None


class _DemandTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[demand]``: a matrix, a pairs file, or three columns; and `relays`."""

    matrix: str | tuple[tuple[int, ...], ...] | None = None
    pairs: str | None = None
    src: tuple[int, ...] | None = None
    dst: tuple[int, ...] | None = None
    bytes: tuple[int, ...] | None = None
    relays: bool = False


def read_instance(path: Path) -> Instance:
    """Return the instance in a TOML file.

    Paths in it are relative to the file.

    Raises `InputError`: the file cannot be read or is not TOML; a key is unknown or
    missing; a value is outside its domain; the task does not fit the fabric.
    """
    tables = read_toml(path)
    return parse_instance(tables, name=str(path), folder=path.parent)


def parse_instance(
    tables: dict[str, object], *, name: str, folder: Path | None = None
) -> Instance:
    """Return the instance that decoded tables describe.

    `tables`: tables of the file by name: ``fabric`` and one task.

    Raises `InputError`: unknown table or key, a value out of its domain, not exactly
    one task, or a file of the task that cannot be read.
    """
    for key in tables:
        if key not in _TABLES:
            what = f"unknown table {key!r}"
            allowed = ", ".join(_TABLES)
            fix = nearest(key, _TABLES)
            raise InputError(what, where=name, allowed=allowed, fix=fix)
    fabric = load_fabric(_table(tables, "fabric", name), f"{name}: fabric")
    given = [key for key in _TASKS if key in tables]
    if len(given) != 1:
        what = "an instance has one task"
        allowed = ", or ".join(f"[{key}]" for key in _TASKS)
        found = " and ".join(f"[{key}]" for key in given) or "none"
        raise InputError(what, where=name, found=found, allowed=allowed)
    table, folder = _table(tables, given[0], name), folder or Path()
    if given[0] == "demand":
        raw = convert(table, _DemandTable, where=f"{name}: demand")
        rows = _demand_rows(raw, sorted(table), fabric, name, folder)
        requests = tuple((src, dst) for src, dst, size in rows if size)
        demand = Demand.from_rows(rows, relays=raw.relays)
        return Instance(fabric, demand, name, requests)
    task: Task | Workload | Training
    if given[0] == "collective":
        task = _collective(table, fabric, name)
    elif given[0] == "computation":
        from lightloom.instances.computation_table import read_computation

        task = read_computation(table, name, folder)
    else:
        task = read_workload(table, fabric.node_count, name, folder)
    return Instance(fabric, task, name)


def _table(tables: dict[str, object], key: str, name: str) -> dict[str, object]:
    table = tables.get(key)
    if not isinstance(table, dict):
        what = f"missing table [{key}]" if table is None else f"{key} is not a table"
        raise InputError(what, where=name, found=table)
    return cast("dict[str, object]", table)


def _collective(table: dict[str, object], fabric: AnyFabric, name: str) -> Collective:
    where = f"{name}: collective"
    raw = convert(table, _CollectiveTable, where=where)
    nodes = tuple(range(fabric.node_count)) if raw.nodes is None else raw.nodes
    collective = Collective(raw.op, nodes, raw.buffer_bytes, raw.chunks, raw.root)
    check_collective(collective, fabric.node_count, where)
    return collective


def _demand_rows(
    raw: _DemandTable, given: list[str], fabric: AnyFabric, name: str, folder: Path
) -> list[tuple[int, int, int]]:
    """Return the (src, dst, bytes) rows of a demand as they were given."""
    where = f"{name}: demand"
    columns = (raw.src, raw.dst, raw.bytes)
    inline = any(column is not None for column in columns)
    ways = [raw.matrix is not None, raw.pairs is not None, inline]
    if sum(ways) != 1:
        what = "a demand is given in exactly one way"
        allowed = "matrix, or pairs, or the columns src, dst and bytes"
        raise InputError(what, where=where, found=given, allowed=allowed)
    for key, file in (("matrix", raw.matrix), ("pairs", raw.pairs)):
        if file == "":
            what, allowed = "the name of the file is empty", "a CSV file"
            raise InputError(what, where=f"{where}.{key}", allowed=allowed)
    if isinstance(raw.matrix, tuple):
        return _matrix_rows(raw.matrix, fabric.node_count, where)
    if raw.matrix is not None:
        rows = read_matrix(folder / raw.matrix, node_count=fabric.node_count)
        where = f"{where}: {folder / raw.matrix}"
    elif raw.pairs is not None:
        rows = read_pairs(folder / raw.pairs, node_count=fabric.node_count)
        where = f"{where}: {folder / raw.pairs}"
    else:
        src, dst, size = (column or () for column in columns)
        check_demand_rows(src, dst, size, fabric.node_count, where)
        return list(zip(src, dst, size, strict=True))
    src, dst, size = zip(*rows, strict=True) if rows else ((), (), ())
    check_demand_rows(src, dst, size, fabric.node_count, where)
    return rows


def _matrix_rows(
    matrix: tuple[tuple[int, ...], ...], nodes: int, where: str
) -> list[tuple[int, int, int]]:
    """Return the (src, dst, bytes) rows of a matrix, zeros left out."""
    demand = placed(lambda: Demand.from_matrix(matrix), where)
    if len(matrix) != nodes:
        what, allowed = "the matrix is not as wide as the fabric", f"{nodes} nodes"
        place = f"{where}.matrix"
        raise InputError(what, where=place, found=len(matrix), allowed=allowed)
    return list(zip(demand.src, demand.dst, demand.bytes, strict=True))


def instance_toml(instance: Instance) -> str:
    """Return an instance as TOML, every default filled in.

    Only the nodes of a collective are left out where they are all, as they can be
    thousands. Lists of numbers fill their lines.
    """
    import tomli_w

    table = instance.table()
    everybody = list(range(instance.fabric.node_count))
    if table.get("collective", {}).get("nodes") == everybody:
        del table["collective"]["nodes"]
    return _NUMBERS.sub(_filled, tomli_w.dumps(table, indent=_INDENT))


def _filled(numbers: re.Match[str]) -> str:
    """Return a list of one number a line with as many on a line as fit."""
    text = " ".join(numbers[1].split())
    if len(text) < _WIDTH // 2:
        return f"[{text.removesuffix(',')}]"
    margin = " " * _INDENT
    lines = textwrap.wrap(text, _WIDTH, initial_indent=margin, subsequent_indent=margin)
    return "\n".join(["[", *lines, "]"])


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
