"""Routes as a schedule: all of them lit at once, in one segment and one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.columns import column
from lightloom.core.fluid_schedule import fluid_schedule
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.task import Demand
from lightloom.models.deliveries import copy_question
from lightloom.models.rounds_answer import copies
from lightloom.routing.wavelength_assignment import lit_routes

if TYPE_CHECKING:
    from lightloom.core.columns import Ragged
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.instances.instance import Instance

NAME = "certified-routing"


def one_round_schedule(
    instance: Instance, fabric: Lightpath, route: Ragged, seed: int
) -> Schedule:
    """Return the schedule that holds all routes of a routing at once, without footer.

    `route`: tiles of the route of each request, in the order of
    `lightloom.models.routing.routing_requests`; one circuit each.

    Raises `NoAnswerError` if the routes cannot be lit at once, or no wavelengths for
    them are found.
    """
    circuits = lit_routes(fabric, route, seed)
    algorithm = Algorithm(NAME, {}, seed)
    if isinstance(instance.task, Demand):
        rows = {
            pair: row
            for row, pair in enumerate(
                zip(instance.task.src, instance.task.dst, strict=True)
            )
        }
        ends = zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True)
        pairs = column(rows[pair] for pair in ends)
        return fluid_schedule(fabric, instance.task, algorithm, [circuits], [pairs])
    _, deliveries = copy_question(instance)
    moved = copies(
        (deliveries.holders[chunk][0], nodes[0], chunk)
        for chunk, nodes in deliveries.lacking.items()
    )
    segments = (Segment(0, 0, circuits),) if len(circuits) else ()
    parts = (StepPart(0, 0, 0, moved),) if len(circuits) else ()
    return Schedule(fabric.table(), deliveries.collective, algorithm, segments, parts)
