"""Executes training iterations in time: operations, transfers and collectives."""

from __future__ import annotations

from lightloom.replay.workload.call_costs import ClosedFormCalls, ReplayedCalls
from lightloom.replay.workload.call_queue import CallQueue
from lightloom.replay.workload.collective_flows import (
    ReplayedCollectives,
    RingCollectives,
)
from lightloom.replay.workload.controlled_circuits import (
    RING_PERIOD_PS,
    ControlledCircuits,
    Controller,
    ocs_period_ps,
)
from lightloom.replay.workload.devices import Launch
from lightloom.replay.workload.execute import replay_iteration
from lightloom.replay.workload.planned_circuits import HeldCircuits, PlaneConfiguration
from lightloom.replay.workload.scheduled_calls import ScheduledCalls
from lightloom.replay.workload.shared_links import SharedLinks
from lightloom.replay.workload.timeline import IterationTimeline

__all__ = [
    "RING_PERIOD_PS",
    "CallQueue",
    "ClosedFormCalls",
    "ControlledCircuits",
    "Controller",
    "HeldCircuits",
    "IterationTimeline",
    "Launch",
    "PlaneConfiguration",
    "ReplayedCalls",
    "ReplayedCollectives",
    "RingCollectives",
    "ScheduledCalls",
    "SharedLinks",
    "ocs_period_ps",
    "replay_iteration",
]
