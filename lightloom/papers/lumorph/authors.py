"""The LUMORPH authors' constants and values, and the closed forms behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import (
    GIB,
    MIB,
    PS_PER_US,
    format_bytes,
    transmission_ps,
)
from lightloom.papers.claims import near
from lightloom.papers.lumorph.rack import (
    ideal_switch,
    lightpath,
    measure,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import AnyFabric
    from lightloom.papers.claims import Comparison

GPUS = 256
RATE_BITS_PER_S = 300 * GIB * 8
"""They take 300 GiB/s for a GPU, not 300 GB/s."""
VALUES_US = {
    1 * MIB: {"ring": 363.5, "lumorph-2": 76.9, "lumorph-4": 54.2},
    64 * MIB: {"ring": 772.0, "lumorph-2": 485.4, "lumorph-4": 599.0},
    256 * MIB: {"ring": 2017.0, "lumorph-2": 1731.0, "lumorph-4": 2259.0},
}
"""Time of an all-reduce on 256 GPUs by buffer and algorithm."""


def racks() -> dict[str, AnyFabric]:
    """Return the fabric that the authors' constants stand for, by algorithm.

    LUMORPH-4 is charged 5 us, not 3.7, and each of its three peers gets a quarter
    of the rate: as if 12 of the 16 lasers were lit.
    """
    per_laser = RATE_BITS_PER_S // 16
    return {
        "ring": ideal_switch(GPUS, bits_per_second_per_node=RATE_BITS_PER_S),
        "lumorph-2": lightpath(GPUS, bits_per_second_per_wavelength=per_laser),
        "lumorph-4": lightpath(
            GPUS,
            bits_per_second_per_wavelength=per_laser,
            lasers=12,
            reconfiguration_ps=5 * PS_PER_US,
        ),
    }


def comparisons() -> Iterator[Comparison]:
    """Yield the authors' values beside replays with the authors' constants."""
    for algorithm, fabric in racks().items():
        for size, values in VALUES_US.items():
            yield near(
                f"{algorithm}, {format_bytes(size)}, {GPUS} GPUs, every round charged,"
                " the authors' constants",
                values[algorithm],
                measure(fabric, size, algorithm).every_round_us,
                "us",
            )


def ring_ps(gpus: int, size: int) -> int:
    """Return 2 (N - 1) (alpha + B / (N r)), a ring on the switch; N divides B."""
    switch = ideal_switch(gpus)
    block_ps = transmission_ps(size // gpus, switch.node_bits_per_s)
    return 2 * (gpus - 1) * (switch.alpha_ps + block_ps)


def lumorph_2_ps(gpus: int, size: int) -> int:
    """Return LUMORPH-2 with every round charged, N a power of two that divides B.

    The sum over rounds of alpha + delay + B / (2^i r), twice.
    """
    rack = lightpath(gpus)
    rounds = gpus.bit_length() - 1
    data_ps = sum(
        transmission_ps(size >> (power + 1), rack.node_bits_per_s)
        for power in range(rounds)
    )
    return 2 * (rounds * (rack.alpha_ps + rack.reconfiguration_ps) + data_ps)
