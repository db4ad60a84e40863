"""Operations cut into parts: times, dimensions, and what passes between parts."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from lightloom.core.computation import ComputationGraph, Operation, Split
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.training.placement.graph_split import (
    OperationCut,
    SplitGraph,
    part_edges,
    split_graph,
)
from lightloom.training.placement.placement_search import place_operations

US = 1_000_000


def _split(dimension: str = "sample", **changes: object) -> Split:
    """Return a split into 1 to 8 parts: 80 us forward and 160 us backward in all."""
    values: dict[str, object] = {
        "dimension": dimension,
        "most_parts": 8,
        "whole_input": dimension == "channel",
        "divides_parameters": dimension == "channel",
        "parts": (1, 2),
        "forward_ps": (80 * US, 40 * US),
        "backward_ps": (160 * US, 80 * US),
        "memory_bytes": (800, 400),
        **changes,
    }
    return Split(**values)  # type: ignore[arg-type]


def _operation(name: str, *splits: Split) -> Operation:
    return Operation(name, "layer", 64, 32, 4096, splits)


def _chain(*operations: Operation) -> ComputationGraph:
    """Return operations one after the other, 4,096 bytes between two."""
    count = len(operations) - 1
    src, dst = tuple(range(count)), tuple(range(1, count + 1))
    return ComputationGraph("chain", 8, operations, src, dst, (4096,) * count, "test")


TWO = _chain(_operation("a", _split()), _operation("b", _split()))


def _sizes(found: SplitGraph) -> dict[tuple[str, str], int]:
    """Return bytes by the names of an edge's ends."""
    workload = found.workload
    return {
        (workload.op[src], workload.op[dst]): size
        for src, dst, size in zip(
            workload.src, workload.dst, workload.bytes, strict=True
        )
    }


@pytest.mark.parametrize(
    ("quantum_us", "most", "parts"),
    [(10, 8, 8), (10, 4, 4), (20, 8, 4), (40, 8, 2), (39, 8, 2), (36, 8, 2),
     (31, 8, 2), (30, 8, 2), (29, 8, 4), (30, 3, 3),
     (80, 8, 1), (500, 8, 1), (1, 8, 8), (53, 8, 2), (61, 8, 1)],
)  # fmt: skip
def test_parts_are_near_the_quantum(quantum_us: int, most: int, parts: int) -> None:
    """Of 80 us forward: the divisor of the devices that comes nearest."""
    found = split_graph(
        TWO, devices=most, distance=most - 1, quantum_ps=quantum_us * US
    )
    assert found.cuts == (OperationCut("sample", parts),) * 2
    assert len(found.workload.op) == 4 * parts


def test_aligned_parts_pass_their_slice_alone() -> None:
    """Two and two: each part hears from its namesake, gradients the other way."""
    found = split_graph(TWO, devices=2, distance=1, quantum_ps=40 * US)
    workload = found.workload
    assert workload.op[:2] == ("a#0", "a#1")
    assert workload.op[-1] == "b#1 backward"
    assert workload.duration_ps == (40 * US,) * 4 + (80 * US,) * 4
    assert workload.memory_bytes == (400,) * 4 + (0,) * 4
    assert found.op.tolist() == [0, 0, 1, 1] * 2
    assert found.part.tolist() == [0, 1] * 4
    assert found.backward.tolist() == [False] * 4 + [True] * 4
    sizes = _sizes(found)
    kept = 4096 // 2 + 64
    assert sizes == {
        ("a#0", "b#0"): 2048,
        ("a#1", "b#1"): 2048,
        ("b#0 backward", "a#0 backward"): 2048,
        ("b#1 backward", "a#1 backward"): 2048,
        **{
            (f"{name}#{part}", f"{name}#{part} backward"): kept
            for name, part in product("ab", range(2))
        },
    }


def test_in_place_the_backward_time_is_added() -> None:
    """One operation a part, and no edges up the ring."""
    found = split_graph(
        TWO, devices=2, distance=1, quantum_ps=40 * US, backward="in-place"
    )
    assert found.workload.op == ("a#0", "a#1", "b#0", "b#1")
    assert found.workload.duration_ps == (120 * US,) * 4
    assert set(_sizes(found)) == {("a#0", "b#0"), ("a#1", "b#1")}
    assert not found.backward.any()


@pytest.mark.parametrize(("src_parts", "dst_parts"), [*product(range(1, 8), repeat=2)])
def test_slices_of_one_dimension(src_parts: int, dst_parts: int) -> None:
    """Each pair passes the overlap of its slices, rounded up, and no others."""
    src, dst, sizes = part_edges(1000, src_parts, dst_parts, whole=False, aligned=True)
    found = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), sizes, strict=True))
    expected = {}
    for i, j in product(range(src_parts), range(dst_parts)):
        overlap = min(Fraction(i + 1, src_parts), Fraction(j + 1, dst_parts)) - max(
            Fraction(i, src_parts), Fraction(j, dst_parts)
        )
        if overlap > 0:
            expected[i, j] = -(-1000 * overlap.numerator // overlap.denominator)
    assert found == expected


def test_whole_inputs_and_two_dimensions_pass_to_all() -> None:
    """All of each part where the input is needed whole, else a share of a share."""
    src, dst, sizes = part_edges(1000, 2, 3, whole=True, aligned=False)
    assert len(set(zip(src.tolist(), dst.tolist(), strict=True))) == 6
    assert sizes == [500] * 6
    *_, sizes = part_edges(1000, 2, 3, whole=False, aligned=False)
    assert sizes == [167] * 6


def test_the_dimension_that_moves_least_is_taken() -> None:
    """Activations of 4,096 bytes to all, against gradients of 32: samples."""
    both = (_split("channel"), _split("sample"))
    graph = _chain(_operation("a", *both), _operation("b", *both))
    found = split_graph(graph, devices=8, distance=7)
    assert found.cuts[1] == OperationCut("sample", 8)
    heavy = Operation("b", "layer", 10**9, 10**9, 4096, both)
    found = split_graph(_chain(_operation("a", *both), heavy), devices=8, distance=7)
    assert found.cuts[1] == OperationCut("channel", 8)


def test_partners_beyond_the_distance_are_avoided() -> None:
    """With distance 2 no part may hear from eight, whatever the bytes."""
    both = (_split("channel"), _split("sample"))
    heavy = Operation("b", "layer", 10**9, 10**9, 4096, both)
    graph = _chain(_operation("a", _split()), heavy)
    assert split_graph(graph, devices=8, distance=7).cuts[1].dimension == "channel"
    assert split_graph(graph, devices=8, distance=2).cuts[1].dimension == "sample"


def test_short_operations_follow_long_ones() -> None:
    """Cut as what they hear from, so that nothing is gathered."""
    short = _split(forward_ps=(4 * US, 2 * US), backward_ps=(4 * US, 2 * US))
    graph = _chain(_operation("a", _split()), _operation("b", short))
    found = split_graph(graph, devices=8, distance=2)
    assert [cut.parts for cut in found.cuts] == [8, 8]


def test_memory_asks_for_more_parts() -> None:
    """A part of at most 200 bytes is one of four."""
    found = split_graph(
        TWO, devices=8, distance=7, quantum_ps=500 * US, device_memory_bytes=200
    )
    assert [cut.parts for cut in found.cuts] == [4, 4]


def test_what_fits_at_no_cut_says_what_would() -> None:
    """The number of parts, or of devices, that would do; or that none does."""
    with pytest.raises(InfeasibleError, match=r"'a' cannot be cut.* allow 8 parts"):
        split_graph(TWO, devices=4, distance=3, device_memory_bytes=100)
    with pytest.raises(InfeasibleError, match=r"found 1600.* use 8 devices or more"):
        split_graph(TWO, devices=4, distance=3, device_memory_bytes=200)
    with pytest.raises(InfeasibleError, match="give devices more memory"):
        split_graph(TWO, devices=8, distance=7, device_memory_bytes=99)


@pytest.mark.parametrize(
    "changes",
    [{"devices": 0}, {"quantum_ps": 0}, {"backward": "never"}],
)
def test_bad_input_is_named(changes: dict[str, object]) -> None:
    """The error names the argument and its value."""
    options: dict[str, object] = {"devices": 4, "distance": 3, **changes}
    (name,) = changes
    with pytest.raises(InputError, match=name):
        split_graph(TWO, **options)  # type: ignore[arg-type]


def test_parts_can_be_placed() -> None:
    """Eight aligned chains on eight devices, each on one: nothing leaves a device."""
    found = split_graph(TWO, devices=8, distance=2)
    plan = place_operations(found.workload, seed=0)
    assert plan.placement.makespan_ps == plan.bound_ps == (10 + 10 + 20 + 20) * US
    assert len(set(plan.placement.device.tolist())) == 8
