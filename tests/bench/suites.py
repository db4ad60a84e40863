"""Small suites for tests."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import tomli_w

from lightloom.bench.results import code_version
from lightloom.bench.suite import load_suite
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.bench.job import BenchJob
    from lightloom.bench.suite import Suite

TEXT = f"""
format = "lightloom-suite"
version = 1
summary = "a test"
time_limit_s = {HUNG_S}

[[study]]
problem = "routing"
by = ["lightloom"]
instances = [{{ family = "permutations", rows = 2, cols = 2 }}]
"""
"""A suite of one run."""


def forget_code_version() -> None:
    """Have the version of the code looked at again: it may have been edited."""
    code_version.cache_clear()


def write_suite(folder: Path, **study: object) -> str:
    """Write the suite with other values in its study; return its path."""
    tables = tomllib.loads(TEXT)
    for key, value in study.items():
        tables["study"][0][key] = value
    path = folder / "suite.toml"
    path.write_text(tomli_w.dumps(tables), encoding="utf-8")
    return str(path)


def suite_of(folder: Path, **study: object) -> Suite:
    """Return that suite."""
    return load_suite(write_suite(folder, **study))


def job_of(folder: Path, solver: str, **study: object) -> BenchJob:
    """Return the one job of a suite for a faulty or honest solver."""
    name = f"tests.bench.faulty:{solver}"
    (job,) = suite_of(folder, by=[name], **study).jobs
    return job
