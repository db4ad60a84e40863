"""Small trainings and fabrics for tests."""

from __future__ import annotations

from lightloom.core.training import Training
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_tiers import ElectricalCluster, IdealSwitch
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac

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


def grids(side: int) -> dict[str, Ring2d | Lightpath | Sipac]:
    """Return fabrics of ``side * side`` nodes that know rows and columns."""
    return {
        "ring-2d": Ring2d(
            rows=side, cols=side, row_wavelengths=12, column_wavelengths=8
        ),
        "lightpath": Lightpath(rows=side, cols=side, lasers=8),
        "narrow lightpath": Lightpath(rows=side, cols=side, lasers=8, waveguides=1),
        "sipac": Sipac(radix=side, wavelengths_per_peer=4),
        "fixed sipac": Sipac(radix=side, switching="fixed"),
    }
