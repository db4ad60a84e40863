"""Bounds on portions and data together: stream, hops, sums."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective
from lightloom.core.units import KIB, MIB
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.synth.bounds import all_bounds
from lightloom.validate.certificates.completion_time import BOUND_KINDS, proven_ps
from lightloom.validate.certificates.completion_time.one_plane import (
    least_messages,
    total_hops,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    least_portions,
    summed_in_two,
)
from lightloom.validate.certificates.completion_time.streams import Stream
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    import random

RACK = Lightpath(rows=16, cols=16)
ALL = tuple(range(256))
TASKS = {"hops": "all-to-all", "sums": "all-reduce"}

_IDLE, _ADD, _COPY = 0, 1, 2


def _after(values: list[int], peers: tuple[int, ...], acts: tuple[int, ...]) -> None:
    """Do one portion in place: every rank adds, copies or ignores its one peer.

    A rank counted twice is as wrong as one missing, and cannot be taken back: it
    is marked by a bit of its own.
    """
    twice = 1 << len(values)
    old = list(values)
    for rank, (peer, act) in enumerate(zip(peers, acts, strict=True)):
        if act == _COPY:
            values[rank] = old[peer]
        elif act == _ADD:
            both = twice if old[rank] & old[peer] else 0
            values[rank] |= old[peer] | both


def _fewest_messages(ranks: int) -> int | None:
    """Return the fewest messages in two portions of one segment, a port each."""
    full = (1 << ranks) - 1
    others = [[p for p in range(ranks) if p != rank] for rank in range(ranks)]
    acts = list(itertools.product((_IDLE, _ADD, _COPY), repeat=ranks))
    best: int | None = None
    for peers in itertools.product(*others):
        for first in acts:
            middle = [1 << rank for rank in range(ranks)]
            _after(middle, peers, first)
            for second in acts:
                values = list(middle)
                _after(values, peers, second)
                if all(value == full for value in values):
                    used = 2 * ranks - first.count(_IDLE) - second.count(_IDLE)
                    best = used if best is None else min(best, used)
    return best


def test_sums_in_two_portions_against_all_ways() -> None:
    """With one port each, three ranks and no more; and no fewer messages."""
    assert summed_in_two(1) == 3
    fewest = _fewest_messages(3)
    per_rank = least_messages(1, 3, 2)
    assert per_rank is not None
    assert fewest is None or fewest >= 3 * per_rank
    assert _fewest_messages(4) is None
    assert least_messages(1, 4, 2) is None


def test_summed_in_two_is_a_maximum() -> None:
    """The middle number of additions allows the most ranks."""
    for ports in range(1, 40):
        values = [1 + 2 * a + (ports - a) * (1 + a) for a in range(ports + 1)]
        assert summed_in_two(ports) == max(values)


def test_least_messages() -> None:
    """Direct in one portion; as the two inequalities say in two."""
    assert least_messages(16, 16, 1) == 15
    assert least_messages(16, 18, 1) is None
    assert least_messages(16, 17, 2) == Fraction(32, 17)
    assert least_messages(16, 89, 2) is not None
    assert least_messages(16, 90, 2) is None
    # a = 13; A = 63/17 - f/17 and 14 f + A = 63 make 7.7 messages.
    assert least_messages(16, 64, 2) == Fraction(63 * 29, 17 * 14 - 1)


def _least_in_three(ports: int, ranks: int) -> float:
    """Return the least A + c + f that (a), (b) and (c) of `sums` allow."""
    from scipy.optimize import linprog

    # Columns A, c, f, h and the sum D; every row is at most its right side.
    rows = [
        [-1, -(ports + 1), 0, 1, 0],
        [0, 0, -ranks, -1, 0],
        [0, 0, 0, -(ports + 1), 0],
        [1, 1, 1, 0, -1],
        [0, ranks - ports - 1, ranks - 1, 0, -ranks],
    ]
    sides = [1, -ranks, -ranks, 0, 1 - ranks]
    found = linprog([0, 0, 0, 0, 1], A_ub=rows, b_ub=sides, bounds=(0, ranks))
    return float(found.fun)


@pytest.mark.parametrize("ports", [2, 5, 16])
def test_three_portions_as_the_inequalities_say(ports: int) -> None:
    """The weights give the least that the inequalities allow, or twice the buffer."""
    for ranks in range(ports + 2, 4 * ports**2, ports):
        found = least_messages(ports, ranks, 3)
        assert found is not None
        plain = 2 * (ranks - 1) / ranks
        exact = max(plain, _least_in_three(ports, ranks))
        assert float(found) <= exact * (1 + 1e-9)
        assert float(found) >= 0.99 * exact
    assert float(least_messages(16, 256, 3) or 0) > 2.65


def _least_in_four(ports: int, ranks: int) -> float:
    """Return the least A + c + e + f that (d) to (i) of `sums` allow."""
    from scipy.optimize import linprog

    fold, near = ports + 1, 1 + ports + ports**2
    # Columns A, c, e, f and h; every row is at most its right side.
    rows = [
        [0, 0, 0, 0, -fold],
        [0, 0, 0, -ranks, -1],
        [-1, -fold, -near, 0, 1],
        [-1, -(fold**2), -fold, 0, 1],
        [-ranks, -near, -fold, -1, 0],
    ]
    sides = [-ranks, -ranks, 1, 1, 1 - ranks]
    found = linprog([1, 1, 1, 1, 0], A_ub=rows, b_ub=sides, bounds=(0, ranks))
    return float(found.fun)


@pytest.mark.parametrize("ports", [1, 2, 5, 16])
def test_four_portions_as_the_inequalities_say(ports: int) -> None:
    """The weights give no more than the inequalities allow, and all of it for many."""
    for ranks in range(ports + 2, 8 * ports**2 + 8, max(1, ports - 1)):
        found = least_messages(ports, ranks, 4)
        assert found is not None
        exact = max(2 * (ranks - 1) / ranks, _least_in_four(ports, ranks))
        assert float(found) <= exact * (1 + 1e-9)
        if ranks > 2 * ports**2 and ports > 2:
            assert float(found) >= exact * (1 - 1e-9)
    assert 2.27 < (least_messages(16, 1024, 4) or 0) < 2.28
    assert 2.07 < (least_messages(16, 512, 4) or 0) < 2.08


def _averages(
    ports: int, ranks: int, choose: random.Random
) -> tuple[list[Fraction], list[Fraction]]:
    """Return messages and held values per rank after each of three random portions.

    Sums may count a rank twice here, which only brings more.
    """
    circuits = [choose.sample(range(ranks), ranks) for _ in range(ports)]
    into = [sorted(set(peers)) for peers in zip(*circuits, strict=True)]
    held = [{rank} for rank in range(ranks)]
    messages, values = [], []
    for _ in range(3):
        used = [[j for j in peers if choose.random() < 0.6] for peers in into]
        held = [
            set(mine).union(*(held[j] for j in peers))
            for mine, peers in zip(held, used, strict=True)
        ]
        messages.append(Fraction(sum(map(len, used)), ranks))
        values.append(Fraction(sum(map(len, held)), ranks))
    return messages, values


def test_what_ranks_hold_after_three_portions() -> None:
    """(e) and (g) hold for random digraphs and messages."""
    choose = seeded_random(7)
    for _ in range(300):
        ports, ranks = choose.randint(1, 4), choose.randint(6, 40)
        (first, second, third), held = _averages(ports, ranks, choose)
        fold, near = ports + 1, 1 + ports + ports**2
        begun = 1 + first + fold * second
        assert held[1] <= begun
        assert held[2] <= begun + near * third
        assert held[2] <= begun + fold * third + ports * fold * second


def test_total_hops() -> None:
    """One segment is a Moore bound; enough of them go straight to everyone."""
    assert total_hops(16, 9, 1, 256) == 16 + 2 * 239
    assert total_hops(16, 9, 1, 1024) == 16 + 2 * 256 + 3 * 751
    assert total_hops(16, 16, 16, 256) == 255
    # Two segments: two times k neighbours, and k^2 by each of 3 pairs of segments.
    assert total_hops(2, 3, 2, 20) == 4 + 2 * 12 + 3 * 3
    # A portion in each of six: six times k neighbours, and k^2 by each of 15 pairs.
    assert total_hops(8, 6, 6, 1024) == 48 + 2 * 960 + 3 * 15
    assert total_hops(4, 4, 4, 128) == 16 + 2 * 96 + 3 * 15


def _least_stream(others: int, fold: int, portions: int) -> float:
    """Return the least sum of t over B / r, by linear programming."""
    from scipy.optimize import linprog

    rows = []
    for last in range(1, portions + 1):
        # N (T(s) - T(P)) - sum t_u min(...) <= - N B / r, B / r being 1.
        row = [0.0] * portions
        for place in range(portions):
            inside = place < last
            power = min(fold ** (last - 1 - place), others) if inside else 0
            row[place] = others * (inside - 1) - power
        rows.append(row)
    found = linprog([1.0] * portions, A_ub=rows, b_ub=[-float(others)] * portions)
    return float(found.fun)


@pytest.mark.parametrize("others", [3, 15, 63, 255])
def test_stream_weights_follow_from_the_inequalities(others: int) -> None:
    """Both choices of weights stay below the linear program, and near it."""
    stream = Stream.of(others + 1, 16, Fraction(1))
    for portions in range(1, 8):
        exact = _least_stream(others, 17, portions)
        data = float(stream.data_ps(portions))
        assert data <= exact * (1 + 1e-9)
        assert data >= 0.8 * exact


def test_stream_is_the_least_over_portions() -> None:
    """The search agrees with trying every number of portions and segments."""
    for lasers, delay, alpha in [(1, 40, 7), (2, 500, 100), (3, 0, 9), (4, 90, 0)]:
        rack = Lightpath(
            rows=4,
            cols=8,
            lasers=lasers,
            reconfiguration_ps=delay,
            alpha_ps=alpha,
            initial_configuration_charged=False,
        )
        for size_bytes in (100, 1000, 10**6):
            task = Collective("broadcast", tuple(range(32)), size_bytes)
            rate = rack.node_bits_per_s
            stream = Stream.of(32, lasers, Fraction(size_bytes * 8 * 10**12, rate))
            times = []
            for segments in range(1, 7):
                first = least_portions(lasers, segments, 32)
                for portions in range(first, 300):
                    data_ps = stream.data_ps(portions)
                    rounded_ps = -(-data_ps.numerator // data_ps.denominator)
                    fixed = portions * alpha + (segments - 1) * delay
                    times.append(fixed + rounded_ps)
            bound = proven_ps("stream", rack, task, {})
            assert bound <= min(times)
            # With more data, or rounds for free, more portions are better still.
            if alpha and size_bytes < 10**6:
                assert bound == min(times)


def test_joint_bounds_on_the_rack() -> None:
    """Each says more than data and growth; `holders` says still more."""
    for kind, op in TASKS.items():
        bounds = all_bounds(RACK, Collective(op, ALL, MIB))
        newer = bounds.pop("holders", None)
        best = max(bounds.values(), key=lambda found: found.bound)
        assert best.kind in (kind, "prices")
        assert newer is None or newer.bound > best.bound
    few = all_bounds(Lightpath(rows=4, cols=4), Collective("all-reduce", ALL[:16], KIB))
    # One portion, in which everyone hears from everyone: 15 KiB at 300 GB/s.
    assert few["sums"].bound == 4_400_000 + 51_200


@pytest.mark.parametrize("kind", sorted(TASKS))
def test_bad_witnesses_are_refused(kind: str) -> None:
    """No witness is needed; other tasks and packet fabrics are refused."""
    task = Collective(TASKS[kind], ALL, MIB)
    with pytest.raises(WitnessError, match="allowed: none"):
        BOUND_KINDS[kind].prove(RACK, task, {"node": 0})
    other = Collective("all-gather", ALL, MIB)
    with pytest.raises(WitnessError, match=f"the kind {kind}"):
        BOUND_KINDS[kind].prove(RACK, other, {})
    switch = IdealSwitch(nodes=256)
    assert kind not in all_bounds(switch, task)
    with pytest.raises(WitnessError, match=f"the kind {kind}"):
        BOUND_KINDS[kind].prove(switch, task, {})
    dark = Lightpath(rows=16, cols=16, lasers=0)
    with pytest.raises(WitnessError, match="carries nothing"):
        BOUND_KINDS[kind].prove(dark, task, {})
