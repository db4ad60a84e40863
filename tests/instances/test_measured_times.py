"""Measured times in place of the roofline's: the DLRM of TopoOpt on 16 GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.formats.flexflow import Measurement, OperatorProfile
from lightloom.instances.computation_table import (
    RooflineGpu,
    gpu_named,
    roofline,
    with_measurements,
)
from lightloom.instances.workloads import layer_graph, model_named

if TYPE_CHECKING:
    from lightloom.core.computation import ComputationGraph

# Microseconds forward and backward, and bytes, by name and parts along the samples;
# rows of measures/dlrm16.json of the TopoOpt artifact (Apache-2.0).
ROWS = [
    ("Dense_1024_1024", 1, 924_467, 1_890_510, 75_505_664),
    ("Dense_1024_1024", 4, 281_293, 522_957, 25_174_016),
    ("Dense_1024_1024", 16, 109_363, 253_542, 12_591_104),
    ("Embed_10000000x256", 1, 1_613_000, 3_226_000, 20_539_768_832),
    ("Concat_1", 1, 200_090, 253_850, 335_544_320),
    ("Concat_1", 16, 54_784, 55_296, 20_971_520),
    ("Dense_5120_2048", 1, 4_726_480, 9_239_240, 318_783_488),
    ("Dense_5120_2048", 16, 326_144, 619_315, 98_582_528),
    ("Dense_2048_2048", 1, 1_976_630, 3_853_720, 167_788_544),
    ("Dense_2048_2048", 16, 150_835, 281_395, 41_959_424),
    ("Dense_2048_1", 1, 28_160, 102_093, 67_158_024),
    ("Dense_2048_1", 16, 13_721, 43_315, 4_212_744),
]


def profile(without: str = "") -> OperatorProfile:
    """Return the rows as a profile, those of one operator left out."""
    rows = tuple(
        Measurement(
            name,
            (("sample", parts),) if parts > 1 else (),
            forward_ns * 1000,
            backward_ns * 1000,
            memory_bytes,
        )
        for name, parts, forward_ns, backward_ns, memory_bytes in ROWS
        if name != without
    )
    return OperatorProfile("dlrm16.json", 16_384, 16, rows)


def graph(batch_size: int = 16_384) -> ComputationGraph:
    """Return the DLRM on the roofline of an A100, whose profile this seems to be."""
    layers = layer_graph(model_named("dlrm-topoopt-16"), batch_size)
    return roofline(layers, RooflineGpu(gpu_named("a100"), "fp16", "sgd"))


def test_measurements_replace_the_roofline() -> None:
    """Measured cuts come back exactly; names, edges and parameters stay."""
    plain, measured = graph(), with_measurements(graph(), profile(), 2)
    assert (plain.src, plain.dst, plain.bytes) == (
        measured.src,
        measured.dst,
        measured.bytes,
    )
    first = measured.ops[0]
    assert first.profile == "Dense_1024_1024"
    split = first.split("sample")
    assert [split.forward_time_ps(parts) for parts in (1, 4, 16)] == [
        924_467_000,
        281_293_000,
        109_363_000,
    ]
    assert split.backward_time_ps(4) == 522_957_000
    assert split.part_memory_bytes(16) == 12_591_104
    # 8192 samples lie a third of the way from 4096 to 16,384.
    third = -(-(924_467 - 281_293) * 1000 // 3)
    assert split.forward_time_ps(2) == 281_293_000 + third
    assert "dlrm16.json" in measured.provenance


def test_an_operator_measured_whole_cannot_be_cut() -> None:
    """Embeddings, which were measured whole, are not cut."""
    measured = with_measurements(graph(), profile(), 2)
    tables = [op for op in measured.ops if op.kind == "embedding"]
    assert {op.splits[0].most_parts for op in tables} == {1}
    assert {op.splits[0].forward_time_ps(1) for op in tables} == {1_613_000_000}


def test_the_roofline_is_below_what_was_measured() -> None:
    """Whole and in 16 parts, forward and backward, where the cache does not help.

    Measured again and again, much of the last layer's input of 67 MB stays in the
    40 MB of cache.
    """
    measured = with_measurements(graph(), profile(), 2)
    for bound, real in zip(graph().ops, measured.ops, strict=True):
        if bound.name == "predict":
            continue
        low, high = bound.split("sample"), real.split("sample")
        for parts in {1, min(16, high.most_parts)}:
            assert low.forward_time_ps(parts) <= high.forward_time_ps(parts)
            assert low.backward_time_ps(parts) <= high.backward_time_ps(parts)


def test_the_shapes_are_those_that_were_measured() -> None:
    """The profile's memory is that of our layers, to the byte.

    FlexFlow counts input and output at 2 bytes an element, the parameters and their
    gradients at 4. The shapes of the layers are thus confirmed, the width of the
    concatenation and so the number of tables with them.
    """
    layers = layer_graph(model_named("dlrm-topoopt-16")).layers
    memory = {(name, parts): size for name, parts, _, _, size in ROWS}
    for layer in layers:
        if layer.kind == "embedding":
            continue
        for parts in (1, 16):
            moved = 2 * (layer.input_elements + layer.output_elements) // parts
            expected = moved + 8 * layer.parameters
            assert memory[layer.profile, parts] == expected, layer.name


def test_other_batches_scale_with_the_samples() -> None:
    """Half the batch is a cut in two; a 16th of 512 samples is less than measured."""
    whole = with_measurements(graph(), profile(), 2).ops[0].split("sample")
    half = with_measurements(graph(8192), profile(), 2).ops[0].split("sample")
    assert half.forward_time_ps(1) == whole.forward_time_ps(2)
    small = with_measurements(graph(512), profile(), 2).ops[0].split("sample")
    # 512 samples are half of the fewest that were measured, 1024.
    assert small.forward_time_ps(1) == -(-109_363_000 // 2)


def test_samples_scale_activations_alone() -> None:
    """A table of 10 million rows is as large for a quarter of the samples."""
    table = 8 * 10_000_000 * 256
    by_batch = {
        batch: [
            op.splits[0].part_memory_bytes(1)
            for op in with_measurements(graph(batch), profile(), 2).ops
            if op.kind == "embedding"
        ]
        for batch in (16_384, 4096)
    }
    activations = by_batch[16_384][0] - table
    assert activations > 0
    assert set(by_batch[4096]) == {table + -(-activations // 4)}
    assert sum(by_batch[4096]) > 80 * 10**9


def test_the_optimiser_keeps_its_state_beside_what_was_measured() -> None:
    """Two numbers of 4 bytes a parameter for Adam, in every part."""
    layers = layer_graph(model_named("dlrm-topoopt-16"), 16_384)
    plain = graph().ops[0]
    adam = roofline(layers, RooflineGpu(gpu_named("a100"), "fp16", "adam"))
    least = with_measurements(graph(), profile(), 2).ops[0].splits[0]
    more = with_measurements(adam, profile(), 2).ops[0].splits[0]
    state = 8 * (plain.parameter_bytes // 2)
    for parts in (1, 16):
        assert more.part_memory_bytes(parts) == least.part_memory_bytes(parts) + state


def test_a_profile_without_an_operator_is_refused() -> None:
    """The operator is named, with those that there are."""
    with pytest.raises(InputError, match=r"dlrm16\.json.*found 'Concat_1'"):
        with_measurements(graph(), profile(without="Concat_1"), 2)
