"""Tables of trainings: jobs that come to a fabric, and iterations by batch size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import FormatError
from lightloom.core.units import PS_PER_US
from lightloom.formats.csv_table import read_table

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.formats.csv_table import TableRow

_NEEDED = ("name", "arrival_us", "devices")
_OPTIONAL = (
    *("iterations", "departure_us"),
    *("model", "batch_size", "model_parallel", "replicas"),
)
_MOST_US = 10**15
"""Latest time of a table, in microseconds: 31 years, longer than any trace."""
_MOST = 2**40
"""Largest count of a table; products of a count and a size in bytes are not formed."""


@dataclass(frozen=True)
class TracedJob:
    """A training that comes to a fabric, and goes when it is done.

    `name`: distinct in a trace. `arrival_ps`: when it asks for devices. `devices`: how
    many it has for itself, 1 or more. `iterations`: after how many it is done; ``None``
    where it goes at a time. `departure_ps`: when it goes, done or not; ``None`` where
    it stays until it is done. `model`: of the catalogue, or an ONNX file; ``None`` for
    the instance's, as for `batch_size`, the samples of an iteration. `model_parallel`,
    `replicas`: kept where they are given. `where`: file and line, for messages.
    """

    name: str
    arrival_ps: int
    devices: int
    iterations: int | None = None
    departure_ps: int | None = None
    model: str | None = None
    batch_size: int | None = None
    model_parallel: int | None = None
    replicas: int | None = None
    where: str = "jobs"


def read_job_trace(path: str | Path) -> tuple[TracedJob, ...]:
    """Return the jobs of a trace by the time at which they arrive.

    A CSV file with a heading; lines that begin with ``#`` are comments. Columns are
    ``name``, ``arrival_us`` and ``devices``, and as needed ``iterations``,
    ``departure_us``, ``model``, ``batch_size``, ``model_parallel`` and ``replicas``, in
    any order; a value may be left out of these. Times are whole microseconds.

    Raises `InputError`: the file cannot be read; `FormatError`: a column too few,
    unknown or given twice; a value out of its domain; a name twice; a job that goes
    before it comes, or never; no job at all. With the line.
    """
    jobs: dict[str, TracedJob] = {}
    for row in read_table(path, "a trace of jobs", _NEEDED, _OPTIONAL):
        job = _job(row)
        if job.name in jobs:
            raise FormatError("a name twice", where=row.where, found=job.name)
        jobs[job.name] = job
    return tuple(sorted(jobs.values(), key=lambda job: job.arrival_ps))


def _job(row: TableRow) -> TracedJob:
    """Return a row as a job."""

    def number(column: str, least: int = 1, most: int = _MOST) -> int | None:
        return row.number(column, least, most) if row.values[column] else None

    name, where = row.values["name"], row.where
    if not name:
        raise FormatError("a job without a name", where=where)
    arrival_us = row.number("arrival_us", 0, _MOST_US)
    departure_us = number("departure_us", 0, _MOST_US)
    iterations = number("iterations")
    if departure_us is None and iterations is None:
        what = "a job that never goes"
        fix = "give it iterations, or departure_us"
        raise FormatError(what, where=where, found=name, fix=fix)
    if departure_us is not None and departure_us <= arrival_us:
        what, allowed = "a job that goes before it comes", f"more than {arrival_us}"
        place = row.place("departure_us")
        raise FormatError(what, where=place, found=departure_us, allowed=allowed)
    return TracedJob(
        name,
        arrival_us * PS_PER_US,
        row.number("devices", 1, _MOST),
        iterations,
        None if departure_us is None else departure_us * PS_PER_US,
        row.values["model"] or None,
        number("batch_size"),
        number("model_parallel"),
        number("replicas"),
        where,
    )


def read_iteration_curve(path: str | Path) -> dict[int, int]:
    """Return the iterations to an accuracy by batch size, batch sizes rising.

    A CSV file with the columns ``batch_size`` and ``iterations``, both whole numbers of
    at least 1; lines that begin with ``#`` are comments.

    Raises `InputError`: the file cannot be read; `FormatError`: other columns, a value
    out of its domain, a batch size twice, or no row at all; with the line.
    """
    curve: dict[int, int] = {}
    for row in read_table(path, "a curve", ("batch_size", "iterations")):
        batch = row.number("batch_size", 1, _MOST)
        if batch in curve:
            raise FormatError("a batch size twice", where=row.where, found=batch)
        curve[batch] = row.number("iterations", 1, _MOST)
    return dict(sorted(curve.items()))
