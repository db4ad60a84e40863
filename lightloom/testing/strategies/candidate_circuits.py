"""Light paths: what one row of a segment can be, and which rows fit side by side."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lightloom.core.circuit import ALONE, COLUMNS, Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.fabric import CircuitFabric, PacketFabric
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ring_2d import Ring2d

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Hashable, Iterable, Sequence

    from lightloom.instances.instance import AnyFabric

Pair = tuple[int, int]
"""(src, dst)."""


@dataclass(frozen=True)
class LightPath:
    """One row of a segment; what its fabric has no column for stays at its default."""

    src: int
    dst: int
    wavelengths: tuple[int, ...] = ()
    route: tuple[int, ...] = ()
    direction: int = 0
    transceiver: int = 0
    multicast: int = ALONE


def circuits_of(fabric: CircuitFabric, paths: Sequence[LightPath]) -> Circuits:
    """Return light paths as columns, those that the fabric has.

    `paths`: rows of a segment, in order; they may be impossible.
    """
    columns: dict[str, Any] = {}
    for each in COLUMNS:
        values = [getattr(path, each.name) for path in paths]
        wanted = each.name in fabric.circuit_columns
        if each.optional:
            wanted = any(value != ALONE for value in values)
        if wanted:
            pack = Ragged.from_lists if each.ragged else column
            columns[each.name] = pack(values)
    src, dst = (column(getattr(path, end) for path in paths) for end in ("src", "dst"))
    return Circuits(src, dst, **columns)


def faults_of(fabric: CircuitFabric, paths: Sequence[LightPath]) -> list[set[str]]:
    """Return the rules that each light path breaks by itself.

    `paths`: rows of one segment, in order.
    """
    found: list[set[str]] = [set() for _ in paths]
    for fault in fabric.circuit_faults(circuits_of(fabric, paths)):
        found[fault.row].add(fault.rule)
    return found


def overused(fabric: CircuitFabric, circuits: Circuits) -> set[str]:
    """Return the rules of the resources that sound circuits take too much of.

    `circuits`: circuits of one segment, each sound by itself.
    """
    usage = fabric.usage(circuits)
    resource, where = np.unique(usage.resource, return_inverse=True)
    taken = np.zeros(len(resource), dtype=np.int64)
    np.add.at(taken, where, usage.amount)
    over = resource[taken > fabric.capacity(resource)]
    return {fabric.resource_rule(number) for number in over.tolist()}


def light_paths(fabric: CircuitFabric, pair: Pair) -> tuple[LightPath, ...]:
    """Return the sound light paths of a pair, of one wavelength each.

    On a grid they run along the row first or along the column first; elsewhere they
    are all there are.
    """
    return _light_paths(cast("Hashable", fabric), pair)


@functools.lru_cache(maxsize=4096)
def _light_paths(fabric: Hashable, pair: Pair) -> tuple[LightPath, ...]:
    assert isinstance(fabric, CircuitFabric)
    paths = list(conceivable(fabric, pair))
    faults = faults_of(fabric, paths)
    return tuple(
        path
        for path, broken in zip(paths, faults, strict=True)
        if not broken and not overused(fabric, circuits_of(fabric, [path]))
    )


def conceivable(fabric: CircuitFabric, pair: Pair) -> Iterable[LightPath]:
    """Yield light paths of a pair, sound or not."""
    has = fabric.circuit_columns
    plain = LightPath(*pair)
    colours = [(each,) for each in range(wavelength_count(fabric))]
    routes = grid_routes(fabric, pair) if isinstance(fabric, Lightpath) else [()]
    for lit, route, way, used in itertools.product(
        colours if "wavelengths" in has else [()],
        routes,
        range(4) if "direction" in has else [0],
        range(fabric.ports_per_node) if "transceiver" in has else [0],
    ):
        yield replace(
            plain, wavelengths=lit, route=route, direction=way, transceiver=used
        )


def wavelength_count(fabric: CircuitFabric) -> int:
    """Return how many wavelengths there are; 0 where circuits have none."""
    if isinstance(fabric, Lightpath):
        return fabric.lasers
    if isinstance(fabric, Ring2d):
        return max(fabric.row_wavelengths, fabric.column_wavelengths)
    return int(getattr(fabric, "wavelengths", 0))


def grid_routes(fabric: Lightpath, pair: Pair) -> list[tuple[int, ...]]:
    """Return the routes along the row first and along the column first."""
    (row, col), (to_row, to_col) = (divmod(node, fabric.cols) for node in pair)
    across, down = _walk(col, to_col), _walk(row, to_row)
    by_row = [(row, c) for c in across] + [(r, to_col) for r in down[1:]]
    by_col = [(r, col) for r in down] + [(to_row, c) for c in across[1:]]
    routes = [tuple(r * fabric.cols + c for r, c in way) for way in (by_row, by_col)]
    return sorted(set(routes))


def _walk(start: int, end: int) -> list[int]:
    step = 1 if end >= start else -1
    return list(range(start, end + step, step))


def joined_pairs(fabric: AnyFabric) -> tuple[Pair, ...]:
    """Return the pairs that data can go between in one hop, sorted."""
    return _joined_pairs(cast("Hashable", fabric))


@functools.lru_cache(maxsize=256)
def _joined_pairs(fabric: Hashable) -> tuple[Pair, ...]:
    assert isinstance(fabric, CircuitFabric | PacketFabric)
    nodes = range(fabric.node_count)
    pairs = [(src, dst) for src in nodes for dst in nodes if src != dst]
    if not isinstance(fabric, CircuitFabric):
        return tuple(pairs)
    return tuple(pair for pair in pairs if light_paths(fabric, pair))


def light(
    fabric: CircuitFabric, preferred: Sequence[Pair], rng: random.Random
) -> list[LightPath]:
    """Return light paths that fit one segment together, as many as fit at random.

    The first pair is always granted, if it is one of `joined_pairs`; later ones where
    there is room. A granted pair may get several wavelengths, or several circuits.

    `preferred`: pairs (src, dst) in order of importance.
    """
    lit: list[LightPath] = []
    for pair in preferred:
        granted = False
        for path in rng.sample(choice := light_paths(fabric, pair), len(choice)):
            if granted and rng.random() < 0.6:
                continue
            wider = _with(lit, path, rng)
            if not overused(fabric, circuits_of(fabric, wider)):
                lit, granted = wider, True
    return lit


def with_listeners(
    fabric: CircuitFabric,
    lit: list[LightPath],
    rng: random.Random,
    nodes: Collection[int],
) -> list[LightPath]:
    """Return light paths of which some lead to more of `nodes`, where that can be.

    A pair that shares a circuit has no other one, so that data are not spread.
    """
    if "multicast" not in fabric.circuit_columns:
        return lit
    pairs = Counter((path.src, path.dst) for path in lit)
    for number in range(len(lit)):
        path = lit[number]
        if pairs[path.src, path.dst] > 1 or rng.random() < 0.3:
            continue
        for dst in rng.sample(sorted(nodes), len(nodes)):
            if dst == path.src or (path.src, dst) in pairs or rng.random() < 0.3:
                continue
            speaker = replace(path, multicast=number)
            wider = [*lit[:number], speaker, *lit[number + 1 :]]
            wider.append(replace(speaker, dst=dst))
            sound = not any(faults_of(fabric, wider))
            if sound and not overused(fabric, circuits_of(fabric, wider)):
                lit = wider
                pairs[path.src, dst] = 1
    return lit


def _with(lit: list[LightPath], path: LightPath, rng: random.Random) -> list[LightPath]:
    """Return light paths and one more, now and then in the row of its own way."""
    for row, held in enumerate(lit):
        if replace(held, wavelengths=path.wavelengths) == path and rng.random() < 0.5:
            wavelengths = tuple(sorted({*held.wavelengths, *path.wavelengths}))
            if len(wavelengths) > len(held.wavelengths):
                return [
                    *lit[:row],
                    replace(held, wavelengths=wavelengths),
                    *lit[row + 1 :],
                ]
    return [*lit, path]
