"""Instance files: TOML tables to instances and back."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import msgspec
from msgspec import Meta

from lightloom.core.errors import InputError, nearest, placed
from lightloom.core.record import convert
from lightloom.core.task import Collective, Demand
from lightloom.formats.demand_csv import read_matrix, read_pairs
from lightloom.formats.json_file import read_toml
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance, check_demand_rows
from lightloom.instances.workload_table import read_workload

if TYPE_CHECKING:
    from lightloom.core.task import Task, Workload
    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric

_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_TASKS = ("collective", "computation", "demand", "workload")
_TABLES = ("fabric", *_TASKS)

_INDENT = 4
_WIDTH = 80
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
