"""Flows in time: those of a pair are counted together, and end one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lightloom.replay.workload.flow_network import Flows

BYTE_A_PS = 8 * 10**12
"""Bits per second at which a byte takes a picosecond."""


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
