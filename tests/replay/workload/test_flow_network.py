"""Networks whose links flows share, and their shares: against plain computations."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.replay.workload import Launch, SharedLinks, replay_iteration
from lightloom.replay.workload.flow_network import (
    UNITS_PER_BIT_PER_S,
    FairShares,
    Flows,
    Path,
)
from tests.examples.iterations import fluid_case, iteration, iterations
from tests.replay.workload.naive_iteration import Naive

if TYPE_CHECKING:
    from lightloom.core.iteration import Iteration
    from lightloom.replay.workload import IterationTimeline

FREE = Launch(0, 0)
BYTE_A_PS = 8 * 10**12
"""Bits per second at which a byte takes a picosecond."""


def switch(nodes: int = 4, alpha_ps: int = 0, rate: int = BYTE_A_PS) -> SharedLinks:
    """Return an ideal switch."""
    fabric = IdealSwitch(nodes=nodes, bits_per_second_per_node=rate, alpha_ps=alpha_ps)
    return SharedLinks(fabric)


def ends(timeline: IterationTimeline) -> list[int]:
    """Return the ends of operations, then of collectives."""
    return [*timeline.operations.end_ps.tolist(), *timeline.collectives.end_ps.tolist()]


def test_the_fluid_case_on_an_ideal_switch() -> None:
    """599 us, then 2 x 174 MB out of eight nodes at 1 Tb/s each: 2784 us."""
    timeline = replay_iteration(fluid_case(), switch(64, rate=10**12), FREE)
    assert timeline.iteration_ps == 599_000_000 + 2_784_000_000
    # Nodes 0 to 7 send and 9 to 16 hear from them; node 8 is between the two.
    waits = [2_784_000_000 * (gpu <= 16 and gpu != 8) for gpu in range(64)]
    assert timeline.devices.exposed_ps.tolist() == waits
    assert timeline.communication_share.as_integer_ratio() == (696, 3383)


def test_operations_of_a_device_run_one_at_a_time_by_priority() -> None:
    """The least priority first, then the least row; the other device does not wait."""
    made = iteration(2, [(0, 5), (0, 7), (0, 9), (1, 4)], [], priority=[1, 0, 0, 0])
    timeline = replay_iteration(made, switch(), FREE)
    assert timeline.operations.start_ps.tolist() == [16, 0, 7, 0]
    assert timeline.operations.end_ps.tolist() == [21, 7, 16, 4]
    assert timeline.devices.computing_ps.tolist() == [21, 4]


def test_launches_cost_a_microsecond_and_work_lasts_one_at_least() -> None:
    """By default; a mark of 0 ps costs nothing."""
    made = iteration(1, [(0, 5), (0, 3_000_000), (0, 0)], [(0, 1, 0), (1, 2, 0)])
    timeline = replay_iteration(made, switch())
    assert ends(timeline) == [2_000_000, 6_000_000, 6_000_000]


def test_transfers_share_links_and_overlap_with_work() -> None:
    """Two transfers out of one node take twice as long while it goes on computing."""
    made = iteration(
        3,
        [(0, 10), (0, 25), (1, 1), (2, 1)],
        [(0, 2, 10), (0, 3, 20)],
    )
    timeline = replay_iteration(made, switch(3, alpha_ps=5), FREE)
    # Both leave at 10 + 5; halves of the rate until 35, then 10 bytes at all of it.
    assert timeline.transfers.start_ps.tolist() == [10, 10]
    assert timeline.transfers.end_ps.tolist() == [35, 45]
    assert ends(timeline) == [10, 35, 36, 46]
    assert timeline.devices.communicating_ps.tolist() == [35, 25, 35]
    assert timeline.devices.both_ps.tolist() == [25, 0, 0]
    assert timeline.communication_share.as_integer_ratio() == (35, 69)


def test_a_ring_all_reduce_shares_with_transfers() -> None:
    """300 bytes over three ranks are 400 a hop; a transfer takes half of one link."""
    made = iteration(3, [(0, 0), (1, 0), (0, 0)], [(0, 1, 100)], [(300, [0, 1, 2])])
    timeline = replay_iteration(made, switch(3, alpha_ps=0), FREE)
    assert timeline.transfers.end_ps.tolist() == [200]
    # 0 -> 1 has had 100 bytes by then, 300 more follow at the full rate.
    assert timeline.collectives.end_ps.tolist() == [500]
    paid = replay_iteration(made, switch(3, alpha_ps=7), FREE)
    # Four steps of alpha, while the transfer flows alone from 7 to 28; 79 are left.
    assert paid.transfers.end_ps.tolist() == [28 + 2 * 79]
    assert paid.collectives.end_ps.tolist() == [28 + 2 * 79 + 400 - 79]


def test_rates_are_rounded_down_and_ends_up() -> None:
    """Three flows of a byte on a link of 10 bit/s have 3 bit/s each."""
    made = iteration(
        4,
        [(0, 0), *((node, 0) for node in (1, 2, 3))],
        [(0, 1, 1), (0, 2, 1), (0, 3, 1)],
    )
    timeline = replay_iteration(made, switch(rate=10), FREE)
    assert timeline.iteration_ps == -(-8 * 10**12 // 3)


@given(
    iterations(),
    st.sampled_from([BYTE_A_PS, 3 * 10**12, 7]),
    st.sampled_from([0, 3]),
    st.sampled_from([(0, 0), (2, 5)]),
)
@settings(max_examples=150, deadline=None)
def test_ideal_switches_agree_with_plain_stepping(
    made: Iteration, rate: int, alpha_ps: int, launch: tuple[int, int]
) -> None:
    """Every operation and collective ends at the same picosecond."""
    naive = Naive(
        made,
        links_of=lambda src, dst: [src, 4 + dst],
        rate_of=lambda _link, _now: rate,
        alpha_ps=alpha_ps,
        latency_ps=launch[0],
        minimum_ps=launch[1],
    )
    timeline = replay_iteration(made, switch(4, alpha_ps, rate), Launch(*launch))
    assert ends(timeline) == naive.run()


@given(iterations())
@settings(max_examples=60, deadline=None)
def test_devices_conserve_work(made: Iteration) -> None:
    """They compute what there is; nothing is sent faster than a node can send."""
    timeline = replay_iteration(made, switch(4, 2), FREE)
    work = np.zeros(4, dtype=np.int64)
    np.add.at(work, made.operations.device, made.operations.duration_ps)
    assert timeline.devices.computing_ps.tolist() == work.tolist()
    assert timeline.iteration_ps >= work.max(initial=0)
    sent = np.zeros(4, dtype=np.int64)
    moves = made.is_transfer
    src = made.operations.device[made.dependencies.src[moves]]
    np.add.at(sent, src, made.dependencies.bytes[moves])
    assert timeline.iteration_ps >= sent.max(initial=0)
    assert (timeline.devices.both_ps <= timeline.devices.computing_ps).all()
    rows = made.dependencies
    start = timeline.operations.start_ps
    of_ops = rows.dst < len(made.operations)
    arrived = timeline.transfers.end_ps[of_ops]
    assert (start[rows.dst[of_ops]] >= arrived).all()


def test_the_same_iteration_has_the_same_timeline() -> None:
    """A second replay, on a network used before, gives the same times."""
    network = switch(64, 3)
    first = replay_iteration(fluid_case(), network)
    again = replay_iteration(fluid_case(), network)
    assert first.transfers.end_ps.tolist() == again.transfers.end_ps.tolist()
    assert first.iteration_ps == again.iteration_ps


def test_nothing_takes_no_time() -> None:
    """An iteration without tasks takes 0 ps."""
    timeline = replay_iteration(iteration(2, [], []), switch())
    assert timeline.iteration_ps == 0
    assert timeline.communication_share == 0


def test_more_devices_than_nodes_are_refused() -> None:
    """And so are flows that a bit per second is too much for."""
    with pytest.raises(InputError, match="more devices than nodes"):
        replay_iteration(iteration(5, [], []), switch(4))
    made = iteration(4, [(0, 0), (1, 0), (2, 0)], [(0, 1, 1), (0, 2, 1)])
    with pytest.raises(InputError, match="op1: the task never ends: transfer 0 -> 1"):
        replay_iteration(made, switch(rate=1))


def test_times_beyond_63_bits_are_refused() -> None:
    """2**60 - 1 bytes at a bit per second last too long."""
    made = iteration(2, [(0, 0), (1, 0)], [(0, 1, 2**60 - 1)])
    with pytest.raises(InputError, match="106 days"):
        replay_iteration(made, switch(rate=1))


@pytest.mark.parametrize("key", ["latency_ps", "minimum_ps"])
def test_launches_of_negative_time_are_refused(key: str) -> None:
    """The key is named."""
    with pytest.raises(InputError, match=f"launch.{key}: invalid time; found -1"):
        Launch(**{key: -1})


def test_a_faster_network_may_be_slower() -> None:
    """Data that come early start work that the rest of the iteration does not need."""
    ops = [(0, 0), (1, 100), (1, 10), (2, 10), (2, 100)]
    links = [(0, 1, 40), (3, 2, 1), (2, 4, 1)]
    slow = replay_iteration(iteration(3, ops, links), switch(3), FREE)
    fast = replay_iteration(
        iteration(3, ops, links), switch(3, rate=5 * BYTE_A_PS), FREE
    )
    # Slow: both share the link into node 1, op2 runs from 12 and op1 behind it. Fast:
    # op1 is there at 8, and op2 has to wait for it.
    assert slow.operations.start_ps.tolist() == [0, 41, 12, 0, 23]
    assert fast.operations.start_ps.tolist() == [0, 8, 108, 0, 119]
    assert (slow.iteration_ps, fast.iteration_ps) == (141, 219)


def one_link(pairs: int = 1, rate: int = BYTE_A_PS) -> Flows:
    """Return pairs that share a link, with no flow yet."""
    flows = Flows([((0, 1),)] * pairs)
    flows.update(0, {}, {0: rate})
    return flows


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_flows_of_a_pair_end_by_size(sizes: list[int]) -> None:
    """Each gives its share to those that are left, as processor sharing has it."""
    flows = one_link()
    flows.update(0, {flow: (0, size) for flow, size in enumerate(sizes)}, {})
    ends: dict[int, int] = {}
    while (now := flows.next_ps()) is not None:
        ends |= dict.fromkeys(flows.ended(now), now)
        flows.update(now, {}, {})
    assert not len(flows)
    for flow, size in enumerate(sizes):
        # What everybody has been served by then, rates rounded down and ends up.
        fluid = sum(min(size, other) for other in sizes)
        assert fluid <= ends[flow] <= fluid + len(sizes)


def test_a_flow_begins_where_its_pair_is() -> None:
    """Two bytes of the first are gone; the two then share what each has left."""
    flows = one_link()
    flows.update(0, {7: (0, 6)}, {})
    flows.update(2, {3: (0, 3)}, {})
    assert flows.underway() == [3, 7]
    assert (flows.left_bytes(7, 4), flows.left_bytes(3, 4)) == (3, 2)
    assert flows.next_ps() == 8
    assert flows.ended(8) == [3]
    flows.update(8, {}, {})
    assert flows.next_ps() == 9


def test_a_pair_that_was_empty_waits_for_light_again() -> None:
    """The rate of its last flow is not remembered."""
    flows = one_link()
    flows.update(0, {0: (0, 5)}, {})
    assert flows.ended(5) == [0]
    flows.update(5, {}, {0: 0})
    flows.update(6, {1: (0, 5)}, {})
    assert flows.next_ps() is None
    flows.update(10, {}, {0: BYTE_A_PS})
    assert flows.next_ps() == 15


def test_a_flow_for_a_flow_changes_no_share() -> None:
    """One ends and one comes at the same instant; the other pair goes on."""
    flows = one_link(pairs=2)
    flows.update(0, {0: (0, 2), 1: (1, 4)}, {})
    assert flows.next_ps() == 4
    assert flows.ended(4) == [0]
    flows.update(4, {2: (0, 3)}, {})
    assert flows.ended(8) == [1]
    flows.update(8, {}, {})
    assert flows.next_ps() == 9


LINKS = 6
Change = tuple[dict[int, int], list[tuple[int, int]]]
"""Flows of pairs from now on, new rates of links."""

PATHS = st.lists(
    st.dictionaries(
        st.integers(0, LINKS - 1), st.integers(1, 3), min_size=1, max_size=3
    ).map(lambda path: tuple(sorted(path.items()))),
    min_size=1,
    max_size=16,
)
CHANGES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 15), st.integers(0, 4), max_size=6),
        st.lists(st.tuples(st.integers(0, LINKS - 1), st.integers(0, 40)), max_size=2),
    ),
    max_size=12,
)


def water_filled(rate: list[int], flows: dict[int, Path]) -> dict[int, Fraction]:
    """Return the max-min fair shares: raise all, stop those on full links, repeat."""
    left = [Fraction(each) for each in rate]
    shares: dict[int, Fraction] = {}
    while len(shares) < len(flows):
        weight = [0] * len(rate)
        for flow, path in flows.items():
            for link, times in path:
                weight[link] += times * (flow not in shares)
        level = min(
            left[link] / weight[link] for link in range(len(rate)) if weight[link]
        )
        full = {
            link
            for link in range(len(rate))
            if weight[link] and left[link] / weight[link] == level
        }
        for flow, path in flows.items():
            if flow not in shares and any(link in full for link, _ in path):
                shares[flow] = level
                for link, times in path:
                    left[link] -= level * times
    return shares


@given(PATHS, CHANGES)
@settings(max_examples=200, deadline=None)
def test_shares_do_not_depend_on_history(
    paths: list[Path], changes: list[Change]
) -> None:
    """After each change they are the one max-min allocation, and the report is true."""
    rate = [10] * LINKS
    held = FairShares(paths)
    for link, each in enumerate(rate):
        assert not held.set_capacity(link, each)
    count = dict.fromkeys(range(len(paths)), 0)
    for drawn, rates in changes:
        before = dict(held.shares)
        touched = []
        for link, each in rates:
            rate[link] = each
            if held.set_capacity(link, each):
                touched.append(link)
        flows = {pair: each for pair, each in drawn.items() if pair < len(paths)}
        changed = held.update(flows, touched)
        count |= flows
        every = [pair for pair, each in count.items() for _ in range(each)]
        expected = water_filled(rate, {n: paths[pair] for n, pair in enumerate(every)})
        units = {
            pair: expected[n] * UNITS_PER_BIT_PER_S for n, pair in enumerate(every)
        }
        assert held.shares == units
        assert changed == {
            pair: share for pair, share in units.items() if share != before.get(pair, 0)
        }


def test_a_change_stays_where_it_matters() -> None:
    """A flow that comes on far links asks nothing of the others."""
    held = FairShares([((0, 1),), ((0, 1), (1, 1)), ((2, 1), (3, 1)), ((0, 1),)])
    for link in range(4):
        held.set_capacity(link, 12)
    held.update({0: 1, 1: 1})
    assert held.update({2: 1}) == {2: 12 * UNITS_PER_BIT_PER_S}
    # A third on link 0 takes a third of it, and link 1 has more to give to nobody.
    third = 4 * UNITS_PER_BIT_PER_S
    assert held.update({3: 1}) == {0: third, 1: third, 3: third}


def test_shares_that_are_no_whole_units_are_exact() -> None:
    """More flows than the unit foresees, a prime, on a link of a bit a second."""
    many = 131
    assert UNITS_PER_BIT_PER_S % many
    held = FairShares([((0, 1),)] * 2)
    held.set_capacity(0, 1)
    held.update({0: many - 1, 1: 1})
    assert held.shares == dict.fromkeys((0, 1), Fraction(UNITS_PER_BIT_PER_S, many))
    # Where they are whole again they are integers again.
    changed = held.update({1: 0})
    assert changed == {0: UNITS_PER_BIT_PER_S // (many - 1)}
    assert isinstance(changed[0], int)


def test_up_to_128_flows_share_a_link_in_whole_units() -> None:
    """Fractions, which are slow, are left to what is rare."""
    for flows in range(1, 129):
        assert UNITS_PER_BIT_PER_S % flows == 0
