"""Suites and grids: which problems on which instances, by whom, within which limits."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from lightloom.bench.job import BenchJob, entrant, instance_hash
from lightloom.core.certificate import COMPLETION_TIME
from lightloom.core.errors import FormatError, InputError, nearest
from lightloom.core.record import convert
from lightloom.core.units import MIB
from lightloom.formats.json_file import parse_toml, read_toml
from lightloom.instances.catalogue import load_changed, load_instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.schedule import ParameterValue
    from lightloom.instances.instance import Instance


VERSION = 1
"""Of the format of suites."""
_FOLDER = resources.files("lightloom.bench") / "suites"
_Seconds = Annotated[float, Meta(gt=0, le=10**6)]
_Mebibytes = Annotated[int, Meta(ge=1, le=2**30)]
_Seed = Annotated[int, Meta(ge=0, le=2 * 10**9)]
_SOURCES = ("family", "name", "file")
_MOST_INSTANCES = 10_000
"""Instances of one table; one digit too many in a list is noticed before it is
drawn."""
_MOST_POINTS = 10_000
"""Points of one grid; one digit too many in an axis is noticed before it runs."""


class _StudyTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[[study]]``: one problem, some instances, some solvers."""

    problem: str
    by: tuple[str | dict[str, Any], ...]
    instances: tuple[dict[str, Any], ...]
    seeds: tuple[_Seed, ...] | None = None
    time_limit_s: _Seconds | None = None
    memory_limit_mib: _Mebibytes | None = None


class _SuiteTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    format: Literal["lightloom-suite"]
    version: int
    summary: str
    study: tuple[dict[str, Any], ...]
    seeds: tuple[_Seed, ...] = (0,)
    time_limit_s: _Seconds = 60.0
    memory_limit_mib: _Mebibytes | None = None


@dataclass(frozen=True)
class Suite:
    """A suite; its jobs, no two of the same key, in the order of the file."""

    name: str
    summary: str
    jobs: tuple[BenchJob, ...]


def built_in_suites() -> dict[str, str]:
    """Return the built-in suites by name, each with its summary."""
    files = sorted(_FOLDER.iterdir(), key=lambda file: file.name)
    named = [file for file in files if file.name.endswith(".toml")]
    return {
        file.name.removesuffix(".toml"): str(
            parse_toml(file.read_text("utf-8"), file.name)["summary"]
        )
        for file in named
    }


def load_suite(name: str) -> Suite:
    """Return a built-in suite, or the one in a TOML file.

    Raises `InputError`: there is no such suite, or it names a key, problem, instance,
    family or solver that there is not; the message says which and where; `FormatError`:
    it was written for another version of lightloom.
    """
    if name.endswith(".toml") or Path(name).is_file():
        return _suite(name, read_toml(name), Path(name).parent)
    known = built_in_suites()
    if name not in known:
        allowed = f"{', '.join(known)}, or a .toml file"
        fix = nearest(name, known)
        raise InputError("unknown suite", found=name, allowed=allowed, fix=fix)
    text = (_FOLDER / f"{name}.toml").read_text("utf-8")
    return _suite(name, parse_toml(text, name), Path())


def _suite(name: str, tables: dict[str, object], folder: Path) -> Suite:
    version = tables.get("version")
    if isinstance(version, int) and version != VERSION:
        what, allowed = "suite of another version", str(VERSION)
        raise FormatError(
            what, where=f"{name}: version", found=version, allowed=allowed
        )
    suite = convert(tables, _SuiteTable, where=name)
    jobs: dict[str, BenchJob] = {}
    for place, table in enumerate(suite.study):
        where = f"{name}: study[{place}]"
        study = convert(table, _StudyTable, where=where)
        for job in _jobs(name, suite, study, where, folder):
            jobs.setdefault(job.key, job)
    return Suite(name, suite.summary, tuple(jobs.values()))


def _jobs(
    name: str, suite: _SuiteTable, study: _StudyTable, where: str, folder: Path
) -> Iterator[BenchJob]:
    """Yield the jobs of a study: instances, then solvers, then seeds."""
    entrants = [
        entrant(study.problem, by, f"{where}.by[{place}]")
        for place, by in enumerate(study.by)
    ]
    memory = study.memory_limit_mib or suite.memory_limit_mib
    for place, table in enumerate(study.instances):
        for instance in _instances(table, f"{where}.instances[{place}]", folder):
            digest = instance_hash(instance)
            for one, seed in itertools.product(entrants, study.seeds or suite.seeds):
                yield BenchJob(
                    suite=name,
                    problem=study.problem,
                    entrant=one,
                    instance=instance,
                    instance_sha256=digest,
                    seed=seed,
                    time_limit_s=study.time_limit_s or suite.time_limit_s,
                    memory_limit_bytes=memory and memory * MIB,
                )


def _instances(table: dict[str, Any], where: str, folder: Path) -> Iterator[Instance]:
    """Yield the instances of a table: lists in it stand for each of their values."""
    from lightloom.bench.families import member

    given = [key for key in _SOURCES if key in table]
    if len(given) != 1:
        what, allowed = "instances come from one place", " or ".join(_SOURCES)
        raise InputError(what, where=where, found=given or None, allowed=allowed)
    source = given[0]
    if source != "family" and len(table) > 1:
        others = ", ".join(sorted(set(table) - {source}))
        what = f"{source} stands alone"
        raise InputError(what, where=where, found=others, fix="use a family")
    lists = {
        key: value if isinstance(value, list) else [value]
        for key, value in table.items()
    }
    count = math.prod(map(len, lists.values()))
    if count > _MOST_INSTANCES:
        what, allowed = "too many instances", f"at most {_MOST_INSTANCES} a table"
        raise InputError(what, where=where, found=count, allowed=allowed)
    for values in itertools.product(*lists.values()):
        parameters = dict(zip(lists, values, strict=True))
        name = parameters.pop(source)
        if not isinstance(name, str):
            raise InputError("not a text", where=f"{where}.{source}", found=name)
        if source == "family":
            yield member(name, cast("dict[str, object]", parameters), where)
        else:
            yield _named(name, source, where, folder)


def _named(name: str, source: str, where: str, folder: Path) -> Instance:
    """Return an instance of the catalogue, or of a file beside the suite."""
    try:
        if source == "file":
            return load_instance(str(folder / name))
        return load_instance(name)
    except InputError as problem:
        if problem.where:  # the file names itself
            raise
        raise InputError(
            problem.what,
            where=where,
            found=problem.found,
            allowed=problem.allowed,
            fix=problem.fix,
        ) from None


@dataclass(frozen=True)
class GridPoint:
    """One question of a grid; `values` are those of each key, then of ``algorithm``."""

    values: Mapping[str, ParameterValue]
    job: BenchJob


def grid_points(
    instance: str,
    axes: Mapping[str, Sequence[ParameterValue]],
    algorithms: Sequence[str],
    *,
    seed: int = 0,
    time_limit_s: float = 600.0,
) -> tuple[GridPoint, ...]:
    """Return the questions of a grid, the last axis first to change.

    `axes`: values by key with its table, for example ``{"fabric.lasers": (4, 8)}``.
    `algorithms`: names of algorithms; ``auto`` for the best.

    Raises `InputError`: unknown key or algorithm, a value that the instance cannot
    have, or more than 10,000 points.
    """
    count = math.prod(map(len, axes.values())) * len(algorithms)
    if count > _MOST_POINTS:
        what, allowed = "too many points", f"at most {_MOST_POINTS}"
        raise InputError(what, where="the grid", found=count, allowed=allowed)
    entrants = [entrant(COMPLETION_TIME, name, "--algorithm") for name in algorithms]
    points = []
    for values in itertools.product(*axes.values()):
        changes = dict(zip(axes, values, strict=True))
        asked = load_changed(instance, changes)
        digest = instance_hash(asked)
        points += [
            GridPoint(
                {**changes, "algorithm": one.solver},
                BenchJob(
                    suite="sweep",
                    problem=COMPLETION_TIME,
                    entrant=one,
                    instance=asked,
                    instance_sha256=digest,
                    seed=seed,
                    time_limit_s=time_limit_s,
                    memory_limit_bytes=None,
                ),
            )
            for one in entrants
        ]
    return tuple(points)
