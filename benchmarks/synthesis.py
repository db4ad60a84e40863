"""How long it takes to synthesise, verify and write schedules, and in what memory.

Each row is a process of its own: ``python benchmarks/synthesis.py``. Times are the
median of a few runs, on the machine named in the caption.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROWS = (
    ("lightpath-256/all-reduce-64MiB", "lumorph-4"),
    ("lightpath-256/all-reduce-64MiB", "multiport"),
    ("lightpath-256/all-reduce-64MiB", "ring"),
    ("lightpath-256/all-reduce-64MiB", "auto"),
    ("lightpath-256/all-reduce-1KiB", "auto"),
    ("lightpath-256/all-to-all-64MiB", "auto"),
    ("lightpath-1024/all-reduce-64MiB", "lumorph-4"),
    ("lightpath-1024/all-reduce-64MiB", "auto"),
)
RUNS = 3

CHILD = """
import json, resource, sys, time
start = time.perf_counter()
from lightloom.instances.catalogue import load_instance
from lightloom.synth.publish import publish
from lightloom.synth.synthesise import synthesise
outcome = synthesise(load_instance(sys.argv[1]), sys.argv[2])
woven = time.perf_counter()
publish(outcome.incumbent.schedule, sys.argv[3])
end = time.perf_counter()
print(json.dumps({
    "synth_s": woven - start,
    "verify_and_write_s": end - woven,
    "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "completion_time_us": outcome.objective / 1e6,
    "bound_us": outcome.bound / 1e6,
}))
"""


def machine() -> str:
    """Return the machine in a line."""
    python = platform.python_version()
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {python}"


def measure(instance: str, algorithm: str) -> dict[str, float]:
    """Return the median of each figure over a few runs of one row."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "schedule.jsonl")
        runs = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", CHILD, instance, algorithm, path],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            for _ in range(RUNS)
        ]
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main() -> None:
    """Measure every row and print the table."""
    table = Table(caption=f"median of {RUNS} runs; {machine()}")
    table.add_column("instance")
    table.add_column("algorithm")
    for heading in ("synth s", "verify + write s", "peak MiB", "time us", "bound us"):
        table.add_column(heading, justify="right")
    for instance, algorithm in ROWS:
        figures = measure(instance, algorithm)
        table.add_row(
            instance, algorithm, *(f"{value:,.2f}" for value in figures.values())
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
