"""ONNX graphs as layers; the files are made here, with the package onnx."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from lightloom.core.errors import FormatError, InputError
from lightloom.formats import onnx_graph
from lightloom.formats.onnx_graph import read_onnx

needs_onnx = pytest.mark.skipif(
    importlib.util.find_spec("onnx") is None, reason="the package onnx is optional"
)


def image_net(
    folder: Path, *, wrong: bool = False, side: int | str = 8, width: int = 10
) -> str:
    """Return the path of a network of images: a convolution to a classifier."""
    from onnx import TensorProto, helper, save

    def weight(name: str, *dims: int) -> Any:  # noqa: ANN401
        return helper.make_tensor(
            name, TensorProto.FLOAT, dims, b"\0" * 4 * _product(dims), raw=True
        )

    nodes = [
        helper.make_node(
            "Conv", ["image", "kernel"], ["a"], name="conv", pads=[1, 1, 1, 1]
        ),
        helper.make_node(
            "BatchNormalization", ["a", "scale", "shift", "mean", "var"], ["b"]
        ),
        helper.make_node("Relu", ["b"], ["c"], name="relu"),
        helper.make_node("Conv", ["c", "narrow"], ["d"], name="point"),
        helper.make_node("Add", ["d", "image"], ["e"], name="sum"),
        helper.make_node("GlobalAveragePool", ["e"], ["f"], name="mean-of-all"),
        helper.make_node("Flatten", ["f"], ["g"]),
        helper.make_node("Gemm", ["g", "matrix", "bias"], ["classes"], name="out"),
    ]
    held = [
        weight("kernel", 16, 3, 3, 3),
        *(weight(name, 16) for name in ("scale", "shift", "mean", "var")),
        weight("narrow", 4 if wrong else 3, 16, 1, 1),
        weight("matrix", 3, width),
        weight("bias", width),
    ]
    image = helper.make_tensor_value_info(
        "image", TensorProto.FLOAT, ["batch", 3, side, 8]
    )
    classes = helper.make_tensor_value_info(
        "classes", TensorProto.FLOAT, ["batch", width]
    )
    graph = helper.make_graph(nodes, "net", [image], [classes], held)
    path = folder / "net.onnx"
    opset = helper.make_opsetid("", 17)
    save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))
    return str(path)


def word_net(folder: Path) -> str:
    """Return the path of a network of words whose table is its last matrix too."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [
        helper.make_node("Gather", ["table", "words"], ["a"], name="look-up"),
        helper.make_node("MatMul", ["a", "square"], ["b"], name="mix"),
        helper.make_node("Transpose", ["b"], ["c"], name="turn", perm=[0, 2, 1]),
        helper.make_node("MatMul", ["b", "c"], ["d"], name="scores"),
        helper.make_node("Softmax", ["d"], ["e"], name="softmax"),
        helper.make_node("MatMul", ["e", "b"], ["f"], name="mixed"),
        helper.make_node("Transpose", ["table"], ["turned"], perm=[1, 0]),
        helper.make_node("Gemm", ["flat", "table"], ["out"], name="head", transB=1),
        helper.make_node("Reshape", ["f", "shape"], ["flat"]),
    ]
    nodes[-2:] = reversed(nodes[-2:])
    held = [
        numpy_helper.from_array(np.zeros((100, 4), np.float32), "table"),
        numpy_helper.from_array(np.zeros((4, 4), np.float32), "square"),
        numpy_helper.from_array(np.array([-1, 4]), "shape"),
    ]
    words = helper.make_tensor_value_info("words", TensorProto.INT64, ["batch", 6])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "net", [words], [out], held)
    path = folder / "words.onnx"
    opset = helper.make_opsetid("", 17)
    save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))
    return str(path)


def _product(dims: tuple[int, ...]) -> int:
    total = 1
    for length in dims:
        total *= length
    return total


@needs_onnx
def test_an_image_network_by_hand(tmp_path: Path) -> None:
    """Shapes of a batch of 5; views are no layers; statistics are not trained."""
    graph = read_onnx(image_net(tmp_path), 5)
    conv, norm, relu, point, total, mean, out = graph.layers
    assert conv.flops == 2 * 5 * 16 * 64 * 27
    assert (conv.parameters, norm.parameters, point.parameters) == (16 * 27, 32, 48)
    assert (out.parameters, out.flops) == (40, 2 * 5 * 3 * 10)
    assert graph.parameters == 16 * 27 + 32 + 48 + 40
    assert (conv.input_elements, conv.output_elements) == (5 * 192, 5 * 1024)
    assert total.input_elements == 2 * 5 * 192
    assert [layer.name for layer in (relu, mean)] == ["relu", "mean-of-all"]
    assert list(zip(graph.src, graph.dst, graph.elements, strict=True)) == [
        (0, 1, 5120),
        (1, 2, 5120),
        (2, 3, 5120),
        (3, 4, 960),
        (4, 5, 960),
        (5, 6, 15),
    ]
    assert [(cut.dimension, cut.most_parts) for cut in conv.cuts] == [
        ("sample", 5),
        ("spatial", 8),
        ("channel", 16),
    ]


@needs_onnx
def test_a_word_network_by_hand(tmp_path: Path) -> None:
    """A shared table counts once, where it is looked up first."""
    graph = read_onnx(word_net(tmp_path), 5)
    layers = {layer.name: layer for layer in graph.layers}
    assert "head" in layers
    assert len(layers) == 7
    table, head = layers["look-up"], layers["head"]
    assert (table.kind, table.lookup, table.parameters) == ("embedding", True, 400)
    assert table.touched_parameters == 5 * 6 * 4
    assert (head.parameters, head.touched_parameters) == (0, 400)
    assert head.flops == 2 * 5 * 6 * 4 * 100
    assert layers["mix"].kind == "dense"
    assert layers["scores"].kind == "attention"
    assert layers["scores"].flops == 2 * 5 * 6 * 6 * 4
    assert graph.parameters == 400 + 16


@needs_onnx
def test_every_output_of_a_node_counts(tmp_path: Path) -> None:
    """A split in two unequal pieces, which are joined again."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    sizes = numpy_helper.from_array(np.array([2, 3]), "sizes")
    nodes = [
        helper.make_node("Split", ["x", "sizes"], ["a", "b"], name="cut", axis=1),
        helper.make_node("Concat", ["b", "a"], ["c"], name="join", axis=1),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        for name, dims in (("x", ["n", 5, 1, 1]), ("c", ["n", 5, 1, 1]))
    ]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [sizes])
    opset = helper.make_opsetid("", 17)
    path = tmp_path / "split.onnx"
    save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))
    made = read_onnx(path, 7)
    assert [layer.output_elements for layer in made.layers] == [35, 35]
    assert (made.src, made.dst, made.elements) == ((0,), (1,), (35,))
    assert made.layers[1].backward == 1


@needs_onnx
def test_a_batch_scales_everything_but_the_parameters(tmp_path: Path) -> None:
    """A batch of 7 has 7 times the FLOPs and bytes of one sample."""
    path = image_net(tmp_path)
    one, seven = read_onnx(path, 1), read_onnx(path, 7)
    assert seven.flops() == 7 * one.flops()
    assert seven.parameters == one.parameters


@needs_onnx
def test_a_file_is_decoded_once_and_inferred_once_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strategies that ask again get the same layers; a file that changes is read."""
    import onnx

    inferred: list[int] = []
    infer = onnx.shape_inference.infer_shapes

    def counted(model: Any, **options: bool) -> Any:  # noqa: ANN401
        inferred.append(model.ByteSize())
        return infer(model, **options)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", counted)
    opened: list[str] = []
    open_file = onnx_graph.open_reading
    monkeypatch.setattr(
        onnx_graph,
        "open_reading",
        lambda path, **limits: opened.append(path) or open_file(path, **limits),
    )
    path = image_net(tmp_path, width=2**12)
    assert [read_onnx(path, batch).batch_size for batch in (3, 5, 3, 5)] == [3, 5, 3, 5]
    assert (opened, len(inferred)) == ([path], 2)
    assert max(inferred) < 4 * 2**12 < Path(path).stat().st_size
    changed = image_net(tmp_path)
    assert len(read_onnx(changed, 3).layers) == len(read_onnx(path, 3).layers)
    assert len(opened) == 2


@needs_onnx
def test_bad_files_are_refused(tmp_path: Path) -> None:
    """Missing, not ONNX, shapes that do not fit, and one that is open."""
    with pytest.raises(InputError, match="cannot read"):
        read_onnx(tmp_path / "none.onnx", 1)
    (tmp_path / "bad.onnx").write_bytes(b"\x08\xff\xff not a model")
    with pytest.raises(FormatError, match="not an ONNX file"):
        read_onnx(tmp_path / "bad.onnx", 1)
    with pytest.raises(FormatError, match="shapes do not fit"):
        read_onnx(image_net(tmp_path, wrong=True), 1)
    with pytest.raises(FormatError, match=r"input image, axis 2.*found 'height'"):
        read_onnx(image_net(tmp_path, side="height"), 1)


def test_without_the_package_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is one line that names the extra."""
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"pip install 'lightloom\[onnx\]'"):
        read_onnx(tmp_path / "net.onnx", 1)
