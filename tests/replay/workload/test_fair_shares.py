"""Fair shares kept up to date are those shared out from nothing."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.replay.workload.flow_network import UNITS_PER_BIT_PER_S, FairShares, Path

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
