"""What devices of a fabric are set to while circuits are held: tiles, transceivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lightloom.core.circuit import ALONE
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ramp import Ramp

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import AnyFabric

SIDES = ("up", "left", "right", "down")
"""Sides of a tile, in the order in which edges leave it."""
_LASER, _PHOTODIODE = "laser", "photodiode"


class TileSwitch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Light that a tile's switches (Mach-Zehnder interferometers) pass on.

    `enters`, `leaves`: a side of the tile; or ``laser``, and ``photodiode``.
    `waveguides_in`, `waveguides_out`: the waveguide, or fibre, of each colour at these
    sides.
    """

    enters: str
    leaves: str
    wavelengths: tuple[int, ...]
    waveguides_in: tuple[int, ...] = ()
    waveguides_out: tuple[int, ...] = ()


class TileSetting(msgspec.Struct, frozen=True):
    """What a tile is set to.

    `lasers`, `photodiodes`: those in use, by their wavelengths. `switches`: what its
    switches pass on.
    """

    lasers: tuple[int, ...] = ()
    photodiodes: tuple[int, ...] = ()
    switches: tuple[TileSwitch, ...] = ()


def tile_settings(fabric: AnyFabric, circuits: Circuits) -> dict[int, TileSetting]:
    """Return what each tile is set to, tiles without light left out.

    Files do not say which waveguide of an edge carries a circuit: each wavelength of a
    circuit takes the first one on which it is free, in the order of the circuits.
    """
    if not isinstance(fabric, Lightpath):
        return {}
    none: tuple[int, ...] = ()
    switches: dict[int, dict[TileSwitch, None]] = {}
    lanes = _Waveguides()
    wavelengths, routes = circuits.lists("wavelengths"), circuits.lists("route")
    for number in range(len(circuits)):
        colours = tuple(sorted(int(each) for each in wavelengths[number]))
        group = ALONE if circuits.multicast is None else int(circuits.multicast[number])
        route = routes[number]
        edges = fabric.edge_ids(route[:-1], route[1:]).tolist()
        enters, lane_in = _LASER, none
        for tile, edge in zip(route.tolist(), [*edges, None], strict=True):
            leaves, lane_out = _PHOTODIODE, none
            if edge is not None:
                leaves, lane_out = SIDES[edge % 4], lanes.take(edge, colours, group)
            passed = TileSwitch(enters, leaves, colours, lane_in, lane_out)
            switches.setdefault(tile, {})[passed] = None
            if edge is not None:  # what leaves to the right comes in from the left
                enters, lane_in = SIDES[3 - edge % 4], lane_out
    return {tile: _setting(tuple(all_of)) for tile, all_of in sorted(switches.items())}


def _setting(switches: tuple[TileSwitch, ...]) -> TileSetting:
    """Return a tile with its lasers and photodiodes."""
    lasers = {c for one in switches if one.enters == _LASER for c in one.wavelengths}
    diodes = {
        c for one in switches if one.leaves == _PHOTODIODE for c in one.wavelengths
    }
    return TileSetting(tuple(sorted(lasers)), tuple(sorted(diodes)), switches)


class _Waveguides:
    """Which waveguides of each edge are taken, by wavelength."""

    def __init__(self) -> None:
        self._used: dict[tuple[int, int], int] = {}
        self._shared: dict[tuple[int, int, int], int] = {}

    def take(self, edge: int, colours: tuple[int, ...], group: int) -> tuple[int, ...]:
        """Return a waveguide for each wavelength; a multicast circuit has one."""
        taken = []
        for colour in colours:
            key = (edge, colour, group)
            if group != ALONE and key in self._shared:
                taken.append(self._shared[key])
                continue
            lane = self._used.get((edge, colour), 0)
            self._used[edge, colour] = lane + 1
            self._shared[key] = lane
            taken.append(lane)
        return tuple(taken)


def tuning(fabric: AnyFabric, circuits: Circuits) -> dict[str, IntArray]:
    """Return what the ends of circuits are tuned to, beyond the columns of a file.

    `fabric`: RAMP has the ``wavelength`` of each circuit, and the groups of both ends:
    the path that the transceiver opens. Other fabrics have nothing.
    """
    if not isinstance(fabric, Ramp):
        return {}
    return {
        "wavelength": fabric.wavelength(circuits.src, circuits.dst),
        "src_group": fabric.coordinates(circuits.src)[0],
        "dst_group": fabric.coordinates(circuits.dst)[0],
    }


def slots_of(fabric: AnyFabric, size_bytes: int, circuits: int) -> int | None:
    """Return the time slots that data of a pair take, ``None`` where there are none."""
    if not isinstance(fabric, Ramp):
        return None
    each = -(-size_bytes // circuits)
    return -(-each // fabric.slot_bytes)
