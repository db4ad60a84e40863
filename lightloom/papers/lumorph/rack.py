"""The rack of the LUMORPH paper, and all-reduces measured on it by replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import msgspec

from lightloom.core.units import PS_PER_US
from lightloom.instances.catalogue import fabrics
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.papers.verified_schedules import verified_schedule
from lightloom.plans.algorithms.double_binary_tree import DoubleBinaryTree
from lightloom.replay import replay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.schedule import Schedule
    from lightloom.instances.fabrics.ideal_switch import IdealSwitch
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class MeasuredAllReduce:
    """An all-reduce that was synthesised, verified and replayed.

    Attributes
    ----------
    algorithm
        Name, with parameters where `auto` chose.
    completion_time_ps
        What replay says: only what the plane does not hold yet is paid for.
    every_round_ps
        The paper's rule: a schedule in which every round has all lasers to itself,
        each round charged a reconfiguration. Equal to `completion_time_ps` on
        fabrics without circuits.
    steps, reconfigurations
        Counts of the replayed schedule.
    """

    algorithm: str
    completion_time_ps: int
    every_round_ps: int
    steps: int
    reconfigurations: int

    @property
    def completion_time_us(self) -> float:
        """Completion time in microseconds."""
        return self.completion_time_ps / PS_PER_US

    @property
    def every_round_us(self) -> float:
        """Time under the paper's rule, in microseconds."""
        return self.every_round_ps / PS_PER_US


def lightpath(gpus: int, **changes: object) -> Lightpath:
    """Return the paper's rack with some keys changed.

    Parameters
    ----------
    gpus
        Number of GPUs; the catalogue has ``lightpath-<gpus>``.
    **changes
        New values by field of the record.

    Raises
    ------
    KeyError
        If the catalogue has no such rack.
    """
    rack = cast("Lightpath", fabrics()[f"lightpath-{gpus}"])
    return msgspec.structs.replace(rack, **changes)


def ideal_switch(gpus: int, **changes: object) -> IdealSwitch:
    """Return the paper's electrical baseline with some keys changed.

    Parameters
    ----------
    gpus
        Number of GPUs; the catalogue has ``ideal-switch-<gpus>``.
    **changes
        New values by field of the record.

    Raises
    ------
    KeyError
        If the catalogue has no such switch.
    """
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
    """Synthesise, verify and replay an all-reduce.

    Parameters
    ----------
    fabric
        The network; all its nodes take part.
    buffer_bytes
        Buffer of a node.
    algorithm, parameters, router
        As `synthesise` takes them.

    Raises
    ------
    NoAnswerError
        If nothing was found, or what was found breaks a rule.
    """
    question = _AllReduce(buffer_bytes, algorithm, dict(parameters or {}), router)
    schedule = question.schedule(fabric)
    timeline = replay(schedule)
    return MeasuredAllReduce(
        _label(schedule),
        timeline.completion_time_ps,
        _every_round_ps(fabric, question, schedule),
        len(timeline.steps),
        len(timeline.reconfigurations),
    )


def tree_pieces(switch: IdealSwitch, buffer_bytes: int) -> int:
    """Return into how many pieces a double binary tree best cuts its buffer.

    Parameters
    ----------
    switch
        The network; all nodes take part.
    buffer_bytes
        Buffer of a node.
    """
    return DoubleBinaryTree.best_pieces(
        switch.node_count, buffer_bytes, switch.alpha_ps, switch.node_bits_per_s
    )


@dataclass(frozen=True)
class _AllReduce:
    """An all-reduce by some algorithm, the fabric left open."""

    buffer_bytes: int
    algorithm: str
    parameters: dict[str, object]
    router: str

    def schedule(self, fabric: AnyFabric) -> Schedule:
        """Return a verified schedule."""
        return verified_schedule(
            fabric,
            "all-reduce",
            self.buffer_bytes,
            self.algorithm,
            self.parameters,
            router=self.router,
        )


def _every_round_ps(fabric: AnyFabric, question: _AllReduce, schedule: Schedule) -> int:
    """Return the time under the paper's rule.

    Where reconfigurations cost nothing, no two rounds share lasers: that is the
    schedule of the paper. It is then replayed on the true fabric. `auto` is no
    algorithm of the paper: its own schedule is charged.
    """
    if isinstance(fabric, Lightpath) and question.algorithm != "auto":
        free = msgspec.structs.replace(fabric, reconfiguration_ps=0)
        schedule = replace(question.schedule(free), fabric=fabric.table())
    return replay(schedule).every_round_charged_ps


def _label(schedule: Schedule) -> str:
    values = [
        ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for key, value in schedule.algorithm.parameters.items()
        if key != "router"
    ]
    return " ".join([schedule.algorithm.name, *values])
