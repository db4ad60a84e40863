"""Mutations of circuits: rows that no fabric could build, or not beside the others."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.circuit import COLUMNS, Circuits, join_circuits
from lightloom.core.fabric import CircuitFabric
from lightloom.core.schedule import SealedSchedule
from lightloom.testing.strategies.candidate_circuits import (
    LightPath,
    circuits_of,
    conceivable,
    faults_of,
    light_paths,
    overused,
    wavelength_count,
)
from lightloom.testing.strategies.mutation import with_circuits

if TYPE_CHECKING:
    import random

    from lightloom.instances.instance import AnyFabric
    from lightloom.testing.strategies.mutation import Mutation

MOST_TRIED = 48
"""Most circuits that are tried in search of one that breaks a single rule."""

Broken = tuple[str, SealedSchedule] | None


def circuit_too_many(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a sound circuit for which one kind of resource is used up."""
    number = _some_segment(whole, rng)
    if number is None or not isinstance(fabric, CircuitFabric):
        return None
    held = whole.segments[number].circuits
    found: dict[str, list[Circuits]] = {}
    pairs = itertools.permutations(range(fabric.node_count), 2)
    paths = [path for pair in pairs for path in light_paths(fabric, pair)]
    for path in rng.sample(paths, min(len(paths), MOST_TRIED)):
        wider = _joined(held, circuits_of(fabric, [path]))
        rules = overused(fabric, wider)
        if len(rules) == 1:
            found.setdefault(rules.pop(), []).append(wider)
    return _chosen(whole, number, found, rng)


def impossible_circuit(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a circuit that breaks one rule of the fabric by itself."""
    number = _some_segment(whole, rng)
    if number is None or not isinstance(fabric, CircuitFabric):
        return None
    pairs = list(itertools.permutations(range(fabric.node_count), 2))
    odd = [
        path
        for pair in rng.sample(pairs, min(len(pairs), MOST_TRIED // 4))
        for path in (*conceivable(fabric, pair), *_strange(fabric, pair))
    ]
    if not odd:
        return None
    held = whole.segments[number].circuits
    found: dict[str, list[Circuits]] = {}
    for path, rules in zip(odd, faults_of(fabric, odd), strict=True):
        if len(rules) == 1:
            wider = _joined(held, circuits_of(fabric, [path]))
            found.setdefault(rules.pop(), []).append(wider)
    return _chosen(whole, number, found, rng)


def _strange(fabric: CircuitFabric, pair: tuple[int, int]) -> list[LightPath]:
    """Return light paths with a value out of range, or a route that is none."""
    paths = light_paths(fabric, pair)
    if not paths:
        return []
    path, strange = paths[0], []
    if "wavelengths" in fabric.circuit_columns:
        colour = path.wavelengths[0]
        beyond = wavelength_count(fabric)
        strange += [
            replace(path, wavelengths=lit)
            for lit in ((), (beyond,), (-1,), (colour, colour))
        ]
    if "direction" in fabric.circuit_columns:
        strange += [replace(path, direction=way) for way in (-1, 4)]
    if "transceiver" in fabric.circuit_columns:
        strange += [replace(path, transceiver=fabric.ports_per_node)]
    if "route" in fabric.circuit_columns:
        way = path.route
        odd_ways = [(way[0], fabric.node_count, *way[1:]), way[::-1]]
        odd_ways += [(way[0], way[1], *way), (way[0], way[-1])]
        strange += [replace(path, route=odd) for odd in odd_ways if odd != way]
    return strange


def circuit_to_itself(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a circuit that leads back to its source."""
    return _with_end(whole, fabric, rng, "self-circuit")


def circuit_to_nowhere(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a circuit to a node that the fabric does not have."""
    return _with_end(whole, fabric, rng, "node-range")


def _with_end(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random, rule: str
) -> Broken:
    number = _some_segment(whole, rng)
    if number is None or not isinstance(fabric, CircuitFabric):
        return None
    circuits = whole.segments[number].circuits
    row = rng.randrange(len(circuits))
    more = circuits.take(np.array([row], dtype=np.int64))
    end = more.src if rule == "self-circuit" else more.src * 0 + fabric.node_count
    wider = _joined(circuits, replace(more, dst=end))
    return rule, with_circuits(whole, number, wider)


def missing_column(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Leave a column out of a segment."""
    number = _some_segment(whole, rng)
    if number is None or not isinstance(fabric, CircuitFabric):
        return None
    names = [each.name for each in COLUMNS if not each.optional]
    names = [name for name in names if name in fabric.circuit_columns]
    if not names:
        return None
    bare: dict[str, Any] = {rng.choice(names): None}
    circuits = replace(whole.segments[number].circuits, **bare)
    return "circuit-columns", with_circuits(whole, number, circuits)


def dropped_circuit(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Take away all circuits of a pair that transfers in a segment."""
    if not isinstance(fabric, CircuitFabric):
        return None
    uses = [
        (place, pair)
        for place, segment in enumerate(whole.segments)
        for part in whole.parts
        if (part.plane, part.segment) == (segment.plane, segment.index)
        for pair in zip(
            part.transfers.src.tolist(), part.transfers.dst.tolist(), strict=True
        )
    ]
    if not uses:
        return None
    number, (src, dst) = rng.choice(uses)
    circuits = whole.segments[number].circuits
    kept = np.flatnonzero((circuits.src != src) | (circuits.dst != dst))
    return "circuit-held", with_circuits(whole, number, circuits.take(kept))


def _some_segment(whole: SealedSchedule, rng: random.Random) -> int | None:
    """Return a segment that has circuits."""
    lit = [at for at, segment in enumerate(whole.segments) if len(segment.circuits)]
    return rng.choice(lit) if lit else None


def _joined(held: Circuits, more: Circuits) -> Circuits:
    """Return circuits and more of them, none of several destinations."""
    names = [
        each.name
        for each in COLUMNS
        if not each.optional and getattr(held, each.name) is not None
    ]
    return join_circuits([held, more], names)


def _chosen(
    whole: SealedSchedule,
    number: int,
    found: dict[str, list[Circuits]],
    rng: random.Random,
) -> Broken:
    """Return one of the ways to break a segment, every rule as likely."""
    if not found:
        return None
    rule = rng.choice(sorted(found))
    return rule, with_circuits(whole, number, rng.choice(found[rule]))


MUTATIONS: tuple[Mutation, ...] = (
    circuit_too_many,
    impossible_circuit,
    circuit_to_itself,
    circuit_to_nowhere,
    missing_column,
    dropped_circuit,
)
