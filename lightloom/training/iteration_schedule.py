"""All that an iteration sends as one schedule, call after call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Algorithm, FluidTransfers, Schedule, StepPart
from lightloom.instances.instance import Instance
from lightloom.replay.workload.call_queue import Interned
from lightloom.synth.certify import signed

if TYPE_CHECKING:
    from lightloom.core.schedule import SealedSchedule, Segment
    from lightloom.training.recorded_replay import RecordedReplay
    from lightloom.training.training_plan import TrainingPlan


def iteration_schedule(
    plan: TrainingPlan | RecordedReplay, seed: int = 0
) -> SealedSchedule:
    """Return the circuits and transfers of an iteration in the order of its calls.

    What moves is stated as a demand: bytes of each pair. A call goes on with what the
    one before it left where that is what it begins with. The completion time is that
    of all calls without a pause: computation between them is not in it.

    `plan`: of a training, or the replay of a recorded iteration, whose circuits were
    set for each call.

    Raises `InputError`: circuits that stay for the iteration, or no call in it.
    """
    if not plan.calls:
        what = "an iteration without calls that circuits are set for"
        fix = "set circuits for each call, on two devices or more"
        raise InputError(what, where="circuits", found=plan.circuits, fix=fix)
    equal = Interned()
    segments: list[Segment] = []
    parts: list[StepPart] = []
    last: dict[int, Segment] = {}
    steps = 0
    for call in plan.calls:
        number: dict[tuple[int, int], int] = {}
        for each in call.schedule.segments:
            before = last.get(each.plane)
            same = before and equal(before.circuits) is equal(each.circuits)
            if before is None or each.index or not same:
                index = 0 if before is None else before.index + 1
                last[each.plane] = replace(each, index=index)
                segments.append(last[each.plane])
            number[each.plane, each.index] = last[each.plane].index
        for part in call.schedule.parts:
            moved = part.transfers
            size = np.asarray(call.schedule.transfer_bytes(part), dtype=np.int64)
            transfers = FluidTransfers(moved.src, moved.dst, size)
            segment = part.segment
            if part.plane is not None and segment is not None:
                segment = number[part.plane, segment]
            parts.append(StepPart(steps + part.index, part.plane, segment, transfers))
        steps += call.schedule.step_count
    fabric = plan.fabric
    by = Algorithm("training", {"calls": len(plan.calls)}, seed)
    made = Schedule(fabric.table(), plan.demand, by, tuple(segments), tuple(parts))
    return signed(made, Instance(fabric, plan.demand))
