"""Versions of what is measured: the code of lightloom is one, by its content."""

from __future__ import annotations

import functools
import hashlib
import platform
from pathlib import Path

import lightloom


@functools.cache
def code_version(*, drawn: bool = False) -> str:
    """Return the version of lightloom with a hash of its code: ``0.1.0+3f2a9c41``.

    Two checkouts of one version number that differ in any module differ here; tests,
    documents, bytecode and the suites do not count. A few milliseconds, then none.

    Parameters
    ----------
    drawn
        Whether what draws counts, too.
    """
    apart = ("bench/", "cli/") if drawn else ("bench/", "report/", "cli/")
    root = Path(lightloom.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith(apart):
            continue  # who asks and who draws does not change the answer
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{lightloom.__version__}+{digest.hexdigest()[:8]}"


def solver_versions() -> dict[str, str | None]:
    """Return the version of every solver, ``None`` where it is not installed."""
    from lightloom.solvers import SOLVERS

    return {name: adapter.status().version for name, adapter in SOLVERS.items()}


def worker_versions() -> dict[str, str | None]:
    """Return what has to be the same wherever runs of one sweep take place."""
    code, python = code_version(), platform.python_version()
    return {"lightloom": code, "python": python, **solver_versions()}
