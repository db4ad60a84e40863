"""Shapes: the algorithms that follow the links of a packet fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.fabrics.bcube import BCube
from lightloom.instances.fabrics.superpod import SuperPod
from lightloom.instances.fabrics.topoopt import TopoOpt
from lightloom.instances.fabrics.torus import Torus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.task import Collective
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.auto.search_space import Proposal

_RINGS = ("all-gather", "all-reduce", "reduce-scatter")
_MOST_ROWS = 2**21
"""Transfers of a plan beyond which whole blocks are preferred to parts of them."""


def shape_of(fabric: AnyFabric) -> tuple[int, ...]:
    """Return the box that the nodes of a packet fabric form, the last digit fastest.

    Rows and columns of a torus, digits of a BCube, servers and their GPUs of a
    SuperPod; empty where the fabric suggests none.
    """
    if isinstance(fabric, Torus):
        return tuple(size for size in reversed(fabric.sizes) if size > 1)
    if isinstance(fabric, BCube):
        return (fabric.radix,) * fabric.levels
    if isinstance(fabric, SuperPod):
        servers, rest = divmod(fabric.nodes, fabric.gpus_per_server)
        if not rest and servers > 1 and fabric.gpus_per_server > 1:
            return servers, fabric.gpus_per_server
    return ()


def shaped_proposals(fabric: AnyFabric, task: Collective) -> Iterator[Proposal]:
    """Yield the algorithms whose peers are a fabric's neighbours, best guesses first.

    Nothing where not all nodes take part in their order, or where the links suggest
    no algorithm.
    """
    if task.nodes != tuple(range(fabric.node_count)) or task.rank_count < 2:
        return
    if isinstance(fabric, TopoOpt) and task.op in _RINGS:
        yield "parallel-rings", {"strides": list(fabric.strides)}
    shape = shape_of(fabric)
    if not shape:
        return
    blocks = task.op not in ("all-reduce", "broadcast", "reduce")
    many = blocks and task.rank_count**2 * len(shape) > _MOST_ROWS
    for parts in (1,) if many else sorted({1, len(shape)}, reverse=True):
        box = {"shape": list(shape), "parts": parts}
        if task.op in _RINGS:
            yield "torus-rings", {**box, "both_ways": 1}
            yield "torus-rings", {**box}
        yield "levels", {**box}
        if task.op in ("broadcast", "reduce"):
            yield "levels", {**box, "through_blocks": 1}
