"""The table of models in the documentation says what the layers add up to."""

from __future__ import annotations

from pathlib import Path

from lightloom.instances.workloads import MODELS, layer_graph

PAGE = Path(__file__).parents[3] / "docs" / "spec" / "workloads.md"


def test_the_page_lists_every_model() -> None:
    """Names, parameters, products of a sample, batch and shape parameters."""
    rows = [
        line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")
    ]
    expected = []
    for name, model in MODELS.items():
        graph = layer_graph(model, 1)
        products = graph.flops("attention", "convolution", "dense") // 2
        expected.append(
            f"| `{name}` | {graph.parameters:,} | {products:,} "
            f"| {model.batch_size:,} | {', '.join(model.parameters)} |"
        )
    assert rows[: len(expected)] == expected
