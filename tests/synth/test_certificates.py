"""Every certificate that is emitted is checked again, from the file read back."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.certificate import CertificateStatus
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.task import Collective, Demand
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import Instance
from lightloom.problems import PROBLEMS
from lightloom.problems.fewest_rounds.exact_rounds import fewest_rounds
from lightloom.synth.publish import signed
from lightloom.validate import verify

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.validate import CertificateReport

NODES = 6
OPS = sorted(COLLECTIVES)
pairs = st.integers(0, NODES**2 - 1).filter(lambda pair: pair // NODES != pair % NODES)
demands = st.dictionaries(pairs, st.integers(1, 1000), min_size=1, max_size=8).map(
    lambda sizes: Demand.from_rows(
        [(*divmod(pair, NODES), size) for pair, size in sizes.items()]
    )
)


def proven(schedule: Schedule) -> CertificateReport:
    """Return what the file of a schedule proves, read back and verified."""
    data = b"".join(schedule_lines(schedule))
    verdict = verify(read_schedule_stream(io.BytesIO(data), "file"))
    assert verdict.violations == ()
    first, report = verdict.certificates
    assert first == verdict.certificate
    return report


def answered(problem: str, instance: Instance) -> None:
    """Assert that answer, file and bounds agree, where there is an answer."""
    try:
        answer = PROBLEMS[problem].solve(instance, 0)
        assert answer.schedule is not None
        made = signed(answer.schedule(), instance, answer.certificates)
    except (InfeasibleError, NoAnswerError):
        return
    report = proven(made)
    assert report.value == answer.value
    assert report.bound == answer.bound
    optimal = report.status is CertificateStatus.OPTIMAL
    assert optimal == answer.proved
    best = PROBLEMS[problem].checked_bounds(instance)[0]
    assert best.bound == answer.certificates[0].bound


@settings(max_examples=40, deadline=None)
@given(demands, st.integers(1, 4), st.booleans())
def test_switches(demand: Demand, switches: int, bidirectional: bool) -> None:  # noqa: FBT001
    """Ports of switches, for which bounds exist though circuits run both ways."""
    fabric = Ocs(nodes=NODES, switches=switches, bits_per_second_per_node=10**12)
    answered("ocs", Instance(fabric, demand, "ocs"))
    both = Ocs(
        nodes=NODES,
        switches=switches,
        bits_per_second_per_node=10**12,
        bidirectional=bidirectional,
    )
    one_way = PROBLEMS["ocs"].checked_bounds(Instance(fabric, demand, "ocs"))
    assert PROBLEMS["ocs"].checked_bounds(Instance(both, demand, "ocs")) == one_way


@settings(max_examples=40, deadline=None)
@given(demands, st.integers(1, 5), st.integers(1, 2), st.integers(2, NODES - 1))
def test_rings(demand: Demand, wavelengths: int, directions: int, reach: int) -> None:
    """Spans, long circuits and nodes of a ring."""
    fabric = Ring(
        nodes=NODES, wavelengths=wavelengths, directions=directions, reach=reach
    )
    answered("ring", Instance(fabric, demand, "ring"))


@settings(max_examples=40, deadline=None)
@given(demands, st.integers(1, 3))
def test_routes(demand: Demand, waveguides: int) -> None:
    """Edge lengths of a grid, where the routes can be lit at once."""
    fabric = Lightpath(rows=2, cols=3, lasers=4, waveguides=waveguides)
    answered("routing", Instance(fabric, demand, "routing"))


@pytest.mark.parametrize("op", ["all-to-all", "scatter", "gather"])
def test_routes_of_collectives(op: str) -> None:
    """One route a delivery; the file is the collective in one step."""
    fabric = Lightpath(rows=2, cols=3, lasers=8, waveguides=4)
    task = Collective(op, tuple(range(NODES)), 36 * 64, None)
    answered("routing", Instance(fabric, task, op))


def test_repeated_requests_are_routes_of_their_own() -> None:
    """A pair that asks twice has two light paths, on two ways where that helps."""
    fabric = Lightpath(rows=2, cols=2, lasers=2, waveguides=1)
    demand = Demand.from_rows([(0, 3, 100)])
    asked = Instance(fabric, demand, "twice", requests=((0, 3), (0, 3)))
    answer = PROBLEMS["routing"].solve(asked, 0)
    assert answer.schedule is not None
    made = answer.schedule()
    assert made.segments[0].circuits.route is not None
    assert made.segments[0].circuits.route.to_lists() == [[0, 1, 3], [0, 2, 3]]
    report = proven(signed(made, asked, answer.certificates))
    assert (report.value, report.status) == (1, CertificateStatus.OPTIMAL)


def test_wavelengths_that_counting_does_not_find() -> None:
    """Where colours of the ends clash on a waveguide, wavelengths are searched."""
    fabric = Lightpath(rows=1, cols=5, lasers=3, waveguides=1)
    rows = [(0, 2), (1, 3), (2, 4), (0, 1), (3, 4), (1, 4)]
    demand = Demand.from_rows([(*pair, 10) for pair in rows])
    asked = Instance(fabric, demand, "line")
    answer = PROBLEMS["routing"].solve(asked, 0)
    assert answer.schedule is not None
    report = proven(signed(answer.schedule(), asked, answer.certificates))
    assert report.value == 3


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("lasers", [1, 3])
def test_rounds(op: str, lasers: int) -> None:
    """Rounds of every collective are answered with a bound that is proven."""
    fabric = Lightpath(rows=2, cols=3, lasers=lasers, waveguides=1)
    task = Collective(op, tuple(range(NODES)), 36 * 64, None)
    answered("rounds", Instance(fabric, task, op))


@pytest.mark.parametrize("op", ["all-gather", "reduce", "all-reduce"])
def test_rounds_by_a_solver(op: str) -> None:
    """What a solver made carries the bound that the search started from."""
    fabric = Lightpath(rows=2, cols=2, lasers=1, waveguides=1)
    task = Collective(op, (0, 1, 2, 3), 4096, None)
    found = fewest_rounds(Instance(fabric, task, op))
    assert found.incumbent is not None
    report = proven(found.incumbent.schedule)
    assert report.value == found.incumbent.rounds
    assert report.bound == found.incumbent.bound.rounds


def test_bounds_hold_for_every_answer() -> None:
    """No certificate of an instance is beaten by what our algorithms find."""
    fabric = Ring(nodes=NODES, wavelengths=3)
    rng = np.random.default_rng(1)
    for _ in range(10):
        rows = {(0, 1): 5} | {
            (int(s), int(d)): int(size)
            for s, d, size in zip(
                *rng.integers(0, NODES, (2, 4)), rng.integers(1, 99, 4), strict=True
            )
            if s != d
        }
        demand = Demand.from_rows([(*pair, size) for pair, size in rows.items()])
        asked = Instance(fabric, demand, "ring")
        try:
            value = PROBLEMS["ring"].solve(asked, 0).value
        except InfeasibleError:
            continue
        for certificate in PROBLEMS["ring"].checked_bounds(asked):
            assert certificate.bound >= value
