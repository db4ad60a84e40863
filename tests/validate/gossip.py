"""Random valid schedules: nodes tell each other what they know until all is done."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

from lightloom.core.schedule import Op, Schedule, Transfers
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics import load_fabric
from tests.validate.schedules import circuits, fluid, grid, moves, schedule

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import FabricTable
    from tests.validate.schedules import Circuit

Held = set[tuple[int, int]]
"""(node, chunk) pairs."""


def random_fabric(rng: random.Random) -> FabricTable:
    """Return the table of a random small grid, now and then of a switch."""
    if rng.random() < 0.2:
        table = {"kind": "ideal-switch", "nodes": rng.randint(2, 6)}
        table["switch_latency_ps"] = rng.choice([0, 1234])
        return load_fabric(table).table()
    return grid(
        rng.randint(1, 3),
        rng.randint(2, 3),
        lasers=rng.randint(1, 4),
        waveguides=rng.randint(1, 2),
        alpha_ps=rng.choice([0, 1, 700_000]),
        reconfiguration_ps=rng.choice([0, 5, 3_700_000]),
        initial_configuration_charged=rng.random() < 0.5,
        dark_while_reconfiguring=rng.choice(["plane", "changed-circuits"]),
    )


def gossip(seed: int, op: str) -> Schedule:
    """Return a random valid schedule of a collective that copies."""
    rng = random.Random(seed)  # noqa: S311  (no secret)
    table = random_fabric(rng)
    fabric = load_fabric(table)
    count = rng.randint(2, fabric.node_count)
    nodes = tuple(rng.sample(range(fabric.node_count), count))
    chunks = count * rng.randint(1, 2)
    task = Collective(op, nodes, chunks * rng.choice([1, 1000, 10**7]), chunks)
    held, wanted = _held(task, final=False), _held(task, final=True)
    segments: list[Circuits] = []
    steps: list[tuple[int | None, Transfers]] = []
    pairs: list[tuple[int, int]] = []
    while not wanted <= held:
        if not pairs or rng.random() < 0.6:
            pairs = _peers(rng, table, nodes, segments)
        rows = _news(rng, pairs, held, wanted)
        if rows:
            steps.append((len(segments) - 1 if segments else None, moves(rows)))
            held |= {(dst, chunk) for _, dst, chunk, _ in rows}
        else:
            pairs = []
    return schedule(table, task, segments, steps)


def _held(task: Collective, *, final: bool) -> Held:
    op = op_of(task)
    rows = (op.final if final else op.initial)(task)
    return {
        (task.nodes[rank], chunk)
        for rank, lo, hi in zip(
            rows.rank.tolist(),
            rows.chunk_lo.tolist(),
            rows.chunk_hi.tolist(),
            strict=True,
        )
        for chunk in range(lo, hi)
    }


def _news(
    rng: random.Random, pairs: list[tuple[int, int]], held: Held, wanted: Held
) -> list[tuple[int, int, int, int]]:
    """Return random chunks that are news to their receivers, each told once."""
    told: Held = set()
    rows = []
    chunks = sorted({chunk for _, chunk in held | wanted})
    for src, dst in pairs:
        for chunk in chunks:
            fresh = (dst, chunk) not in held | told and (src, chunk) in held
            if fresh and (rng.random() < 0.4 or (dst, chunk) in wanted):
                told.add((dst, chunk))
                rows.append((src, dst, chunk, chunk + 1))
    return rows


def _peers(
    rng: random.Random,
    table: FabricTable,
    nodes: tuple[int, ...],
    segments: list[Circuits],
) -> list[tuple[int, int]]:
    """Return random pairs that the next segment connects, and add that segment."""
    wishes = [(src, dst) for src in nodes for dst in nodes if src != dst]
    rng.shuffle(wishes)
    if table["kind"] == "ideal-switch":
        return wishes[: rng.randint(1, len(wishes))]
    rows: list[Circuit] = []
    pairs: list[tuple[int, int]] = []
    taken: dict[tuple[str | int, int, int], int] = {}
    cols = int(table["cols"])
    for src, dst in wishes:
        route = route_by_row(src, dst, cols)
        lit: list[int] = []
        for wavelength in range(int(table["lasers"])):
            used: list[tuple[str | int, int, int]] = [
                ("laser", src, wavelength),
                ("diode", dst, wavelength),
            ]
            edges = [(a, b, wavelength) for a, b in pairwise(route)]
            free = all(used_one not in taken for used_one in used)
            limit = int(table["waveguides"])
            free &= all(taken.get(edge, 0) < limit for edge in edges)
            if free and (not lit or rng.random() < 0.5):
                lit.append(wavelength)
                for place in [*used, *edges]:
                    taken[place] = taken.get(place, 0) + 1
        if lit:
            rows.append((route, lit))
            pairs.append((src, dst))
    segments.append(circuits(rows))
    return pairs


def route_by_row(src: int, dst: int, cols: int) -> list[int]:
    """Return the route along the row first, then along the column."""
    route, here = [src], src
    while here % cols != dst % cols:
        here += 1 if here % cols < dst % cols else -1
        route.append(here)
    while here != dst:
        here += cols if here < dst else -cols
        route.append(here)
    return route


def star(seed: int, op: str) -> Schedule:
    """Return a schedule of a reducing collective: all add at a hub, which tells."""
    rng = random.Random(seed)  # noqa: S311  (no secret)
    table = random_fabric(rng)
    fabric = load_fabric(table)
    count = rng.randint(2, fabric.node_count)
    nodes = tuple(rng.sample(range(fabric.node_count), count))
    task = Collective(op, nodes, count * rng.choice([1, 4096, 10**6]), count)
    root = nodes[0]
    order = [(src, root, 0, count) for src in nodes[1:]]
    segments: list[Circuits] = []
    steps: list[tuple[int | None, Transfers]] = []
    final = _held(task, final=True)
    back = [(root, node, chunk, chunk + 1) for node, chunk in sorted(final)]
    told = [row for row in back if row[1] != root]
    for rows, kind in ((order, Op.REDUCE), (told, Op.COPY)):
        for row in rows:
            segment = None
            if table["kind"] != "ideal-switch":
                lit = sorted(rng.sample(range(int(table["lasers"])), 1))
                route = route_by_row(row[0], row[1], int(table["cols"]))
                segments.append(circuits([(route, lit)]))
                segment = len(segments) - 1
            steps.append((segment, moves([row], kind)))
    return schedule(table, task, segments, steps)


def served(seed: int) -> Schedule:
    """Return a random valid schedule of a fluid demand."""
    rng = random.Random(seed)  # noqa: S311  (no secret)
    table = random_fabric(rng)
    count = load_fabric(table).node_count
    wishes = [(s, d) for s in range(count) for d in range(count) if s != d]
    chosen = rng.sample(wishes, rng.randint(1, min(6, len(wishes))))
    left = {pair: rng.choice([1, 999, 10**6, 10**9]) for pair in chosen}
    task = Demand.from_rows([(*pair, size) for pair, size in left.items()])
    segments: list[Circuits] = []
    steps = []
    while left:
        pairs = _peers(rng, table, tuple(range(count)), segments)
        rows = []
        for pair in pairs:
            if pair in left:
                size = rng.randint(1, left[pair])
                size = left[pair] if rng.random() < 0.7 else size
                rows.append((*pair, size))
                left[pair] -= size
                if not left[pair]:
                    del left[pair]
        if rows:
            steps.append((len(segments) - 1 if segments else None, fluid(rows)))
    return schedule(table, task, segments, steps)
