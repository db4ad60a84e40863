"""Models that recommend: DLRM of several sizes, and neural collaborative filtering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import WorkloadModel
from lightloom.instances.workloads.layers import (
    Tensor,
    concatenate,
    dense,
    embedding,
    multiply,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.workloads.layers import LayerNetwork


def _build_dlrm(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
    """Add the towers; features meet by concatenation, one row of a table a sample."""
    tensor = Tensor(None, (parameters["dense_features"],))
    for number in range(1, parameters["bottom_layers"] + 1):
        tensor = dense(network, f"bottom-{number}", tensor, parameters["bottom_hidden"])
    vectors = tuple(
        embedding(
            network,
            f"table-{number}",
            parameters["rows"],
            parameters["sparse_features"],
            sparse=True,
        )
        for number in range(1, parameters["tables"] + 1)
    )
    tensor = concatenate(network, "interact", (tensor, *vectors))
    for number in range(1, parameters["top_layers"]):
        tensor = dense(network, f"top-{number}", tensor, parameters["top_hidden"])
    dense(network, "predict", tensor, 1)


def _dlrm(
    name: str,
    source: str,
    sizes: tuple[int, int, int],
    *,
    dense_features: int,
    hidden: tuple[int, int],
    layers: tuple[int, int],
    batch_size: int,
) -> WorkloadModel:
    """Return a model of (tables, rows of each, sparse features), bottom and top."""
    parameters = {
        "tables": sizes[0],
        "rows": sizes[1],
        "sparse_features": sizes[2],
        "dense_features": dense_features,
        "bottom_hidden": hidden[0],
        "bottom_layers": layers[0],
        "top_hidden": hidden[1],
        "top_layers": layers[1],
    }
    return WorkloadModel(name, source, parameters, batch_size, _build_dlrm)


_RAMP_TABLE_10 = (
    (256, 8, 4096),
    (1024, 16, 8192),
    (4096, 32, 16_384),
    (16_384, 128, 16_384),
    (65_536, 256, 16_384),
)
"""GPUs, tables, and sparse features; each table has 10 million rows."""

_DLRM = (
    *(
        _dlrm(
            f"dlrm-{gpus}",
            f"RAMP, Table 10, the model of {gpus} GPUs; concatenated features, one"
            " lookup in each table",
            (tables, 10_000_000, sparse_features),
            dense_features=16,
            hidden=(1024, 1024),
            layers=(4, 5),
            batch_size=65_536,
        )
        for gpus, tables, sparse_features in _RAMP_TABLE_10
    ),
    _dlrm(
        "dlrm-topoopt-16",
        "shapes of the operator profile of TopoOpt's DLRM on 16 GPUs, numbers of layers"
        " and tables of its task graph",
        (16, 10_000_000, 256),
        dense_features=1024,
        hidden=(1024, 2048),
        layers=(7, 16),
        batch_size=16_384,
    ),
    _dlrm(
        "dlrm-topoopt-128",
        "shapes of the operator profile of TopoOpt's DLRM on 128 GPUs, as many tables"
        " as the width of its concatenation asks for, layers as on 16 GPUs",
        (64, 10_000_000, 128),
        dense_features=2048,
        hidden=(2048, 4096),
        layers=(7, 16),
        batch_size=65_536,
    ),
)


def _build_ncf(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
    tables = {"users": parameters["users"], "items": parameters["items"]}
    factors, width = parameters["factors"], parameters["hidden"]
    user, item = (
        embedding(network, f"{name}.factors", rows, factors)
        for name, rows in tables.items()
    )
    product = multiply(network, "multiply", user, item)
    halves = tuple(
        embedding(network, f"{name}.dense", rows, width // 2)
        for name, rows in tables.items()
    )
    tensor = concatenate(network, "pair", halves)
    for number, narrower in enumerate((width, width // 2, width // 4), 1):
        tensor = dense(network, f"dense-{number}", tensor, narrower)
    tensor = concatenate(network, "towers", (product, tensor))
    dense(network, "predict", tensor, 1)


_NCF = WorkloadModel(
    name="ncf",
    source="NeuMF of He et al., WWW 2017, as MLPerf 0.5 trains it on MovieLens-20M",
    parameters={
        "users": 138_493,
        "items": 26_744,
        "factors": 64,
        "hidden": 256,
    },
    batch_size=65_536,
    build=_build_ncf,
)

MODEL = (*_DLRM, _NCF)
