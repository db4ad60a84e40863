"""The schedules that compete for a demand on optical switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.synth.demand_rounds import DECOMPOSITION
from lightloom.synth.fabrics.plug import MadeSchedule
from lightloom.synth.ocs.decomposition import decomposition_schedules
from lightloom.synth.ocs.switch_circuits import (
    ALGORITHM,
    ocs_schedule,
    port_certificates,
    switch_circuits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs

OCS_DEMAND_ALGORITHMS = (ALGORITHM, DECOMPOSITION)
"""Algorithms for demands on optical switches, by name."""


def ocs_demand_schedules(
    fabric: Ocs, demand: Demand, wanted: tuple[str, ...]
) -> Iterator[MadeSchedule]:
    """Yield schedules of a demand: of one configuration, and of several in turn.

    `wanted`: names of `OCS_DEMAND_ALGORITHMS`, one or more. Among both, a demand that
    finds no room in one configuration is served in several.

    Raises `InputError`: one configuration alone is wanted, and circuits are
    bidirectional, or a node has more partners than there are switches.
    """
    only = wanted == (ALGORITHM,)
    if only or (ALGORITHM in wanted and not fabric.bidirectional):
        plan = switch_circuits(fabric, demand)
        possible = plan.witness is None or bool(plan.witness.ratio)
        if not possible and only:
            raise InputError(
                "a node has more partners than there are switches: one configuration"
                " does not serve them",
                where=f"algorithm {ALGORITHM}",
                allowed=f"at most {fabric.switches} partners",
                fix=f"take turns: `--algorithm {DECOMPOSITION}`, or `auto`",
            )
        if possible:
            proven = () if demand.relays else port_certificates(plan)
            yield MadeSchedule(ocs_schedule(fabric, plan), proven)
    if DECOMPOSITION in wanted:
        for schedule in decomposition_schedules(fabric, demand):
            yield MadeSchedule(schedule)
