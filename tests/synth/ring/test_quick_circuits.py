"""Exchanges of all with all on rings: laps fill every span, and split evenly."""

from __future__ import annotations

import numpy as np
import pytest

from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.instance import Instance
from lightloom.synth.ring.quick_circuits import exchange_circuits, lap_numbers
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify

MIB = 2**20


def all_pairs(nodes: int) -> Demand:
    """Return a demand of as many bytes from each node to each other one."""
    src, dst = np.nonzero(~np.eye(nodes, dtype=bool))
    return Demand(tuple(src.tolist()), tuple(dst.tolist()), (7,) * len(src))


@pytest.mark.parametrize(
    ("nodes", "directions", "shared", "laps"),
    [
        *((nodes, 2, False, nodes**2 // 8) for nodes in (4, 8, 12, 16, 20)),
        *((nodes, 2, True, nodes**2 // 4) for nodes in (4, 8, 16)),
        *((nodes, 2, False, (nodes**2 - 1) // 8) for nodes in (3, 5, 7, 9)),
        *((nodes, 2, False, (nodes**2 + 4) // 8) for nodes in (2, 6, 10)),
        *((nodes, 1, False, nodes * (nodes - 1) // 2) for nodes in (2, 5, 8)),
    ],
)
def test_the_fewest_wavelengths(
    nodes: int,
    directions: int,
    shared: bool,  # noqa: FBT001
    laps: int,
) -> None:
    """So many light all pairs, and where 4 divides n every span of them is lit."""
    ring = Ring(
        nodes=nodes,
        wavelengths=laps,
        directions=directions,
        reach=nodes,
        shared_transceivers=shared,
    )
    circuits = exchange_circuits(ring, all_pairs(nodes))
    assert circuits is not None
    assert list(ring.circuit_faults(circuits)) == []
    usage = ring.usage(circuits)
    assert (np.bincount(usage.resource, usage.amount) <= 1).all()
    if nodes % 4 == 0 and directions == 2 and not shared:
        assert len(usage.resource) == 2 * nodes * (nodes - 1) + 2 * nodes * laps
    if laps > 1:
        fewer = Ring(
            nodes=nodes,
            wavelengths=laps - 1,
            directions=directions,
            reach=nodes,
            shared_transceivers=shared,
        )
        assert exchange_circuits(fewer, all_pairs(nodes)) is None


def test_some_nodes_exchange_as_if_the_others_were_not_there() -> None:
    """Four of nine nodes need two wavelengths, and none where light does not reach."""
    ring = Ring(nodes=9, wavelengths=2, directions=2, reach=8)
    src, dst = (np.array(one) for one in zip(*_pairs([0, 2, 3, 7]), strict=True))
    found = lap_numbers(ring, src, dst)
    assert found is not None
    assert set(found.tolist()) == {0, 1}
    near = Ring(nodes=9, wavelengths=2, directions=2, reach=2)
    assert lap_numbers(near, src, dst) is None


def _pairs(nodes: list[int]) -> list[tuple[int, int]]:
    return [(one, other) for one in nodes for other in nodes if one != other]


@pytest.mark.parametrize(("side", "most_ps"), [(8, 1_370_000_000), (16, 2_765_000_000)])
def test_all_to_all_is_nearly_optimal(side: int, most_ps: int) -> None:
    """64 MiB within 2 % of what spans allow, over one and over two configurations."""
    fabric = Ring2d(
        rows=side,
        cols=side,
        row_wavelengths=16,
        column_wavelengths=16,
        directions=2,
    )
    task = Collective("all-to-all", tuple(range(side**2)), 64 * MIB)
    made = synthesise(Instance(fabric, task, "a test"))
    assert made.incumbent is not None
    assert verify(made.incumbent.schedule).violations == ()
    assert made.objective is not None
    assert made.bound is not None
    assert made.objective <= most_ps
    assert made.objective < 1.02 * made.bound
