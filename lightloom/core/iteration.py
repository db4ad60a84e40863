"""A training iteration after placement: what runs where, and what waits for what."""

from __future__ import annotations

import graphlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import IntArray, Ragged
from lightloom.core.errors import InputError
from lightloom.core.units import MOST_BYTES, MOST_PS

if TYPE_CHECKING:
    import numpy.typing as npt

NO_CALL = -1
"""A transfer that is a call of its own, see `Dependencies.call`."""


@dataclass(frozen=True, eq=False)
class Operations:
    """Computations, one a row; columns of shape (operations,).

    Attributes
    ----------
    name
        For messages and traces; need not be distinct.
    device
        Where it runs.
    duration_ps
        How long it computes, 0 to 10**15 ps. An operation of 0 ps launches nothing:
        it marks a point that others wait for, and takes no turn of its device.
    priority
        Of the operations that are ready on a device the one with the least
        priority runs first, among equals the one with the least row.
    """

    name: tuple[str, ...]
    device: IntArray
    duration_ps: IntArray
    priority: IntArray

    def __len__(self) -> int:
        """Return the number of operations."""
        return len(self.device)


@dataclass(frozen=True, eq=False)
class Dependencies:
    """Tasks that wait for tasks; columns of shape (dependencies,).

    Attributes
    ----------
    src, dst
        Tasks: `dst` waits for `src`. Operation i is task i, collective j is task
        ``len(operations) + j``.
    bytes
        What `dst` needs of what `src` makes; 0 where only the order matters, as
        always where an end is a collective. Between operations of different devices
        bytes make a transfer; on one device they take no time.
    call
        Transfers of one number, from 0, are issued together as one call where the
        fabric serves calls one by one; `NO_CALL` for a transfer by itself. In the
        LUMORPH paper a call is what passes between two layers in one direction.
    """

    src: IntArray
    dst: IntArray
    bytes: IntArray
    call: IntArray

    @classmethod
    def plain(cls, src: IntArray, dst: IntArray, size_bytes: IntArray) -> Dependencies:
        """Return dependencies whose transfers are each a call by itself.

        Parameters
        ----------
        src, dst
            Operations that each dependency starts and ends at; of shape (rows,).
        size_bytes
            What it carries, from 0; of shape (rows,).
        """
        return cls(src, dst, size_bytes, np.full(len(src), NO_CALL, dtype=np.int64))

    def __len__(self) -> int:
        """Return the number of dependencies."""
        return len(self.src)


@dataclass(frozen=True, eq=False)
class Collectives:
    """Collective operations, one a row; no columns may differ in length.

    Attributes
    ----------
    op
        As in `lightloom.core.task.Collective`: ``all-reduce``, ...
    bytes
        The full buffer, as there.
    devices
        Who takes part, in rank order; distinct in a row.
    """

    op: tuple[str, ...]
    bytes: IntArray
    devices: Ragged

    @classmethod
    def none(cls) -> Collectives:
        """Return no collectives."""
        empty = np.empty(0, dtype=np.int64)
        return cls((), empty, Ragged.from_lengths(empty, empty))

    def __len__(self) -> int:
        """Return the number of collectives."""
        return len(self.bytes)


@dataclass(frozen=True, eq=False)
class Iteration:
    """One training iteration on `device_count` devices, numbered from 0 as nodes.

    Attributes
    ----------
    device_count
        Number of devices.
    operations, dependencies, collectives
        What happens; see there.

    Raises
    ------
    InputError
        Columns of different lengths; a time or size out of its domain; a device or
        task there is not; bytes to or from a collective; a call of what is no
        transfer; a device twice in a collective; tasks that wait for each other in a
        cycle, which is printed.
    """

    device_count: int
    operations: Operations
    dependencies: Dependencies
    collectives: Collectives

    def __post_init__(self) -> None:
        _check_operations(self)
        _check_collectives(self)
        _check_dependencies(self)
        _refuse_cycle(self)

    @property
    def task_count(self) -> int:
        """Number of operations and collectives."""
        return len(self.operations) + len(self.collectives)

    @property
    def is_transfer(self) -> npt.NDArray[np.bool_]:
        """Whether each dependency moves bytes between devices."""
        links, device = self.dependencies, self.operations.device
        moves = links.bytes > 0
        rows = np.flatnonzero(moves)
        moves[rows] = device[links.src[rows]] != device[links.dst[rows]]
        return moves

    def task_name(self, task: int) -> str:
        """Return a task in words."""
        if task < len(self.operations):
            return self.operations.name[task]
        row = task - len(self.operations)
        return f"{self.collectives.op[row]} {row}"


def _check_operations(iteration: Iteration) -> None:
    rows = iteration.operations
    lengths = [len(rows.name), len(rows.device)]
    lengths += [len(rows.duration_ps), len(rows.priority)]
    _same_length(lengths, "operations")
    last = iteration.device_count - 1
    _within(rows.device, (0, last), "operations.device", "invalid device")
    _within(rows.duration_ps, (0, MOST_PS), "operations.duration_ps", "invalid time")


def _check_collectives(iteration: Iteration) -> None:
    rows = iteration.collectives
    _same_length([len(rows.op), len(rows.bytes), len(rows.devices)], "collectives")
    _within(rows.bytes, (0, MOST_BYTES), "collectives.bytes", "invalid size")
    values, of_row = rows.devices.values, rows.devices.row_of_value
    last = iteration.device_count - 1
    _within(values, (0, last), "collectives.devices", "invalid device")
    for row in np.flatnonzero(rows.devices.lengths == 0).tolist():
        what = "a collective of nobody"
        raise InputError(what, where=f"collectives.devices, row {row}")
    order = np.lexsort((values, of_row))
    twice = (np.diff(values[order]) == 0) & (np.diff(of_row[order]) == 0)
    for at in order[1:][twice][:1].tolist():
        what, where = "a device twice", f"collectives.devices, row {of_row[at]}"
        raise InputError(what, where=where, found=int(values[at]))


def _check_dependencies(iteration: Iteration) -> None:
    rows, tasks = iteration.dependencies, iteration.task_count
    lengths = [len(rows.src), len(rows.dst), len(rows.bytes), len(rows.call)]
    _same_length(lengths, "dependencies")
    for name, ends in (("src", rows.src), ("dst", rows.dst)):
        _within(ends, (0, tasks - 1), f"dependencies.{name}", "invalid task")
    _within(rows.bytes, (0, MOST_BYTES), "dependencies.bytes", "invalid size")
    for row in np.flatnonzero(rows.call < NO_CALL)[:1].tolist():
        where, found = f"dependencies.call, row {row}", int(rows.call[row])
        raise InputError("invalid call", where=where, found=found, allowed="-1, 0, ...")
    collective = np.maximum(rows.src, rows.dst) >= len(iteration.operations)
    for row in np.flatnonzero(collective & (rows.bytes > 0))[:1].tolist():
        what = "bytes between an operation and a collective"
        fix = "give the bytes to the collective, and 0 to the dependency"
        found, where = int(rows.bytes[row]), f"dependencies.bytes, row {row}"
        raise InputError(what, where=where, found=found, allowed="0", fix=fix)
    for row in np.flatnonzero((rows.call >= 0) & ~iteration.is_transfer)[:1].tolist():
        what = "a call of what is no transfer"
        allowed = "-1 where there are no bytes between two devices"
        where, found = f"dependencies.call, row {row}", int(rows.call[row])
        raise InputError(what, where=where, found=found, allowed=allowed)


def _same_length(lengths: list[int], where: str) -> None:
    if len(set(lengths)) > 1:
        raise InputError("the columns differ in length", where=where, found=lengths)


def _within(values: IntArray, domain: tuple[int, int], where: str, what: str) -> None:
    """Raise, naming the first row, unless ``low <= values <= high``."""
    low, high = domain
    for row in np.flatnonzero((values < low) | (values > high))[:1].tolist():
        place, found = f"{where}, row {row}", int(values[row])
        raise InputError(what, where=place, found=found, allowed=f"{low} to {high}")


def _refuse_cycle(iteration: Iteration) -> None:
    """Raise, printing a cycle, if tasks wait for each other."""
    rows = iteration.dependencies
    if _all_end(rows.src, rows.dst, iteration.task_count):
        return
    before: dict[int, list[int]] = {task: [] for task in range(iteration.task_count)}
    for src, dst in zip(rows.src.tolist(), rows.dst.tolist(), strict=True):
        before[dst].append(src)
    try:
        graphlib.TopologicalSorter(before).prepare()
    except graphlib.CycleError as problem:
        found = " -> ".join(iteration.task_name(task) for task in problem.args[1])
        what = "tasks wait for each other in a cycle"
        raise InputError(what, where="dependencies", found=found) from None


def _all_end(src: IntArray, dst: IntArray, tasks: int) -> bool:
    """Return whether tasks that wait for each other all come to an end.

    All whose waiting is over end together, generation by generation.
    """
    order = np.argsort(src, kind="stable")
    heard, first = dst[order], np.searchsorted(src[order], np.arange(tasks + 1))
    missing = np.bincount(dst, minlength=tasks)
    ended, count = np.flatnonzero(missing == 0), 0
    while len(ended):
        count += len(ended)
        lengths = first[ended + 1] - first[ended]
        starts = np.repeat(first[ended] - np.cumsum(lengths) + lengths, lengths)
        told = heard[starts + np.arange(len(starts))]
        np.subtract.at(missing, told, 1)
        told = np.unique(told)
        ended = told[missing[told] == 0]
    return count == tasks
