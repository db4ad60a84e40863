"""Strategies for tasks, and for instances: a fabric with a task that it can serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from lightloom.core.errors import InputError, nearest
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.instance import Instance
from lightloom.testing.strategies.candidate_circuits import joined_pairs
from lightloom.testing.strategies.fabrics import fabrics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

MOST_RANKS = 5
"""Most ranks of a drawn collective, unless only the whole fabric is connected."""
DEMAND = "demand"
RELAYED_DEMAND = "relayed-demand"
"""A demand that allows relays; drawn where it is named only."""
"""What stands for a demand among the names of collectives."""

_SIZES = st.sampled_from([1, 3, 1000, 4096, 10**6])


@st.composite
def collectives(
    draw: st.DrawFn,
    fabric: AnyFabric,
    ops: Iterable[str] | None = None,
    *,
    chunks_chosen: bool = False,
) -> Collective:
    """Draw a collective that makes sense on `fabric` and that it can serve.

    Its ranks are some nodes in any order, such that everyone can reach everyone over
    ranks alone; one rank is a possibility.

    Parameters
    ----------
    fabric
        The fabric.
    ops
        Names of collectives; all of the catalogue if ``None``.
    chunks_chosen
        Whether the number of chunks is always given; else it may be left open.
    """
    op = COLLECTIVES[draw(st.sampled_from(sorted(COLLECTIVES if ops is None else ops)))]
    node = st.integers(0, fabric.node_count - 1)
    # A single rank has nothing to do: one in sixteen is enough.
    least = 1 if fabric.node_count == 1 or draw(st.integers(0, 15)) == 15 else 2
    nodes = tuple(
        draw(st.lists(node, min_size=least, max_size=MOST_RANKS, unique=True))
    )
    if not connected(fabric, nodes):
        nodes = tuple(draw(st.permutations(range(fabric.node_count))))
    count = draw(st.integers(1, 2 if op.uses_blocks else 4))
    chunks = count * (len(nodes) if op.uses_blocks else 1)
    given = chunks_chosen or draw(st.booleans())
    root = draw(st.sampled_from([None, *nodes])) if op.rooted else None
    size_bytes = chunks * draw(_SIZES)
    return Collective(op.name, nodes, size_bytes, chunks if given else None, root)


@st.composite
def demands(draw: st.DrawFn, fabric: AnyFabric, *, relays: bool = False) -> Demand:
    """Draw a demand of one to six pairs, each one hop apart on `fabric`.

    Parameters
    ----------
    fabric
        One with a pair of nodes.
    relays
        Whether the demand allows relays.
    """
    pairs = st.sampled_from(joined_pairs(fabric))
    chosen = draw(st.lists(pairs, min_size=1, max_size=6, unique=True))
    rows = [(*pair, draw(_SIZES)) for pair in chosen]
    return Demand.from_rows(rows, relays=relays)


def tasks(
    fabric: AnyFabric,
    names: Iterable[str] | None = None,
    *,
    chunks_chosen: bool = False,
) -> st.SearchStrategy[Task]:
    """Return a strategy for tasks that `fabric` can serve.

    Parameters
    ----------
    fabric
        The fabric. One of a single node has no demands.
    names
        Names of collectives, `DEMAND` and `RELAYED_DEMAND`; all but the last if
        ``None``.
    chunks_chosen
        Whether the number of chunks of a collective is always given.

    Raises
    ------
    InputError
        If there is no such task, or none is given.
    """
    known = (*COLLECTIVES, DEMAND, RELAYED_DEMAND)
    chosen = known[:-1] if names is None else tuple(names)
    for name in chosen:
        if name not in known:
            allowed, fix = ", ".join(known), nearest(name, known)
            what = "unknown task"
            raise InputError(what, where="tasks", found=name, allowed=allowed, fix=fix)
    if not chosen:
        raise InputError("no task", where="tasks", allowed="at least one")
    ops = [name for name in chosen if name not in (DEMAND, RELAYED_DEMAND)]
    ways: list[st.SearchStrategy[Task]] = []
    if ops:
        ways.append(collectives(fabric, ops, chunks_chosen=chunks_chosen))
    if joined_pairs(fabric):
        ways += [
            demands(fabric, relays=name == RELAYED_DEMAND)
            for name in (DEMAND, RELAYED_DEMAND)
            if name in chosen
        ]
    return st.one_of(ways)


@st.composite
def instances(
    draw: st.DrawFn,
    kinds: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    *,
    chunks_chosen: bool = False,
) -> Instance:
    """Draw an instance that has an answer.

    Parameters
    ----------
    kinds
        Kinds of fabric, as in `fabrics`.
    names
        Tasks, as in `tasks`.
    chunks_chosen
        Whether the number of chunks of a collective is always given.
    """
    names = None if names is None else tuple(names)
    drawn = fabrics(kinds)
    if names is not None and {*names} <= {DEMAND, RELAYED_DEMAND}:
        drawn = drawn.filter(_has_pairs)
    fabric = draw(drawn)
    return Instance(
        fabric, draw(tasks(fabric, names, chunks_chosen=chunks_chosen)), "drawn"
    )


def _has_pairs(fabric: AnyFabric) -> bool:
    return bool(joined_pairs(fabric))


def connected(fabric: AnyFabric, nodes: Iterable[int]) -> bool:
    """Return whether data get from each node to each other one over these alone."""
    inside = set(nodes)
    forth: dict[int, set[int]] = {node: set() for node in inside}
    back: dict[int, set[int]] = {node: set() for node in inside}
    for src, dst in joined_pairs(fabric):
        if src in inside and dst in inside:
            forth[src].add(dst)
            back[dst].add(src)
    return all(_reached(ways, min(inside)) == inside for ways in (forth, back))


def _reached(ways: dict[int, set[int]], start: int) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = ways[waiting.pop()] - seen
        seen |= fresh
        waiting += sorted(fresh)
    return seen
