"""Few rounds: every schedule verifies, and none beats its bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import Transfers
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.problems.fewest_rounds import METHODS, FewRounds, few_rounds
from lightloom.problems.fewest_rounds.greedy_forwarding import forwarded
from lightloom.problems.fewest_rounds.planned_rounds import planned
from lightloom.validate import verify

OPS = tuple(COLLECTIVES)


def solved(
    fabric: Lightpath,
    op: str,
    nodes: tuple[int, ...] | None = None,
    *,
    tries: int | None = 4,
    method: str = METHODS[0],
    root: int | None = None,
    chunks: int | None = None,
) -> FewRounds:
    """Return few rounds of a collective, after checks that hold for all."""
    nodes = tuple(range(fabric.node_count)) if nodes is None else nodes
    task = Collective(op, nodes, 24 * len(nodes), chunks, root)
    found = few_rounds(Instance(fabric, task, "test"), tries=tries, method=method)
    schedule = found.schedule()
    verdict = verify(schedule)
    assert verdict.valid, verdict.violations[:3]
    assert len(schedule.segments) <= schedule.step_count == found.rounds
    assert found.rounds >= found.bound.rounds
    assert found.proved == (found.rounds == found.bound.rounds)
    # One chunk a circuit and round: as many wavelengths as chunks.
    moved = lit = 0
    for part in schedule.parts:
        transfers = part.transfers
        wavelengths = schedule.segments[part.segment].circuits.wavelengths
        assert isinstance(transfers, Transfers)
        assert wavelengths is not None
        moved += int((transfers.chunk_hi - transfers.chunk_lo).sum())
        lit += len(wavelengths.values)
    assert moved == lit == len(found.moves)
    return found


@settings(max_examples=60, deadline=None)
@given(
    op=st.sampled_from(OPS),
    size=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    lasers=st.integers(1, 6),
    paths=st.tuples(st.integers(1, 2), st.integers(1, 3)),
    data=st.data(),
)
def test_any_collective(
    op: str,
    size: tuple[int, int],
    lasers: int,
    paths: tuple[int, int],
    data: st.DataObject,
) -> None:
    """Any collective over any tiles of any grid is served, in any rank order."""
    fabric = Lightpath(
        rows=size[0],
        cols=size[1],
        wafer_rows=2,
        wafer_cols=3,
        lasers=lasers,
        waveguides=paths[0],
        fibers=paths[1],
    )
    tiles = st.integers(0, fabric.node_count - 1)
    nodes = tuple(data.draw(st.lists(tiles, min_size=1, unique=True)))
    rooted, many = COLLECTIVES[op].rooted, data.draw(st.booleans())
    root = data.draw(st.sampled_from(nodes)) if rooted else None
    chunks = 2 * len(nodes) if many else None
    solved(fabric, op, nodes, tries=2, root=root, chunks=chunks)


def test_more_rounds_than_chunks_that_a_tile_lacks() -> None:
    """A broadcast of 8 chunks along a row, one laser each: some rounds owe nothing."""
    fabric = Lightpath(rows=1, cols=4, lasers=1, waveguides=1)
    solved(fabric, "broadcast", (0, 1, 2, 3), tries=2, root=0, chunks=8)


@pytest.mark.parametrize("op", ["broadcast", "scatter", "gather", "reduce"])
@pytest.mark.parametrize("grid", [(1, 5), (3, 3), (4, 5), (8, 8)])
@pytest.mark.parametrize("lasers", [1, 2, 3, 16])
def test_rooted_at_the_bound(op: str, grid: tuple[int, int], lasers: int) -> None:
    """Operations with a root meet their bound with one waveguide an edge."""
    rows, cols = grid
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=1)
    assert solved(fabric, op, root=rows * cols // 2).proved


@pytest.mark.parametrize("op", ["all-gather", "reduce-scatter"])
@pytest.mark.parametrize("grid", [(1, 4), (1, 5), (2, 2), (3, 3), (5, 3), (4, 6)])
@pytest.mark.parametrize("lasers", [1, 2])
def test_ring_at_the_bound(op: str, grid: tuple[int, int], lasers: int) -> None:
    """With up to two lasers a ring meets the bound on every grid, odd ones too."""
    rows, cols = grid
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=1)
    assert solved(fabric, op).proved


@pytest.mark.parametrize(
    ("rows", "cols", "lasers", "waveguides", "rounds"),
    [
        (2, 2, 2, 1, 2),
        (2, 4, 2, 1, 4),
        (3, 3, 2, 1, 4),
        (4, 4, 2, 1, 8),
        (4, 4, 4, 1, 4),
        (4, 4, 8, 1, 2),
        (2, 4, 8, 1, 1),
        (4, 4, 16, 1, 1),
        (4, 8, 4, 1, 8),
        (4, 8, 8, 2, 4),
        (4, 8, 16, 2, 2),
        (8, 8, 16, 2, 4),
        (8, 8, 16, 4, 4),
    ],
)
def test_all_gather_at_the_bound(
    rows: int, cols: int, lasers: int, waveguides: int, rounds: int
) -> None:
    """These all-gathers are optimal."""
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=waveguides)
    found = solved(fabric, "all-gather", tries=None)
    assert found.rounds == found.bound.rounds == rounds


@pytest.mark.parametrize(
    ("rows", "cols", "lasers", "rounds"),
    [pytest.param(7, 7, 16, 3, marks=pytest.mark.slow), (4, 8, 16, 2)],
)
def test_planned_rounds_leave_no_laser_idle(
    rows: int, cols: int, lasers: int, rounds: int
) -> None:
    """With one waveguide, where direct sends take 84 and 64 slots."""
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=1)
    found = solved(fabric, "all-gather", tries=1)
    assert found.rounds == found.bound.rounds == rounds
    assert found.method == "planned rounds"
    assert found.moves.round_count * lasers * rows * cols - len(found.moves) <= 40


def test_planned_without_turns() -> None:
    """Holders that no turn takes to each other, and too few rounds."""
    fabric = Lightpath(rows=3, cols=4, lasers=4, waveguides=1)
    holds = np.eye(12, dtype=np.bool_)
    holds[0, 5] = True
    wants = np.ones((12, 12), dtype=np.bool_)
    wants[7, 3] = False
    moves = planned(fabric, holds, wants, rounds=3)
    assert moves is not None
    assert len(moves) == int((wants & ~holds).sum())
    for round_ in range(3):
        rows = moves.round == round_
        assert holds[moves.src[rows], moves.chunk[rows]].all()
        holds[moves.dst[rows], moves.chunk[rows]] = True
    assert (holds == wants | np.eye(12, dtype=np.bool_)).all()
    assert planned(fabric, np.eye(12, dtype=np.bool_), wants, rounds=2) is None


def test_divide_and_conquer() -> None:
    """Squares are optimal by themselves, and cost rounds on larger grids."""
    square = solved(
        Lightpath(rows=2, cols=2, lasers=2, waveguides=1),
        "all-gather",
        method="divide-and-conquer",
    )
    assert square.rounds == square.bound.rounds == 2
    fabric = Lightpath(rows=4, cols=8, lasers=2, waveguides=1)
    shuffled = tuple(np.random.default_rng(0).permutation(32).tolist())
    for op in ("all-gather", "reduce-scatter", "all-reduce"):
        found = solved(fabric, op, shuffled, method="divide-and-conquer")
        assert found.rounds > solved(fabric, op, shuffled).rounds


@pytest.mark.parametrize("grid", [(3, 4), (1, 4), (5, 6), (4, 4), (1, 7)])
def test_divide_and_conquer_on_any_rectangle(grid: tuple[int, int]) -> None:
    """Sides with other factors than 2 too; rounds are those that were verified."""
    fabric = Lightpath(rows=grid[0], cols=grid[1], lasers=4)
    for op in ("all-gather", "all-reduce"):
        found = solved(fabric, op, method="divide-and-conquer")
        assert found.rounds >= found.bound.rounds


def test_divide_and_conquer_on_part_of_a_grid() -> None:
    """A rectangle of tiles is served wherever it is; others are refused."""
    fabric = Lightpath(rows=4, cols=4, lasers=4)
    inside = (5, 6, 7, 9, 10, 11)
    assert solved(fabric, "all-gather", inside, method="divide-and-conquer").rounds
    with pytest.raises(InputError, match="all tiles of a rectangle"):
        solved(fabric, "all-gather", (0, 1, 4), method="divide-and-conquer")


def test_bad_questions() -> None:
    """Other fabrics, other tasks, dark tiles and cut-off tiles are refused."""
    task = Collective("all-gather", (0, 1), 8)
    with pytest.raises(InputError, match="light paths"):
        few_rounds(Instance(IdealSwitch(nodes=2), task, "test"))
    fabric = Lightpath(rows=1, cols=2)
    with pytest.raises(InputError, match="collective"):
        few_rounds(Instance(fabric, Demand((0,), (1,), (8,)), "test"))
    with pytest.raises(InputError, match="method"):
        few_rounds(Instance(fabric, task, "test"), method="magic")
    with pytest.raises(InfeasibleError, match="lasers"):
        few_rounds(Instance(Lightpath(rows=1, cols=2, lasers=0), task, "test"))
    cut = Lightpath(rows=1, cols=2, wafer_cols=1, fibers=0)
    with pytest.raises(InfeasibleError, match="no route from 0 to 1"):
        few_rounds(Instance(cut, task, "test"))


@pytest.mark.parametrize("op", OPS)
def test_dark_fibres(op: str) -> None:
    """Tiles of one wafer are served where no fibre leaves it."""
    fabric = Lightpath(rows=2, cols=4, wafer_cols=2, lasers=2, waveguides=1, fibers=0)
    found = solved(fabric, op, (2, 7, 6, 3))
    assert set(found.moves.route.values.tolist()) <= {2, 3, 6, 7}


def test_same_seed_same_rounds() -> None:
    """The seed decides, down to the last route."""
    fabric = Lightpath(rows=4, cols=4, lasers=3, waveguides=1)
    one, two = (solved(fabric, "all-gather").moves for _ in range(2))
    for name in ("round", "wavelength", "src", "dst", "chunk"):
        assert (getattr(one, name) == getattr(two, name)).all()
    assert (one.route.values == two.route.values).all()


def test_nothing_to_forward() -> None:
    """Where everyone has what they want, there are no rounds."""
    has = np.ones((4, 2), dtype=np.bool_)
    assert not len(forwarded(Lightpath(rows=2, cols=2), has, has, bound=0))
