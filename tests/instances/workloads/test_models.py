"""Models: parameters and FLOPs out of the layers, against published counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.instances.computation_table import RooflineGpu, gpu_named, roofline
from lightloom.instances.workloads import MODELS, layer_graph, layers, model_named

if TYPE_CHECKING:
    from lightloom.core.model_layer import LayerGraph

PRODUCTS = ("attention", "convolution", "dense")


def graph(name: str, batch_size: int = 1, **parameters: int) -> LayerGraph:
    """Return the layers of a named model."""
    return layer_graph(model_named(name), batch_size, parameters)


@pytest.mark.parametrize(
    ("name", "keys", "parameters"),
    [
        # torchvision prints these two for its models.
        ("resnet-50", {}, 25_557_032),
        ("inception-v3", {}, 27_161_264),
        ("inception-v3", {"auxiliary": 0}, 23_834_568),
        # Hugging Face counts these for BertForPreTraining and GPT-2 medium.
        ("bert-large", {}, 336_226_108),
        ("transformer-350m", {}, 354_823_168),
        # MLPerf 0.5 on MovieLens-20M.
        ("ncf", {}, 31_832_577),
    ],
)
def test_published_parameters(name: str, keys: dict[str, int], parameters: int) -> None:
    """The layers' parameters add up to what the models' own programs count."""
    assert graph(name, **keys).parameters == parameters


@pytest.mark.parametrize(
    ("name", "keys", "giga_macs"),
    [("resnet-50", {}, 4.089), ("inception-v3", {"auxiliary": 0}, 5.713)],
)
def test_published_products(name: str, keys: dict[str, int], giga_macs: float) -> None:
    """Multiplications and additions of an image, to the last digit that is printed."""
    assert round(graph(name, **keys).flops(*PRODUCTS) / 2e9, 3) == giga_macs


def test_products_of_a_transformer_follow_the_closed_form() -> None:
    """24 B s l h^2 (1 + s / 6h) + 2 B s h V, as Narayanan et al. count forward."""
    batch, layers, hidden, positions, words = 3, 40, 6144, 2048, 51_200
    expected = (
        24 * batch * positions * layers * hidden**2
        + 4 * batch * positions**2 * layers * hidden
        + 2 * batch * positions * hidden * words
    )
    assert graph("megatron-18b", batch).flops(*PRODUCTS) == expected
    billions = graph("megatron-18b").parameters / 1e9
    assert round(billions, 1) == 18.4


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("megatron-ce-2.5", 574e6),
        ("megatron-ce-2.4", 1.13e9),
        ("megatron-ce-2.2", 3.57e9),
        ("megatron-ce-2.0", 10.1e9),
        ("megatron-ce-1.8", 32.2e9),
        ("megatron-ce-1.7", 103.1e9),
        ("megatron-ce-1.5", 425.2e9),
        ("megatron-ce-1.3", 2.06e12),
        ("megatron-ce-1.2", 10.7e12),
        ("megatron-ce-1.0", 74.2e12),
        ("dlrm-256", 328e9),
        ("dlrm-1024", 1.3e12),
        ("dlrm-4096", 5.2e12),
        ("dlrm-16384", 21e12),
        ("dlrm-65536", 41.9e12),
    ],
)
def test_sizes_of_ramp(name: str, printed: float) -> None:
    """Tables 9 and 10 print what the layers add up to, rounded to its digits."""
    assert graph(name).parameters == pytest.approx(printed, rel=0.01)


def test_a_batch_scales_the_work_and_not_the_parameters() -> None:
    """Four samples: four times the FLOPs and tensors of one."""
    for name in ("resnet-50", "bert-large", "dlrm-256"):
        one, four = graph(name), graph(name, 4)
        assert four.flops() == 4 * one.flops()
        assert four.elements == tuple(4 * size for size in one.elements)
        assert four.parameters == one.parameters


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_is_a_computation(name: str) -> None:
    """Names are distinct, edges go forward, nothing stands alone, sources are named."""
    model = model_named(name)
    made = roofline(
        layer_graph(model, 2), RooflineGpu(gpu_named("a100"), "fp16", "adam")
    )
    assert all(src < dst for src, dst in zip(made.src, made.dst, strict=True))
    assert set(made.src) | set(made.dst) == set(range(len(made.ops)))
    assert model.source in made.provenance
    assert "A100" in made.provenance


def test_layers_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model stops growing at the limit; nothing is done for the layers beyond."""
    monkeypatch.setattr(layers, "MOST_LAYERS", 100)
    with pytest.raises(InputError, match="too many layers"):
        graph("bert-large", layers=10**8)


def test_bad_questions_are_refused() -> None:
    """Names are suggested, shapes checked."""
    with pytest.raises(InputError, match="did you mean resnet-50"):
        model_named("resnet50")
    with pytest.raises(InputError, match="did you mean layers"):
        graph("bert-large", layer=3)
    with pytest.raises(InputError, match="heads do not divide the channels"):
        graph("bert-large", heads=15)
    with pytest.raises(InputError, match="a shape parameter is negative"):
        graph("bert-large", layers=-1)
    with pytest.raises(InputError, match="invalid batch size"):
        graph("bert-large", 0)
