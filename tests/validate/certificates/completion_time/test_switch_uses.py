"""The line bound on switches: true for every schedule, and met where it should be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.certificate import CertificateStatus
from lightloom.core.circuit import Circuits
from lightloom.core.columns import column
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.replay import replay
from lightloom.synth.bounds import LowerBounds, all_bounds, find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from lightloom.validate.certificates.completion_time import proven_ps
from lightloom.validate.certificates.completion_time.switch_uses import (
    BOUND as USES,
)
from lightloom.validate.certificates.completion_time.switch_uses import (
    least_line_ps,
)
from lightloom.validate.certificates.witness import WitnessError
from tests.examples.small_schedules import fluid, sealed, with_bound

if TYPE_CHECKING:
    import random

    from lightloom.core.task import Task

Pairs = list[tuple[int, int]]


def circuits(pairs: Pairs) -> Circuits:
    """Return circuits of a switch."""
    return Circuits(column(src for src, _ in pairs), column(dst for _, dst in pairs))


def turns(seed: int) -> Schedule:
    """Serve random rows on switches that take turns, and may keep some circuits."""
    rng = seeded_random(seed)
    nodes, switches = rng.randint(2, 5), rng.randint(1, 3)
    fabric = Ocs(
        nodes=nodes,
        switches=switches,
        bits_per_second_per_node=rng.choice([10**9, 10**12]) * switches,
        alpha_ps=rng.choice([0, 700]),
        reconfiguration_ps=rng.choice([0, 1000, 100_000]),
        initial_configuration_charged=rng.random() < 0.5,
        dark_while_reconfiguring=rng.choice(["plane", "changed-circuits"]),
    )
    segments: list[Segment] = []
    parts: list[StepPart] = []
    served: dict[tuple[int, int], int] = {}
    held: dict[int, Pairs] = {}
    count = [0] * switches
    for step in range(rng.randint(1, 5)):
        for plane in [plane for plane in range(switches) if rng.random() < 0.7] or [0]:
            if plane not in held or rng.random() < 0.7:
                held[plane] = _next(held.get(plane, []), nodes, rng)
                segments.append(Segment(plane, count[plane], circuits(held[plane])))
                count[plane] += 1
            moved = [
                (*pair, rng.randint(1, 3000))
                for pair in held[plane]
                if rng.random() < 0.8
            ]
            for src, dst, size in moved:
                served[src, dst] = served.get((src, dst), 0) + size
            parts.append(StepPart(step, plane, count[plane] - 1, fluid(moved)))
    demand = Demand.from_rows([(*pair, size) for pair, size in served.items()])
    algorithm = Algorithm("random")
    made = Schedule(fabric.table(), demand, algorithm, tuple(segments), tuple(parts))
    return sealed(made)


def _next(before: Pairs, nodes: int, rng: random.Random) -> Pairs:
    """Return some of the circuits before, or a random permutation."""
    if before and rng.random() < 0.5:
        return before[: rng.randint(1, len(before))]
    dst = rng.sample(range(nodes), nodes)
    return [pair for pair in enumerate(dst) if pair[0] != pair[1]] or [(0, 1)]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9))
def test_no_schedule_of_turns_beats_a_bound(seed: int) -> None:
    """However switches take turns, with whatever delays, every bound holds."""
    made = turns(seed)
    assert verify(made).violations == ()
    fabric = Ocs(**{k: v for k, v in made.fabric.items() if k != "kind"})  # type: ignore[arg-type]
    time_ps = replay(made).completion_time_ps
    for node in range(fabric.nodes):
        for direction in range(2):
            witness: dict[str, int | list[int]] = {"node": node, "direction": direction}
            least_ps = _line_ps(fabric, made.task, node, direction)
            assert least_ps <= USES.prove(fabric, made.task, witness) <= time_ps
    for certificate in all_bounds(fabric, made.task).values():
        assert certificate.bound <= time_ps, certificate


def _line_ps(fabric: Ocs, demand: Task, node: int, direction: int) -> int:
    """Return what the uses of a line take at least, all switches together."""
    assert isinstance(demand, Demand)
    ends = demand.dst if direction else demand.src
    sizes = [size for end, size in zip(ends, demand.bytes, strict=True) if end == node]
    return least_line_ps(fabric, sizes)


def _longest_line_ps(fabric: Ocs, demand: Task) -> int:
    """Return what the uses of the longest line take at least."""
    lines = [(node, way) for node in range(fabric.nodes) for way in (0, 1)]
    return max(_line_ps(fabric, demand, *line) for line in lines)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_the_search_finds_the_longest_line(seed: int) -> None:
    """No other node proves more, but for what floating point cannot tell apart."""
    rng = seeded_random(seed)
    fabric = Ocs(
        nodes=5,
        switches=rng.randint(1, 3),
        bits_per_second_per_node=3 * 10**9,
        reconfiguration_ps=rng.choice([0, 10**6]),
        initial_configuration_charged=rng.random() < 0.5,
    )
    pairs = [(s, d) for s in range(5) for d in range(5) if s != d]
    rows = [(*pair, rng.randint(1, 10**6)) for pair in rng.sample(pairs, 9)]
    demand = Demand.from_rows(rows)
    best = max(
        USES.prove(fabric, demand, {"node": node, "direction": direction})
        for node in range(5)
        for direction in range(2)
    )
    found = find_bound("switch-uses", fabric, demand)
    assert found is not None
    assert max(_longest_line_ps(fabric, demand), best - 1) <= found.bound <= best


def test_worked_out_by_hand() -> None:
    """Three partners, two switches, a delay of 10 us, transfers of 8 us each.

    With a use a partner two switches are kept for 3 (10 + 8) = 54 us, so 27 us at
    least; of those a use can move data for 17 us, more than the 8 of each.
    """
    fabric = Ocs(
        nodes=4,
        switches=2,
        bits_per_second_per_node=2 * 10**9,
        alpha_ps=0,
        reconfiguration_ps=10_000_000,
    )
    demand = Demand.from_rows([(0, 1, 1000), (0, 2, 1000), (0, 3, 1000)])
    assert _line_ps(fabric, demand, 0, 0) == 27_000_000
    # Each switch is used twice: 20 us dark, and half of 24 us of data.
    best = LowerBounds(fabric, demand).best()
    assert best is not None
    assert (best.kind, best.bound) == ("switch-uses", 32_000_000)
    assert best.witness == {"node": 0, "direction": 0}
    free = Ocs(
        nodes=4,
        switches=2,
        bits_per_second_per_node=2 * 10**9,
        alpha_ps=0,
        reconfiguration_ps=10_000_000,
        initial_configuration_charged=False,
    )
    assert _line_ps(free, demand, 0, 0) == 17_000_000


@pytest.mark.parametrize(
    ("charged", "bound"), [(True, 30_000_020), (False, 20_000_020)]
)
def test_uses_are_whole(*, charged: bool, bound: int) -> None:
    """Five partners on two switches: one of these serves three, or one takes two uses.

    That is 3 x (10 us + 8 ps), or half of 6 x 10 us + 5 x 8 ps.
    """
    fabric = Ocs(
        nodes=6,
        switches=2,
        bits_per_second_per_node=2 * 10**12,
        alpha_ps=0,
        reconfiguration_ps=10_000_000,
        initial_configuration_charged=charged,
    )
    demand = Demand.from_rows([(0, dst, 1) for dst in range(1, 6)])
    best = LowerBounds(fabric, demand).best()
    assert best is not None
    assert (best.kind, best.bound) == ("switch-uses", bound)
    made = synthesise(Instance(fabric, demand, "test")).incumbent
    assert made is not None
    assert made.completion_time_ps == bound + 4


def test_a_large_partner_takes_several_uses() -> None:
    """What does not fit one use pays for the next: least T by the inequality itself."""
    fabric = Ocs(
        nodes=3,
        switches=3,
        bits_per_second_per_node=3 * 10**9,
        alpha_ps=0,
        reconfiguration_ps=10_000_000,
    )
    demand = Demand.from_rows([(0, 1, 100_000), (0, 2, 1000)])
    least_ps = _longest_line_ps(fabric, demand)

    def fits(time_ps: int) -> bool:
        uses = sum(-(-d // (time_ps - 10_000_000)) for d in (800_000_000, 8_000_000))
        return 808_000_000 + 10_000_000 * uses <= 3 * time_ps

    assert fits(least_ps)
    assert not fits(least_ps - 1)


def test_equal_partners_are_proven_optimal() -> None:
    """One partner a switch: configured once, and every port kept to the end."""
    fabric = Ocs(nodes=3, switches=2, bits_per_second_per_node=2 * 10**9)
    pairs = [(0, 1), (1, 2), (2, 0)], [(0, 2), (2, 1), (1, 0)]
    rows = [[(*pair, 1000) for pair in some] for some in pairs]
    made = Schedule(
        fabric.table(),
        Demand.from_rows([row for some in rows for row in some]),
        Algorithm("by hand"),
        tuple(Segment(plane, 0, circuits(some)) for plane, some in enumerate(pairs)),
        tuple(StepPart(0, plane, 0, fluid(some)) for plane, some in enumerate(rows)),
    )
    whole = sealed(made)
    assert whole.footer is not None
    bound = find_bound("switch-uses", fabric, whole.task)
    assert bound is not None
    value = whole.footer.completion_time_ps
    claimed = with_bound(whole, replace(bound, value=value))
    assert verify(claimed).certificate.status is CertificateStatus.OPTIMAL
    false = replace(claimed.footer, certificates=()) if claimed.footer else None
    assert verify(replace(claimed, footer=false)).valid


def test_it_is_about_demands() -> None:
    """Collectives may forward, so a line says nothing of them."""
    fabric = Ocs(nodes=4, switches=2, bits_per_second_per_node=2 * 10**9)
    task = Collective("all-to-all", (0, 1, 2, 3), 64, 4)
    assert find_bound("switch-uses", fabric, task) is None
    for kind in ("line", "switch-uses"):
        with pytest.raises(WitnessError):
            proven_ps(kind, fabric, task, {"node": 0, "direction": 0})


@pytest.mark.parametrize("size", [1, 2**60 - 1])
def test_sizes_at_the_ends_of_their_domain(size: int) -> None:
    """A byte, and as many as there can be, exactly."""
    fabric = Ocs(nodes=2, switches=1, bits_per_second_per_node=3, alpha_ps=5)
    found = find_bound("switch-uses", fabric, Demand.from_rows([(0, 1, size)]))
    assert found is not None
    data = Fraction(8 * 10**12 * size, 3)
    assert found.bound == fabric.reconfiguration_ps + 5 - (-data // 1)


@pytest.mark.parametrize("kind", ["line", "switch-uses"])
def test_a_bound_above_what_the_line_proves_is_refused(kind: str) -> None:
    """A picosecond more, and the certificate of a sound file is a violation."""
    made = turns(7)
    fabric = Ocs(**{k: v for k, v in made.fabric.items() if k != "kind"})  # type: ignore[arg-type]
    found = find_bound("switch-uses", fabric, made.task)
    assert found is not None
    found = replace(found, kind=kind)
    assert made.footer is not None
    value = made.footer.completion_time_ps
    for more, refused in ((0, False), (1, True)):
        claim = replace(found, bound=int(found.bound) + more, value=value)
        status = verify(with_bound(made, claim)).certificate.status
        assert (status is CertificateStatus.REFUSED) == refused
