"""Executes training iterations in time: operations, transfers and collectives."""

from __future__ import annotations

from lightloom.replay.workload.call_queue import CallQueue, ScheduledCalls
from lightloom.replay.workload.circuits import (
    RING_PERIOD_PS,
    ControlledCircuits,
    Controller,
    HeldCircuits,
    PlaneConfiguration,
    ocs_period_ps,
)
from lightloom.replay.workload.execute import (
    IterationTimeline,
    Launch,
    replay_iteration,
)
from lightloom.replay.workload.flow_network import SharedLinks
from lightloom.replay.workload.network import RingCollectives

__all__ = [
    "RING_PERIOD_PS",
    "CallQueue",
    "ControlledCircuits",
    "Controller",
    "HeldCircuits",
    "IterationTimeline",
    "Launch",
    "PlaneConfiguration",
    "RingCollectives",
    "ScheduledCalls",
    "SharedLinks",
    "ocs_period_ps",
    "replay_iteration",
]
