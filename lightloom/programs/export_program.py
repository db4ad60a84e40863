"""A schedule as a program that was checked: lowered, sized, verified."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InputError, LightloomError
from lightloom.core.task import Collective
from lightloom.formats.json_file import JsonFile
from lightloom.formats.msccl_runtimes import MSCCLPP, PROTOCOLS
from lightloom.formats.mscclpp_plan import plan_of
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.programs.lowering import BUFFER_USES, ProgramLimitError, lower
from lightloom.programs.mscclpp_plan import plan_json
from lightloom.validate import verify
from lightloom.validate.programs import verify_plan, verify_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.chunk_program import ChunkProgram
    from lightloom.core.schedule import Schedule
    from lightloom.formats.msccl_runtimes import MscclRuntime

_MOST_RANKS_TRIED = 128


class UnverifiedProgramError(LightloomError):
    """A program about to be written breaks a rule: a bug of the lowering."""

    exit_code = 70


def export_program(
    schedule: Schedule,
    runtime: MscclRuntime,
    *,
    protocol: str = PROTOCOLS[0],
    buffers: str = BUFFER_USES[0],
    progress: Callable[[str], None] | None = None,
) -> ChunkProgram:
    """Return a schedule as a program of GPUs that `verify_program` accepts.

    Where receives wait for sends (``direct``), `max_bytes` is the largest buffer with
    which the program cannot hang.

    Raises `InputError`: the schedule breaks a rule, is no collective's, or the runtime
    lacks the operation or is too small; then an algorithm that fits is named;
    `UnverifiedProgramError`: the program breaks a rule, which is a bug of lightloom.
    """
    tell = progress or (lambda _: None)
    tell("verifying the schedule")
    verdict = verify(schedule)
    if not verdict.valid:
        first = verdict.violations[0]
        what = f"the schedule breaks a rule ({first.rule}): {first.message}"
        raise InputError(what, fix="`lightloom verify` lists all")
    tell("lowering")
    try:
        program = lower(schedule, runtime, protocol=protocol, buffers=buffers)
    except ProgramLimitError as problem:
        tell("looking for algorithms that fit")
        name = _one_that_fits(schedule, runtime, protocol, buffers)
        if name is not None:
            problem.fix = f"an algorithm that fits: {name}"
        raise
    tell("verifying the program")
    judged = verify_program(program, runtime)
    if judged.hangs_from_bytes is not None:
        most = judged.hangs_from_bytes - 1
        if most < 1:
            raise InputError(
                "received directly, this schedule hangs at any size",
                where="--buffers",
                found=buffers,
                fix="use --buffers scratch",
            )
        program = replace(program, max_bytes=most)
        judged = verify_program(program, runtime)
    if not judged.valid:
        first = judged.violations[0]
        what = f"the program breaks {first.rule} at {first.resource}"
        raise UnverifiedProgramError(what, found=first.message)
    return program


def export_plan(
    schedule: Schedule, progress: Callable[[str], None] | None = None
) -> tuple[ChunkProgram, str]:
    """Return a schedule as a program, and the text of its plan for MSCCL++.

    Raises `InputError`: as `export_program`; `UnverifiedProgramError`: `verify_plan`
    does not accept the plan, which is a bug of lightloom.
    """
    # Messages have memory of their own, so what is received direct never waits.
    program = export_program(schedule, MSCCLPP, buffers="direct", progress=progress)
    text = plan_json(program)
    if progress is not None:
        progress("verifying the plan")
    verdict = verify_plan(plan_of(JsonFile("plan", text, json.loads(text))))
    for first in verdict.violations[:1]:
        what = f"the plan breaks {first.rule} at {first.resource}"
        raise UnverifiedProgramError(what, found=first.message)
    return program, text


def _one_that_fits(
    schedule: Schedule, runtime: MscclRuntime, protocol: str, buffers: str
) -> str | None:
    """Return an algorithm that does the same and fits, ``None`` if none does.

    On an ideal switch the fastest of those that fit there and on the fabric.
    """
    from lightloom.plans.algorithms import ALGORITHMS
    from lightloom.synth.auto import CandidatePool, CandidateSearch
    from lightloom.synth.bounds import LowerBounds
    from lightloom.synth.fabrics import realiser_of
    from lightloom.synth.synthesise import synthesise

    task = schedule.task
    assert isinstance(task, Collective)
    if task.rank_count > _MOST_RANKS_TRIED:
        return None
    nodes = tuple(range(task.rank_count))
    same = Collective(task.op, nodes, task.buffer_bytes)
    whole = msgspec.structs.replace(task, chunks=None)
    asked = Instance(load_fabric(schedule.fabric), whole, "fitting")
    fabric = IdealSwitch(nodes=task.rank_count)
    bounds, realiser = LowerBounds(fabric, same), realiser_of(fabric)
    pools: dict[str, CandidatePool] = {}
    for entry in ALGORITHMS.values():
        if task.op in entry.ops:
            pool = CandidatePool()
            search = CandidateSearch(
                Instance(fabric, same, "fitting"), realiser, pool, bounds
            )
            with suppress(LightloomError):
                search.run(entry.name, {})
                pools[entry.name] = pool
    for name in sorted(pools, key=lambda one: pools[one].best_ps() or 0):
        with suppress(LightloomError):
            made = pools[name].best().schedule
            lower(made, runtime, protocol=protocol, buffers=buffers)
            found = synthesise(asked, name).incumbent
            if found is not None:
                lower(found.schedule, runtime, protocol=protocol, buffers=buffers)
                return name
    return None
