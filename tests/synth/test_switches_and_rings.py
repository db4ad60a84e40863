"""Collectives on optical switches and on fibre rings: known answers, and every rule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.record import convert
from lightloom.core.schedule import Transfers
from lightloom.core.task import Collective, Demand
from lightloom.core.units import MIB
from lightloom.instances.catalogue import load_instance
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import AnyFabric, Instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.synth.synthesise import Synthesis, synthesise
from lightloom.validate import verify
from tests.oracle.circuit_agreement import agree_on_circuits

MS = 10**9


def _made(
    fabric: AnyFabric,
    op: str,
    size_bytes: int,
    algorithm: str = "auto",
    ranks: int | None = None,
    chunks: int | None = None,
) -> Synthesis:
    nodes = tuple(range(ranks or fabric.node_count))
    task = Collective(op, nodes, size_bytes, chunks=chunks)
    made = synthesise(Instance(fabric, task, "test"), algorithm).incumbent
    assert made is not None
    assert verify(made.schedule).violations == ()
    agree_on_circuits(made.schedule)
    return made


def switches(nodes: int, count: int, bytes_per_s: int, **keys: object) -> Ocs:
    """Return switches of so many bytes per second a port, 0.2 ms and 0.02 ms."""
    table = {
        "nodes": nodes,
        "switches": count,
        "bits_per_second_per_node": 8 * count * bytes_per_s,
        "alpha_ps": MS // 50,
        "reconfiguration_ps": MS // 5,
    }
    return convert({**table, **keys}, Ocs, where="fabric")


def test_a_ring_shares_its_bytes_among_all_switches() -> None:
    """2 (n - 1) rounds of a quarter of a block, and one configuration."""
    made = _made(switches(16, 4, 25 * 10**9), "all-reduce", 32 * 10**6, "ring")
    assert made.completion_time_ps == MS // 5 + 30 * (MS // 50 + MS // 50)
    assert len(made.schedule.segments) == 4


def test_hub_sums_take_three_rounds_on_one_configuration() -> None:
    """Of 16 ranks on 4 switches; a sum among 4 takes a quarter of the buffer."""
    made = _made(switches(16, 4, 25 * 10**9), "all-reduce", 128_000)
    assert made.schedule.algorithm.name == "hub-sums"
    assert made.completion_time_ps == 265_120_000


KNOWN_TIMES = {
    ("all-reduce", 16, 128_000): 265_120_000,
    ("all-reduce", 16, 2_000_000): 320_000_000,
    ("all-reduce", 16, 8_000_000): 440_000_000,
    ("all-reduce", 16, 32_000_000): 920_000_000,
    ("all-reduce", 16, 128_000_000): 2_720_000_000,
    ("all-reduce", 64, 4_000_000): 405_001_000,
    ("all-gather", 16, 8_000_000): 320_000_000,
    ("all-to-all", 16, 32_000_000): 800_000_000,
    ("all-to-all", 64, 4_000_000): 390_008_000,
    ("all-to-all", 64, 64 << 20): 1_885_100_000,
    ("broadcast", 16, 32_000_000): 787_000_000,
}
"""Operation, nodes on 4 switches of 25 GB/s a port, and bytes, to picoseconds."""

_IN_TURN = {("all-to-all", 64, 64 << 20): 2}
"""Configurations of each switch, where it is not one."""


@pytest.mark.parametrize("case", KNOWN_TIMES)
def test_auto_reaches_known_times(case: tuple[str, int, int]) -> None:
    """Mostly on one configuration of the switches, whatever the size."""
    op, nodes, size_bytes = case
    count = 4
    made = _made(switches(nodes, count, 25 * 10**9), op, size_bytes)
    assert made.completion_time_ps <= KNOWN_TIMES[case]
    assert made.certificate is not None
    assert made.completion_time_ps * 100 <= made.certificate.bound * 113
    assert len(made.schedule.segments) == count * _IN_TURN.get(case, 1)


ON_A_RING = {
    "all-reduce": 707_288_640,
    "all-to-all": 1_444_977_280,
    "broadcast": 485_347_360,
    "gather": 361_244_320,
}
"""16 MiB on the named ring of 16 nodes, in picoseconds."""


@pytest.mark.parametrize("op", ON_A_RING)
def test_auto_reaches_known_times_on_a_ring(op: str) -> None:
    """Neighbours pass data on both ways, or all exchange at once."""
    fabric = load_instance(f"ring-16/{op}-16MiB").fabric
    made = _made(fabric, op, 16 * MIB)
    assert made.completion_time_ps <= ON_A_RING[op]
    assert made.certificate is not None
    assert made.completion_time_ps * 4 <= made.certificate.bound * 5


def test_uneven_bytes_are_shared_by_the_chunk() -> None:
    """Seven chunks on three switches: the slowest carries three."""
    fabric = switches(2, 3, 10**9, alpha_ps=0, reconfiguration_ps=0)
    task = Collective("broadcast", (0, 1), 7000, chunks=7)
    made = synthesise(Instance(fabric, task, "test"), "tree").incumbent
    assert made is not None
    assert made.completion_time_ps == 3_000_000
    moved = [
        int((part.transfers.chunk_hi - part.transfers.chunk_lo).sum())
        for part in made.schedule.parts
        if isinstance(part.transfers, Transfers)
    ]
    assert sorted(moved) == [2, 2, 3]


@pytest.mark.parametrize("op", COLLECTIVES)
@pytest.mark.parametrize(
    "fabric",
    [
        switches(6, 2, 10**9),
        switches(5, 3, 10**9, bidirectional=True),
        Ring(nodes=6, wavelengths=2, reach=1),
        Ring(nodes=6, wavelengths=4, directions=2, reach=2, shared_transceivers=True),
    ],
)
def test_every_collective_is_done(fabric: AnyFabric, op: str) -> None:
    """Few switches, matchings, light that reaches only the next node."""
    _made(fabric, op, 960 * fabric.node_count)


def test_switches_need_not_be_shared_by_lanes() -> None:
    """A chain of matchings, 3 bytes each: 3 and 2 ns; lanes would take 3 and 3."""
    keys = {"alpha_ps": 0, "initial_configuration_charged": False}
    fabric = switches(3, 3, 10**9, bidirectional=True, **keys)
    made = _made(fabric, "broadcast", 3, "spanning-tree", chunks=3)
    assert made.completion_time_ps == 5000
    assert made.compared[0].predicted_ps == 6000


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_plans_are_timed_by_both_replays(data: st.DataObject) -> None:
    """Whatever the plan, planes and delays: sound, and timed as predicted or later."""
    name = data.draw(st.sampled_from(sorted(ALGORITHMS)))
    op = data.draw(st.sampled_from(ALGORITHMS[name].ops))
    both_ways = data.draw(st.booleans())
    nodes = data.draw(st.integers(2, 9))
    fabric = switches(
        nodes,
        data.draw(st.integers(1, 6)),
        10**9,
        bidirectional=both_ways,
        alpha_ps=data.draw(st.integers(0, 3)) * 1000,
        reconfiguration_ps=data.draw(st.sampled_from([0, 700, 10**6])),
        initial_configuration_charged=data.draw(st.booleans()),
        dark_while_reconfiguring=data.draw(
            st.sampled_from(["plane", "changed-circuits"])
        ),
    )
    ranks = data.draw(st.integers(2, nodes))
    size_bytes = ranks * data.draw(st.integers(1, 5000))
    try:
        made = _made(fabric, op, size_bytes, name, ranks, chunks=size_bytes)
    except (InputError, InfeasibleError, NoAnswerError):
        return
    # A search may give the matchings of a lane unequal numbers of switches.
    if not both_ways and all(one.index == 0 for one in made.schedule.segments):
        assert made.compared[0].predicted_ps <= made.completion_time_ps
    assert made.certificate is None or made.certificate.bound <= made.completion_time_ps


@pytest.mark.parametrize(
    ("baseline", "size_bytes", "time_ps"),
    [
        ("every-step", 8_000_000, 1_710_000_000),
        ("one-shot", 8_000_000, 960_000_000),
        ("every-step", 128_000_000, 3_960_000_000),
        ("one-shot", 128_000_000, 9_960_000_000),
    ],
)
def test_baselines_take_what_their_closed_forms_say(
    baseline: str, size_bytes: int, time_ps: int
) -> None:
    """Halving and doubling of 16 nodes on 4 switches, to the picosecond."""
    fabric = switches(16, 4, 25 * 10**9)
    task = Collective("all-reduce", tuple(range(16)), size_bytes)
    made = synthesise(Instance(fabric, task, "test"), baseline).incumbent
    assert made is not None
    assert made.completion_time_ps == time_ps
    assert made.schedule.algorithm.name == baseline
    assert verify(made.schedule).valid


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("op", ["all-gather", "all-to-all", "broadcast"])
def test_a_round_of_more_configurations_than_switches_is_served_in_turn(
    op: str, *, both_ways: bool
) -> None:
    """A single switch holds the configurations of a round one after another."""
    fabric = switches(5, 1, 10**9, bidirectional=both_ways)
    made = _made(fabric, op, 5_000, "every-step")
    assert made.schedule.algorithm.name == "every-step"


@pytest.mark.parametrize("algorithm", ["auto", "every-step", "one-shot"])
@pytest.mark.parametrize("op", sorted(COLLECTIVES))
def test_one_rank_has_nothing_to_send(op: str, algorithm: str) -> None:
    """On switches and rings, no rank beside it takes part and no time passes."""
    fabrics: list[AnyFabric] = [switches(4, 2, 10**9)]
    if algorithm == "auto":
        fabrics.append(Ring(nodes=4, wavelengths=1))
    for fabric in fabrics:
        made = _made(fabric, op, 4096, algorithm, ranks=1)
        assert made.completion_time_ps == 0
        assert made.schedule.transfer_count == 0


@pytest.mark.parametrize(
    ("parameters", "op", "words"),
    [
        ({"of": "tree"}, "all-reduce", "tree does not do all-reduce"),
        ({"of": "ladder"}, "all-reduce", "unknown algorithm"),
        ({"planes": 2}, "all-reduce", "unknown"),
        ({"of": "bruck"}, "all-to-all", "more configurations than switches"),
    ],
)
def test_baselines_that_cannot_be_are_refused(
    parameters: dict[str, object], op: str, words: str
) -> None:
    """Naming what is wrong; the last would need a fifth switch."""
    fabric = switches(32, 4, 10**9)
    instance = Instance(fabric, Collective(op, tuple(range(32)), 32_000), "test")
    with pytest.raises(InputError, match=words):
        synthesise(instance, "one-shot", parameters)


@pytest.mark.parametrize("algorithm", ["auto", "decomposition"])
def test_a_pair_out_of_reach_is_named_by_its_row(algorithm: str) -> None:
    """Whether or not demands may take turns: no turn serves it."""
    fabric = Ring(nodes=12, wavelengths=2, reach=3)
    demand = Demand((0, 0, 1), (1, 6, 2), (1000, 10, 10))
    with pytest.raises(InfeasibleError, match=r"demand row 1.*6 is out of reach of"):
        synthesise(Instance(fabric, demand, "test"), algorithm)
