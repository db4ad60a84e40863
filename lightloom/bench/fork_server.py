"""The fork server: a process with everything imported, that forks one for each run.

It is sent jobs and sends a `Report` for each. A run's process starts in milliseconds,
and what happens to it happens to it alone. The server itself computes nothing: it
watches, and ends a run with all its processes when that is due, or when whoever
started the server goes away.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, cast

from lightloom.bench.run_monitor import Watch
from lightloom.isolation import process_tree
from lightloom.isolation.forked_process import ForkedProcess

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from lightloom.bench.isolated_job import IsolatedJob
    from lightloom.isolation.child_process import ParentChannel

_ROOMS = ("instances", "models", "replay", "solvers", "synth", "validate")
_LIBRARIES = (
    "lightloom.bench.execute",
    "networkx",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.stats",
)
"""What rooms and their libraries import where they use it."""


def serve(parent: ParentChannel) -> None:
    """Serve jobs until nobody is left who asks.

    Parameters
    ----------
    parent
        Sends an `IsolatedJob` at a time, and is sent its `Report`.
    """
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  (sys.path has strings)
    process_tree.adopt_orphans()
    _preload()
    while True:
        try:
            job = cast("IsolatedJob", parent.receive())
        except EOFError:
            return
        with tempfile.TemporaryFile() as words:
            run = ForkedProcess(partial(_live, job), words.fileno())
            parent.send(Watch(job, run, words, parent).report())


def _live(job: IsolatedJob, told: Connection) -> None:
    """Be the run."""
    process_tree.end_with_parent()
    process_tree.die_first()
    from lightloom.bench.execute import execute

    told.send(execute(job, told.send))


def _preload() -> None:
    """Import what runs need; the collector leaves it alone, so that it stays shared.

    What cannot be imported, for want of an optional package, is left to its users.
    """
    for room in _ROOMS:
        package = importlib.import_module(f"lightloom.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with contextlib.suppress(ImportError):
                importlib.import_module(info.name)
    for name in _LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
