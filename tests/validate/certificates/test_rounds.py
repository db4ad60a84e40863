"""A round that forwards nothing: what it proves is true of every node set."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.problems.fewest_rounds import few_rounds
from lightloom.validate.certificates.rounds import prove_rounds
from lightloom.validate.certificates.witness import WitnessError
from tests.examples.collectives_on_grids import fewest_by_search, grid


def _proven(instance: Instance, nodes: tuple[int, ...]) -> int:
    fabric, task = instance.fabric, instance.task
    assert isinstance(fabric, Lightpath)
    assert isinstance(task, Collective)
    return prove_rounds(fabric, task, "direct", {"nodes": [*nodes]}).rounds


def _grid(
    rows: int, cols: int, lasers: int, op: str, *, waveguides: int = 1
) -> Instance:
    count = rows * cols
    return grid(rows, cols, op, lasers=lasers, waveguides=waveguides, chunks=count)


@pytest.mark.parametrize(
    ("instance", "nodes", "rounds"),
    [
        # Four tiles hear of four, sixteen chunks; fourteen circuits cross at once.
        (_grid(2, 4, 7, "all-gather"), (0, 1, 4, 5), 2),
        (_grid(2, 4, 7, "reduce-scatter"), (0, 1, 4, 5), 2),
        (_grid(2, 4, 7, "all-gather", waveguides=2), (0, 1, 4, 5), 1),
        # A contribution that is sent in the last round alone takes three circuits.
        (_grid(2, 2, 11, "all-reduce"), (0, 1, 2, 3), 2),
        (_grid(2, 2, 12, "all-reduce"), (0, 1, 2, 3), 1),
        (_grid(2, 2, 1, "all-gather"), (), 0),
        (_grid(2, 2, 1, "all-gather"), (0, 1, 2, 3), 0),
        (_grid(2, 2, 1, "reduce-scatter"), (0, 1, 2, 3), 0),
    ],
)
def test_counted_by_hand(
    instance: Instance, nodes: tuple[int, ...], rounds: int
) -> None:
    """Chunks, circuits that cross and lasers, worked out by hand."""
    assert _proven(instance, nodes) == rounds


@pytest.mark.parametrize("lasers", [1, 2, 3])
@pytest.mark.parametrize("op", ["all-gather", "all-to-all", "broadcast", "scatter"])
@pytest.mark.parametrize("size", [(1, 3), (2, 2)])
def test_no_set_proves_more_than_the_optimum(
    size: tuple[int, int], op: str, lasers: int
) -> None:
    """Every set of tiles against the search of everything."""
    chunks = 2 if op == "broadcast" else size[0] * size[1]
    instance = grid(*size, op, lasers=lasers, chunks=chunks)
    best = fewest_by_search(instance)
    tiles = range(size[0] * size[1])
    for count in range(len(tiles) + 1):
        for nodes in itertools.combinations(tiles, count):
            assert _proven(instance, nodes) <= best, nodes


@settings(max_examples=60, deadline=None)
@given(
    op=st.sampled_from(tuple(COLLECTIVES)),
    size=st.sampled_from([(1, 4), (2, 2), (2, 3), (2, 4), (3, 3)]),
    lasers=st.integers(1, 9),
    waveguides=st.integers(1, 2),
    data=st.data(),
)
def test_no_set_proves_more_than_is_found(
    op: str,
    size: tuple[int, int],
    lasers: int,
    waveguides: int,
    data: st.DataObject,
) -> None:
    """Any set, any tiles that take part, any collective: no more than a schedule."""
    fabric = Lightpath(rows=size[0], cols=size[1], lasers=lasers, waveguides=waveguides)
    tiles = st.integers(0, fabric.node_count - 1)
    ranks = tuple(data.draw(st.lists(tiles, min_size=1, unique=True)))
    inside = tuple(data.draw(st.lists(tiles, unique=True)))
    task = Collective(op, ranks, 24 * len(ranks), len(ranks))
    found = few_rounds(Instance(fabric, task, "test"), tries=2)
    assert _proven(Instance(fabric, task, "test"), inside) <= found.rounds


def test_a_set_of_a_tile_that_is_not_there_is_refused() -> None:
    """Nodes outside the grid prove nothing."""
    with pytest.raises(WitnessError, match="node 4"):
        _proven(_grid(2, 2, 1, "all-gather"), (4,))
