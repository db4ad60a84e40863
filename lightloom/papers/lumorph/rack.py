"""The rack of the LUMORPH paper, and all-reduces measured on it by replay."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, cast

import msgspec

from lightloom.core.units import PS_PER_US
from lightloom.instances.catalogue import fabrics
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.papers.collectives import MeasuredCollective, verified_schedule
from lightloom.plans.algorithms.disjoint_trees import DoubleBinaryTree
from lightloom.replay import replay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.schedule import Schedule
    from lightloom.instances.fabrics.packet_tiers import IdealSwitch
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class MeasuredAllReduce(MeasuredCollective):
    """A measured all-reduce; replay charges only what the plane does not hold yet."""

    fabric: AnyFabric
    question: AllReduce

    @cached_property
    def every_round_ps(self) -> int:
        """Time under the paper's rule; equal to replay on fabrics without circuits.

        Every round has all lasers to itself and is charged a reconfiguration. Where
        reconfigurations cost nothing, no two rounds share lasers: that is the
        schedule of the paper. It is then replayed on the true fabric. `auto` is no
        algorithm of the paper: its own schedule is charged.
        """
        schedule = self.schedule
        if isinstance(self.fabric, Lightpath) and self.question.algorithm != "auto":
            free = msgspec.structs.replace(self.fabric, reconfiguration_ps=0)
            schedule = replace(
                _free_schedule(self.question, free), fabric=self.fabric.table()
            )
        return replay(schedule).every_round_charged_ps

    @property
    def every_round_us(self) -> float:
        """Time under the paper's rule, in microseconds."""
        return self.every_round_ps / PS_PER_US


def lightpath(gpus: int, **changes: object) -> Lightpath:
    """Return the paper's rack with some keys changed."""
    rack = cast("Lightpath", fabrics()[f"lightpath-{gpus}"])
    return msgspec.structs.replace(rack, **changes)


def ideal_switch(gpus: int, **changes: object) -> IdealSwitch:
    """Return the paper's electrical baseline with some keys changed."""
    switch = cast("IdealSwitch", fabrics()[f"ideal-switch-{gpus}"])
    return msgspec.structs.replace(switch, **changes)


def measure(
    fabric: AnyFabric,
    buffer_bytes: int,
    algorithm: str,
    parameters: Mapping[str, object] | None = None,
    *,
    router: str = "minimum-congestion",
) -> MeasuredAllReduce:
    """Synthesise, verify and replay an all-reduce over all nodes."""
    as_json = json.dumps(dict(parameters or {}), sort_keys=True)
    question = AllReduce(buffer_bytes, algorithm, as_json, router)
    schedule = question.schedule(fabric)
    label = " ".join(
        ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for key, value in schedule.algorithm.parameters.items()
        if key != "router"
    )
    return MeasuredAllReduce.of(schedule, label, fabric, question)


def tree_pieces(switch: IdealSwitch, buffer_bytes: int) -> int:
    """Return into how many pieces a double binary tree best cuts its buffer."""
    return DoubleBinaryTree.best_pieces(
        switch.node_count, buffer_bytes, switch.alpha_ps, switch.node_bits_per_s
    )


@dataclass(frozen=True)
class AllReduce:
    """An all-reduce by some algorithm, parameters as JSON, the fabric left open."""

    buffer_bytes: int
    algorithm: str
    parameters: str
    router: str

    def schedule(self, fabric: AnyFabric) -> Schedule:
        """Return a verified schedule."""
        return verified_schedule(
            fabric,
            "all-reduce",
            self.buffer_bytes,
            self.algorithm,
            json.loads(self.parameters),
            router=self.router,
        )


@lru_cache(maxsize=4)
def _free_schedule(question: AllReduce, fabric: Lightpath) -> Schedule:
    """Return the schedule for a rack without delays, which serves for every delay."""
    return question.schedule(fabric)
