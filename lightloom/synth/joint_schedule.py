"""Several collectives at once: their rounds side by side, on one set of circuits."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import LightloomError
from lightloom.core.schedule import Algorithm, FluidTransfers, Schedule
from lightloom.core.task import Collective, Demand
from lightloom.plans.algorithms import make_algorithm
from lightloom.synth.auto import planned_traffic
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.traffic import TrafficRound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lightloom.synth.fabrics.realiser import Realiser


def joint_schedule(
    tasks: Sequence[tuple[Collective, Algorithm]], realiser: Realiser[Any]
) -> Schedule | None:
    """Return a schedule that serves collectives at once, round beside round.

    Round i of all of them is one round, so that all reconfigure together and none
    waits for the circuits of another. What moves is stated as a demand.

    `tasks`: collectives without a node in common, their chunk counts chosen, and the
    algorithm of each, as a schedule names it.

    Returns a schedule without footer; ``None`` where an algorithm does not serve its
    collective, or the rounds find no circuits together.
    """
    try:
        rounds = [_rounds(task, by, realiser) for task, by in tasks]
        merged = [_merged(several) for several in zip_longest(*rounds)]
        realised = realiser.realise_quickly(merged)
    except LightloomError:
        return None
    moved = [one.transfers for one in merged]
    src, dst, size = (
        np.concatenate([getattr(each, name) for each in moved]).tolist()
        for name in ("src", "dst", "bytes")
    )
    demand = Demand.from_rows(list(zip(src, dst, size, strict=True)))
    names = sorted({by.name for _, by in tasks})
    algorithm = Algorithm("joint", {"of": names}, realiser.seed)
    table = realiser.fabric.table()
    return Schedule(table, demand, algorithm, realised.segments, realised.parts)


def _rounds(
    task: Collective, algorithm: Algorithm, realiser: Realiser[Any]
) -> tuple[TrafficRound, ...]:
    """Return the rounds of an algorithm, made anew."""
    given = dict(algorithm.parameters)
    mapping = str(given.pop("mapping", GIVEN_ORDER))
    parameters = {
        key: value for key, value in given.items() if key not in realiser.parameters
    }
    maker = make_algorithm(algorithm.name, parameters, op=task.op)
    orders = realiser.arrange(task).orders
    order = orders.get(mapping, task.nodes)
    return planned_traffic(maker, task, order, realiser.ports)


def _merged(rounds: Sequence[TrafficRound | None]) -> TrafficRound:
    """Return rounds of disjoint nodes as one; each port stays what it is."""
    there = [one for one in rounds if one is not None]
    size = np.concatenate([one.size_bytes for one in there])
    src = np.concatenate([one.transfers.src for one in there])
    dst = np.concatenate([one.transfers.dst for one in there])
    port = np.concatenate([one.port for one in there])
    return TrafficRound(FluidTransfers(src, dst, size), size, port)
