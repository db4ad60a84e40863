"""Every schedule of the catalogue's collectives, exported to every runtime.

``python -m tests.programs.catalogue_exports [--size 1MiB ...] [FABRIC ...]`` prints a
line for each fabric, with schedules whose transfers are new, and the sums. The page
docs/how-to/export-and-import.md quotes them.
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
from lightloom.formats.json_file import JsonFile
from lightloom.formats.msccl_runtimes import MSCCLPP, RUNTIMES
from lightloom.formats.msccl_xml import msccl_xml, parse_msccl
from lightloom.formats.mscclpp_plan import plan_of
from lightloom.instances.catalogue import instance_names, load_instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.programs.export_program import plan_json
from lightloom.programs.lowering import ProgramLimitError, lower
from lightloom.synth.synthesise import synthesise
from lightloom.validate.programs import verify_plan, verify_program
from lightloom.validate.programs.form import check_form, check_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.chunk_program import ChunkProgram
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
        if task.op not in MSCCLPP.operations:
            continue  # no runtime has gather and scatter
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


def lowered(schedule: Schedule, runtime: MscclRuntime) -> ChunkProgram | str:
    """Return a schedule as a program, or why a runtime does not take it."""
    try:
        buffers = "scratch" if runtime.bounded else "direct"
        return lower(schedule, runtime, buffers=buffers)
    except ProgramLimitError as problem:
        return problem.what.split(": ")[1]
    except InputError as problem:
        if "has no operation" in problem.what:
            return "operation"
        raise


def outcomes(schedule: Schedule) -> Iterator[tuple[str, str]]:
    """Yield runtimes, and ``accepted`` or why they do not take a schedule.

    Programs that differ in words alone are followed once; form and limits are checked
    for each.
    """
    followed: list[ChunkProgram] = []
    for runtime in RUNTIMES.values():
        made = lowered(schedule, runtime)
        if isinstance(made, str):
            yield runtime.name, made
            continue
        read = parse_msccl(msccl_xml(made), "x.xml")
        wrong = [*check_form(read, runtime), *check_limits(read, runtime)]
        if not any(each.ranks == read.ranks for each in followed):
            wrong += verify_program(read, runtime).violations
            followed.append(read)
        assert not wrong, wrong[0]
        yield runtime.name, "accepted"
    yield MSCCLPP.name, outcome_of_plan(schedule)


def outcome_of_plan(schedule: Schedule) -> str:
    """Return ``accepted``, or why a schedule has no plan for MSCCL++."""
    made = lowered(schedule, MSCCLPP)
    try:
        text = made if isinstance(made, str) else plan_json(made)
    except ProgramLimitError as problem:
        return problem.what.split(": ")[1]
    if isinstance(made, str):
        return made
    verdict = verify_plan(plan_of(JsonFile("x.json", text, json.loads(text))))
    assert verdict.valid, verdict.violations[0]
    assert not verdict.unchecked
    return "accepted"


def measure(names: list[str], seen: set[bytes]) -> dict[str, Counter[str]]:
    """Return how often each outcome is seen, by runtime; all exports are accepted."""
    counts = {name: Counter[str]() for name in (*RUNTIMES, MSCCLPP.name)}
    for schedule in schedules(names, seen):
        for name, outcome in outcomes(schedule):
            counts[name][outcome] += 1
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
