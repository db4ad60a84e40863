"""The nursery: a process with everything imported, that forks one child for each run.

It reads pickled jobs from stdin and writes a pickled `Report` for each to stdout. A
run's process starts in milliseconds, and what happens to it happens to it alone. The
nursery itself computes nothing: it watches, and ends a run with all its processes
when that is due, or when whoever started the nursery goes away.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import pkgutil
import signal
import sys
import tempfile
from typing import TYPE_CHECKING, NoReturn

from lightloom.bench import session
from lightloom.bench.events import Found
from lightloom.bench.watch import Watch

if TYPE_CHECKING:
    from lightloom.bench.events import Event
    from lightloom.bench.job import Job
    from lightloom.bench.watch import Report

_STDIN = 0
_ROOMS = ("instances", "models", "replay", "solvers", "synth", "validate")
_LIBRARIES = (
    "lightloom.bench.execute",
    "lightloom.bench.warm_up",
    "networkx",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.stats",
)
"""What rooms and their libraries import where they use it."""


def main() -> None:
    """Serve jobs until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is not ours
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    session.adopt_orphans()
    _preload()
    while True:
        try:
            job = pickle.load(sys.stdin.buffer)  # noqa: S301  (who started us)
        except EOFError:
            return
        pickle.dump(run(job, alarm=_STDIN), channel)
        channel.flush()


def run(job: Job, alarm: int) -> Report:
    """Run a job in a child of this process; see `Watch.report`."""
    with tempfile.TemporaryFile() as words:
        events, told = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(events)
            _live(job, told, words.fileno())
        os.close(told)
        return Watch(job, pid, events, words).report(alarm)


def _live(job: Job, told: int, words: int) -> NoReturn:
    """Be the run: alone in a session, heard by the nursery, gone at the end."""
    try:
        os.setsid()
        session.end_with_parent()
        session.die_first()
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
        os.dup2(words, 1)
        os.dup2(words, 2)

        def tell(event: Event) -> None:
            packed = pickle.dumps(event)
            message = len(packed).to_bytes(8, "big") + packed
            while message:
                message = message[os.write(told, message) :]

        from lightloom.bench.execute import execute

        tell(Found(execute(job, tell)))
        os._exit(0)
    finally:
        os._exit(1)


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


if __name__ == "__main__":
    main()
