"""RAMP's Tables 9 and 10 as printed: which of their columns follow from the others."""

from __future__ import annotations

import pytest

from lightloom.instances.workloads import model_named

# Loss, dimension, layers, global batch, parameters, of a GPU, data and model
# parallelism, bytes of a model-parallel message.
TABLE_9 = [
    ("2.2", 2304, 56, 4896, 3.57e9, 893e6, 32, 4, 150e6),
    ("2.0", 4096, 50, 7168, 10.1e9, 1.2e9, 64, 8, 268e6),
    ("1.8", 6144, 71, 10880, 32.2e9, 1e9, 64, 32, 402e6),
    ("1.7", 8192, 128, 16896, 103.1e9, 811e6, 256, 128, 1.11e9),
    ("1.5", 16384, 132, 14080, 425.2e9, 843e6, 128, 512, 3.69e9),
    ("1.3", 32768, 160, 1024, 2.06e12, 1.03e9, 32, 2048, 2.15e9),
    ("1.2", 131072, 52, 64, 10.7e12, 1.35e9, 8, 8192, 2.15e9),
    ("1.0", 262144, 90, 4, 74.2e12, 1.27e9, 1, 65536, 2.15e9),
]
MICRO_BATCHES = {"2.2", "2.0", "1.8"}
"""Losses whose message is that of 32 samples, and not of the local batch."""

# GPUs, tables, rows, sparse features, of a part, batch of a GPU, parameters.
TABLE_10 = [
    (256, 8, 8e7, 4096, 128, 8192, 328e9),
    (1024, 16, 1.6e8, 8192, 128, 4096, 1.3e12),
    (4096, 32, 3.2e8, 16384, 128, 3072, 5.2e12),
    (16384, 128, 1.28e9, 16384, 128, 512, 21e12),
    (65536, 256, 2.56e9, 16384, 64, 256, 41.9e12),
]


@pytest.mark.parametrize("row", TABLE_9, ids=lambda row: row[0])
def test_messages_of_table_9(
    row: tuple[str, int, int, int, *tuple[float, ...]],
) -> None:
    """Two bytes of every activation of the local batch, but for three rows."""
    loss, dimension, layers, batch, parameters, _, data, _, message = row
    model = model_named(f"megatron-ce-{loss}").parameters
    assert (model["hidden"], model["layers"]) == (dimension, layers)
    assert 12 * layers * dimension**2 == pytest.approx(parameters, rel=0.005)
    local = batch / data
    of_local = 2 * model["positions"] * dimension * local
    follows = of_local == pytest.approx(message, rel=0.01)
    assert follows == (loss not in MICRO_BATCHES)
    if loss in MICRO_BATCHES:
        micro = 2 * model["positions"] * dimension * 32
        assert micro == pytest.approx(message, rel=0.01)
        assert local % 32


def test_parameters_of_a_gpu_in_table_9() -> None:
    """They are up to 12 % more than the model's over the model parallelism."""
    excess = {row[0]: row[5] * row[7] / row[4] - 1 for row in TABLE_9}
    assert max(excess, key=lambda loss: excess[loss]) == "1.0"
    assert excess["1.0"] == pytest.approx(0.12, abs=0.01)
    assert all(share < 0.01 for loss, share in excess.items() if loss >= "1.8")


def test_batches_and_rows_of_table_10() -> None:
    """Rows are of all tables together; one batch is not the global one's share."""
    odd = [row[0] for row in TABLE_10 if row[5] != 65_536 // row[1]]
    assert odd == [4096]
    for gpus, tables, rows, features, part, _, parameters in TABLE_10:
        assert rows / tables == 1e7
        assert rows * features == pytest.approx(parameters, rel=0.01)
        assert tables * features // part == gpus
        model = model_named(f"dlrm-{gpus}").parameters
        assert (model["tables"], model["sparse_features"]) == (tables, features)
        assert model["rows"] == 10**7
