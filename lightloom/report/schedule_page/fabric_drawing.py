"""Where the nodes of a fabric stand on a page, and what is drawn between them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.errors import LightloomError
from lightloom.core.fabric import LinkedFabric, PacketFabric
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.packet_forwarding import BCube, TopoOpt
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.report.moments import moment_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import FabricTable, LinkGraph
    from lightloom.replay import Timeline
    from lightloom.replay.timeline import PairTimes
    from lightloom.report.moments import ConfigurationSpan


_BOXES = {
    "electrical-cluster": ("nodes_per_server", "server"),
    "fat-tree": ("nodes_per_leaf", "leaf"),
    "superpod": ("gpus_per_server", "server"),
}
"""Fabrics whose nodes stand in boxes: the key of their size, and what they are."""
_MESHES = {"lightpath": "mesh", "torus": "loops", "ring-2d": "loops"}
"""What joins neighbours of a grid: edges, or edges that close to loops."""


def fabric_layout(fabric: FabricTable) -> dict[str, Any]:
    """Return how a fabric is drawn.

    ``shape`` is ``grid`` (``rows`` x ``cols``, boxes of so many rows and
    columns such as wafers, racks or servers, and what joins neighbours), ``circle``, or
    ``planes`` (a permutation matrix for each switch); ``nodes`` is their number and
    ``label`` says what it is. ``strides`` are those of rings through all nodes. With
    ``levels`` nodes are joined by switches of so many levels, more than a grid can
    show.
    """
    kind, nodes = str(fabric.get("kind")), node_count(fabric)
    rows, cols = _number(fabric, "rows"), _number(fabric, "cols")
    if kind in ("lightpath", "ring-2d", "torus") and rows and cols:
        layers = _number(fabric, "layers") or 1
        box_rows = _number(fabric, "wafer_rows") or cols
        box_cols = _number(fabric, "wafer_cols") or cols
        label = f"{kind}: {rows} x {cols}"
        if kind == "lightpath":
            label += f" tiles, wafers of {box_rows} x {box_cols}"
        if layers > 1:
            label, box_rows = f"{label}, {layers} layers", rows
        drawn = _grid(rows * layers, cols, box_rows, box_cols, label)
        return {**drawn, "edges": _MESHES[kind], "layerRows": rows}
    if kind == "ramp":
        groups, racks = _number(fabric, "groups"), _number(fabric, "racks")
        numbers = _number(fabric, "nodes_per_rack")
        label = f"{kind}: {groups} groups of {racks} racks; a row is a rack"
        return _grid(groups * racks, numbers, racks, numbers, label)
    if kind in ("sipac", "bcube"):
        radix, levels = _number(fabric, "radix"), _number(fabric, "level") + 1
        label = f"{kind}: {levels} levels of switches"
        if levels <= 2:
            label = f"{kind}: a row shares a switch of level 0"
            label += ", a column one of level 1" if levels == 2 else ""
        drawn = _grid(radix ** (levels - 1), radix, 1, radix, label)
        many = {"levels": levels} if levels > 2 else {}
        return {**drawn, "columnBoxes": levels == 2, **many}
    if kind == "ocs":
        label = f"{kind}: {fabric.get('switches')} switches; rows send, columns receive"
        return {"shape": "planes", "nodes": nodes, "label": label}
    return _boxes(kind, fabric, nodes) or _circle(kind, fabric, nodes)


def _boxes(kind: str, fabric: FabricTable, nodes: int) -> dict[str, Any] | None:
    """Return the nodes in rows of a server or a leaf, where there are any."""
    if kind in _BOXES:
        key, noun = _BOXES[kind]
        size = _number(fabric, key) or 1
        label = f"{kind}: {nodes} nodes, {size} a {noun}"
        drawn = _grid(-(-nodes // size), size, 1, size, label)
        return {**drawn, "nodes": nodes}
    return None


def _circle(kind: str, fabric: FabricTable, nodes: int) -> dict[str, Any]:
    """Return the nodes of a ring, or of rings through all of them, or of a switch."""
    circle: dict[str, Any] = {
        "shape": "circle",
        "nodes": nodes,
        "label": f"{kind}: {nodes} nodes",
    }
    circle["ring"] = kind == "ring"
    with contextlib.suppress(LightloomError):
        known = load_fabric(fabric)
        if isinstance(known, TopoOpt):
            strides = ", ".join(map(str, known.strides))
            label = f"{circle['label']}, rings of strides {strides}"
            return {**circle, "label": label, "strides": list(known.strides)}
    return circle


def node_count(fabric: FabricTable) -> int:
    """Return the nodes of a fabric, 0 where its table is not one."""
    try:
        return load_fabric(fabric).node_count
    except LightloomError:
        return _number(fabric, "nodes")


def _grid(
    rows: int, cols: int, box_rows: int, box_cols: int, label: str
) -> dict[str, Any]:
    return {
        "shape": "grid",
        "nodes": rows * cols,
        "rows": rows,
        "cols": cols,
        "boxRows": box_rows,
        "boxCols": box_cols,
        "label": label,
    }


def _number(fabric: FabricTable, key: str) -> int:
    value = fabric.get(key)
    return value if isinstance(value, int) else 0


_MOST_NODES = 2048
"""Nodes of a drawing: more are too small to be told apart."""
_MOST_LOADS = 100_000
"""Of all steps together; beyond, only the first steps have loads."""
_BELOW = ("NVLink", "level 0")
"""Tiers that are drawn below the nodes where there are others above."""


@dataclass(frozen=True, eq=False)
class LinkView:
    """Links and switches as they are drawn.

    `spots` are across and down, 0 to 1, of nodes and switches; none where the nodes
    stand in a grid or a circle of their own. Packets go the ways of `fabric`: on
    SiPAC's switches, those of a BCube. Where wavelengths decide the rate of links,
    `bits_per_s` is ``None``.
    """

    graph: LinkGraph
    spots: list[tuple[float, float]]
    fabric: PacketFabric
    bits_per_s: IntArray | None

    def crossed(self, src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        """Return rows of pairs and the places of the links that each crosses."""
        usage = self.fabric.link_usage(src, dst)
        order = np.argsort(self.graph.link)
        place = np.searchsorted(self.graph.link, usage.resource, sorter=order)
        return usage.circuit, order[place]

    def load(self, pairs: PairTimes, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return the links that carry data of some pairs, by place, and the bytes."""
        row, place = self.crossed(pairs.src[rows], pairs.dst[rows])
        total = np.zeros(len(self.graph.link), dtype=np.int64)
        np.add.at(total, place, pairs.bytes[rows][row])
        used = np.flatnonzero(total)
        return used, total[used]


def link_view(table: FabricTable) -> LinkView | None:
    """Return the links of a fabric, or nothing where it has none to draw."""
    try:
        fabric = load_fabric(table)
    except LightloomError:
        return None
    by_light = isinstance(fabric, Sipac)
    if isinstance(fabric, Sipac):
        fabric = BCube(radix=fabric.radix, level=fabric.level)
    if fabric.node_count > _MOST_NODES or not isinstance(fabric, PacketFabric):
        return None
    linked: object = fabric  # no class says that it is both
    if not isinstance(linked, LinkedFabric):
        return None
    graph = linked.link_graph()
    rate = None if by_light else fabric.link_bits_per_s(graph.link)
    return LinkView(graph, _spots(graph, fabric.node_count), fabric, rate)


def _spots(graph: LinkGraph, nodes: int) -> list[tuple[float, float]]:
    """Return where nodes and switches stand: a row for each tier."""
    if not graph.tiers:
        return []
    under = len(graph.tiers) > 1 and graph.tiers[0][0] in _BELOW
    floor = 0.7 if under else 0.93
    found = [((node + 0.5) / nodes, floor) for node in range(nodes)]
    above = len(graph.tiers) - under
    for tier, (_, count) in enumerate(graph.tiers):
        height = 0.94 if under and tier == 0 else 0.0
        height = height or floor - (floor - 0.06) * (tier + 1 - under) / above
        found += [((number + 0.5) / count, height) for number in range(count)]
    return found


def page_links(
    view: LinkView | None,
    timeline: Timeline | None,
    parts: Sequence[ConfigurationSpan],
    pairs: Mapping[str, list[int]],
    notes: list[str],
) -> dict[str, object] | None:
    """Return the links and what they carry, as the page reads it.

    ``tail`` and ``head`` of each link, ``spots``, ``tiers`` (name, number), ``loads``
    (links and bytes, each different load once), ``of`` (which of them a moment has),
    ``ways`` (the links that each of `pairs` crosses, by source and destination) and, of
    packets, ``rate`` in bits per second. `notes` get a sentence on what is left out.
    """
    if view is None or timeline is None:
        return None
    known: dict[bytes, int] = {}
    loads: list[list[list[int]]] = []
    of: list[int] = []
    room = _MOST_LOADS
    for at, part in enumerate(parts):
        rows = moment_rows(timeline.pairs, part)
        links, size = view.load(timeline.pairs, rows)
        key = links.tobytes() + size.tobytes()
        if key not in known:
            room -= len(links)
            if room < 0:
                notes.append(f"Loads of links are those before moment {at}.")
                break
            known[key] = len(loads)
            loads.append([links.tolist(), size.tolist()])
        of.append(known[key])
    return {
        "tail": view.graph.tail.tolist(),
        "head": view.graph.head.tolist(),
        "spots": [[round(x, 4), round(y, 4)] for x, y in view.spots],
        "tiers": [list(tier) for tier in view.graph.tiers],
        "rate": None if view.bits_per_s is None else view.bits_per_s.tolist(),
        "loads": loads,
        "of": of,
        "ways": _ways(view, pairs, notes),
    }


def _ways(
    view: LinkView, pairs: Mapping[str, list[int]], notes: list[str]
) -> dict[str, list[int]]:
    """Return the links that each pair crosses, as many pairs as there is room for."""
    ends = np.array([pairs.get("src", []), pairs.get("dst", [])], dtype=np.int64)
    src, dst = np.unique(ends, axis=1)
    row, place = view.crossed(src, dst)
    order = np.argsort(row, kind="stable")
    stops = np.searchsorted(row[order], np.arange(len(src) + 1))
    count = int(np.searchsorted(stops, _MOST_LOADS, "right")) - 1
    if count < len(src):
        notes.append(
            f"Of {len(src):,} pairs, the links of the first {count:,} are here."
        )
    links = place[order]
    return {
        f"{src[at]}>{dst[at]}": links[stops[at] : stops[at + 1]].tolist()
        for at in range(count)
    }
