"""NCF: factors of users and items, multiplied in one tower, dense in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import WorkloadModel
from lightloom.instances.workloads.vector_layers import (
    concatenate,
    dense,
    embedding,
    multiply,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.workloads.network import LayerNetwork


def _build(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
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


MODEL = WorkloadModel(
    name="ncf",
    source="NeuMF of He et al., WWW 2017, as MLPerf 0.5 trains it on MovieLens-20M",
    parameters={
        "users": 138_493,
        "items": 26_744,
        "factors": 64,
        "hidden": 256,
    },
    batch_size=65_536,
    build=_build,
)
