"""The rack of the LUMORPH paper, and all-reduces measured on it by replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import msgspec

from lightloom.core.errors import NoAnswerError
from lightloom.core.task import Collective
from lightloom.core.units import PS_PER_US
from lightloom.instances.catalogue import fabrics
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.replay import replay
from lightloom.synth.algorithms.double_binary_tree import DoubleBinaryTree
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.schedule import Schedule
    from lightloom.instances.fabrics.ideal_switch import IdealSwitch
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class Measured:
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
    """Return the paper's rack with some keys changed."""
    rack = cast("Lightpath", fabrics()[f"lightpath-{gpus}"])
    return msgspec.structs.replace(rack, **changes)


def ideal_switch(gpus: int, **changes: object) -> IdealSwitch:
    """Return the paper's electrical baseline with some keys changed."""
    switch = cast("IdealSwitch", fabrics()[f"ideal-switch-{gpus}"])
    return msgspec.structs.replace(switch, **changes)


def all_reduce(fabric: AnyFabric, buffer_bytes: int) -> Instance:
    """Return an all-reduce over all nodes of a fabric."""
    nodes = tuple(range(fabric.node_count))
    task = Collective("all-reduce", nodes, buffer_bytes)
    return Instance(f"{fabric.kind}-{len(nodes)}", fabric, task)


def measure(
    fabric: AnyFabric,
    buffer_bytes: int,
    algorithm: str,
    parameters: Mapping[str, object] | None = None,
    *,
    router: str = "minimum-congestion",
) -> Measured:
    """Synthesise, verify and replay an all-reduce.

    Raises
    ------
    NoAnswerError
        If nothing was found, or what was found breaks a rule.
    """
    question = _Question(buffer_bytes, algorithm, dict(parameters or {}), router)
    schedule = question.schedule(fabric)
    timeline = replay(schedule)
    return Measured(
        _label(schedule),
        timeline.completion_time_ps,
        _every_round_ps(fabric, question, schedule),
        len(timeline.steps),
        len(timeline.reconfigurations),
    )


def tree_pieces(switch: IdealSwitch, buffer_bytes: int) -> int:
    """Return into how many pieces a double binary tree best cuts its buffer."""
    return DoubleBinaryTree.best_pieces(
        switch.node_count, buffer_bytes, switch.alpha_ps, switch.node_bits_per_s
    )


@dataclass(frozen=True)
class _Question:
    """An all-reduce by some algorithm, the fabric left open."""

    buffer_bytes: int
    algorithm: str
    parameters: dict[str, object]
    router: str

    def schedule(self, fabric: AnyFabric) -> Schedule:
        """Return a verified schedule."""
        instance = all_reduce(fabric, self.buffer_bytes)
        synthesis = synthesise(
            instance, self.algorithm, self.parameters, router=self.router
        ).incumbent
        if synthesis is None:
            raise NoAnswerError("no schedule was found", where=instance.name)
        verdict = verify(synthesis.schedule)
        if not verdict.valid:
            what = f"the schedule breaks {verdict.violations[0].rule}"
            raise NoAnswerError(what, where=instance.name, found=self.algorithm)
        return synthesis.schedule


def _every_round_ps(fabric: AnyFabric, question: _Question, schedule: Schedule) -> int:
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
