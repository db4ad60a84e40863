"""How reading, verification and replay grow with the size of a schedule.

Each row is a file and a process: ``python benchmarks/large_schedules.py [COUNT...]``.
Counts are numbers of transfers, by default 1, 3 and 10 million: three minutes, 2.5 GB
of memory and 400 MB of disk. Times are CPU seconds that the program itself spends;
those of the kernel, which are mostly for memory touched for the first time, follow
after a plus sign. The schedules are made here, from columns, on ideal switches and on
switches of circuits:

- ``ring``: all-reduce round a ring; many steps, one chunk a transfer, reduced and then
  copied;
- ``direct``: all-to-all, everyone to everyone in one step;
- ``doubling``: all-gather by recursive doubling, every chunk a transfer of its own; few
  steps, and the same pairs again and again;
- ``shifts``: all-to-all on an optical switch, one configuration a shift; as many
  circuits as transfers.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import (
    Algorithm,
    Footer,
    Op,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.task import Collective
from lightloom.formats.schedule_writer import write_schedule
from lightloom.replay import completion_time_ps

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Column = npt.NDArray[np.int64]

MILLION = 10**6

CHILD = """
import json, re, resource, sys
from lightloom.formats.schedule_reader import read_schedule
from lightloom.replay import replay
from lightloom.validate import verify
def peak():  # of this program; getrusage would tell the parent's
    status = open("/proc/self/status").read()
    return int(re.search(r"VmHWM:\\s*(\\d+)", status)[1]) / 1024
def clock():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime, used.ru_stime, peak()
seen = [clock()]
schedule = read_schedule(sys.argv[1])
seen.append(clock())
replay(schedule)
seen.append(clock())
assert verify(schedule).valid
seen.append(clock())
print(json.dumps(seen))
"""
STAGES = ("read", "replay", "verify")


def ring(transfers: int) -> Schedule:
    """Return an all-reduce round a ring, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers / 2)))
    rank = np.arange(ranks)
    rounds = [
        (rank, (rank + 1) % ranks, (rank - step) % ranks, op)
        for op in (Op.REDUCE, Op.COPY)
        for step in range(ranks - 1)
    ]
    # What a rank has completed in the first half it hands on in the second.
    shifted = [
        (src, dst, (chunk + 1) % ranks if op is Op.COPY else chunk, op)
        for src, dst, chunk, op in rounds
    ]
    return _on_ideal_switch("all-reduce", ranks, ranks, shifted)


def direct(transfers: int) -> Schedule:
    """Return an all-to-all in one step, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers)))
    src, dst = np.nonzero(~np.eye(ranks, dtype=bool))
    step = (src, dst, src * ranks + dst, Op.COPY)
    return _on_ideal_switch("all-to-all", ranks, ranks, [step])


def doubling(transfers: int) -> Schedule:
    """Return an all-gather chunk by chunk, of about as many transfers."""
    ranks = 1 << max(1, round(math.log2(transfers) / 2))
    chunks = max(1, transfers // (ranks * (ranks - 1)))
    steps = []
    for bit in range(ranks.bit_length() - 1):
        size = 1 << bit
        held = np.arange(size * chunks)
        base = np.repeat(np.arange(ranks) >> bit << bit, len(held))
        src = np.repeat(np.arange(ranks), len(held))
        steps.append((src, src ^ size, base * chunks + np.tile(held, ranks), Op.COPY))
    return _on_ideal_switch("all-gather", ranks, ranks * chunks, steps)


def shifts(transfers: int) -> Schedule:
    """Return an all-to-all on a circuit switch, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers)))
    rank = np.arange(ranks)
    steps = [
        (rank, (rank + hop) % ranks, rank * ranks + (rank + hop) % ranks, Op.COPY)
        for hop in range(1, ranks)
    ]
    plain = _on_ideal_switch("all-to-all", ranks, ranks, steps)
    fabric = {
        "kind": "ocs",
        "nodes": ranks,
        "switches": 1,
        "bits_per_second_per_node": 10**12,
    }
    segments = tuple(
        Segment(0, index, Circuits(part.transfers.src, part.transfers.dst))
        for index, part in enumerate(plain.parts)
    )
    parts = tuple(replace(part, plane=0, segment=part.index) for part in plain.parts)
    return replace(plain, fabric=fabric, segments=segments, parts=parts)


def _on_ideal_switch(
    op: str, ranks: int, chunks: int, steps: list[tuple[Column, Column, Column, Op]]
) -> Schedule:
    """Return the schedule of (src, dst, chunk, op) steps."""
    parts = tuple(
        StepPart(
            index,
            None,
            None,
            Transfers(src, dst, chunk, chunk + 1, np.full(len(src), int(kind))),
        )
        for index, (src, dst, chunk, kind) in enumerate(steps)
    )
    task = Collective(op, tuple(range(ranks)), 1024 * chunks, chunks)
    fabric = {"kind": "ideal-switch", "nodes": ranks}
    return Schedule(fabric, task, Algorithm("benchmark"), (), parts)


SHAPES: tuple[Callable[[int], Schedule], ...] = (ring, direct, doubling, shifts)


def signed(schedule: Schedule) -> Schedule:
    """Return the schedule with a footer that is true."""
    footer = Footer(
        segments=len(schedule.segments),
        steps=schedule.step_count,
        circuits=schedule.circuit_count,
        transfers=schedule.transfer_count,
        completion_time_ps=completion_time_ps(schedule),
    )
    return replace(schedule, footer=footer)


def main() -> None:
    """Measure every row and print the table."""
    sizes = [int(text) for text in sys.argv[1:]] or [MILLION, 3 * MILLION, 10 * MILLION]
    python = platform.python_version()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {python}"
    table = Table(caption=f"CPU seconds, program + kernel; {machine}")
    table.add_column("shape")
    for heading in ("transfers", "steps", "file MiB"):
        table.add_column(heading, justify="right")
    for stage in STAGES:
        table.add_column(f"{stage} s", justify="right")
        table.add_column("peak MiB", justify="right")
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            for size in sizes:
                path = Path(folder) / f"{shape.__name__}.jsonl"
                schedule = signed(shape(size))
                write_schedule(schedule, path)
                mib = f"{path.stat().st_size / 2**20:,.0f}"
                count, steps = schedule.transfer_count, schedule.step_count
                del schedule
                child = [sys.executable, "-c", CHILD, str(path)]
                done = subprocess.run(child, check=True, capture_output=True, text=True)
                texts = []
                for before, after in pairwise(json.loads(done.stdout)):
                    texts.append(f"{after[0] - before[0]:.2f}")
                    texts[-1] += f" + {after[1] - before[1]:.2f}"
                    texts.append(f"{after[2]:,.0f}")
                row = (shape.__name__, f"{count:,}", str(steps), mib, *texts)
                print(*row, file=sys.stderr, flush=True)
                table.add_row(*row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
