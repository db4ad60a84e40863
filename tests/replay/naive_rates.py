"""What circuits of every fabric carry, and links of some, said in other words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import networkx as nx

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.schedule import Schedule

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


def packet_time_ps(schedule: Schedule) -> int:
    """Return how long a schedule lasts without circuits, link by link.

    For the ideal switch and the torus, whose links are stated here anew.
    """
    table: dict[str, Any] = dict(schedule.fabric)
    total_ps = 0
    for step in range(schedule.step_count):
        moved: Counter[tuple[int, int]] = Counter()
        for part in schedule.parts:
            if part.index == step:
                sizes = schedule.transfer_bytes(part)
                for row in range(len(part.transfers)):
                    pair = (
                        int(part.transfers.src[row]),
                        int(part.transfers.dst[row]),
                    )
                    moved[pair] += int(sizes[row])
        if moved:
            total_ps += table["alpha_ps"] + _links_ps(table, moved)
    return total_ps


def _links_ps(table: dict[str, Any], moved: Counter[tuple[int, int]]) -> int:
    """Return what a step takes beside alpha."""
    loads: Counter[object] = Counter()
    rate = table["bits_per_second_per_node"]
    if table["kind"] == "ideal-switch":
        latency_ps = table["switch_latency_ps"]
        for (src, dst), size in moved.items():
            loads["out", src] += size
            loads["in", dst] += size
    else:
        assert table["kind"] == "torus"
        sizes = (table["rows"], table["cols"])
        rate //= 2 * sum(size > 1 for size in sizes) or 1
        graph = _torus(*sizes)
        latency_ps = table["hop_latency_ps"] * nx.diameter(graph)
        for (src, dst), size in moved.items():
            for link in _torus_way(src, dst, *sizes):
                loads[link] += size
    slowest = max(-(-size * 8 * 10**12 // rate) for size in loads.values())
    return int(latency_ps) + slowest


def _torus(rows: int, cols: int) -> nx.Graph:
    graph = nx.Graph()
    for node in range(rows * cols):
        row, col = divmod(node, cols)
        graph.add_node(node)
        graph.add_edge(node, row * cols + (col + 1) % cols)
        graph.add_edge(node, (row + 1) % rows * cols + col)
    return graph


def _torus_way(src: int, dst: int, rows: int, cols: int) -> list[object]:
    """Return the links crossed, one hop after another: the row, then the column."""
    links: list[object] = []
    row, col = divmod(src, cols)
    to_row, to_col = divmod(dst, cols)
    for name, size, here, there in (
        ("col", cols, col, to_col),
        ("row", rows, row, to_row),
    ):
        up = (there - here) % size
        down = size - up
        forward = up < down or (up == down and here % 2 == 0)
        at = here
        while at != there:
            place = (row, at) if name == "col" else (at, to_col)
            links.append((name, place, forward))
            at = (at + (1 if forward else -1)) % size
    return links
