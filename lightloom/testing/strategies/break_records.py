"""Mutations of what a schedule says of itself: fabric, task, references, footer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.fabric import CircuitFabric
from lightloom.core.schedule import SealedSchedule, Segment
from lightloom.core.task import Collective
from lightloom.testing.strategies.mutation import reckoned, with_part

if TYPE_CHECKING:
    import random

    from lightloom.core.certificate import Certificate
    from lightloom.instances.instance import AnyFabric
    from lightloom.testing.strategies.mutation import Mutation

Broken = tuple[str, SealedSchedule] | None


def unknown_key(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Give the fabric a key that it does not know."""
    del fabric, rng
    return "fabric", replace(whole, fabric={**whole.fabric, "colour": "blue"})


def node_outside(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Let the task name a node that the fabric does not have."""
    task = whole.task
    if isinstance(task, Collective):
        nodes = list(task.nodes)
        at = rng.randrange(len(nodes))
        root = None if task.root == nodes[at] else task.root
        nodes[at] = fabric.node_count
        changed = msgspec.structs.replace(task, nodes=tuple(nodes), root=root)
        return "task", reckoned(replace(whole, task=changed))
    src = (*task.src[:-1], fabric.node_count)
    return "task", reckoned(replace(whole, task=msgspec.structs.replace(task, src=src)))


def self_demand(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Ask that a node send to itself."""
    del fabric, rng
    if isinstance(whole.task, Collective):
        return None
    dst = (*whole.task.dst[:-1], whole.task.src[-1])
    task = msgspec.structs.replace(whole.task, dst=dst)
    return "task", reckoned(replace(whole, task=task))


def circuits_of_none(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Name a plane on a fabric without circuits."""
    if isinstance(fabric, CircuitFabric) or not whole.parts:
        return None
    number = rng.randrange(len(whole.parts))
    return "packet-has-circuits", with_part(whole, number, plane=0)


def no_such_plane(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Let a step use a plane beyond the last."""
    if not isinstance(fabric, CircuitFabric) or not whole.parts:
        return None
    number = rng.randrange(len(whole.parts))
    return "plane-range", with_part(whole, number, plane=fabric.plane_count)


def no_such_segment(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Let the last step of a plane use a segment beyond its last."""
    del rng
    if not isinstance(fabric, CircuitFabric) or not whole.parts:
        return None
    return "segment-exists", with_part(
        whole, len(whole.parts) - 1, segment=len(whole.segments)
    )


def segment_skipped(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a segment whose number is one too high."""
    if not isinstance(fabric, CircuitFabric) or not whole.segments:
        return None
    some = rng.choice(whole.segments)
    count = sum(each.plane == some.plane for each in whole.segments)
    more = Segment(some.plane, count + 1, some.circuits)
    return "segment-order", reckoned(replace(whole, segments=(*whole.segments, more)))


def step_skipped(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Give the last step a number that is one too high."""
    del fabric, rng
    if not whole.parts:
        return None
    last = whole.step_count - 1
    parts = tuple(
        replace(part, index=last + 1) if part.index == last else part
        for part in whole.parts
    )
    return "step-order", reckoned(replace(whole, parts=parts))


def false_count(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Claim one more of something than there is."""
    del fabric
    name = rng.choice(["segments", "steps", "circuits", "transfers"])
    more = {name: getattr(whole.footer, name) + 1}
    return "footer-counts", replace(whole, footer=replace(whole.footer, **more))


def false_time(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Claim a picosecond more or less than replay finds."""
    del fabric
    time_ps = whole.footer.completion_time_ps
    time_ps += rng.choice([-1, 1]) if time_ps else 1
    footer = replace(whole.footer, completion_time_ps=time_ps, certificates=())
    return "footer-time", replace(whole, footer=footer)


def _claiming(whole: SealedSchedule, claim: Certificate) -> SealedSchedule:
    """Return a schedule with another certificate."""
    return replace(whole, footer=replace(whole.footer, certificates=(claim,)))


def false_bound(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Claim a bound one picosecond above what its witness proves."""
    del fabric, rng
    claimed = whole.footer.certificate
    if claimed is None:
        return None
    return "certificate-bound", _claiming(
        whole, replace(claimed, bound=claimed.bound + 1)
    )


def false_kind(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Name a kind of certificate that nobody knows."""
    del fabric, rng
    claimed = whole.footer.certificate
    if claimed is None:
        return None
    return "certificate-kind", _claiming(whole, replace(claimed, kind="oracle"))


def false_value(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Let the certificate speak of another time than the footer's."""
    del fabric, rng
    claimed = whole.footer.certificate
    if claimed is None or claimed.value is None:
        return None
    return "certificate-value", _claiming(
        whole, replace(claimed, value=claimed.value + 1)
    )


MUTATIONS: tuple[Mutation, ...] = (
    unknown_key,
    node_outside,
    self_demand,
    circuits_of_none,
    no_such_plane,
    no_such_segment,
    segment_skipped,
    step_skipped,
    false_count,
    false_time,
    false_bound,
    false_kind,
    false_value,
)
