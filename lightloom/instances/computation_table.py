"""``[computation]`` of an instance file: a model to train, and on which GPU."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from lightloom.core.computation import ComputationGraph, Operation, Split
from lightloom.core.errors import InputError, nearest, placed, unknown_name
from lightloom.core.record import convert
from lightloom.core.training import (
    DEFAULT_GPU,
    DEFAULT_OPTIMISER,
    DEFAULT_PRECISION,
    Training,
)
from lightloom.core.units import GIGA, PS_PER_S, PS_PER_US, TERA
from lightloom.formats.flexflow import read_flexflow_profile
from lightloom.formats.onnx_graph import read_onnx
from lightloom.instances.workloads import layer_graph, model_named

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lightloom.core.model_layer import Layer, LayerCut, LayerGraph
    from lightloom.formats.flexflow import Measurement, OperatorProfile


ELEMENT_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "tf32": 4}
"""Precisions, and the size of an element in memory; tf32 is fp32 there."""


@dataclass(frozen=True)
class Gpu:
    """A GPU as the roofline model sees it.

    `flops_per_s`: peak rate of dense matrix products by precision, without sparsity.
    `memory_bytes_per_s`, `memory_bytes`: bandwidth and size of its memory.
    `shortest_ps`: time that no operation undercuts. `source`: document that the numbers
    are from.
    """

    name: str
    flops_per_s: Mapping[str, int]
    memory_bytes_per_s: int
    memory_bytes: int
    source: str
    shortest_ps: int = PS_PER_US

    def peak_flops_per_s(self, precision: str) -> int:
        """Return the peak rate at a precision.

        Raises `InputError` if the GPU does not compute at it.
        """
        if precision not in self.flops_per_s:
            raise InputError(
                f"{self.name} has no rate at this precision",
                found=precision,
                allowed=", ".join(sorted(self.flops_per_s)),
                fix=nearest(precision, self.flops_per_s),
            )
        return self.flops_per_s[precision]

    def roofline_ps(self, flops: int, memory_bytes: int, precision: str) -> int:
        """Return the time of the longer of work at peak rate and traffic of the memory.

        Raises `InputError` if the GPU does not compute at the precision.
        """
        return max(
            -(-flops * PS_PER_S // self.peak_flops_per_s(precision)),
            -(-memory_bytes * PS_PER_S // self.memory_bytes_per_s),
        )


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu(
            name="a100",
            flops_per_s={
                "fp32": 19_500 * GIGA,
                "tf32": 156 * TERA,
                "fp16": 312 * TERA,
                "bf16": 312 * TERA,
            },
            memory_bytes_per_s=2_039 * GIGA,
            memory_bytes=80 * GIGA,
            source="NVIDIA A100 Tensor Core GPU data sheet, SXM4 with 80 GB",
        ),
        Gpu(
            name="h100",
            flops_per_s={
                "fp32": 66_900 * GIGA,
                "tf32": 494_700 * GIGA,
                "fp16": 989_400 * GIGA,
                "bf16": 989_400 * GIGA,
            },
            memory_bytes_per_s=3_350 * GIGA,
            memory_bytes=80 * GIGA,
            source="NVIDIA H100 Tensor Core GPU architecture paper, SXM5 with 80 GB",
        ),
        Gpu(
            name="v100",
            flops_per_s={"fp32": 15_700 * GIGA, "fp16": 125 * TERA},
            memory_bytes_per_s=900 * GIGA,
            memory_bytes=32 * GIGA,
            source="NVIDIA V100 Tensor Core GPU data sheet, SXM2 with 32 GB",
        ),
    )
}
"""GPUs by name."""


def gpu_named(name: str) -> Gpu:
    """Return a GPU by name.

    Raises `InputError` if there is none of that name.
    """
    if name not in GPUS:
        raise unknown_name("GPU", name, GPUS, where="gpu")
    return GPUS[name]


_Count = Annotated[int, Meta(ge=1, le=2**40)]


class _ComputationTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table as a person writes it: one of `model` and `onnx`."""

    model: str | None = None
    onnx: str | None = None
    batch_size: _Count | None = None
    gpu: str = DEFAULT_GPU
    precision: str = DEFAULT_PRECISION
    optimiser: str = DEFAULT_OPTIMISER
    parameters: dict[str, int] = {}
    profile: str | None = None


def read_computation(table: dict[str, object], name: str, folder: Path) -> Training:
    """Return the training of an instance table, every default filled in.

    Raises `InputError`: unknown key; not one of a model and an ONNX file; anything that
    `computation_graph` refuses, as the graph is made once to be sure of it.
    """
    where = f"{name}: computation"
    raw = convert(table, _ComputationTable, where=where)
    if (raw.model is None) == (raw.onnx is None):
        what, allowed = "a computation is given in one way", "model, or onnx"
        raise InputError(what, where=where, found=sorted(table), allowed=allowed)
    if raw.onnx is not None and raw.batch_size is None:
        what, fix = "an ONNX file does not say the batch", "set batch_size"
        raise InputError(what, where=where, fix=fix)
    if raw.onnx is not None and raw.parameters:
        what = "an ONNX file has no shape parameters"
        raise InputError(what, where=f"{where}.parameters", found=raw.parameters)
    training = _filled(raw, where, folder)
    placed(lambda: computation_graph(training), where)
    return training


def computation_graph(training: Training) -> ComputationGraph:
    """Return what a training computes in an iteration.

    The times are those of the roofline model, or measured where there is a profile.

    Raises `InputError`: an unknown model, shape parameter, GPU, precision or optimiser;
    a file that cannot be read; a profile that lacks an operation.
    """
    machine = RooflineGpu(
        gpu_named(training.gpu), training.precision, training.optimiser
    )
    graph = roofline(_layers(training), machine)
    if training.profile is None:
        return graph
    profile = read_flexflow_profile(training.profile)
    return with_measurements(graph, profile, machine.element_bytes)


def _layers(training: Training) -> LayerGraph:
    if training.onnx is not None:
        return read_onnx(training.onnx, training.batch_size)
    model = model_named(str(training.model))
    return layer_graph(model, training.batch_size, training.parameters)


def _filled(raw: _ComputationTable, where: str, folder: Path) -> Training:
    """Return the training of a table, with the model's own batch and shapes."""
    batch_size, parameters = raw.batch_size, raw.parameters
    if raw.model is not None:
        name = raw.model
        model = placed(lambda: model_named(name), where)
        parameters = {**model.parameters, **raw.parameters}
        batch_size = model.batch_size if batch_size is None else batch_size
    paths = {
        key: None if path is None else str((folder / path).resolve())
        for key, path in (("onnx", raw.onnx), ("profile", raw.profile))
    }
    return Training(
        batch_size=batch_size or 1,
        gpu=raw.gpu,
        precision=raw.precision,
        optimiser=raw.optimiser,
        model=raw.model,
        onnx=paths["onnx"],
        parameters=parameters,
        profile=paths["profile"],
    )


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


OPTIMISER_STATES = {"sgd": 0, "momentum": 1, "adam": 2}
"""Optimisers, and the numbers of 4 bytes that each keeps for a parameter."""

_SINGLE_BYTES = 4
"""Bytes of a number in single precision, in which optimisers keep theirs."""


@dataclass(frozen=True)
class RooflineGpu:
    """What a model is trained with.

    `gpu`: GPU that every part runs on. `precision`: precision of parameters, gradients
    and activations: a key of `ELEMENT_BYTES` that the GPU computes at. `optimiser`: a
    key of `OPTIMISER_STATES`. Where elements have 2 bytes the optimiser also keeps a
    copy of the parameters in 4.
    """

    gpu: Gpu
    precision: str
    optimiser: str

    def __post_init__(self) -> None:
        """Refuse a precision or an optimiser that there is not."""
        self.gpu.peak_flops_per_s(self.precision)
        if self.optimiser not in OPTIMISER_STATES:
            raise unknown_name(
                "optimiser", self.optimiser, OPTIMISER_STATES, where="optimiser"
            )

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return ELEMENT_BYTES[self.precision]

    @property
    def parameter_state_bytes(self) -> int:
        """Bytes of a parameter with its gradient and what the optimiser keeps."""
        copy = _SINGLE_BYTES if self.element_bytes < _SINGLE_BYTES else 0
        states = OPTIMISER_STATES[self.optimiser] * _SINGLE_BYTES
        return 2 * self.element_bytes + copy + states


def roofline(graph: LayerGraph, machine: RooflineGpu) -> ComputationGraph:
    """Return the computation graph of layers on a GPU, by the roofline model.

    A part of a layer takes the longest of its FLOPs at the GPU's peak rate, of its
    traffic at the memory's bandwidth, and of the GPU's shortest time; backward its work
    is `Layer.backward` times that. Traffic is what it reads and writes once: input,
    output, the parameters it touches, and scratch twice. So the times are lower bounds
    on those of real kernels whose data no cache holds. Tables hold powers of two and
    the most parts.

    The memory of a part is its output and scratch, its parameters with gradients and
    optimiser state, and its input where parts read the whole of it.

    Parameters
    ----------
    graph
        Layers with their FLOPs and elements, of the whole batch.
    machine
        The GPU with its peak rate, bandwidth and shortest time, bytes of an element,
        and the optimiser.

    References
    ----------
    Williams, Waterman, Patterson, "Roofline: an insightful visual performance model
    for multicore architectures", CACM 52(4), 2009.
    """
    gpu, width = machine.gpu, machine.element_bytes
    source = (
        f"{graph.provenance}; roofline of {gpu.name} at {machine.precision}, "
        f"{machine.optimiser} ({gpu.source})"
    )
    return ComputationGraph(
        name=graph.name,
        batch_size=graph.batch_size,
        ops=_operations(graph.layers, machine),
        src=graph.src,
        dst=graph.dst,
        bytes=tuple(width * elements for elements in graph.elements),
        provenance=source,
    )


def _operations(
    layers: tuple[Layer, ...], machine: RooflineGpu
) -> tuple[Operation, ...]:
    """Return layers with their costs; layers that differ in name share the tables."""
    made: dict[Layer, tuple[Split, ...]] = {}
    found = []
    for layer in layers:
        unnamed = replace(layer, name="", kind="", profile="")
        if unnamed not in made:
            made[unnamed] = tuple(_split(layer, cut, machine) for cut in layer.cuts)
        found.append(_operation(layer, machine, made[unnamed]))
    return tuple(found)


def _operation(
    layer: Layer, machine: RooflineGpu, splits: tuple[Split, ...]
) -> Operation:
    width = machine.element_bytes
    changed = layer.parameters
    if layer.sparse:
        changed = min(changed, layer.touched_parameters)
    return Operation(
        name=layer.name,
        kind=layer.kind,
        parameter_bytes=width * layer.parameters,
        gradient_bytes=width * changed,
        optimiser_bytes=0
        if layer.sparse
        else OPTIMISER_STATES[machine.optimiser] * _SINGLE_BYTES * layer.parameters,
        output_bytes=width * layer.output_elements,
        splits=splits,
        profile=layer.profile,
    )


def _split(layer: Layer, cut: LayerCut, machine: RooflineGpu) -> Split:
    parts = [1]
    while parts[-1] * 2 <= cut.most_parts:
        parts.append(parts[-1] * 2)
    if parts[-1] < cut.most_parts:
        parts.append(cut.most_parts)
    return Split(
        dimension=cut.dimension,
        most_parts=cut.most_parts,
        whole_input=cut.whole_input,
        divides_parameters=cut.divides_parameters,
        parts=tuple(parts),
        forward_ps=tuple(_part_ps(layer, cut, count, machine, 1) for count in parts),
        backward_ps=tuple(
            _part_ps(layer, cut, count, machine, layer.backward) for count in parts
        ),
        memory_bytes=tuple(
            _part_memory_bytes(layer, cut, count, machine) for count in parts
        ),
    )


def _part_ps(
    layer: Layer, cut: LayerCut, parts: int, machine: RooflineGpu, times: int
) -> int:
    """Return how long one of `parts` parts takes that does all of it `times` times."""
    gpu = machine.gpu
    flops = _share(layer.flops, parts) * times
    divided = cut.divides_parameters or layer.lookup
    elements = (
        _share(layer.input_elements, 1 if cut.whole_input else parts)
        + _share(layer.output_elements + 2 * layer.scratch_elements, parts)
        + _share(layer.touched_parameters, parts if divided else 1)
    )
    traffic_bytes = elements * machine.element_bytes * times
    roofline_ps = gpu.roofline_ps(flops, traffic_bytes, machine.precision)
    return max(gpu.shortest_ps, roofline_ps)


def _part_memory_bytes(
    layer: Layer, cut: LayerCut, parts: int, machine: RooflineGpu
) -> int:
    width = machine.element_bytes
    state_bytes = width if layer.sparse else machine.parameter_state_bytes
    kept = _share(layer.output_elements + layer.scratch_elements, parts)
    received = layer.input_elements if cut.whole_input and parts > 1 else 0
    own = _share(layer.parameters, parts if cut.divides_parameters else 1)
    return width * (kept + received) + state_bytes * own


def _share(amount: int, parts: int) -> int:
    """Return the largest of `parts` equal shares of whole things."""
    return -(-amount // parts)
