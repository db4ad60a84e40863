"""Where the nodes of a fabric stand on a page, and what is drawn between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightloom.core.errors import LightloomError
from lightloom.instances.fabrics import load_fabric

if TYPE_CHECKING:
    from lightloom.core.fabric import FabricTable

_BOXES = {
    "electrical-cluster": ("nodes_per_server", "server"),
    "fat-tree": ("nodes_per_leaf", "leaf"),
    "superpod": ("gpus_per_server", "server"),
}
"""Fabrics whose nodes stand in boxes: the key of their size, and what they are."""


def fabric_layout(fabric: FabricTable) -> dict[str, Any]:
    """Return how a fabric is drawn.

    Parameters
    ----------
    fabric
        Its instance table.

    Returns
    -------
    ``shape`` is ``grid`` (``rows`` x ``cols``, ``boxes`` of so many rows and columns
    such as wafers, racks or servers), ``circle``, or ``planes`` (a permutation matrix
    for each switch); ``nodes`` is their number and ``label`` says what it is.
    """
    kind, nodes = str(fabric.get("kind")), node_count(fabric)
    rows, cols = _number(fabric, "rows"), _number(fabric, "cols")
    if kind in ("lightpath", "ring-2d", "torus") and rows and cols:
        layers = _number(fabric, "layers") or 1
        box_rows = _number(fabric, "wafer_rows") or cols
        box_cols = _number(fabric, "wafer_cols") or cols
        label = f"{kind}: {rows} x {cols}"
        return _grid(rows * layers, cols, box_rows, box_cols, label)
    if kind == "ramp":
        groups, racks = _number(fabric, "groups"), _number(fabric, "racks")
        numbers = _number(fabric, "nodes_per_rack")
        label = f"{kind}: {groups} groups of {racks} racks; a row is a rack"
        return _grid(groups * racks, numbers, racks, numbers, label)
    if kind in ("sipac", "bcube"):
        radix, levels = _number(fabric, "radix"), _number(fabric, "level") + 1
        label = f"{kind}: a row shares a switch of level 0, {levels} levels"
        return _grid(radix ** (levels - 1), radix, 1, radix, label)
    if kind == "ocs":
        label = f"{kind}: {fabric.get('switches')} switches; rows send, columns receive"
        return {"shape": "planes", "nodes": nodes, "label": label}
    if kind in _BOXES:
        key, noun = _BOXES[kind]
        size = _number(fabric, key) or 1
        return _grid(-(-nodes // size), size, 1, size, f"{kind}: a row is a {noun}")
    return {"shape": "circle", "nodes": nodes, "label": f"{kind}: {nodes} nodes"}


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
