"""Traces of jobs: trainings that come to a fabric, as a table in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import FormatError, unknown_name
from lightloom.core.units import PS_PER_US
from lightloom.formats.text_file import count_of, read_commented_csv

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NEEDED = ("name", "arrival_us", "devices")
_ALLOWED = (
    *(*_NEEDED, "iterations", "departure_us"),
    *("model", "batch_size", "model_parallel", "replicas"),
)
_MOST_US = 10**15


@dataclass(frozen=True)
class TracedJob:
    """A training that comes to a fabric, and goes when it is done.

    Attributes
    ----------
    name
        Distinct in a trace.
    arrival_ps
        When it asks for devices.
    devices
        How many it has for itself, 1 or more.
    iterations
        After how many it is done; ``None`` where it goes at a time.
    departure_ps
        When it goes, done or not; ``None`` where it stays until it is done.
    model
        A model of the catalogue, or an ONNX file; ``None`` for the instance's.
    batch_size
        Samples of an iteration; ``None`` for the instance's.
    model_parallel, replicas
        Kept where they are given.
    where
        File and line, for messages.
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

    Raises
    ------
    InputError
        The file cannot be read.
    FormatError
        A column too few, unknown or given twice; a value out of its domain; a name
        twice; a job that goes before it comes, or never; no job at all. With the line.
    """
    [(where, header), *rows] = read_commented_csv(path, "trace of jobs")
    for name in header:
        if name not in _ALLOWED:
            raise unknown_name("column", name, _ALLOWED, where=where)
    missing = [name for name in _NEEDED if name not in header]
    if missing or len(set(header)) < len(header):
        what = "a column is missing, or given twice"
        raise FormatError(
            what, where=where, found=",".join(header), allowed=",".join(_ALLOWED)
        )
    jobs: dict[str, TracedJob] = {}
    for where, row in rows:
        job = _job(dict(zip(header, row, strict=True)), where)
        if job.name in jobs:
            raise FormatError("a name twice", where=where, found=job.name)
        jobs[job.name] = job
    if not jobs:
        raise FormatError("a trace without jobs", where=str(path))
    return tuple(sorted(jobs.values(), key=lambda job: job.arrival_ps))


def _job(row: Mapping[str, str], where: str) -> TracedJob:
    """Return a row as a job."""

    def number(column: str, least: int, most: int = 2**40) -> int | None:
        text = row.get(column, "")
        return count_of(text, f"{where}, {column}", least, most) if text else None

    if not row["name"]:
        raise FormatError("a job without a name", where=where)
    arrival_us = count_of(row["arrival_us"], f"{where}, arrival_us", 0, _MOST_US)
    departure_us = number("departure_us", 0, _MOST_US)
    iterations = number("iterations", 1)
    if departure_us is None and iterations is None:
        what = "a job that never goes"
        fix = "give it iterations, or departure_us"
        raise FormatError(what, where=where, found=row["name"], fix=fix)
    if departure_us is not None and departure_us <= arrival_us:
        what, allowed = "a job that goes before it comes", f"more than {arrival_us}"
        where = f"{where}, departure_us"
        raise FormatError(what, where=where, found=departure_us, allowed=allowed)
    return TracedJob(
        row["name"],
        arrival_us * PS_PER_US,
        count_of(row["devices"], f"{where}, devices"),
        iterations,
        None if departure_us is None else departure_us * PS_PER_US,
        row.get("model") or None,
        number("batch_size", 1),
        number("model_parallel", 1),
        number("replicas", 1),
        where,
    )
