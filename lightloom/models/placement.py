"""Placement of operations on a ring of devices: SiP-ML paper, section 3.2."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from graphlib import TopologicalSorter
from itertools import combinations
from typing import TYPE_CHECKING

import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from lightloom.core.columns import column
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.placement import Placement
from lightloom.core.task import Workload
from lightloom.core.units import format_bytes
from lightloom.models import ModelSize
from lightloom.models.linear_expression import difference, total, weighted

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance
    from lightloom.models.linear_expression import Linear, Model


@dataclass(frozen=True)
class PlacementInput:
    """What a model of this module is about, for its decoder.

    `unit_ps`: greatest common divisor of all durations: times of the model are
    multiples.
    """

    workload: Workload
    unit_ps: int


def build(instance: Instance, *, pinned: bool = False) -> Model:
    """Return the placement of a workload as a Pyomo model.

    Device d + 1 follows device d round a ring of k, and light only goes on: an
    operation may run at most `distance` devices after each of those it hears from.
    Where the paper computes a window with ``near_id`` and ``far_id``, here every edge
    asks for it by itself. Communication takes no time, as in the paper's Algorithm 1,
    and an operation of no duration is in nobody's way.

    - ``on[o, d]``: operation o runs on device d; ``somewhere[o]``: on one of them.
    - ``near[e, d]``: the end of edge e runs on d only if its start runs on one of
      d - distance, ..., d (modulo k).
    - ``memory[d]``: what runs on d fits its memory.
    - ``start[o]``, ``makespan``: in units of the durations' common divisor.
    - ``needs[e]``: an operation starts when what it needs has ended.
    - ``first[a, b]``: a ends before b starts, for pairs that no path orders;
      ``alone[a, b, d]``: on one device one of the two is first; ``order``: what first
      means, with the constant that the earliest and latest starts of a and b need.
    - ``work[d]``, ``last[o]``: the makespan is at least the work of a device, and the
      end of an operation with the longest path of others after it.

    Raises `InputError` if the instance has no workload; `InfeasibleError` if the
    workload fits no placement: an operation is larger than a device, operations that
    must run together are, or all are larger than all devices.

    operations * devices columns, and up to operations**2 * devices rows: for tens of
    operations. A start's bound is the sum of all durations, in units.
    """
    workload = _workload(instance)
    _refuse_size(workload, instance.name)
    unit_ps = math.gcd(*workload.duration_ps) or 1
    model = pyo.ConcreteModel("placement")
    model.question = PlacementInput(workload, unit_ps)
    with PauseGC():
        _state_places(model, workload)
        _state_times(
            model, workload, [time // unit_ps for time in workload.duration_ps]
        )
        if pinned:
            model.on[0, 0].fix(1)
    return model


def _state_places(model: Model, workload: Workload) -> None:
    """State where operations may run."""
    ops, devices = range(len(workload.op)), range(workload.devices)
    model.on = pyo.Var(ops, devices, within=pyo.Binary)
    model.somewhere = pyo.Constraint(
        ops, rule=lambda m, o: (1, total(m.on[o, d] for d in devices), 1)
    )
    if workload.distance < workload.devices - 1:
        model.near = pyo.Constraint(
            range(len(workload.src)),
            devices,
            rule=lambda m, e, d: (
                None,
                difference(
                    [m.on[workload.dst[e], d]],
                    [
                        m.on[workload.src[e], (d - hop) % workload.devices]
                        for hop in range(workload.distance + 1)
                    ],
                ),
                0,
            ),
        )
    most = workload.device_memory_bytes
    if most is not None and sum(workload.memory_bytes) > most:
        unit = math.gcd(*workload.memory_bytes)
        model.memory = pyo.Constraint(
            devices,
            rule=lambda m, d: (
                None,
                weighted((workload.memory_bytes[o] // unit, m.on[o, d]) for o in ops),
                most // unit,
            ),
        )


def _state_times(model: Model, workload: Workload, lasts: list[int]) -> None:
    """State when operations run, and how long that takes."""
    ops, devices = range(len(lasts)), range(workload.devices)
    before, after = _paths(workload, lasts)
    horizon = sum(lasts)
    latest = [horizon - lasts[o] - after[o] for o in ops]
    model.start = pyo.Var(
        ops, within=pyo.Integers, bounds=lambda _, o: (before[o], latest[o])
    )
    least = max((before[o] + lasts[o] + after[o] for o in ops), default=0)
    model.makespan = pyo.Var(within=pyo.Integers, bounds=(least, horizon))
    model.needs = pyo.Constraint(
        range(len(workload.src)),
        rule=lambda m, e: (
            lasts[workload.src[e]],
            difference([m.start[workload.dst[e]]], [m.start[workload.src[e]]]),
            None,
        ),
    )
    _state_order(model, workload, lasts, before, latest)
    model.work = pyo.Constraint(
        devices,
        rule=lambda m, d: (
            0,
            weighted([(1, m.makespan), *((-lasts[o], m.on[o, d]) for o in ops)]),
            None,
        ),
    )
    model.last = pyo.Constraint(
        ops,
        rule=lambda m, o: (
            lasts[o] + after[o],
            difference([m.makespan], [m.start[o]]),
            None,
        ),
    )
    model.objective = pyo.Objective(expr=model.makespan)


def _state_order(
    model: Model,
    workload: Workload,
    lasts: list[int],
    before: list[int],
    latest: list[int],
) -> None:
    """State that a device runs one operation at a time.

    `before` and `latest` are the earliest and latest starts of the operations.
    """
    free = [
        pair
        for pair in _unordered(workload)
        if lasts[pair[0]] and lasts[pair[1]]  # what takes no time is in nobody's way
    ]
    model.first = pyo.Var(
        [way for a, b in free for way in ((a, b), (b, a))], within=pyo.Binary
    )

    def order(m: Model, a: int, b: int) -> tuple[int, Linear, None]:
        # b may start `slack` before a ends where a is not first.
        slack = latest[a] + lasts[a] - before[b]
        terms = [(1, m.start[b]), (-1, m.start[a]), (-slack, m.first[a, b])]
        return lasts[a] - slack, weighted(terms), None

    model.order = pyo.Constraint(list(model.first), rule=order)
    model.alone = pyo.Constraint(
        [(*pair, d) for pair in free for d in range(workload.devices)],
        rule=lambda m, a, b, d: (
            None,
            difference([m.on[a, d], m.on[b, d]], [m.first[a, b], m.first[b, a]]),
            1,
        ),
    )


def _ancestors(workload: Workload) -> dict[int, list[int]]:
    """Return whom each operation hears from directly, in topological order."""
    parents: dict[int, list[int]] = {o: [] for o in range(len(workload.op))}
    for src, dst in zip(workload.src, workload.dst, strict=True):
        parents[dst].append(src)
    return {o: parents[o] for o in TopologicalSorter(parents).static_order()}


def _paths(workload: Workload, lasts: list[int]) -> tuple[list[int], list[int]]:
    """Return the longest path before, and the longest one after, each operation."""
    parents = _ancestors(workload)
    before, after = [0] * len(lasts), [0] * len(lasts)
    for op, heard in parents.items():
        before[op] = max((before[src] + lasts[src] for src in heard), default=0)
    for op, heard in reversed(parents.items()):
        for src in heard:
            after[src] = max(after[src], lasts[op] + after[op])
    return before, after


def _unordered(workload: Workload) -> list[tuple[int, int]]:
    """Return the pairs of operations that no path of edges orders."""
    above: dict[int, set[int]] = {}
    for op, heard in _ancestors(workload).items():
        above[op] = set(heard).union(*(above[src] for src in heard))
    return [
        (a, b)
        for a, b in combinations(range(len(workload.op)), 2)
        if a not in above[b] and b not in above[a]
    ]


def decode(model: Model) -> Placement:
    """Return the placement that the values of a model's variables stand for."""
    question = model.question
    device = [0] * len(question.workload.op)
    for (op, place), variable in model.on.items():
        if round(variable.value or 0):
            device[op] = place
    start = (round(variable.value or 0) for variable in model.start.values())
    return Placement(
        question.workload,
        column(device),
        column(time * question.unit_ps for time in start),
    )


def objective(answer: Placement) -> Fraction:
    """Return the makespan in picoseconds."""
    return Fraction(answer.makespan_ps)


def size(instance: Instance, **_: object) -> ModelSize:
    """Return an upper estimate of the size that `build` would give a model.

    Raises `InputError` if it is of another one.
    """
    workload = _workload(instance)
    ops, devices, edges = len(workload.op), workload.devices, len(workload.src)
    pairs = ops * (ops - 1) // 2
    window = min(workload.distance, devices - 1) + 2
    rows = 2 * ops + 2 * devices + edges * (devices + 1) + pairs * (2 + devices)
    columns = ops * devices + ops + 1 + 2 * pairs
    nonzeros = 4 * ops * devices + edges * devices * window + 2 * edges + 2 * ops
    nonzeros += pairs * (6 + 4 * devices)
    instead = "a coarser graph: rows grow with the square of its operations"
    return ModelSize(rows, columns, nonzeros, instead)


def _workload(instance: Instance) -> Workload:
    """Return the workload of an instance, or raise `InputError`."""
    if not isinstance(instance.task, Workload):
        what = "the model places operations"
        fix = (
            "give a [workload]; a [computation] is placed by `solve --solver lightloom`"
        )
        raise InputError(what, where=instance.name, fix=fix)
    return instance.task


def _refuse_size(workload: Workload, name: str) -> None:
    """Raise if operations cannot fit, wherever they run, naming them."""
    most = workload.device_memory_bytes
    if most is None:
        return
    where, allowed = f"{name}: workload", f"{format_bytes(most)} a device"
    for op, needed in zip(workload.op, workload.memory_bytes, strict=True):
        if needed > most:
            what = f"operation {op!r} fits no device"
            raise InfeasibleError(
                what, where=where, found=format_bytes(needed), allowed=allowed
            )
    needed = sum(workload.memory_bytes)
    if needed > most * workload.devices:
        what = f"the operations fit {workload.devices} devices in no way"
        raise InfeasibleError(
            what, where=where, found=format_bytes(needed), allowed=allowed
        )
    if workload.distance == 0:
        for ops in _together(workload):
            needed = sum(workload.memory_bytes[op] for op in ops)
            if needed > most:
                names = ", ".join(repr(workload.op[op]) for op in ops[:4])
                more = ", ..." if len(ops) > 4 else ""
                what = f"operations that must share a device do not fit: {names}{more}"
                raise InfeasibleError(
                    what, where=where, found=format_bytes(needed), allowed=allowed
                )


def _together(workload: Workload) -> list[list[int]]:
    """Return operations by connected parts of the graph."""
    part = list(range(len(workload.op)))
    for src, dst in zip(workload.src, workload.dst, strict=True):
        low, high = sorted((part[src], part[dst]))
        part = [low if one == high else one for one in part]
    members = defaultdict(list)
    for op, one in enumerate(part):
        members[one].append(op)
    return list(members.values())
