"""Every schedule of the catalogue's collectives, exported to every runtime.

``python -m tests.programs.catalogue_exports [--size 1MiB ...] [FABRIC ...]`` prints a
line for each fabric, with schedules whose transfers are new, and the sums. The page
docs/how-to/export-and-import.md quotes them. All sizes of all fabrics take hours.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError, LightloomError
from lightloom.core.schedule import FluidTransfers
from lightloom.core.task import Collective
from lightloom.formats.msccl_runtimes import MSCCLPP, RUNTIMES
from lightloom.formats.msccl_xml import msccl_xml, parse_msccl
from lightloom.instances.catalogue import instance_names, load_instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.programs.lowering import ProgramLimitError, lower
from lightloom.programs.mscclpp_plan import mscclpp_plan
from lightloom.synth.synthesise import synthesise
from lightloom.validate.programs import verify_program
from tests.oracle.plan_executor import check_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.schedule import Schedule
    from lightloom.formats.msccl_runtimes import MscclRuntime

MOST_RANKS = 64
SIZE = "1MiB"
"""Of all sizes `auto` is asked, every algorithm by name of this one."""


def fabrics() -> dict[str, list[str]]:
    """Return the collectives of at most 64 ranks in the catalogue, by fabric."""
    found: dict[str, list[str]] = {}
    for name in instance_names():
        task = load_instance(name).task
        if isinstance(task, Collective) and task.rank_count <= MOST_RANKS:
            found.setdefault(name.split("/")[0], []).append(name)
    return found


def schedules(names: list[str], seen: set[bytes]) -> Iterator[Schedule]:
    """Yield the schedules of some instances whose transfers are not `seen`."""
    for name in names:
        instance = load_instance(name)
        task = instance.task
        assert isinstance(task, Collective)
        by_name = [each.name for each in ALGORITHMS.values() if task.op in each.ops]
        for algorithm in ("auto", *(by_name if name.endswith(f"-{SIZE}") else ())):
            try:
                outcome = synthesise(instance, algorithm)
            except LightloomError:
                continue  # not on this fabric, or not without parameters
            if outcome.incumbent is None:
                continue
            made = outcome.incumbent.schedule
            key = digest(made)
            if key not in seen:
                seen.add(key)
                yield made


def digest(schedule: Schedule) -> bytes:
    """Return what tells the transfers of a schedule from others, planes left out."""
    task = schedule.task
    assert isinstance(task, Collective)
    made = hashlib.sha256(f"{task.op} {task.nodes} {task.chunk_count}".encode())
    for part in schedule.parts:
        moved = part.transfers
        assert not isinstance(moved, FluidTransfers)
        made.update(str(part.index).encode())
        for each in (moved.src, moved.dst, moved.chunk_lo, moved.chunk_hi, moved.op):
            made.update(each.tobytes())
    return made.digest()


def outcome_of(schedule: Schedule, runtime: MscclRuntime) -> str:
    """Return ``accepted``, or why a runtime does not take a schedule."""
    buffers = "scratch" if runtime.bounded else "direct"
    try:
        program = lower(schedule, runtime, buffers=buffers)
        if not runtime.bounded:
            check_limits(json.loads(json.dumps(mscclpp_plan(program))))
    except ProgramLimitError as problem:
        return problem.what.split(": ")[1]
    except InputError as problem:
        if "has no operation" in problem.what:
            return "operation"
        raise
    if runtime.bounded:
        program = parse_msccl(msccl_xml(program), "x.xml")
    verdict = verify_program(program, runtime)
    assert verdict.valid, verdict.violations[0]
    return "accepted"


def measure(names: list[str], seen: set[bytes]) -> dict[str, Counter[str]]:
    """Return how often each outcome is seen, by runtime; all exports are accepted."""
    counts = {name: Counter[str]() for name in (*RUNTIMES, MSCCLPP.name)}
    for schedule in schedules(names, seen):
        for runtime in (*RUNTIMES.values(), MSCCLPP):
            counts[runtime.name][outcome_of(schedule, runtime)] += 1
    return counts


def _ranks(fabric: str) -> tuple[int, str]:
    return int(fabric.rsplit("-", 1)[1]), fabric


def main() -> None:
    """Print the outcomes of fabrics and sizes, by default of all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("fabric", nargs="*")
    parser.add_argument("--size", action="append", default=[])
    given = parser.parse_args()
    known, seen = fabrics(), set[bytes]()
    total = {name: Counter[str]() for name in (*RUNTIMES, MSCCLPP.name)}
    for fabric in given.fabric or sorted(known, key=_ranks):
        sizes = tuple(f"-{size}" for size in given.size) or ("",)
        names = [name for name in known[fabric] if name.endswith(sizes)]
        counts = measure(names, seen)
        for name, count in counts.items():
            total[name].update(count)
        text = {name: dict(count) for name, count in counts.items()}
        _tell(fabric, text)
    _tell("all", total)


def _tell(name: str, outcomes: object) -> None:
    """Write a line at once: a fabric may take an hour."""
    sys.stdout.write(f"{name} {json.dumps(outcomes)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
