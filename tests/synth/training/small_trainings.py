"""Small trainings and fabrics for tests."""

from __future__ import annotations

from lightloom.core.training import Training
from lightloom.instances.fabrics.electrical_cluster import ElectricalCluster
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring

RATE = 400 * 10**9


def training(batch_size: int = 16, **shape: int) -> Training:
    """Return a Transformer of two layers on a V100."""
    parameters = {
        "layers": 2,
        "hidden": 256,
        "heads": 8,
        "positions": 128,
        "vocabulary": 1000,
        **shape,
    }
    return Training(
        batch_size=batch_size,
        gpu="v100",
        precision="fp16",
        optimiser="adam",
        model="transformer-350m",
        parameters=parameters,
    )


def fabrics(nodes: int) -> dict[str, IdealSwitch | ElectricalCluster | Ocs | Ring]:
    """Return a fabric of each kind that trainings run on."""
    return {
        "ideal-switch": IdealSwitch(nodes=nodes, bits_per_second_per_node=RATE),
        "electrical-cluster": ElectricalCluster(
            nodes=nodes,
            bits_per_second_per_node=RATE,
            bits_per_second_per_uplink=RATE // 4,
        ),
        "ocs": Ocs(nodes=nodes, switches=8, bits_per_second_per_node=RATE),
        "ring": Ring(nodes=nodes, wavelengths=32, directions=2, reach=6),
    }
