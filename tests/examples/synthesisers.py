"""Synthesisers to be checked: an honest one, and one for each way to go wrong."""

from __future__ import annotations

import os
import random
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import check_collective
from lightloom.instances.instance import check_demand_rows
from lightloom.testing.strategies import random_schedule
from lightloom.validate import seal

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance


def honest(instance: Instance, seed: int) -> Schedule:
    """Check the task, then return a random schedule."""
    task, count = instance.communication, instance.fabric.node_count
    if isinstance(task, Collective):
        check_collective(task, count)
        return random_schedule(instance, seed)
    check_demand_rows(task.src, task.dst, task.bytes, count, "demand")
    if not all(task.bytes):
        raise InputError("no bytes", where="demand")
    return random_schedule(instance, seed)


def talkative(instance: Instance, seed: int) -> Schedule:
    """Print what it does."""
    sys.stdout.write("working\n")
    return honest(instance, seed)


def careless(instance: Instance, seed: int) -> Schedule:
    """Forget the last transfer of a collective of three ranks or more."""
    made = honest(instance, seed)
    task = made.task
    if not isinstance(task, Collective) or task.rank_count < 3 or not made.parts:
        return made
    last: Any = made.parts[-1].transfers
    names = last.__dataclass_fields__
    cut = replace(last, **{name: getattr(last, name)[:-1] for name in names})
    parts = (*made.parts[:-1], replace(made.parts[-1], transfers=cut))
    return seal(replace(made, parts=parts))


def modest(instance: Instance, seed: int) -> Schedule:
    """Claim to be a picosecond slower."""
    made = honest(instance, seed)
    assert made.footer is not None
    time_ps = made.footer.completion_time_ps + 1
    footer = replace(made.footer, completion_time_ps=time_ps, certificates=())
    return replace(made, footer=footer)


def bare(instance: Instance, seed: int) -> Schedule:
    """Leave the footer to others."""
    return replace(honest(instance, seed), footer=None)


def fickle(instance: Instance, seed: int) -> Schedule:
    """Draw its own random numbers."""
    del seed
    return honest(instance, random.getrandbits(32))


def evasive(instance: Instance, seed: int) -> Schedule:
    """Serve a smaller task than it was asked to."""
    made = honest(instance, seed)
    if not isinstance(made.task, Collective):
        return made
    size = made.task.buffer_bytes * 2
    return seal(
        replace(made, task=msgspec.structs.replace(made.task, buffer_bytes=size))
    )


def gullible(instance: Instance, seed: int) -> Schedule:
    """Answer invalid tasks with a schedule that sends nothing."""
    try:
        return honest(instance, seed)
    except InputError:
        task = Demand.from_rows([])
        return random_schedule(replace(instance, task=task), seed)


def crashing(instance: Instance, seed: int) -> Schedule:
    """Raise what no caller expects."""
    del instance
    return [][seed]


def silent(instance: Instance, seed: int) -> Schedule:
    """Refuse without a word."""
    del instance, seed
    raise ValueError


def despairing(instance: Instance, seed: int) -> Schedule:
    """Claim that nothing can be done."""
    del instance, seed
    raise InfeasibleError("no light gets through")


def idle(instance: Instance, seed: int) -> Schedule:
    """Refuse everything."""
    del instance, seed
    raise InputError("not today")


def hanging(instance: Instance, seed: int) -> Schedule:
    """Never come back from a collective."""
    while isinstance(instance.task, Collective):
        time.sleep(1)
    return honest(instance, seed)


def dying(instance: Instance, seed: int) -> Schedule:
    """End its process."""
    del instance, seed
    os._exit(3)


def leaving(instance: Instance, seed: int) -> Schedule:
    """Exit, as a script would."""
    del instance, seed
    sys.exit("bye")


def rubbish(instance: Instance, seed: int) -> object:
    """Return no schedule."""
    del instance, seed
    return {"schedule": "fast"}


def hollow(instance: Instance, seed: int) -> Schedule:
    """Return a schedule of things that are no parts."""
    return replace(honest(instance, seed), parts=(1, 2))  # type: ignore[arg-type]
