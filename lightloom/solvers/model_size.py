"""Refuses a model that memory cannot hold, before it is built."""

from __future__ import annotations

import contextlib
from pathlib import Path

from lightloom.core.errors import InputError
from lightloom.core.units import GIB

ROW_BYTES = 1900
COLUMN_BYTES = 800
NONZERO_BYTES = 400
"""What a model costs from Pyomo to HiGHS at work, per row, column and entry.

Measured as the peak of models of 50,000 rows: in Pyomo and its compiler 1400, 300 and
150, in HiGHS 500, 500 and 250. SCIP takes twice as much.
"""
_MAX_ENTRIES = 2**31 - 1
"""Solvers count entries of the matrix in 32 bits."""


def estimate_bytes(rows: int, columns: int, nonzeros: int) -> int:
    """Return the memory in bytes that building and solving a model may take."""
    return ROW_BYTES * rows + COLUMN_BYTES * columns + NONZERO_BYTES * nonzeros


def available_bytes() -> int | None:
    """Return the memory that this process may still take; ``None`` if unknown.

    The least of what the machine has free, what the control group allows, and what
    is left of the limit on address space. Linux only.
    """
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = [line for line in lines if line.startswith("MemAvailable:")]
        found.append(int(free[0].split()[1]) * 1024)
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        allowed = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        found.append(max(0, allowed - used))
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(max(0, soft - pages * resource.getpagesize()))
    return min(found, default=None)


def check_size(
    rows: int,
    columns: int,
    nonzeros: int,
    *,
    where: str,
    instead: str = "",
    available: int | None = None,
) -> None:
    """Refuse a model that is too large for this machine.

    `available`: memory in bytes; what the machine has where ``None``.

    Raises `InputError`: with the estimate and what to use instead.
    """
    if available is None:
        available = available_bytes()
    fix = f"use {instead}" if instead else ""
    need = estimate_bytes(rows, columns, nonzeros)
    counts = f"{rows:,} rows, {columns:,} columns, {nonzeros:,} entries"
    if nonzeros > _MAX_ENTRIES:
        raise InputError(
            "the model has more entries than solvers can count",
            where=where,
            found=counts,
            allowed=f"{_MAX_ENTRIES:,} entries",
            fix=fix,
        )
    if available is not None and need > available:
        raise InputError(
            f"the model would take about {need / GIB:.1f} GiB",
            where=where,
            found=counts,
            allowed=f"{available / GIB:.1f} GiB that are free",
            fix=fix,
        )
