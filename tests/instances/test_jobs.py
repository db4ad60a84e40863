"""Jobs on one fabric: blocks, what is left, and what cannot be had."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.instances.jobs import Fragmentation, JobMap


def filled(*, ring: bool) -> JobMap:
    """Return ten nodes with jobs on 2 to 3 and 6 to 8."""
    jobs = JobMap(10, ring=ring)
    for name, count in (("a", 2), ("b", 2), ("c", 2), ("d", 3)):
        jobs.allocate(name, count)
    assert jobs.release("a") == (0, 1)
    assert jobs.release("c") == (4, 5)
    return jobs


def test_free_blocks_on_a_line_and_on_a_ring() -> None:
    """Node 9 and node 0 are neighbours on a ring only."""
    line, ring = filled(ring=False), filled(ring=True)
    assert line.free_blocks() == [(0, 2), (4, 2), (9, 1)]
    assert ring.free_blocks() == [(4, 2), (9, 3)]
    assert line.fragmentation() == Fragmentation(5, (2, 2, 1))
    assert line.fragmentation().share == Fraction(3, 5)
    assert ring.fragmentation() == Fragmentation(5, (3, 2))
    assert (ring.fragmentation().largest, ring.fragmentation().share) == (
        3,
        Fraction(2, 5),
    )


def test_a_job_gets_the_shortest_block_that_will_do() -> None:
    """So that the longer one is left; a block may go past the last node."""
    jobs = filled(ring=True)
    assert jobs.allocate("e", 2) == (4, 5)
    assert jobs.allocate("f", 3) == (9, 0, 1)
    assert jobs.jobs() == {
        "b": (2, 3),
        "d": (6, 7, 8),
        "e": (4, 5),
        "f": (9, 0, 1),
    }
    assert jobs.owner(0) == "f"
    assert jobs.fragmentation() == Fragmentation(0, ())
    assert (jobs.fragmentation().largest, jobs.fragmentation().share) == (0, 0)


def test_a_whole_ring_is_one_block() -> None:
    """Empty, it is not joined to itself."""
    jobs = JobMap(4, ring=True)
    assert jobs.free_blocks() == [(0, 4)]
    assert jobs.allocate("all", 4) == (0, 1, 2, 3)
    assert jobs.free_blocks() == []
    jobs.release("all")
    assert jobs.fragmentation().share == 0


def test_several_blocks_where_one_is_not_required() -> None:
    """The longest first; or simply the free nodes of least number."""
    assert filled(ring=True).allocate("e", 4, "preferred") == (9, 0, 1, 4)
    assert filled(ring=True).allocate("e", 3, "preferred") == (9, 0, 1)
    assert filled(ring=True).allocate("e", 4, "any") == (0, 1, 4, 5)


def test_what_cannot_be_had_is_said_with_numbers() -> None:
    """The refusal says how many are free, and changes nothing."""
    jobs = filled(ring=False)
    with pytest.raises(InfeasibleError, match="needs 6 nodes and 5 are free"):
        jobs.allocate("e", 6, "any")
    with pytest.raises(
        InfeasibleError, match="3 nodes in one block; 5 are free, the l"
    ):
        jobs.allocate("e", 3)
    assert sorted(jobs.jobs()) == ["b", "d"]
    with pytest.raises(InputError, match="a job that has its nodes; found 'b'"):
        jobs.allocate("b", 1)
    with pytest.raises(InputError, match="job e: a job without nodes; found 0"):
        jobs.allocate("e", 0)
    with pytest.raises(InputError, match="unknown job; found 'dd'; did you mean d"):
        jobs.release("dd")
    with pytest.raises(InputError, match="a fabric without nodes"):
        JobMap(0)


@given(
    st.integers(1, 12),
    st.booleans(),
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.integers(1, 6),
            st.sampled_from(["any", "preferred", "required"]),
        ),
        max_size=20,
    ),
)
def test_nodes_are_never_lost_or_given_twice(
    nodes: int,
    ring: bool,  # noqa: FBT001
    moves: list[tuple[int, int, str]],
) -> None:
    """Jobs come and go; each node has one owner or is in one free block."""
    jobs = JobMap(nodes, ring=ring)
    for name, count, blocks in moves:
        if str(name) in jobs.jobs():
            jobs.release(str(name))
            continue
        before = jobs.fragmentation()
        try:
            given_nodes = jobs.allocate(str(name), count, blocks)  # type: ignore[arg-type]
        except InputError:
            assert count > nodes
            continue
        except InfeasibleError:
            too_many = count > before.free
            assert too_many or (blocks == "required" and count > before.largest)
            continue
        assert len(set(given_nodes)) == count
        if blocks == "required" or (blocks == "preferred" and count <= before.largest):
            steps = {(b - a) % nodes for a, b in pairwise(given_nodes)}
            assert steps <= {1 % nodes}
            assert ring or sorted(given_nodes) == list(given_nodes)
        taken = [node for each in jobs.jobs().values() for node in each]
        free = [
            (first + step) % nodes
            for first, length in jobs.free_blocks()
            for step in range(length)
        ]
        assert sorted(taken + free) == list(range(nodes))
