"""Small demands on rings and switches, and their optimum by exhaustive search."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.seed import seeded_random
from lightloom.core.task import Demand
from lightloom.instances.instance import Instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.instances.fabrics.ring import Ring

Pair: TypeAlias = tuple[int, int]
Lit: TypeAlias = tuple[int, int, int]
"""A circuit on one wavelength, or of one switch: src, dst, direction."""


def random_demand(
    fabric: Ocs | Ring, count: int, seed: int, sizes: Sequence[int]
) -> Instance:
    """Return some pairs with random sizes."""
    rng = seeded_random(seed)
    pairs = rng.sample(list(itertools.permutations(range(fabric.nodes), 2)), count)
    rows = [(src, dst, rng.choice(sizes)) for src, dst in pairs]
    return Instance(fabric, Demand.from_rows(rows), f"random-{seed}")


def best_of_switches(instance: Instance, fabric: Ocs) -> Fraction | None:
    """Return the best bottleneck over every state of every switch, if any serves."""
    demand = _sizes(instance)
    lit = {
        (min(pair), max(pair), 0) if fabric.bidirectional else (*pair, 0)
        for pair in demand
    }

    def clash(one: Lit, other: Lit) -> bool:
        if fabric.bidirectional:
            return bool(set(one[:2]) & set(other[:2]))
        return one[0] == other[0] or one[1] == other[1]

    states = _largest(sorted(lit), clash)
    serve = {circuit: {circuit[:2], circuit[1::-1]} for circuit in lit}
    if not fabric.bidirectional:
        serve = {circuit: {circuit[:2]} for circuit in lit}
    return _best(states, serve, demand, fabric.switches)


def best_of_wavelengths(instance: Instance, fabric: Ring) -> Fraction | None:
    """Return the best bottleneck over everything each wavelength can carry, if any."""
    demand = _sizes(instance)
    lit = [
        (*pair, way)
        for pair in sorted(demand)
        for way in range(fabric.directions)
        if len(_crossed(fabric, (*pair, way))) <= fabric.reach
    ]

    def clash(one: Lit, other: Lit) -> bool:
        if one[2] == other[2]:
            return bool(_crossed(fabric, one) & _crossed(fabric, other))
        return fabric.shared_transceivers and (one[0] == other[0] or one[1] == other[1])

    states = _largest(lit, clash)
    serve = {circuit: {circuit[:2]} for circuit in lit}
    return _best(states, serve, demand, fabric.wavelengths)


def _sizes(instance: Instance) -> dict[Pair, int]:
    task = instance.task
    assert isinstance(task, Demand)
    return dict(zip(zip(task.src, task.dst, strict=True), task.bytes, strict=True))


def _crossed(fabric: Ring, lit: Lit) -> set[int]:
    """Return the spans that a circuit crosses, walking node by node."""
    node, end, way = lit
    spans = set()
    while node != end:
        step = node if way == 0 else (node - 1) % fabric.nodes
        spans.add(step)
        node = (node + 1) % fabric.nodes if way == 0 else step
    return spans


def _largest(lit: list[Lit], clash: object) -> list[tuple[Lit, ...]]:
    """Return the sets of circuits without clash that cannot be enlarged."""

    def free(chosen: tuple[Lit, ...]) -> Iterator[Lit]:
        return (
            one
            for one in lit
            if one not in chosen and not any(clash(one, other) for other in chosen)  # type: ignore[operator]
        )

    found: set[tuple[Lit, ...]] = set()
    open_: set[tuple[Lit, ...]] = {()}
    while open_:
        chosen = open_.pop()
        more = {tuple(sorted((*chosen, one))) for one in free(chosen)}
        open_ |= more
        if not more:
            found.add(chosen)
    return sorted(found)


def _best(
    states: list[tuple[Lit, ...]],
    serve: dict[Lit, set[Pair]],
    demand: dict[Pair, int],
    slots: int,
) -> Fraction | None:
    best = Fraction(0)
    for chosen in itertools.combinations_with_replacement(states, slots):
        held: Counter[Pair] = Counter(
            pair for state in chosen for lit in state for pair in sorted(serve[lit])
        )
        slowest = min(Fraction(held[pair], size) for pair, size in demand.items())
        best = max(best, slowest)
    return best or None


def threshold(instance: Instance, switches: int) -> Fraction | None:
    """Return the best bottleneck of directed switches by counting rows and columns.

    Circuit numbers that no row or column takes more of than there are switches can be
    split into that many permutations.
    """
    demand = _sizes(instance)
    best = None
    levels = {
        Fraction(count, size)
        for size in demand.values()
        for count in range(1, switches + 1)
    }
    for level in sorted(levels):
        lines: Counter[tuple[str, int]] = Counter()
        for (src, dst), size in demand.items():
            circuits = -(-level.numerator * size // level.denominator)
            lines.update({("row", src): circuits, ("column", dst): circuits})
        if max(lines.values()) <= switches:
            best = level
    return best
