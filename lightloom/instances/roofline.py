"""Times of layers on a GPU: the longer of computing and of moving the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lightloom.core.computation import ComputationGraph, Operation, Split
from lightloom.core.errors import unknown_name
from lightloom.core.units import PS_PER_S
from lightloom.instances.gpus import ELEMENT_BYTES

if TYPE_CHECKING:
    from lightloom.core.model_layer import Layer, LayerCut, LayerGraph
    from lightloom.instances.gpus import Gpu

OPTIMISER_STATES = {"sgd": 0, "momentum": 1, "adam": 2}
"""Optimisers, and the numbers of 4 bytes that each keeps for a parameter."""

_SINGLE_BYTES = 4


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
    return max(
        gpu.shortest_ps,
        -(-flops * PS_PER_S // gpu.peak_flops_per_s(machine.precision)),
        -(-traffic_bytes * PS_PER_S // gpu.memory_bytes_per_s),
    )


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
