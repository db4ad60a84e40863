"""Requests of known patterns on a grid of light paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.bench.families import Family
from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_RADICES = {"doubling": 2, "quadrupling": 4}
_PATTERNS = ("all-to-all", "random", *_RADICES)
_ORDERS = ("row-major", "morton")


def make(
    rows: int,
    cols: int,
    pattern: str,
    count: int = 0,
    step: int = 0,
    order: str = "row-major",
    draw: int = 0,
) -> Instance:
    """Return the requests of a pattern.

    Parameters
    ----------
    rows, cols
        The grid; square with a side that is a power of two for ``morton``.
    pattern
        ``all-to-all``; ``random``, any two different tiles; ``doubling`` or
        ``quadrupling``, where ranks differ in one digit to base 2 or 4.
    count
        How many requests, if they are random.
    step
        Which digit, from 0.
    order
        Ranks on tiles: ``row-major`` or ``morton``.
    draw
        What random requests are drawn from.
    """
    fabric = load_fabric({"kind": "lightpath", "rows": rows, "cols": cols}, "grid")
    nodes = fabric.node_count
    if pattern not in _PATTERNS or order not in _ORDERS or min(count, step, draw) < 0:
        what, found = "invalid requests", (pattern, order, count, step, draw)
        allowed = f"{', '.join(_PATTERNS)}; {', '.join(_ORDERS)}; numbers from 0"
        raise InputError(what, found=found, allowed=allowed)
    if pattern == "random":
        rng = np.random.default_rng([draw, count, rows, cols])
        src = rng.integers(0, nodes, count)
        dst = (src + rng.integers(1, nodes, count)) % nodes
        told = f"x{count} #{draw}"
    elif pattern == "all-to-all":
        src, dst = np.divmod(np.arange(nodes**2), nodes)
        src, dst = src[src != dst], dst[src != dst]
        told = ""
    else:
        src, dst = _digit(nodes, _RADICES[pattern], step)
        if order == "morton":
            tile = _morton(rows, cols)
            src, dst = tile[src], tile[dst]
        told = f"step {step} {order}"
    pairs = tuple(zip(src.tolist(), dst.tolist(), strict=True))
    name = f"{pattern} {rows}x{cols} {told}".strip()
    return Instance(fabric, Demand.from_rows([(*p, 1) for p in pairs]), name, pairs)


def _digit(nodes: int, radix: int, step: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of ranks that differ in one digit."""
    if radix ** (step + 1) > nodes or nodes & (nodes - 1):
        what, allowed = "invalid step", "one of a power of two of tiles"
        raise InputError(what, found=step, allowed=allowed)
    rank = np.repeat(np.arange(nodes), radix - 1)
    digit = np.tile(np.arange(1, radix), nodes)
    return rank, rank ^ digit * radix**step


def _morton(rows: int, cols: int) -> IntArray:
    """Return the tile of each rank, bits of row and column by turns."""
    if rows != cols or rows & (rows - 1):
        what, allowed = "invalid order", "a square whose side is a power of two"
        raise InputError(what, found=f"{rows}x{cols}", allowed=allowed)
    rank = np.arange(rows * cols)
    row, col = np.zeros_like(rank), np.zeros_like(rank)
    for bit in range(rows.bit_length() - 1):
        col |= (rank >> 2 * bit & 1) << bit
        row |= (rank >> (2 * bit + 1) & 1) << bit
    return row * cols + col


FAMILY = Family("requests", "requests of known patterns on a grid, to be routed", make)
