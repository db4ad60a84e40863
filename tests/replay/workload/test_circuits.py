"""Iterations on circuits: held, changed at known times, set from measured traffic."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.iteration import Collectives, Dependencies, Iteration, Operations
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.replay.timeline import Reconfiguration
from lightloom.replay.workload import (
    ControlledCircuits,
    HeldCircuits,
    Launch,
    PlaneConfiguration,
    ocs_period_ps,
    replay_iteration,
)
from tests.examples.iterations import (
    PAIRS,
    fluid_case,
    iteration,
    iterations,
    ring_of_the_fluid_case,
)
from tests.examples.rings_and_switches import ring_circuits
from tests.replay.workload.naive_iteration import UNIT, Flow, Naive

if TYPE_CHECKING:
    from collections.abc import Sequence


FREE = Launch(0, 0)
BYTE_A_PS = 8 * 10**12
Pair = tuple[int, int]


def pairs(rows: Sequence[Pair]) -> Circuits:
    """Return circuits of a switch."""
    return Circuits(column(row[0] for row in rows), column(row[1] for row in rows))


def ocs(switches: int = 1, dark: Literal["plane", "changed-circuits"] = "plane") -> Ocs:
    """Return four nodes on switches whose circuits move a byte in a picosecond."""
    return Ocs(
        nodes=4,
        switches=switches,
        bits_per_second_per_node=switches * BYTE_A_PS,
        alpha_ps=0,
        reconfiguration_ps=10,
        dark_while_reconfiguring=dark,
    )


def held(fabric: Ocs, *rows: tuple[int, Sequence[Pair], int | None]) -> HeldCircuits:
    """Return planes that hold circuits from when they begin to be set."""
    return HeldCircuits(
        fabric,
        tuple(
            PlaneConfiguration(plane, pairs(each), begin) for plane, each, begin in rows
        ),
    )


def test_the_fluid_case_on_sixteen_switches() -> None:
    """Eight circuits of 62.5 Gb/s for each pair: 174 MB take 2784 us after 599 us."""
    fabric = Ocs(nodes=64, switches=16, bits_per_second_per_node=10**12, alpha_ps=0)
    halves = (PAIRS[:8], PAIRS[8:])
    network = held(fabric, *((k, halves[k // 8], None) for k in range(16)))
    timeline = replay_iteration(fluid_case(), network, FREE)
    assert timeline.iteration_ps == 599_000_000 + 2_784_000_000
    assert timeline.reconfigurations == ()


def test_the_fluid_case_on_a_ring() -> None:
    """Two wavelengths of 25 Gb/s for each pair: 27,840 us after 599 us."""
    fabric, circuits = ring_of_the_fluid_case()
    network = HeldCircuits(fabric, (PlaneConfiguration(0, circuits),))
    timeline = replay_iteration(fluid_case(), network, FREE)
    assert timeline.iteration_ps == 599_000_000 + 27_840_000_000


def test_transfers_of_a_pair_share_its_circuits() -> None:
    """Of all planes; transfers of other pairs do not matter."""
    made = iteration(
        4,
        [(0, 0), (1, 0), (1, 0), (2, 0)],
        [(0, 1, 30), (0, 2, 90), (0, 3, 50)],
    )
    network = held(
        ocs(switches=3), (0, [(0, 1)], None), (1, [(0, 1)], None), (2, [(0, 2)], None)
    )
    timeline = replay_iteration(made, network, FREE)
    assert timeline.transfers.end_ps.tolist() == [30, 60, 50]


def test_a_transfer_waits_in_the_dark() -> None:
    """Half of it goes before the plane changes, and half when it has changed back."""
    made = iteration(4, [(0, 0), (1, 0), (2, 0)], [(0, 1, 40), (0, 2, 5)])
    network = held(ocs(), (0, [(0, 1)], None), (0, [(0, 2)], 20), (0, [(0, 1)], 50))
    timeline = replay_iteration(made, network, FREE)
    assert timeline.transfers.end_ps.tolist() == [60 + 20, 35]
    assert timeline.reconfigurations == (
        Reconfiguration(0, 1, 20, 30),
        Reconfiguration(0, 2, 50, 60),
    )


def test_circuits_that_stay_keep_their_light() -> None:
    """Where only circuits that change are dark."""
    made = iteration(4, [(0, 0), (1, 0), (2, 0), (3, 0)], [(0, 1, 40), (2, 3, 40)])
    changes: tuple[tuple[int, Sequence[Pair], int | None], ...] = (
        (0, [(0, 1), (2, 3)], None),
        (0, [(0, 1), (2, 0)], 20),
        (0, [(0, 1), (2, 3)], 30),
    )
    lit = held(ocs(dark="changed-circuits"), *changes)
    assert replay_iteration(made, lit, FREE).transfers.end_ps.tolist() == [40, 60]
    dark = held(ocs(), *changes)
    assert replay_iteration(made, dark, FREE).transfers.end_ps.tolist() == [60, 60]


def test_planes_change_on_their_own() -> None:
    """A plane stays lit while another is reconfigured."""
    made = iteration(4, [(0, 0), (1, 0)], [(0, 1, 60)])
    network = held(
        ocs(switches=2), (0, [(0, 1)], None), (1, [(0, 1)], 5), (0, [(2, 3)], 25)
    )
    timeline = replay_iteration(made, network, FREE)
    # One plane to 15, both to 25, then the second alone.
    assert timeline.transfers.end_ps.tolist() == [25 + 60 - 15 - 20]


@given(iterations(), st.lists(st.integers(0, 40), max_size=3), st.data())
@settings(max_examples=100, deadline=None)
def test_circuits_agree_with_plain_stepping(
    made: Iteration, gaps: list[int], data: st.DataObject
) -> None:
    """On a plane that changes at drawn times and ends with circuits for all pairs."""
    fabric = Ring(
        nodes=4,
        wavelengths=8,
        directions=2,
        bits_per_second_per_wavelength=10**12,
        alpha_ps=3,
        reconfiguration_ps=10,
    )
    begins, now = [], 0
    for gap in gaps:
        begins.append(now + gap)
        now += gap + 10
    shown = [{pair: data.draw(st.integers(0, 2)) for pair in _ALL} for _ in begins]
    sets = [*shown, dict.fromkeys(_ALL, 1)]
    rows = [
        PlaneConfiguration(0, _lit(counts), begin)
        for counts, begin in zip(sets, [None, *begins], strict=True)
    ]

    def rate_of(link: int, now_ps: int) -> int:
        rate, since = sets[0], 0
        for counts, begin in zip(sets[1:], begins, strict=True):
            if now_ps >= begin:
                rate, since = counts, begin + 10
        return rate[divmod(link, 4)] * 10**12 * (now_ps >= since)

    naive = Naive(
        made,
        links_of=lambda src, dst: [4 * src + dst],
        rate_of=rate_of,
        changes=[*begins, *(begin + 10 for begin in begins)],
        alpha_ps=3,
    )
    timeline = replay_iteration(made, HeldCircuits(fabric, tuple(rows)), FREE)
    expected = naive.run()
    found = [*timeline.operations.end_ps, *timeline.collectives.end_ps]
    assert found == expected


_ALL = [(src, dst) for src in range(4) for dst in range(4) if src != dst]


def _lit(counts: dict[Pair, int]) -> Circuits:
    """Return circuits that the ring can carry, of so many wavelengths a pair."""
    rows = []
    for (src, dst), wavelengths in counts.items():
        forward = (dst - src) % 4
        # Both ways of a pair in one direction take its span once each; 2 and 2 fit.
        way = int(forward == 3 or (forward == 2 and src >= 2))
        base = {1: 0, 3: 0, 2: 2 + 2 * (src % 2)}[forward]
        if wavelengths:
            rows.append((src, dst, way, [base + each for each in range(wavelengths)]))
    return ring_circuits(rows)


@dataclass
class Follow:
    """A controller that gives each sender the destination it wants most to reach."""

    told: list[Demand] = field(default_factory=list)

    def circuits(self, demand: Demand) -> dict[int, Circuits]:
        """Return one plane."""
        self.told.append(demand)
        rows: dict[int, tuple[int, int]] = {}
        taken: set[int] = set()
        order = sorted(
            zip(demand.bytes, demand.src, demand.dst, strict=True), reverse=True
        )
        for _, src, dst in order:
            if src not in rows and dst not in taken:
                rows[src] = (src, dst)
                taken.add(dst)
        return {0: pairs(list(rows.values()))}


def test_a_controller_follows_the_traffic() -> None:
    """It is told what a period wanted, and its circuits come a delay later."""
    made = iteration(4, [(0, 0), (1, 0), (2, 15)], [(0, 1, 100), (0, 2, 40)])
    control = Follow()
    network = ControlledCircuits(ocs(), control, ocs_period_ps(ocs()))
    assert network.period_ps == 60
    timeline = replay_iteration(made, network, FREE)
    # Dark to 70, so until 120 the demand stays and 50 bytes are moved; those to node 1
    # are still the most at 180, have ended by 240, and 40 to node 2 go from 250 on.
    assert control.told == [
        Demand.from_rows([(0, 1, 100), (0, 2, 40)]),
        Demand.from_rows([(0, 1, 50), (0, 2, 40)]),
        Demand.from_rows([(0, 2, 40)]),
    ]
    assert timeline.transfers.end_ps.tolist() == [170, 290]
    assert timeline.reconfigurations == (
        Reconfiguration(0, 0, 60, 70),
        Reconfiguration(0, 1, 240, 250),
    )


@dataclass
class NaiveControlled(Naive):
    """A controller on one switch that is asked at the end of every period."""

    period_ps: int = 60
    lit: Circuits = field(default_factory=lambda: pairs([]))
    dawn_ps: int = 0
    wanted: list[tuple[Pair, int]] = field(default_factory=list)

    def look(self) -> None:
        """Measure, and decide at the end of a period."""
        if self.now and self.now % self.period_ps == 0:
            if self.flows:
                self._decide()
            self.wanted = [(flow.pair, flow.left) for flow in self.flows]
        self.changes = [(self.now // self.period_ps + 1) * self.period_ps]
        self.changes.append(self.dawn_ps)

    def arrived(self, flows: list[Flow]) -> None:
        """Measure flows that begin."""
        self.wanted += [(flow.pair, flow.left) for flow in flows]

    def _decide(self) -> None:
        rows = [(*pair, ceil(Fraction(left, UNIT))) for pair, left in self.wanted]
        demand = Demand.from_rows([row for row in rows if row[2] > 0])
        chosen = Follow().circuits(demand)[0]
        if _of(chosen) != _of(self.lit):
            self.lit, self.dawn_ps = chosen, self.now + 10

    def rate(self, link: int) -> int:
        """Return the rate of a pair."""
        on = divmod(link, 4) in _of(self.lit) and self.now >= self.dawn_ps
        return BYTE_A_PS * on


def _of(circuits: Circuits) -> set[Pair]:
    return set(zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True))


def idle_between() -> Iteration:
    """Return 2 bytes, long idle, then a sum of nothing and 2 bytes back."""
    rows = ((0, 0), (0, 0), (0, 1000), (1, 0))
    device, duration_ps = (np.array(column) for column in zip(*rows, strict=True))
    names, none = ("a", "b", "c", "d"), np.zeros(4, np.int64)
    return Iteration(
        4,
        Operations(names, device, duration_ps, none),
        Dependencies(
            np.array([2, 1, 4, 3]),
            np.array([4, 3, 3, 0]),
            np.array([0, 2, 0, 2]),
            np.full(4, -1),
        ),
        Collectives(("all-reduce",), np.zeros(1, np.int64), Ragged.from_lists([[0]])),
    )


def half_a_byte() -> Iteration:
    """Return flows that move less than a byte in the first period with light."""
    none = np.zeros(2, np.int64)
    return Iteration(
        4,
        Operations(("a", "b"), np.array([0, 1]), none, none),
        Dependencies(np.array([0]), np.array([1]), np.array([7]), np.array([-1])),
        Collectives(
            ("all-reduce", "all-reduce"),
            np.array([300, 300]),
            Ragged.from_lists([[0, 2], [0, 2]]),
        ),
    )


@given(iterations(), st.sampled_from([11, 25, 60]))
@example(idle_between(), 11)
@example(half_a_byte(), 11)
@settings(max_examples=100, deadline=None)
def test_controllers_agree_with_plain_stepping(made: Iteration, period: int) -> None:
    """Asking only when something has changed is as good as asking every time."""
    naive = NaiveControlled(
        made,
        links_of=lambda src, dst: [4 * src + dst],
        rate_of=lambda link, _now: naive.rate(link),
        period_ps=period,
    )
    network = ControlledCircuits(ocs(), Follow(), period)
    timeline = replay_iteration(made, network, FREE)
    found = [*timeline.operations.end_ps, *timeline.collectives.end_ps]
    assert found == naive.run()


def test_a_controller_is_not_asked_the_same_again() -> None:
    """Nor while nothing is to be sent; what it never serves is an error, not a loop."""
    made = iteration(4, [(0, 0), (1, 0), (2, 0)], [(0, 1, 5), (0, 2, 5)])

    @dataclass
    class Stubborn:
        asked: int = 0

        def circuits(self, demand: Demand) -> dict[int, Circuits]:
            del demand
            self.asked += 1
            return {0: pairs([(0, 1)])}

    control = Stubborn()
    network = ControlledCircuits(ocs(), control, 60)
    with pytest.raises(InputError, match="0 -> 2 of 5 bytes waits for a circuit that"):
        replay_iteration(made, network, FREE)
    assert control.asked <= 3
    control.asked = 0
    quiet = iteration(4, [(0, 1000), (1, 0)], [(0, 1, 5)])
    timeline = replay_iteration(quiet, network, FREE)
    assert control.asked == 1
    assert timeline.reconfigurations == (Reconfiguration(0, 0, 1020, 1030),)
    assert timeline.iteration_ps == 1035


def _refused(network: HeldCircuits | ControlledCircuits, words: str) -> None:
    made = iteration(4, [(0, 0), (1, 0)], [(0, 1, 5)])
    with pytest.raises(InputError) as caught:
        replay_iteration(made, network, FREE)
    assert words in str(caught.value)


def test_circuits_that_cannot_be_are_refused() -> None:
    """The resource or the fault is named, and where it was found."""
    twice = held(ocs(), (0, [(0, 1), (0, 2)], None))
    _refused(twice, "circuits of plane 0, switch-inputs: input port of node 0 is taken")
    _refused(held(ocs(), (1, [(0, 1)], None)), "plane outside the fabric")
    _refused(held(ocs(), (0, [(0, 4)], None)), "node outside the fabric")
    far = ring_circuits([(0, 3, 0, [0])])
    ring = Ring(nodes=4, wavelengths=1, reach=2)
    network = HeldCircuits(ring, (PlaneConfiguration(0, far),))
    _refused(network, "circuit 0 -> 3 breaks reach")


def test_a_missing_circuit_is_an_error_if_asked_for_or_for_ever() -> None:
    """A transfer may wait for a circuit that comes later."""
    late = held(ocs(), (0, [(2, 3)], None), (0, [(0, 1)], 20))
    made = iteration(4, [(0, 0), (1, 0)], [(0, 1, 5)])
    assert replay_iteration(made, late, FREE).iteration_ps == 35
    strict = HeldCircuits(late.fabric, late.configurations, missing="refuse")
    _refused(strict, "at 0 ps: transfer 0 -> 1 of 5 bytes begins, and no plane holds")
    _refused(held(ocs(), (0, [(1, 0)], None)), "waits for a circuit that never comes")
    _refused(held(ocs()), "waits for a circuit that never comes")


def test_planes_that_are_not_done_are_refused() -> None:
    """A configuration begins when the one before is there; a period has light."""
    early = held(ocs(), (0, [(0, 1)], 5), (0, [(0, 2)], 14))
    _refused(early, "configurations[1].begin_ps: plane 0 is still at its configuration")
    _refused(held(ocs(), (0, [(0, 1)], 5), (0, [(0, 2)], None)), "allowed: from 15")
    with pytest.raises(InputError, match="a period without light; found 10"):
        ControlledCircuits(ocs(), Follow(), 10)
