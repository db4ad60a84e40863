"""The nine operations: verified in full on many networks, orders, roots and subsets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.instances.instance import Instance
from lightloom.programs.ramp_nic import OPERATIONS, check_operation, operation
from lightloom.replay import replay
from lightloom.synth.fabrics import ramp as ramp_plug
from lightloom.synth.ramp.schedules import OPS, ROUTED, routes_of, strategies, ways
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.examples.ramp_networks import SHAPES, network

if TYPE_CHECKING:
    from lightloom.instances.fabrics.ramp import Ramp

SUBNETS = ("broadcast-and-select", "route-and-broadcast", "route-and-switch")
ROOTED = ("broadcast", "gather", "reduce", "scatter")


def _verified(fabric: Ramp, task: Collective, strategy: str | None = None) -> list[int]:
    """Return the times of all ways to do a collective, every one of them verified."""
    times = []
    for way in ways(fabric, task, strategy):
        schedule = way.schedule(0)
        assert verify(schedule).violations == ()
        times.append(replay(schedule).completion_time_ps)
    return times


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("op", OPERATIONS)
def test_streams_of_every_operation(op: str, sizes: tuple[int, int, int]) -> None:
    """All circuits, resources and data hold, and nothing was left out."""
    fabric = network(sizes)
    report = check_operation(operation(fabric, op, range(fabric.node_count)))
    assert report.violations == []
    assert report.followed == report.chunks
    if fabric.node_count > 1:
        assert report.transfers >= fabric.node_count - 1


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5, 5, 15), (6, 6, 18), (8, 8, 24)])
@pytest.mark.parametrize("op", OPERATIONS)
def test_streams_of_larger_networks(op: str, sizes: tuple[int, int, int]) -> None:
    """Streams of networks with more nodes are valid, all chunks followed."""
    fabric = network(sizes)
    report = check_operation(operation(fabric, op, range(fabric.node_count)))
    assert report.violations == []
    assert report.followed == report.chunks


@pytest.mark.parametrize("subnet", SUBNETS)
@pytest.mark.parametrize("op", OPS)
def test_every_way_on_every_subnet(op: str, subnet: str) -> None:
    """Whole schedules verify behind couplers, gratings and switches."""
    fabric = network((4, 3, 8), subnet=subnet)
    nodes = tuple(range(fabric.node_count))
    root = 50 if op in ROOTED else None
    assert _verified(fabric, Collective(op, nodes, 96 * 40, None, root))


@pytest.mark.parametrize("op", OPS)
def test_ranks_in_any_order(op: str) -> None:
    """Blocks follow the ranks, whatever their order, and a buffer cut unevenly."""
    fabric = network((3, 2, 6))
    nodes = list(range(fabric.node_count))
    seeded_random(5).shuffle(nodes)
    blocks = op not in ("all-reduce", "broadcast", "reduce")
    size = 36 * 7 if blocks else 1001
    _verified(fabric, Collective(op, tuple(nodes), size))


# Node (g, j, lam) of (4, 3, 8) is 24 g + 8 j + lam.
TEAMS = {
    "a group each": (0, 24, 48, 72),
    "one node": (17,),
    "two groups of four": (5, 29),
    "two groups, two racks": (5, 13, 53, 61),
    "two groups, numbers by twos": (24, 27, 48, 51),
    "three groups, three racks, six numbers": tuple(
        24 * g + 8 * j + lam
        for g in (0, 2, 3)
        for j in range(3)
        for lam in (0, 1, 3, 5, 6, 7)
    ),
    "a diagonal of step 2": (24 * 1 + 0, 24 * 2 + 1, 24 * 3 + 2, 3),
}


@pytest.mark.parametrize("team", TEAMS)
@pytest.mark.parametrize("op", OPS)
def test_subsets(op: str, team: str) -> None:
    """Only the steps that are active for a subset are taken, and they serve it."""
    fabric, nodes = network((4, 3, 8)), TEAMS[team]
    root = nodes[-1] if op in ROOTED else None
    _verified(fabric, Collective(op, nodes, 840 * len(nodes), None, root), "steps")


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ((0, 1, 2), "3 numbers in 1 group, and 1 is the most"),
        ((0, 8), "2 racks of 1 group, and racks may not exceed groups"),
        ((0, 24, 48, 80), "they are 4 of the 8 at these places"),
        ((0, 1, 2, 24, 25, 26), "3 numbers in 2 groups, which does not divide them"),
        (tuple(range(95)), "they are 95 of the 96"),
    ],
)
def test_subsets_that_no_steps_serve(nodes: tuple[int, ...], says: str) -> None:
    """The condition that fails is named, and the nearest nodes that would do."""
    task = Collective("all-gather", nodes, 4 * len(nodes))
    with pytest.raises(InputError, match=says) as caught:
        list(ways(network((4, 3, 8)), task, "steps"))
    assert "nearest (groups, racks, numbers)" in caught.value.fix


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_subsets_are_served_or_told_the_nearest(data: st.DataObject) -> None:
    """Whatever nodes: a verified schedule, or an error that names some who are one."""
    fabric = network(data.draw(st.sampled_from([(4, 3, 8), (3, 3, 9), (2, 2, 4)])))
    sizes = (fabric.groups, fabric.racks, fabric.nodes_per_rack)
    group, rack, number = (
        data.draw(st.lists(st.integers(0, size - 1), min_size=1, unique=True))
        for size in sizes
    )
    places = [(g, j, lam) for g in group for j in rack for lam in number]
    if data.draw(st.booleans()):
        places = data.draw(
            st.lists(st.sampled_from(places), min_size=1, max_size=20, unique=True)
        )
    _, racks, numbers = sizes
    nodes = tuple((g * racks + j) * numbers + lam for g, j, lam in places)
    op = data.draw(st.sampled_from(["all-gather", "all-reduce", "reduce", "scatter"]))
    task = Collective(op, nodes, 12 * len(nodes))
    try:
        _verified(fabric, task, "steps")
    except InputError as refused:
        found = re.search(r"(\d+) nodes(?:, for example ([\d, ]+))?$", refused.fix)
        assert found is not None
        if found[2] is None:
            assert int(found[1]) > 16
            return
        named = tuple(map(int, found[2].split(", ")))
        assert len(set(named)) == len(named) == int(found[1])
        _verified(fabric, Collective(op, named, 12 * len(named)), "steps")


def test_nearest_subset_is_served() -> None:
    """What an error proposes is no empty promise."""
    fabric = network((4, 3, 8))
    with pytest.raises(InputError) as caught:
        list(ways(fabric, Collective("all-reduce", tuple(range(95)), 4)))
    assert "(4, 3, 8), 96 nodes" in caught.value.fix


@pytest.mark.parametrize("nodes", [(0, 1, 2), (0, 8, 16, 40, 95), tuple(range(90))])
@pytest.mark.parametrize("subnet", SUBNETS[:2])
def test_a_broadcast_reaches_any_nodes(nodes: tuple[int, ...], subnet: str) -> None:
    """The tree needs no subgroups."""
    fabric = network((4, 3, 8), subnet=subnet)
    for size in (1, 1000, 10**7):
        (time_ps,) = _verified(fabric, Collective("broadcast", nodes, size), "tree")
        assert time_ps > 0


@pytest.mark.parametrize("sizes", [(3, 3, 9), (4, 3, 16), (4, 4, 4)])
def test_a_scatter_takes_two_portions_on_any_nodes(sizes: tuple[int, int, int]) -> None:
    """Classes beyond twice the transceivers are fed by members of the first."""
    fabric, random = network(sizes), seeded_random(3)
    for count in (1, 2, 5, fabric.node_count // 2, fabric.node_count):
        nodes = tuple(random.sample(range(fabric.node_count), count))
        task = Collective("scatter", nodes, count * 12, None, nodes[-1])
        (way,) = ways(fabric, task, "classes")
        schedule = way.schedule(0)
        assert verify(schedule).violations == ()
        assert len(schedule.segments) <= 2
    # All blocks leave the root at its full rate, those of its own class in part.
    block_ps = 12 * 8 * 10**12 // fabric.transceiver_bits_per_s
    blocks = sizes[2] // sizes[0] * sizes[0] * sizes[1]
    portions = 1 if sizes[2] <= sizes[0] else 2
    took = replay(schedule).completion_time_ps
    assert took == portions * 1_451_000 + blocks * block_ps


def test_auto_takes_the_fastest_way() -> None:
    """An exchange for a byte, a tree of shifts for many; named ones are obeyed."""
    fabric = network((4, 4, 8))
    nodes = tuple(range(fabric.node_count))
    for size, best in ((1, "exchange"), (2**24, "spread")):
        task = Collective("all-reduce", nodes, size)
        instance = Instance(fabric, task, "test")
        found = synthesise(instance).incumbent
        assert found is not None
        assert found.schedule.algorithm.parameters == {"strategy": best}
        own = [one for one in found.compared if one.algorithm == "ramp"]
        assert len(own) == 4 < len(found.compared)
        named = synthesise(instance, "ramp", {"strategy": "steps"}).incumbent
        assert named is not None
        assert named.schedule.algorithm.parameters == {"strategy": "steps"}


def test_trees_of_too_many_rows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` takes another way; the strategy alone is refused with a word of why."""
    monkeypatch.setattr(ramp_plug, "_MOST_MOVED", 2 * 16 * 15 - 1)
    monkeypatch.setattr(ramp_plug, "_FEW_RANKS", 0)
    instance = load_instance("ramp-16/all-reduce-4MiB")
    made = synthesise(instance).incumbent
    assert made is not None
    assert made.schedule.algorithm.parameters["strategy"] != "spread"
    with pytest.raises(InputError, match="too many nodes for a schedule along a tree"):
        synthesise(instance, "ramp", {"strategy": "spread"})


def test_auto_compares_the_catalogue_too() -> None:
    """A large reduce in pieces takes 775 us, 784 along the catalogue's trees.

    RAMP's own steps take 1,351.
    """
    instance = load_instance("ramp-16/reduce-64MiB")
    found = synthesise(instance)
    assert found.incumbent is not None
    assert verify(found.incumbent.schedule).violations == ()
    assert "disjoint-trees" in {one.algorithm for one in found.incumbent.compared}
    assert found.objective is not None
    assert found.objective <= 775_000_000


@pytest.mark.parametrize("subnet", SUBNETS)
def test_hubs_exchange_sums(subnet: str) -> None:
    """32 hubs in 5 steps, each circuit of which carries a quarter once; 8 in 6."""
    fabric, nodes = network((4, 4, 8), subnet=subnet), tuple(range(128))
    for size, hubs, steps, rounds, parts in (
        (2**16, 32, 5, 5, 4),
        (2**18, 8, 6, 12, 16),
    ):
        (way,) = ways(fabric, Collective("all-reduce", nodes, size), "hubs")
        schedule = way.schedule(0)
        assert verify(schedule).violations == ()
        assert way.parameters["hubs"] == hubs
        part_ps = size // parts * 8 * 10**12 // fabric.transceiver_bits_per_s
        took = replay(schedule).completion_time_ps
        assert took == steps * 1_451_000 + rounds * part_ps


def test_a_large_reduce_goes_in_pieces() -> None:
    """Of 32 pieces the root hears 8 on each transceiver; all are in after 11 and a bit.

    The twelfth step is a quarter as long, but for what it costs to begin.
    """
    instance = load_instance("ramp-128/reduce-4MiB")
    found = synthesise(instance, "ramp", {"strategy": "rarest-first"}).incumbent
    assert found is not None
    assert verify(found.schedule).violations == ()
    share_ps = 2**15 * 8 * 10**12 // instance.fabric.node_bits_per_s * 4
    assert found.schedule.algorithm.parameters["pieces"] == 32
    assert found.completion_time_ps == 12 * 1_451_000 + 45 * share_ps


@pytest.mark.parametrize(
    ("kib", "pieces", "steps"), [(1, 4, 4), (64, 4, 4), (256, 8, 5), (1024, 12, 6)]
)
def test_a_reduce_takes_three_steps_more_than_its_root_needs(
    kib: int, pieces: int, steps: int
) -> None:
    """Up to 1 MiB on 128 nodes, as 125 are heard of in three."""
    size = f"{kib}KiB" if kib < 1024 else "1MiB"
    instance = load_instance(f"ramp-128/reduce-{size}")
    found = synthesise(instance, "ramp", {"strategy": "rarest-first"}).incumbent
    assert found is not None
    schedule = found.schedule
    assert verify(schedule).violations == ()
    assert schedule.algorithm is not None
    assert schedule.algorithm.parameters["pieces"] == pieces
    assert len(schedule.segments) == steps == pieces // 4 + 3


@pytest.mark.parametrize(
    ("algorithm", "parameters", "says"),
    [
        ("rmap", {}, "unknown algorithm on RAMP.*did you mean ramp"),
        ("ring", {"strategy": "steps"}, "unknown key"),
        ("auto", {"strategy": "steps"}, "auto takes no parameters"),
        ("ramp", {"strategy": "tree"}, "unknown strategy for all-reduce"),
        ("ramp", {"strategy": "step"}, "did you mean steps"),
        ("ramp", {"plan": "tree"}, "unknown key"),
    ],
)
def test_unknown_algorithms_are_refused(
    algorithm: str, parameters: dict[str, object], says: str
) -> None:
    """What there is not is named, with what there is."""
    fabric = network((2, 2, 4))
    instance = Instance(fabric, Collective("all-reduce", (0, 8), 64), "test")
    with pytest.raises(InputError, match=says):
        synthesise(instance, algorithm, parameters)


def test_more_data_take_fewer_hops() -> None:
    """Up to three hops for little data, then one; nothing else is faster."""
    fabric = network((4, 4, 8))
    nodes = tuple(range(fabric.node_count))
    sizes = (128 * 128, "relayed"), (2**22, "relayed"), (2**24, "direct")
    for size, best in sizes:
        task = Collective("all-to-all", nodes, size)
        instance = Instance(fabric, task, "test")
        times = {}
        for name in (None, *strategies(fabric, "all-to-all")):
            asked = {} if name is None else {"strategy": name}
            found = synthesise(instance, "ramp", asked).incumbent
            assert found is not None
            times[name] = found.completion_time_ps
            if name is None:
                assert found.schedule.algorithm.parameters == {"strategy": best}
            if name in (None, "direct"):
                direct = found.schedule
        assert times[None] == times[best] == min(times.values())
        assert len(direct.segments) == 4 * 8


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("strategy", ROUTED)
def test_shifts_never_contend(strategy: str, sizes: tuple[int, int, int]) -> None:
    """In all networks, and in boxes of one of nine groups, of whatever sizes."""
    boxes = [(network(sizes), sizes)]
    odd = (sizes[0], min(2 * sizes[1], 7), max(1, sizes[2] - 3))
    boxes += [(network((9, 7, 18)), box) for box in (sizes, odd)]
    for fabric, (groups, racks, numbers) in boxes:
        nodes = [
            (g * fabric.racks + j) * fabric.nodes_per_rack + number
            for g in range(groups)
            for j in range(racks)
            for number in range(numbers)
        ]
        if len(nodes) > 100 or (strategy == "relayed" and len(nodes) == 1):
            continue
        seeded_random(1).shuffle(nodes)
        task = Collective("all-to-all", tuple(nodes), 12 * len(nodes))
        (time_ps,) = _verified(fabric, task, strategy)
        # Predicted but for one rounding up a row.
        predicted = routes_of(fabric, nodes, strategy, 12).time_ps(12)
        assert predicted <= time_ps <= predicted + len(nodes) ** 2


@pytest.mark.parametrize("subnet", SUBNETS)
def test_known_times_of_1024_nodes(subnet: str) -> None:
    """Two phases of four shifts at the full rate: 8 (alpha + d) + 2 B / R."""
    fabric = network((8, 8, 16), subnet=subnet)
    nodes = tuple(range(1024))
    for strategy, shifts, hops in (
        ("direct", 128, 1),
        ("two-phase", 8, 2),
        ("three-phase", 4, 3),
    ):
        routes = routes_of(fabric, nodes, strategy, 2**16)
        data_ps = hops * 2**26 * 8 * 10**12 // fabric.node_bits_per_s
        assert routes.time_ps(2**16) == shifts * 1_451_000 + data_ps


@pytest.mark.slow
@pytest.mark.parametrize("op", ["reduce-scatter", "all-gather", "broadcast"])
def test_the_network_of_the_paper(op: str) -> None:
    """All 65,536 nodes: every circuit, and the data of sampled chunks."""
    fabric = network((32, 32, 64))
    job = operation(fabric, op, range(fabric.node_count))
    report = check_operation(job, samples=2)
    assert report.violations == []
    assert report.circuits > 2 * 10**6


@pytest.mark.parametrize("op", OPERATIONS)
def test_sampled_checks_follow_whole_chunks(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done above 4096 nodes, done on 54."""
    monkeypatch.setattr("lightloom.programs.ramp_nic.MOST_FOLLOWED_NODES", 9)
    monkeypatch.setattr("lightloom.programs.ramp_nic._MOST_CELLS", 54)
    fabric = network((3, 3, 6))
    report = check_operation(operation(fabric, op, range(54)), samples=4, seed=3)
    assert report.violations == []
    if op not in ("barrier", "all-to-all"):
        assert report.followed == 4
    if op == "all-to-all":
        assert 200 <= report.followed <= 4 * 54
