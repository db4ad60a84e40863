"""Baselines: fabrics of as many nodes and the same rate, to compare a training on."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from lightloom.core.units import GIGA
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_tiers import ElectricalCluster, IdealSwitch
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric

_SWITCHES = 16
"""Switches that divide the rate of a node: those of the papers' examples."""
_LASERS = 16
"""Lasers that do so on other fabrics."""
_WAVELENGTH_BITS_PER_S = 25 * GIGA
"""Of SiP-ML's ring."""


def sip_ring(nodes: int, bits_per_second: int, alpha_ps: int) -> Ring:
    """Return SiP-ML's ring: wavelengths of 25 Gb/s, both ways, one transceiver each.

    As many wavelengths as fit the rate, one at least.

    `alpha_ps`: fixed cost of a transfer in picoseconds.
    """
    return Ring(
        nodes=nodes,
        wavelengths=max(1, bits_per_second // _WAVELENGTH_BITS_PER_S),
        directions=2,
        shared_transceivers=True,
        alpha_ps=alpha_ps,
    )


def baselines(
    nodes: int,
    bits_per_second: int,
    *,
    alpha_ps: int,
    uplinks_gbit: tuple[int, ...] = (400,),
) -> dict[str, AnyFabric]:
    """Return the fabrics of SiP-ML, section 4.1, by name.

    `uplinks_gbit`: rates of a server's uplink, in Gb/s, a cluster for each.
    """
    named: dict[str, AnyFabric] = {
        "ideal-switch": IdealSwitch(
            nodes=nodes, bits_per_second_per_node=bits_per_second, alpha_ps=alpha_ps
        )
    }
    for gbit in uplinks_gbit:
        named[f"electrical-cluster {gbit}G"] = ElectricalCluster(
            nodes=nodes,
            bits_per_second_per_node=bits_per_second,
            bits_per_second_per_uplink=gbit * GIGA,
            alpha_ps=alpha_ps,
        )
    named["ocs"] = Ocs(
        nodes=nodes,
        switches=_SWITCHES,
        bits_per_second_per_node=bits_per_second,
        alpha_ps=alpha_ps,
    )
    named["ring"] = sip_ring(nodes, bits_per_second, alpha_ps)
    return named


def compared_fabrics(fabric: AnyFabric, nodes: int) -> dict[str, AnyFabric]:
    """Return the fabrics that a training is compared on, by name."""
    rate, alpha_ps = fabric.node_bits_per_s, fabric.alpha_ps
    named = baselines(nodes, rate, alpha_ps=alpha_ps)
    return named | grid_baselines(nodes, rate, alpha_ps=alpha_ps)


def grid_baselines(
    nodes: int, bits_per_second: int, *, alpha_ps: int
) -> dict[str, AnyFabric]:
    """Return fabrics on a grid of as many nodes, by name; the grid is nearly square.

    A LIGHTPATH rack of 16 lasers a tile, which divide the rate between them, and a
    2D ring of SiP-ML's wavelengths, of which rows have half, rounded up. Without a
    wavelength for each direction of the grid there is no 2D ring.

    `nodes`: number of nodes; the rows are their largest divisor that is at most the
    square root. `alpha_ps`: fixed cost of a transfer in picoseconds.
    """
    rows = max(size for size in range(1, isqrt(nodes) + 1) if not nodes % size)
    cols = nodes // rows
    named: dict[str, AnyFabric] = {
        f"lightpath {rows} x {cols}": Lightpath(
            rows=rows,
            cols=cols,
            lasers=_LASERS,
            bits_per_second_per_wavelength=max(1, bits_per_second // _LASERS),
            alpha_ps=alpha_ps,
        )
    }
    columns = bits_per_second // _WAVELENGTH_BITS_PER_S // 2
    if columns:
        named[f"ring-2d {rows} x {cols}"] = Ring2d(
            rows=rows,
            cols=cols,
            row_wavelengths=bits_per_second // _WAVELENGTH_BITS_PER_S - columns,
            column_wavelengths=columns,
            directions=2,
            shared_transceivers=True,
            alpha_ps=alpha_ps,
        )
    return named
