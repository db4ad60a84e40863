"""FlexFlow's files: measured times of operators in several cuts, and task graphs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, NoReturn

import msgspec
import numpy as np
from msgspec import Meta

from lightloom.core.columns import Ragged, column
from lightloom.core.errors import FormatError, InputError
from lightloom.core.iteration import Collectives, Dependencies, Iteration, Operations
from lightloom.core.units import PS_PER_MS
from lightloom.formats.json_file import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.formats.json_file import JsonFile


_Count = Annotated[int, Meta(ge=1, le=2**40)]
_Milliseconds = Annotated[float, Meta(ge=0, le=1_000_000)]
_Bytes = Annotated[int, Meta(ge=0, le=2**60 - 1)]

_CUT = re.compile(r"[1-9][0-9]{0,8}(-[1-9][0-9]{0,8})+")
_DIMENSIONS = {
    1: ("sample",),
    2: ("channel", "sample"),
    3: ("channel", "spatial", "sample"),
    4: ("spatial", "spatial", "channel", "sample"),
}
"""Dimensions in FlexFlow's order, the innermost first."""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A measurement as it stands in the file."""

    name: Annotated[str, Meta(min_length=1)]
    pc_str: str
    fw_time: _Milliseconds
    bw_time: _Milliseconds
    mem_req: _Bytes


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    batch_size: _Count
    ngpus: _Count
    measurements: Annotated[list[_Row], Meta(min_length=1)]


class Measurement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operator in one cut, measured on one GPU.

    `name`: flexFlow's name of the operator and its shape, for example ``Dense_1024_1``.
    `parts`: parts along each dimension that is cut, as (dimension, parts) with more
    than one part; empty for the whole operator. `forward_ps`, `backward_ps`: time of
    one part in picoseconds.
    """

    name: str
    parts: tuple[tuple[str, int], ...]
    forward_ps: int
    backward_ps: int
    memory_bytes: int


class OperatorProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The measurements of a run.

    `batch_size`: samples of the whole batch, of which a part has its share.
    `measurements`: rows in file order; (name, parts) are distinct.
    """

    path: str
    batch_size: int
    gpus: int
    measurements: tuple[Measurement, ...]


def read_flexflow_profile(path: str | Path) -> OperatorProfile:
    """Return an operator profile.

    ``pc_str`` is ``<dimensions>-<parts of each>``, the innermost dimension first and
    the samples last, as in ``4-1-1-1-16``. Times are milliseconds in the file and are
    rounded to the picosecond.

    Raises `InputError`: the file cannot be read; `FormatError`: it is not JSON or has
    another form; a time or size is negative or absurd; a cut cannot be read, or comes
    twice for one operator. The message names file, line and field.
    """
    file = read_json(path)
    raw = file.convert(_File)
    seen: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
    rows = []
    for number, row in enumerate(raw.measurements):
        field = f"measurements[{number}].pc_str"
        parts = _parts(row.pc_str, file, field)
        if (row.name, parts) in seen:
            what = f"the cut of {row.name} was measured before"
            raise FormatError(what, where=file.place(field), found=row.pc_str)
        seen.add((row.name, parts))
        rows.append(
            Measurement(
                name=row.name,
                parts=parts,
                forward_ps=round(row.fw_time * PS_PER_MS),
                backward_ps=round(row.bw_time * PS_PER_MS),
                memory_bytes=row.mem_req,
            )
        )
    return OperatorProfile(file.path, raw.batch_size, raw.ngpus, tuple(rows))


def _parts(text: str, file: JsonFile, field: str) -> tuple[tuple[str, int], ...]:
    """Return the parts along each dimension that is cut."""
    numbers = [int(part) for part in text.split("-")] if _CUT.fullmatch(text) else [0]
    count, *given = numbers
    if count not in _DIMENSIONS or len(given) != count:
        what, where = "not a cut", file.place(field)
        allowed = "the number of dimensions, then the parts of each, joined by '-'"
        raise FormatError(what, where=where, found=text, allowed=allowed)
    total: dict[str, int] = {}
    for dimension, parts in zip(_DIMENSIONS[count], given, strict=True):
        total[dimension] = total.get(dimension, 1) * parts
    return tuple((key, parts) for key, parts in sorted(total.items()) if parts > 1)


_COLUMNS = ["taskid", "type", "deviceid", "runtime_ms", "xfersize", "next"]
_COMPUTES = ("FORWARD", "BACKWARD", "UPDATE")
_CARRIES = ("COMM", "NOMINAL_COMM")
_REDUCES = "ALLREDUCE"
_GPU = 0
"""The kind of device that computes, as the format numbers kinds."""

_Id = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Task = tuple[_Id, _Id, _Id, _Milliseconds, _Bytes, list[_Id]]


class _TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. Rates of the simulated network are not read: a fabric has its own."""

    nnode: Annotated[int, Meta(ge=1)]
    ngpupernode: Annotated[int, Meta(ge=1)]
    netbw: float
    intergpubw: float
    columns: list[str]
    tasktypes: list[str]
    devices: list[tuple[_Id, _Id]]
    tasks: list[_Task]


@dataclass
class _Rows:
    """The parts of an iteration while they are gathered."""

    name: list[str] = field(default_factory=list)
    device: list[int] = field(default_factory=list)
    duration_ps: list[int] = field(default_factory=list)
    links: list[tuple[int, int, int]] = field(default_factory=list)
    reduced_bytes: list[int] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)


def read_flexflow_tasks(path: str | Path) -> Iteration:
    """Return the training iteration of a task graph.

    Tasks are rows ``[taskid, type, deviceid, runtime_ms, xfersize, next]``.
    Computing tasks become operations; device i is the i-th GPU of ``devices``. A
    communication task stands between two tasks and becomes the bytes of their
    dependency. An all-reduce becomes a collective of the devices of the tasks that it
    waits for: its ``next`` lists ranks in a numbering that the file does not define,
    of which only the number is checked. Recorded durations of communication are not
    read.

    Raises `InputError`: the file cannot be read; `FormatError`: it is not JSON or has
    another form; a time or size is negative or absurd; a task comes twice, runs on no
    device or is followed by none; communication that does not stand between two tasks;
    tasks that wait for each other in a cycle.
    """
    file = read_json(path)
    raw = file.convert(_TaskFile)
    if raw.columns != _COLUMNS:
        found, allowed = ", ".join(raw.columns), ", ".join(_COLUMNS)
        where = file.place("columns")
        raise FormatError("unknown columns", where=where, found=found, allowed=allowed)
    try:
        return _Reader(file, raw).iteration()
    except FormatError:
        raise
    except InputError as problem:
        where = f"{file.path}: {problem.where}"
        raise FormatError(problem.what, where=where, found=problem.found) from None


class _Reader:
    """Turns the rows of one file into an iteration."""

    def __init__(self, file: JsonFile, raw: _TaskFile) -> None:
        self.file, self.raw = file, raw
        self.row_of: dict[int, int] = {}
        for row, task in enumerate(raw.tasks):
            if task[0] in self.row_of:
                self.refuse("a task of this id came before", row, 0, task[0])
            if task[1] >= len(raw.tasktypes):
                self.refuse("unknown type of task", row, 1, task[1])
            self.row_of[task[0]] = row
        gpus = [device for device, kind in raw.devices if kind == _GPU]
        self.gpu = {device: number for number, device in enumerate(gpus)}
        self.before: list[list[int]] = [[] for _ in raw.tasks]
        for row, task in enumerate(raw.tasks):
            if self.kind(row) == _REDUCES:
                continue
            for number, follower in enumerate(task[5]):
                if follower not in self.row_of:
                    self.refuse("unknown task", row, f"5[{number}]", follower)
                self.before[self.row_of[follower]].append(row)

    def kind(self, row: int) -> str:
        """Return the type of a task."""
        return self.raw.tasktypes[self.raw.tasks[row][1]]

    def refuse(self, what: str, row: int, place: int | str, found: object) -> NoReturn:
        """Raise, naming the field of a task."""
        spot = f"[{place}]" if isinstance(place, int) else f"[{place[0]}]{place[1:]}"
        where = self.file.place(f"tasks[{row}]{spot}")
        raise FormatError(what, where=where, found=found)

    def iteration(self) -> Iteration:
        """Return the iteration."""
        rows, tasks = _Rows(), range(len(self.raw.tasks))
        kinds = [self.kind(row) for row in tasks]
        task_of: dict[int, int] = {}
        for row in tasks:
            if kinds[row] in _COMPUTES:
                task_of[row] = len(rows.name)
                self._compute(row, rows)
            elif kinds[row] not in (*_CARRIES, _REDUCES):
                self.refuse("a type of task that is not read", row, 1, kinds[row])
        for row in tasks:
            if kinds[row] == _REDUCES:
                task_of[row] = len(rows.name) + len(rows.members)
                self._reduce(row, rows)
        for row in tasks:
            if row in task_of:
                links = (self._link(source) for source in self.before[row])
                rows.links += [
                    (task_of[source], task_of[row], size) for source, size in links
                ]
            elif len(self.raw.tasks[row][5]) != 1:
                found = len(self.raw.tasks[row][5])
                self.refuse("communication to other than one task", row, 5, found)
        return self._packed(rows)

    def _compute(self, row: int, rows: _Rows) -> None:
        task = self.raw.tasks[row]
        if task[2] not in self.gpu:
            self.refuse("unknown GPU", row, 2, task[2])
        rows.name.append(f"{self.kind(row).lower()} {row}")
        rows.device.append(self.gpu[task[2]])
        rows.duration_ps.append(round(task[3] * PS_PER_MS))

    def _reduce(self, row: int, rows: _Rows) -> None:
        task = self.raw.tasks[row]
        sources = self.before[row]
        if any(self.kind(source) not in _COMPUTES for source in sources):
            self.refuse(
                "an all-reduce waits for computing tasks alone", row, 0, task[0]
            )
        members = {self.gpu[self.raw.tasks[source][2]] for source in sources}
        if len(members) != len(task[5]):
            what = f"ranks of an all-reduce that waits for {len(members)} devices"
            self.refuse(what, row, 5, len(task[5]))
        rows.members.append(sorted(members))
        rows.reduced_bytes.append(task[4])

    def _link(self, row: int) -> tuple[int, int]:
        """Return the computing task behind a task, and the bytes on the way."""
        if self.kind(row) not in _CARRIES:
            return row, 0
        sources = self.before[row]
        if len(sources) != 1 or self.kind(sources[0]) not in _COMPUTES:
            what = "communication from other than one computing task"
            self.refuse(what, row, 0, len(sources))
        return sources[0], self.raw.tasks[row][4]

    def _packed(self, rows: _Rows) -> Iteration:
        src, dst, size = (
            column(np.array([link[end] for link in rows.links], dtype=np.int64))
            for end in range(3)
        )
        operations = Operations(
            tuple(rows.name),
            column(rows.device),
            column(rows.duration_ps),
            column([0] * len(rows.name)),
        )
        collectives = Collectives(
            ("all-reduce",) * len(rows.members),
            column(rows.reduced_bytes),
            Ragged.from_lists(rows.members),
        )
        dependencies = Dependencies.plain(src, dst, size)
        return Iteration(len(self.gpu), operations, dependencies, collectives)
