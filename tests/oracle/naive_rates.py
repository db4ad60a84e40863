"""What circuits of every fabric carry, said in other words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits

Path = tuple[object, ...]
"""What tells one light path of a pair from another."""


def bits_per_s(table: dict[str, Any]) -> int:
    """Return the rate of one light path, from the keys of a fabric alone."""
    kind = table["kind"]
    if kind in ("lightpath", "ring", "ring-2d"):
        return int(table["bits_per_second_per_wavelength"])
    if kind == "ocs":
        return int(table["bits_per_second_per_node"] // table["switches"])
    if kind == "ramp":
        rate = table["bits_per_second_per_transceiver"]
        return int(rate * table["transceivers_per_group"])
    assert kind == "sipac"
    others = table["radix"] - (not table["loopback"])
    lasers = (table["level"] + 1) * others * table["wavelengths_per_peer"]
    return int(table["bits_per_second_per_node"] // lasers)


def light_paths(circuits: Circuits, src: int, dst: int) -> Counter[Path]:
    """Return the light paths of a pair, one for each wavelength."""
    found: Counter[Path] = Counter()
    for row in range(len(circuits)):
        if (int(circuits.src[row]), int(circuits.dst[row])) != (src, dst):
            continue
        lit: list[int | None] = [None]
        if circuits.wavelengths is not None:
            lit = circuits.wavelengths[row].tolist()
        route: object = None
        if circuits.route is not None:
            route = tuple(circuits.route[row].tolist())
        way = None if circuits.direction is None else int(circuits.direction[row])
        used = None if circuits.transceiver is None else int(circuits.transceiver[row])
        for wavelength in lit:
            found[wavelength, route, way, used] += 1
    return found
