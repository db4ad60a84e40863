"""Measured times in a computation graph, in place of those of the roofline."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.computation import Split
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from lightloom.core.computation import ComputationGraph, Operation
    from lightloom.formats.flexflow_profile import Measurement, OperatorProfile

_MEASURED_BYTES = 8
"""Of a parameter and its gradient, as FlexFlow measures them: in single precision."""


@dataclass(frozen=True)
class _Curve:
    """What an operator costs by the samples of a part: rows of rising samples."""

    samples: tuple[int, ...]
    forward_ps: tuple[int, ...]
    backward_ps: tuple[int, ...]
    memory_bytes: tuple[int, ...]

    def at(self, column: tuple[int, ...], batch: int, parts: int) -> int:
        """Return a column at batch / parts samples, linear between rows, rounded up.

        Below the first row and above the last it is proportional to the samples.
        """
        row = bisect_left(self.samples, batch, key=lambda count: count * parts)
        if row < len(self.samples) and self.samples[row] * parts == batch:
            return column[row]
        if row in (0, len(self.samples)):
            near = max(0, row - 1)
            return -(-column[near] * batch // (self.samples[near] * parts))
        low, high = self.samples[row - 1], self.samples[row]
        rise = (column[row] - column[row - 1]) * (batch - low * parts)
        return column[row - 1] - (-rise // ((high - low) * parts))

    def part_memory_bytes(self, batch: int, parts: int, parameters: int) -> int:
        """Return the memory of a part; samples scale activations alone.

        Every part has the parameters and gradients that were measured with it.
        """
        fixed = min(*self.memory_bytes, _MEASURED_BYTES * parameters)
        activations = tuple(size - fixed for size in self.memory_bytes)
        return fixed + self.at(activations, batch, parts)


def with_measurements(
    graph: ComputationGraph, profile: OperatorProfile, element_bytes: int
) -> ComputationGraph:
    """Return a graph whose operations cost what an operator profile measured.

    Every operation is looked up by its `Operation.profile`. Measurements along the
    samples give its cost by the samples that a part has; between them it is linear,
    and outside proportional to the samples. Of the memory this holds of activations
    alone: every part has the parameters and gradients, as measured, and the state of
    the optimiser, which FlexFlow does not measure. An operation can then be cut along
    the samples alone, and one that was only measured whole cannot be cut.

    Raises `InputError`: the profile does not have some of the operations, which are
    named.
    """
    rows: dict[str, list[Measurement]] = {}
    for row in profile.measurements:
        rows.setdefault(row.name, []).append(row)
    missing = sorted(
        {op.profile or op.kind for op in graph.ops if op.profile not in rows}
    )
    if missing:
        raise InputError(
            f"the profile does not measure every operation of {graph.name}",
            where=profile.path,
            found=", ".join(missing),
            allowed=", ".join(sorted(rows)),
        )
    curves = {name: _curve(found, profile) for name, found in rows.items()}
    source = (
        f"{graph.provenance}; times and memory measured by FlexFlow, {profile.path},"
        f" {profile.gpus} GPUs, batch {profile.batch_size}"
    )
    ops = tuple(
        _measured(op, curves[op.profile], graph.batch_size, element_bytes)
        for op in graph.ops
    )
    return msgspec.structs.replace(graph, ops=ops, provenance=source)


def _curve(rows: list[Measurement], profile: OperatorProfile) -> _Curve:
    """Return the cost of an operator by samples, from its cuts along the samples."""
    by_samples: dict[int, Measurement] = {}
    for row in rows:
        parts = dict(row.parts)
        if set(parts) <= {"sample"}:
            # A part of a batch that does not divide evenly has the larger share.
            by_samples[-(-profile.batch_size // parts.get("sample", 1))] = row
    if not by_samples:
        what = "no measurement is whole, or cut along the samples alone"
        raise InputError(what, where=profile.path, found=rows[0].name)
    samples = sorted(by_samples)
    return _Curve(
        tuple(samples),
        tuple(by_samples[count].forward_ps for count in samples),
        tuple(by_samples[count].backward_ps for count in samples),
        tuple(by_samples[count].memory_bytes for count in samples),
    )


def _measured(
    op: Operation, curve: _Curve, batch: int, element_bytes: int
) -> Operation:
    """Return an operation with the times and memory of a curve."""
    whole_alone = len(curve.samples) == 1
    most = 1 if whole_alone else batch
    parts = [1]
    while parts[-1] * 2 <= most:
        parts.append(parts[-1] * 2)
    split = Split(
        dimension="sample",
        most_parts=most,
        whole_input=False,
        divides_parameters=False,
        parts=tuple(parts),
        forward_ps=tuple(curve.at(curve.forward_ps, batch, count) for count in parts),
        backward_ps=tuple(curve.at(curve.backward_ps, batch, count) for count in parts),
        memory_bytes=tuple(
            op.optimiser_bytes
            + curve.part_memory_bytes(batch, count, op.parameter_bytes // element_bytes)
            for count in parts
        ),
    )
    return msgspec.structs.replace(op, splits=(split,))
