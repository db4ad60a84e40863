"""Where the nodes of a fabric stand on a page, and what is drawn between them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import LightloomError
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.topoopt import TopoOpt

if TYPE_CHECKING:
    from lightloom.core.fabric import FabricTable

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

    Returns
    -------
    ``shape`` is ``grid`` (``rows`` x ``cols``, boxes of so many rows and columns such
    as wafers, racks or servers, and what joins neighbours), ``circle``, or ``planes``
    (a permutation matrix for each switch); ``nodes`` is their number and ``label`` says
    what it is. ``strides`` are those of rings through all nodes. With ``levels`` nodes
    are joined by switches of so many levels, more than a grid can show.
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
    """Return the nodes of a fabric, 0 where its table is not one.

    Parameters
    ----------
    fabric
        Its instance table, which may be wrong.
    """
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
