"""Placements by our own algorithms: never a broken rule, whatever the graph."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.seed import seeded_random
from lightloom.core.task import Workload
from lightloom.training.placement.list_placement import (
    DeadEndError,
    ListRule,
    WorkLimit,
    depth_first_placement,
    list_placement,
)
from lightloom.training.placement.local_search import LocalSearch, RingWindows, members
from lightloom.training.placement.operation_graph import op_graph, timed
from lightloom.training.placement.placement_search import place_operations
from lightloom.training.placement.sipml_algorithm_1 import algorithm_one
from lightloom.validate.certificates.makespan import check_placement_witness
from lightloom.validate.placement import check_placement
from tests.examples.layered_workloads import layered_workload


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Draw a random graph on a random ring, rows not in topological order."""
    ops = draw(st.integers(1, 24))
    devices = draw(st.integers(1, 9))
    distance = draw(st.integers(0, devices))
    rng = seeded_random(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from((0.05, 0.15, 0.4)))
    name = rng.sample(range(ops), ops)
    edges = [
        (name[src], name[dst])
        for dst in range(ops)
        for src in range(dst)
        if rng.random() < share
    ]
    memory = tuple(rng.randint(0, 4) for _ in range(ops))
    most = draw(st.sampled_from((None, 2, 3)))
    return Workload(
        tuple(f"op{row}" for row in range(ops)),
        tuple(rng.choice((0, 1, 7, 10**15)) for _ in range(ops)),
        memory,
        tuple(src for src, _ in edges),
        tuple(dst for _, dst in edges),
        tuple(rng.randint(0, 9) for _ in edges),
        devices,
        distance,
        None if most is None else most * sum(memory) // devices + 4,
    )


@settings(max_examples=80)
@given(workloads(), st.integers(0, 3))
def test_no_rule_is_ever_broken(workload: Workload, seed: int) -> None:
    """Windows, order, memory and degree hold, above a bound that its witness proves."""
    try:
        plan = place_operations(workload, seed=seed, effort_percent=3)
    except (InfeasibleError, NoAnswerError):
        assert workload.device_memory_bytes is not None
        return
    placement = plan.placement
    assert not list(check_placement(placement))
    assert max(placement.degrees) <= workload.distance
    assert check_placement_witness(workload, plan.witness) == plan.bound_ps
    assert plan.bound_ps <= placement.makespan_ps <= sum(workload.duration_ps)


@settings(max_examples=60)
@given(workloads())
def test_parts_of_a_depth_first_order_fit(workload: Workload) -> None:
    """Without memory, every window and order is kept, whatever the graph."""
    workload = msgspec.structs.replace(workload, device_memory_bytes=None)
    graph = op_graph(workload)
    listed = depth_first_placement(graph)
    assert not list(check_placement(timed(graph, listed.device, listed.order)))


def test_a_backward_pass_behind_a_loss() -> None:
    """Eight chains forth, one operation, eight back: five devices hold them all.

    A chain's end on the way back is next to its start, which keeps all between the two
    near each other: one by one they take 33 ps.
    """
    forth = [(chain, 8 + chain) for chain in range(8)]
    loss = [(8 + chain, 16) for chain in range(8)] + [(16, 17 + n) for n in range(8)]
    back = [(17 + n, 25 + n) for n in range(8)] + [(n, 25 + n) for n in range(8)]
    src, dst = zip(*forth, *loss, *back, strict=True)
    names = tuple(f"op{n}" for n in range(33))
    workload = Workload(names, (1,) * 33, (0,) * 33, src, dst, (1,) * 40, 64, 4)
    graph = op_graph(workload)
    listed = depth_first_placement(graph)
    assert timed(graph, listed.device, listed.order).makespan_ps <= 14
    plan = place_operations(workload, seed=0)
    assert plan.bound_ps >= 7
    assert check_placement_witness(workload, plan.witness) == plan.bound_ps


@settings(max_examples=80)
@given(workloads())
def test_algorithm_one_ends_and_breaks_no_rule(workload: Workload) -> None:
    """With its repair, and with the chain where the repair does not end."""
    try:
        answer = algorithm_one(op_graph(workload))
    except NoAnswerError:
        assert workload.device_memory_bytes is not None
        return
    assert not list(check_placement(answer.placement))
    assert max(answer.placement.degrees) <= workload.distance


@settings(max_examples=80)
@given(
    workloads(),
    st.sampled_from(("tail", "ready", "row", "sweep")),
    st.sampled_from(((0, False), (50, False), (100, False), (0, True))),
)
def test_all_windows_heeded_there_is_no_dead_end(
    workload: Workload, urgency: str, how: tuple[int, bool]
) -> None:
    """Without memory, what is left to an operation can always be used."""
    workload = msgspec.structs.replace(workload, device_memory_bytes=None)
    assume(workload.distance < workload.devices - 1)
    graph = op_graph(workload)
    room, band = how
    rule = ListRule(urgency, room, "first", 0, band, None)  # type: ignore[arg-type]
    listed = list_placement(graph, rule, seeded_random(0), WorkLimit(10**9))
    assert sorted(listed.order) == list(range(len(workload.op)))
    assert not list(check_placement(timed(graph, listed.device, listed.order)))


@settings(max_examples=60)
@given(workloads(), st.data())
def test_windows_as_sets(workload: Workload, data: st.DataObject) -> None:
    """A set holds just the devices from which every edge keeps to the distance."""
    graph = op_graph(workload)
    windows, devices = RingWindows(graph), workload.devices
    device = [data.draw(st.integers(0, devices - 1)) for _ in workload.op]
    op = data.draw(st.integers(0, len(workload.op) - 1))

    def kept(src: int, dst: int) -> bool:
        return (dst - src) % devices <= workload.distance

    assert members(windows.of(op, device)) == [
        place
        for place in range(devices)
        if all(kept(device[parent], place) for parent in graph.parents[op])
        and all(kept(place, device[child]) for child in graph.children[op])
    ]
    here, there = device[op], device[0]
    for is_parent in (True, False):
        to = windows.towards(here, there, is_parent=is_parent)
        assert kept(to, there) if is_parent else kept(there, to)

        def off(place: int) -> int:
            return min((place - here) % devices, (here - place) % devices)

        others = [
            off(place)
            for place in range(devices)
            if (kept(place, there) if is_parent else kept(there, place))
        ]
        assert off(to) == min(others)


def _gather(distance: int) -> Workload:
    """Return eight operations that a ninth hears from, on eight devices."""
    return Workload(
        tuple(f"op{row}" for row in range(9)),
        (10,) * 9,
        (1,) * 9,
        tuple(range(8)),
        (8,) * 8,
        (64,) * 8,
        8,
        distance,
    )


def test_a_gather_is_repaired() -> None:
    """Eight sources on eight devices: moved, so that the ninth hears from two others.

    Three devices for eight operations before it is the best there is.
    """
    graph = op_graph(_gather(2))
    answer = algorithm_one(graph)
    assert answer.repairs == 1
    assert not answer.chained
    assert max(answer.placement.degrees) <= 2
    plan = place_operations(graph.workload, seed=0)
    assert plan.placement.makespan_ps == plan.bound_ps == 40
    assert answer.placement.makespan_ps >= 40


def test_parents_as_far_apart_as_the_distance_need_no_repair() -> None:
    """The text would repair from a distance of Delta - 1 on; Delta is far enough.

    Two parents on devices 0 and 1, distance 1: their child goes to device 1.
    """
    workload = Workload(
        ("a", "b", "c"), (5, 5, 5), (0,) * 3, (0, 1), (2, 2), (8, 8), 4, 1
    )
    answer = algorithm_one(op_graph(workload))
    assert answer.repairs == 0
    assert answer.placement.device.tolist() == [0, 1, 1]
    assert answer.placement.makespan_ps == 10


def test_the_window_of_algorithm_one_wraps() -> None:
    """Behind device 2 the chain goes on to device 0, which is free."""
    chain = Workload(
        tuple("abcdef"),
        (1,) * 6,
        (1,) * 6,
        (1, 2, 3, 4),
        (2, 3, 4, 5),
        (8,) * 4,
        3,
        1,
        2,
    )
    answer = algorithm_one(op_graph(chain))
    assert answer.placement.device.tolist() == [0, 1, 2, 0, 1, 2]
    assert not list(check_placement(answer.placement))
    plan = place_operations(chain, seed=0)
    assert plan.placement.makespan_ps == plan.bound_ps == 5


def test_moves_never_make_it_worse() -> None:
    """The best of a search is no worse than its start, and keeps to every rule."""
    for seed in range(4):
        workload = layered_workload(4, 5, 6, 2, seed)
        graph = op_graph(workload)
        rng = seeded_random(seed)
        rule = ListRule(heeded=None)
        listed = list_placement(graph, rule, rng, WorkLimit(10**9))
        start = timed(graph, listed.device, listed.order).makespan_ps
        search = LocalSearch(graph, listed, rng, 0)
        search.run(3000)
        placement = timed(graph, search.best.device, search.best.order)
        assert placement.makespan_ps == search.best_ps < start
        assert not list(check_placement(placement))


def test_the_same_seed_gives_the_same_placement() -> None:
    """To the device and picosecond; another seed is free to differ."""
    workload = layered_workload(4, 6, 8, 3, 6)
    one, other = (
        place_operations(workload, seed=5, effort_percent=10).placement
        for _ in range(2)
    )
    assert one.device.tolist() == other.device.tolist()
    assert one.start_ps.tolist() == other.start_ps.tolist()


def test_work_is_limited() -> None:
    """A list placement stops where its work ends."""
    graph = op_graph(layered_workload(5, 6, 8, 2, 0))
    limit = WorkLimit(20)
    rng = seeded_random(0)
    with pytest.raises(DeadEndError, match="too long"):
        list_placement(graph, ListRule(heeded=None), rng, limit)
    assert limit.left < 0


def test_twenty_thousand_operations() -> None:
    """A large graph is placed within its windows, and proved best."""
    rows, width = 20, 1000
    ops = rows * width
    edges = [
        (op - width + off, op)
        for op in range(width, ops)
        for off in (-1, 0, 1)
        if 0 <= op % width + off < width
    ]
    workload = Workload(
        tuple(map(str, range(ops))),
        tuple(8_000_000 + 7919 * op % 4_000_000 for op in range(ops)),
        (1,) * ops,
        tuple(src for src, _ in edges),
        tuple(dst for _, dst in edges),
        (8,) * len(edges),
        1024,
        15,
    )
    plan = place_operations(workload, seed=0, effort_percent=50)
    assert max(plan.placement.degrees) <= 15
    assert plan.placement.makespan_ps == plan.bound_ps


BAD = [
    ({"src": (0, 1, 2), "dst": (1, 2, 0), "bytes": (8,) * 3}, "a -> c -> b -> a|cycle"),
    ({"duration_ps": (1, -1, 1)}, "duration_ps, row 1: negative; found -1"),
    ({"memory_bytes": (1, 1, -9)}, "memory_bytes, row 2: negative"),
    ({"devices": 0}, "invalid number of devices; found 0"),
    ({"distance": -1}, "distance: negative"),
    ({"op": (), "duration_ps": (), "memory_bytes": ()}, "no operation to place"),
    ({"op": ("a", "b", "a")}, "two operations of one name"),
    ({"duration_ps": (1,)}, "differ in length"),
    ({"dst": (1, 3)}, "unknown operation; found 3"),
    ({"src": (0, -1)}, "unknown operation; found -1"),
    ({"duration_ps": (2**59,) * 3}, "2\\*\\*60"),
]


@pytest.mark.parametrize(("change", "words"), BAD)
def test_bad_input_is_named(change: dict[str, object], words: str) -> None:
    """What is wrong and where, the cycle printed."""
    sound = Workload(
        ("a", "b", "c"), (1, 2, 3), (1, 1, 1), (0, 1), (1, 2), (8, 8), 2, 1
    )
    with pytest.raises(InputError, match=words):
        place_operations(msgspec.structs.replace(sound, **change), seed=0)


def test_a_cycle_is_printed() -> None:
    """The error names the tasks of the cycle in their order."""
    workload = Workload(
        ("a", "b", "c"), (1,) * 3, (1,) * 3, (0, 1, 2), (1, 2, 1), (8,) * 3, 2, 1
    )
    with pytest.raises(InputError) as caught:
        op_graph(workload)
    assert caught.value.found in ("b -> c -> b", "c -> b -> c")


@pytest.mark.parametrize(
    ("memory", "distance", "words"),
    [
        (2, 3, "operation 'op4' fits no device; found '3 B'; allowed: 2 B a device"),
        (3, 1, "operations that 2 devices must hold do not fit: 'op0', 'op1'"),
        (3, 0, "operations that one device must hold do not fit"),
    ],
)
def test_what_fits_nowhere_is_named(memory: int, distance: int, words: str) -> None:
    """One operation, or those that the distance keeps together."""
    workload = Workload(
        tuple(f"op{row}" for row in range(5)),
        (1,) * 5,
        (2, 2, 2, 2, 3),
        (0, 0, 0, 0),
        (1, 2, 3, 4),
        (8,) * 4,
        5,
        distance,
        memory,
    )
    with pytest.raises(InfeasibleError) as caught:
        place_operations(workload, seed=0)
    assert words in str(caught.value)


def test_memory_that_no_search_can_fill_is_no_proof() -> None:
    """Three of two bytes do not fit two devices of three: not found, not disproved."""
    workload = Workload(("a", "b", "c"), (1,) * 3, (2, 2, 2), (), (), (), 2, 1, 3)
    with pytest.raises(NoAnswerError, match="cp-sat"):
        place_operations(workload, seed=0)


@pytest.mark.parametrize("effort", [-1, 101])
def test_effort_is_a_share(effort: int) -> None:
    """Efforts outside 0 to 100 are refused."""
    workload = layered_workload(2, 2, 2, 1, 0)
    with pytest.raises(InputError, match="0 to 100"):
        place_operations(workload, seed=0, effort_percent=effort)
