"""The clusters of the SiPAC paper, and collectives measured on them by replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.fabrics.torus import Torus
from lightloom.papers.verified_schedules import verified_schedule
from lightloom.replay import replay

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric

CLUSTERS = ("sipac", "torus", "bcube", "superpod")
"""Those of the paper; the electrical ones in the order of its text, reversed."""

TITLES = {
    "sipac": "SiPAC",
    "torus": "2D torus",
    "bcube": "BCube",
    "superpod": "SuperPod",
}
"""Names of clusters in pictures."""

USUAL, AUTO = "usual", "auto"
"""Which algorithm a row has: the one that a cluster is usually given, or the best."""

NOT_MODELLED = (
    "Times are fluid: links are shared without loss. The paper's packet simulator has"
    " DCTCP queues, congestion windows and retransmissions, which are not modelled and"
    " which no fluid replay can show; at best orderings can agree."
)


@dataclass(frozen=True)
class MeasuredCollective:
    """A collective that was synthesised, verified and replayed."""

    algorithm: str
    completion_time_ps: int
    steps: int
    schedule: Schedule

    @property
    def completion_time_us(self) -> float:
        """Completion time in microseconds."""
        return self.completion_time_ps / PS_PER_US


def measure(
    fabric: AnyFabric, op: str, buffer_bytes: int, algorithm: str, **parameters: object
) -> MeasuredCollective:
    """Synthesise, verify and replay a collective over all nodes."""
    if COLLECTIVES[op].uses_blocks:
        buffer_bytes += -buffer_bytes % fabric.node_count
    schedule = verified_schedule(fabric, op, buffer_bytes, algorithm, parameters)
    timeline = replay(schedule)
    label = " ".join(
        f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in schedule.algorithm.parameters.items()
    )
    name = f"{schedule.algorithm.name} {label}".strip()
    return MeasuredCollective(
        name, timeline.completion_time_ps, len(timeline.steps), schedule
    )


def replayed_on(measured: MeasuredCollective, fabric: AnyFabric) -> MeasuredCollective:
    """Return the same schedule replayed at other rates of the same cluster."""
    moved = replace(measured.schedule, fabric=fabric.table())
    time_ps = replay(moved).completion_time_ps
    return replace(measured, completion_time_ps=time_ps, schedule=moved)


def usual(fabric: AnyFabric, op: str, buffer_bytes: int) -> MeasuredCollective:
    """Return a collective by the algorithm that a cluster is usually given.

    All-reduce: levels on SiPAC and BCube, rings both ways along rows and columns on a
    torus, the hierarchical ring on servers. All-to-all and incast: one hop at a time on
    SiPAC, whose nodes forward, packets straight to their ends elsewhere. Broadcast:
    the fastest that `auto` finds.
    """
    if op == "broadcast":
        return measure(fabric, op, buffer_bytes, "auto")
    if isinstance(fabric, Sipac):
        return measure(fabric, op, buffer_bytes, "levels")
    if op != "all-reduce":
        return measure(fabric, op, buffer_bytes, "direct")
    if fabric.kind == "bcube":
        return measure(fabric, op, buffer_bytes, "levels")
    ways = {}
    if isinstance(fabric, Torus):
        ways = {"parts": sum(size > 1 for size in fabric.sizes), "both_ways": True}
    return measure(fabric, op, buffer_bytes, "torus-rings", **ways)
