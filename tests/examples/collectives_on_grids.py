"""Small collectives on small grids, and the fewest rounds by exhaustive search."""

from __future__ import annotations

import functools
import itertools
from typing import TypeAlias

import networkx as nx

from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance

Delivery: TypeAlias = tuple[int, int, int]  # source, destination, chunk
Held: TypeAlias = frozenset[tuple[int, int]]  # node, chunk


def grid(
    rows: int,
    cols: int,
    op: str,
    *,
    lasers: int = 2,
    waveguides: int = 1,
    nodes: tuple[int, ...] | None = None,
    chunks: int | None = None,
) -> Instance:
    """Return a collective on a grid, all tiles unless `nodes` are given."""
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=waveguides)
    ranks = tuple(range(rows * cols)) if nodes is None else nodes
    size_bytes = len(ranks) * (chunks or 1) * 64
    return Instance(fabric, Collective(op, ranks, size_bytes, chunks), "test")


def fewest_by_search(instance: Instance) -> int:
    """Return the fewest rounds of a copying collective: breadth first, every choice.

    States are what is held by whom. Holding more never hurts, so of each state only
    the rounds that cannot take one more delivery are followed.
    """
    fabric, task = instance.fabric, instance.task
    assert isinstance(fabric, Lightpath)
    assert isinstance(task, Collective)
    if task.chunks is None:
        count = task.rank_count if op_of(task).uses_blocks else 1
        task = Collective(task.op, task.nodes, task.buffer_bytes, count, task.root)
    op = op_of(task)
    before, after = _held(op.initial(task), task), _held(op.final(task), task)
    lacking = after - before
    states, rounds = {before}, 0
    while not any(after <= state for state in states):
        reached = {
            state | {(dst, chunk) for _, dst, chunk in deliveries}
            for state in states
            for deliveries in _full_rounds(fabric, _possible(state, lacking))
        }
        states = {one for one in reached if not any(one < other for other in reached)}
        rounds += 1
    return rounds


def _held(holdings: object, task: Collective) -> Held:
    rows = zip(holdings.rank, holdings.chunk_lo, holdings.chunk_hi, strict=True)  # type: ignore[attr-defined]
    return frozenset(
        (task.nodes[rank], chunk) for rank, lo, hi in rows for chunk in range(lo, hi)
    )


def _possible(state: Held, lacking: Held) -> list[Delivery]:
    """Return every delivery of something that is lacked by someone who holds it."""
    return sorted(
        (src, dst, chunk)
        for dst, chunk in lacking - state
        for src, held in state
        if held == chunk
    )


def _full_rounds(
    fabric: Lightpath, possible: list[Delivery]
) -> set[frozenset[Delivery]]:
    """Return the sets of deliveries of one round that cannot be enlarged."""
    found: set[frozenset[Delivery]] = set()
    wanted = sorted({(dst, chunk) for _, dst, chunk in possible})
    choices = [[None, *(one for one in possible if one[1:] == key)] for key in wanted]

    def grow(place: int, chosen: tuple[Delivery, ...]) -> None:
        if place == len(choices):
            found.add(frozenset(chosen))
            return
        for one in choices[place]:
            if one is None:
                grow(place + 1, chosen)
            elif _lightable(fabric, tuple(sorted((*chosen, one)))):
                grow(place + 1, (*chosen, one))

    grow(0, ())
    covers = {frozenset((dst, chunk) for _, dst, chunk in one): one for one in found}
    return {
        one for key, one in covers.items() if not any(key < other for other in covers)
    }


@functools.cache
def _lightable(fabric: Lightpath, deliveries: tuple[Delivery, ...]) -> bool:
    """Return whether all deliveries can be lit at once, trying every way."""
    pairs = tuple(sorted((src, dst) for src, dst, _ in deliveries))
    return _pairs_lightable(fabric, pairs)


@functools.cache
def _pairs_lightable(fabric: Lightpath, pairs: tuple[tuple[int, int], ...]) -> bool:
    for ends in (0, 1):
        nodes = [pair[ends] for pair in pairs]
        if any(nodes.count(node) > fabric.lasers for node in nodes):
            return False
    tail, head = fabric.edges()
    room = dict(
        zip(
            zip(tail.tolist(), head.tolist(), strict=True),
            fabric.edge_waveguides(tail, head).tolist(),
            strict=True,
        )
    )
    graph = nx.DiGraph(list(room))
    routes = [list(nx.all_simple_edge_paths(graph, *pair)) for pair in pairs]

    def light(place: int, taken: dict[object, int]) -> bool:
        if place == len(pairs):
            return True
        src, dst = pairs[place]
        for route, w in itertools.product(routes[place], range(fabric.lasers)):
            uses = [("out", src, w), ("in", dst, w), *((edge, w) for edge in route)]
            most = [1, 1, *(room[edge] for edge in route)]
            if all(taken.get(use, 0) < n for use, n in zip(uses, most, strict=True)):
                more = taken | {use: taken.get(use, 0) + 1 for use in uses}
                if light(place + 1, more):
                    return True
        return False

    return light(0, {})
