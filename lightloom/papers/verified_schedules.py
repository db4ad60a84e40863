"""Schedules behind numbers: synthesised, and verified before they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import NoAnswerError
from lightloom.core.task import Collective
from lightloom.instances.instance import Instance
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


def verified_schedule(
    fabric: AnyFabric,
    op: str,
    buffer_bytes: int,
    algorithm: str,
    parameters: Mapping[str, object],
    *,
    router: str = "minimum-congestion",
) -> Schedule:
    """Return a verified schedule of a collective over all nodes."""
    nodes = tuple(range(fabric.node_count))
    name = f"{fabric.kind}-{len(nodes)}"
    instance = Instance(fabric, Collective(op, nodes, buffer_bytes), name)
    synthesis = synthesise(instance, algorithm, parameters, router=router).incumbent
    if synthesis is None:
        raise NoAnswerError("no schedule was found", where=name)
    verdict = verify(synthesis.schedule)
    if not verdict.valid:
        what = f"the schedule breaks {verdict.violations[0].rule}"
        raise NoAnswerError(what, where=name, found=algorithm)
    return synthesis.schedule
