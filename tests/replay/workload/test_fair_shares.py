"""Fair shares kept up to date are those shared out from nothing."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.replay.workload.fair_shares import UNITS_PER_BIT_PER_S, FairShares, Path

LINKS = 6
Change = tuple[list[dict[int, int]], list[int], list[tuple[int, int]]]
"""Paths that come, rows of flows that go, new rates of links."""

CHANGES = st.lists(
    st.tuples(
        st.lists(
            st.dictionaries(
                st.integers(0, LINKS - 1), st.integers(1, 3), min_size=1, max_size=3
            ),
            max_size=4,
        ),
        st.lists(st.integers(0, 30), max_size=3),
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


@given(CHANGES)
@settings(max_examples=200, deadline=None)
def test_shares_do_not_depend_on_history(changes: list[Change]) -> None:
    """After each change they are the one max-min allocation, and the report is true."""
    rate = [10] * LINKS
    held = FairShares()
    for link, each in enumerate(rate):
        assert not held.set_capacity(link, each)
    flows: dict[int, Path] = {}
    fresh = 0
    for paths, going, rates in changes:
        before = dict(held.shares)
        gone = sorted({sorted(flows)[row] for row in going if row < len(flows)})
        touched = []
        for link, each in rates:
            rate[link] = each
            if held.set_capacity(link, each):
                touched.append(link)
        come = {
            fresh + row: tuple(sorted(path.items())) for row, path in enumerate(paths)
        }
        fresh += len(paths)
        changed = held.update(come, gone, touched)
        flows = {
            flow: path for flow, path in (flows | come).items() if flow not in gone
        }
        expected = water_filled(rate, flows)
        units = {flow: share * UNITS_PER_BIT_PER_S for flow, share in expected.items()}
        assert held.shares == units
        assert changed == {
            flow: share for flow, share in units.items() if share != before.get(flow, 0)
        }


def test_a_change_stays_where_it_matters() -> None:
    """A flow that comes on far links asks nothing of the others."""
    held = FairShares()
    for link in range(4):
        held.set_capacity(link, 12)
    held.update({0: ((0, 1),), 1: ((0, 1), (1, 1))}, [])
    assert held.update({2: ((2, 1), (3, 1))}, []) == {2: 12 * UNITS_PER_BIT_PER_S}
    # A third on link 0 takes a third of it, and link 1 has more to give to nobody.
    third = 4 * UNITS_PER_BIT_PER_S
    assert held.update({3: ((0, 1),)}, []) == {0: third, 1: third, 3: third}


def test_shares_that_are_no_whole_units_are_exact() -> None:
    """More flows than the unit foresees, a prime, on a link of a bit a second."""
    many = 131
    assert UNITS_PER_BIT_PER_S % many
    held = FairShares()
    held.set_capacity(0, 1)
    held.update(dict.fromkeys(range(many), ((0, 1),)), [])
    assert sum(held.shares.values()) == UNITS_PER_BIT_PER_S
    assert set(held.shares.values()) == {Fraction(UNITS_PER_BIT_PER_S, many)}
    # Where they are whole again they are integers again.
    changed = held.update({}, [0])
    assert set(changed.values()) == {UNITS_PER_BIT_PER_S // (many - 1)}
    assert all(isinstance(share, int) for share in changed.values())


def test_up_to_128_flows_share_a_link_in_whole_units() -> None:
    """Fractions, which are slow, are left to what is rare."""
    for flows in range(1, 129):
        assert UNITS_PER_BIT_PER_S % flows == 0
