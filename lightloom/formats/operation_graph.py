"""Graphs of operations as JSON: operations with times, edges with bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from lightloom.core.computation import refuse_cycle
from lightloom.core.errors import FormatError, nearest
from lightloom.core.record import convert
from lightloom.formats.json_file import read_json

if TYPE_CHECKING:
    from pathlib import Path

_Time = Annotated[int, Meta(ge=0, le=10**15)]
_Bytes = Annotated[int, Meta(ge=0, le=2**60 - 1)]


class OpRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operation: how long it runs, and the memory it takes where it runs."""

    id: str
    duration_ps: _Time
    memory_bytes: _Bytes


class EdgeRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What operation `dst` needs of what operation `src` makes."""

    src: str
    dst: str
    bytes: _Bytes


class OpGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A graph of operations without cycles; ids are distinct and edges name them."""

    ops: list[OpRecord]
    edges: list[EdgeRecord]


def read_op_graph(path: str | Path) -> OpGraph:
    """Return the graph in a JSON file.

    ::

        {"ops": [{"id": "a", "duration_ps": 5, "memory_bytes": 8}, ...],
         "edges": [{"src": "a", "dst": "b", "bytes": 4096}, ...]}

    Raises `InputError`: the file cannot be read; `FormatError`: it is not JSON or has
    another form; a time or size is negative or absurd; an id comes twice, or an edge
    names none; the edges go round in a cycle, which is printed. The message names file
    and field.
    """
    table = read_json(path).table
    where = f"{path}: graph"
    graph = convert(table, OpGraph, where=where, error=FormatError)
    _check_ids(graph, where)
    row = {op.id: number for number, op in enumerate(graph.ops)}
    edges = ((row[edge.src], row[edge.dst]) for edge in graph.edges)
    refuse_cycle([op.id for op in graph.ops], edges, f"{where}.edges", FormatError)
    return graph


def _check_ids(graph: OpGraph, where: str) -> None:
    """Raise if an id comes twice, or an edge names none."""
    known: set[str] = set()
    for number, op in enumerate(graph.ops):
        if op.id in known:
            place = f"{where}.ops[{number}].id"
            raise FormatError("the id of another operation", where=place, found=op.id)
        known.add(op.id)
    for number, edge in enumerate(graph.edges):
        for key, name in (("src", edge.src), ("dst", edge.dst)):
            if name not in known:
                place = f"{where}.edges[{number}].{key}"
                fix = nearest(name, known)
                what = "unknown operation"
                raise FormatError(what, where=place, found=name, fix=fix)
