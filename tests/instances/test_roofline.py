"""Rooflines: times and memory of parts, by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.core.model_layer import Layer, LayerCut, LayerGraph
from lightloom.instances.computation_table import RooflineGpu, gpu_named, roofline

if TYPE_CHECKING:
    from lightloom.core.computation import Operation

A100 = gpu_named("a100")

DENSE = Layer(
    name="dense",
    kind="dense",
    flops=2 * 4096 * 1024 * 8192,
    parameters=1024 * 8192,
    touched_parameters=1024 * 8192,
    input_elements=4096 * 1024,
    output_elements=4096 * 8192,
    cuts=(
        LayerCut("sample", 4096),
        LayerCut("channel", 8192, whole_input=True, divides_parameters=True),
    ),
)


def operation(layer: Layer, machine: RooflineGpu) -> Operation:
    """Return one layer as an operation."""
    graph = LayerGraph("net", 4096, (layer,), (), (), (), "by hand")
    return roofline(graph, machine).ops[0]


def test_a_product_is_bound_by_computing_whole_and_by_memory_in_parts() -> None:
    """4096 samples, 1024 to 8192 channels, on 312 TFLOP/s and 2039 GB/s."""
    op = operation(DENSE, RooflineGpu(A100, "fp16", "sgd"))
    sample, channel = op.splits
    # 2 * 4096 * 1024 * 8192 / 312e12 s = 220.25 us.
    assert sample.forward_time_ps(1) == -(-DENSE.flops * 10**12 // (312 * 10**12))
    assert sample.backward_time_ps(1) == -(-2 * DENSE.flops // 312)
    # One sample: a copy of the parameters outweighs all: 2 * (1024 * 8193 + 8192) B.
    traffic_bytes = 2 * (1024 + 8192 + 1024 * 8192)
    assert sample.forward_time_ps(4096) == -(-traffic_bytes * 1000 // 2039)
    # One channel reads the whole input, and 1024 parameters.
    traffic_bytes = 2 * (4096 * 1024 + 4096 + 1024)
    assert channel.forward_time_ps(8192) == -(-traffic_bytes * 1000 // 2039)


def test_nothing_is_shorter_than_a_microsecond() -> None:
    """A layer that does next to nothing, forward and backward."""
    tiny = Layer("tiny", "add", 1, 0, 0, 2, 1, (LayerCut("sample", 1),))
    split = operation(tiny, RooflineGpu(A100, "fp16", "sgd")).splits[0]
    assert (split.forward_ps, split.backward_ps) == ((10**6,), (10**6,))


@pytest.mark.parametrize(
    ("precision", "optimiser", "state_bytes"),
    [
        ("fp32", "sgd", 8),
        ("fp32", "momentum", 12),
        ("fp32", "adam", 16),
        # 2 for the parameter, 2 for its gradient, 4 for the copy, 8 for the moments:
        # the 16 bytes of Rajbhandari et al., SC 2020.
        ("bf16", "adam", 16),
        ("fp16", "sgd", 8),
    ],
)
def test_memory_of_a_part(precision: str, optimiser: str, state_bytes: int) -> None:
    """Copies of parameters stay whole, slices shrink, whole inputs are received."""
    machine = RooflineGpu(A100, precision, optimiser)
    sample, channel = operation(DENSE, machine).splits
    width = machine.element_bytes
    made, own = width * 4096 * 8192, state_bytes * 1024 * 8192
    assert sample.part_memory_bytes(1) == made + own
    assert sample.part_memory_bytes(4) == made // 4 + own
    received = width * 4096 * 1024
    assert channel.part_memory_bytes(4) == made // 4 + own // 4 + received


def test_a_looked_up_table_moves_its_rows_alone() -> None:
    """A million rows of 64, looked up 4096 times, sparse gradients."""
    table = Layer(
        name="table",
        kind="embedding",
        flops=0,
        parameters=64 * 10**6,
        touched_parameters=64 * 4096,
        input_elements=0,
        output_elements=64 * 4096,
        cuts=(LayerCut("sample", 4096),),
        lookup=True,
        sparse=True,
    )
    op = operation(table, RooflineGpu(A100, "fp32", "sgd"))
    assert op.gradient_bytes == 4 * 64 * 4096
    assert op.parameter_bytes == 4 * 64 * 10**6
    assert op.splits[0].forward_time_ps(1) == -(-2 * 4 * 64 * 4096 * 1000 // 2039)
    # Rows alone: no gradient of the whole table, no optimiser state.
    assert op.splits[0].part_memory_bytes(1) == 4 * (64 * 4096 + 64 * 10**6)


def test_negative_amounts_are_refused() -> None:
    """The layer and its field are named."""
    with pytest.raises(InputError, match=r"tiny\.flops: negative; found -1"):
        Layer("tiny", "add", -1, 0, 0, 2, 1, (LayerCut("sample", 1),))


def test_bad_machines_are_refused() -> None:
    """Unknown names, and a precision that a GPU does not have."""
    with pytest.raises(InputError, match="allowed: a100, h100, v100"):
        gpu_named("k80")
    with pytest.raises(
        InputError, match=r"v100 has no rate at this precision.*fp16, fp32"
    ):
        RooflineGpu(gpu_named("v100"), "bf16", "sgd")
    with pytest.raises(InputError, match="did you mean adam"):
        RooflineGpu(A100, "fp16", "adamw")
