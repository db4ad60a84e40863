"""Models of the TopoOpt artifact against what its profiles and task graphs say.

Rows of `measures/*.json` and counts of `taskgraphs/*.json` (Apache-2.0).
"""

from __future__ import annotations

from collections import Counter

import pytest

from lightloom.instances.workloads import layer_graph, model_named

# Model, samples of a part, and memory that the profile gives of a part.
MEMORY = [
    ("transformer-topoopt-16", "MultiHeadAttention_76812", 64, 119_537_664),
    ("transformer-topoopt-16", "MultiHeadAttention_76812", 256, 421_527_552),
    ("transformer-topoopt-16", "ElementBinary_31", 64, 75_497_472),
    ("transformer-topoopt-16", "Dense_768_768", 64, 55_056_384),
    ("transformer-topoopt-16", "Dense_768_1", 64, 25_204_744),
    ("transformer-topoopt-128", "MultiHeadAttention_102416", 64, 67_108_864),
    ("transformer-topoopt-128", "ElementBinary_31", 64, 25_165_824),
    ("transformer-topoopt-128", "Dense_1024_1024", 64, 25_174_016),
    ("transformer-topoopt-128", "Dense_1024_1", 64, 8_405_000),
    ("dlrm-topoopt-128", "Concat_1", 512, 20_971_520),
    ("dlrm-topoopt-128", "Dense_10240_4096", 512, 350_257_152),
    ("dlrm-topoopt-128", "Dense_2048_2048", 512, 37_765_120),
]


@pytest.mark.parametrize(("model", "operator", "samples", "memory_bytes"), MEMORY)
def test_shapes_explain_the_memory_to_the_byte(
    model: str, operator: str, samples: int, memory_bytes: int
) -> None:
    """Input and output at 2 bytes an element, parameters and gradients at 4."""
    layers = layer_graph(model_named(model), samples).layers
    found = [layer for layer in layers if layer.profile == operator]
    assert found
    for layer in found:
        moved = layer.input_elements + layer.output_elements
        assert 2 * moved + 8 * layer.parameters == memory_bytes


# Operators that the task graphs run on all GPUs, by number.
OPERATORS = [
    (
        "transformer-topoopt-16",
        {
            "MultiHeadAttention_76812": 18,
            "ElementBinary_31": 18,
            "Dense_768_768": 24,
            "Dense_768_1": 1,
        },
    ),
    (
        "dlrm-topoopt-16",
        {
            "Dense_1024_1024": 7,
            "Embed_10000000x256": 16,
            "Concat_1": 1,
            "Dense_5120_2048": 1,
            "Dense_2048_2048": 14,
            "Dense_2048_1": 1,
        },
    ),
]


@pytest.mark.parametrize(("model", "numbers"), OPERATORS)
def test_operators_are_as_many_as_in_the_task_graph(
    model: str, numbers: dict[str, int]
) -> None:
    """Every operator of the model, and no other."""
    layers = layer_graph(model_named(model), 1).layers
    assert Counter(layer.profile for layer in layers) == numbers


@pytest.mark.parametrize(
    ("model", "reduced"),
    [
        (
            "transformer-topoopt-16",
            {3072: 25, 2_359_296: 24, 9_437_184: 18, 4: 1},
        ),
        (
            "dlrm-topoopt-16",
            {
                10_240_000_000: 16,
                8192: 15,
                16_777_216: 14,
                4_194_304: 7,
                4096: 7,
                41_943_040: 1,
                8192 + 4: 1,
            },
        ),
    ],
)
def test_all_reduces_carry_the_parameters(model: str, reduced: dict[int, int]) -> None:
    """Buffers of the task graph's all-reduces, at 4 bytes a parameter."""
    total = sum(size * count for size, count in reduced.items())
    assert 4 * layer_graph(model_named(model), 1).parameters == total
