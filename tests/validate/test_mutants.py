"""Every broken schedule trips its rule and no other; every whole one trips none."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from lightloom.core.certificate import CertificateStatus
from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.instances.fabrics import load_fabric
from lightloom.replay import replay
from lightloom.synth.bounds import LowerBounds, all_bounds
from lightloom.validate import RULES, verify
from tests.examples import rings_2d, rings_and_switches
from tests.examples.small_schedules import (
    FAMILIES,
    moves,
    sealed,
    with_circuits,
    with_transfers,
)
from tests.validate import ramp, sipac
from tests.validate.mutants import MUTANTS, certified

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule

WHOLE = (
    *FAMILIES,
    *rings_and_switches.FAMILIES,
    *rings_2d.FAMILIES,
    *ramp.FAMILIES,
    *sipac.FAMILIES,
)
NAMES = {
    "swapped wavelength": "wavelength 1 on edge 1->2",
    "overlap on a span": "wavelength 2 on span 1->2",
    "overlap past the last node": "wavelength 2 on span 3->0",
    "overlap on the way back": "wavelength 2 on span 0->3",
    "a laser both ways": "laser 2 of node 0",
    "a photodiode both ways": "photodiode 2 of node 2",
    "two circuits into a switch": "input port of node 0",
    "two circuits out of one": "output port of node 1",
    "a port with two partners": "port of node 3",
    "racks that meet in a subnet": "wavelength 2 of subnet 0 from group 0 to 1",
    "two racks behind a switch input": (
        "input 0 of switch 0 of subnet 0 from group 0 to 1"
    ),
    "a transmitter to two groups": "transmitter 1 of node 1",
    "a receiver from two groups": "receiver 1 of node 10",
}
ELSEWHERE = {
    "post-condition-wrong": "no collective of the catalogue can trip it: contributions"
    " to a chunk always belong to it; tests/validate/data/test_contributions.py does",
}


@pytest.mark.parametrize("make", WHOLE)
def test_whole_schedules_are_valid(make: Callable[[], Schedule]) -> None:
    """They verify, with and without footer; resources have rules, bounds are kept."""
    made = make()
    assert verify(made).violations == ()
    assert verify(replace(made, footer=None)).valid
    fabric = load_fabric(made.fabric)
    if isinstance(fabric, CircuitFabric):
        for segment in made.segments:
            for resource in fabric.usage(segment.circuits).resource.tolist():
                assert fabric.resource_rule(resource) in RULES
    assert made.footer is not None
    for bound in all_bounds(fabric, made.task).values():
        assert bound.bound <= made.footer.completion_time_ps, bound


@pytest.mark.parametrize(
    ("make", "time_ps"),
    [
        # 900 bytes on one of 2 x 2 wavelengths: alpha and 7200 bits at 512 Gb/s.
        (sipac.shuffled_demand, 700_000 + 14_063),
        # 4096 bytes on two of 2 x 2 wavelengths, to two nodes as fast as to one.
        (sipac.multicast_broadcast, 700_000 + 32_000),
    ],
)
def test_times_are_those_of_arithmetic(
    make: Callable[[], Schedule], time_ps: int
) -> None:
    """A pair has its share of the shuffle; what is sent once is sent at full rate."""
    assert replay(make()).completion_time_ps == time_ps


@pytest.mark.parametrize(("name", "rule", "make"), MUTANTS, ids=[m[0] for m in MUTANTS])
def test_mutant_trips_exactly_its_rule(
    name: str, rule: str, make: Callable[[], Schedule]
) -> None:
    """A mutant is reported under its rule only, and never as valid."""
    verdict = verify(make())
    assert not verdict.valid
    found = {violation.rule for violation in verdict.violations}
    assert found == {rule}, (name, verdict.violations)


def test_every_rule_has_a_mutant() -> None:
    """Every rule is tripped by a mutant, or the reason why not is written down."""
    tripped = {rule for _, rule, _ in MUTANTS}
    assert tripped | set(ELSEWHERE) == set(RULES)
    assert not tripped & set(ELSEWHERE)


def test_ledger_names_modules() -> None:
    """Every rule says which module checks it, and that module exists."""
    for rule in RULES.values():
        for module in rule.checked_by.split(", "):
            found = importlib.import_module(f"lightloom.validate.{module}")
            assert {"check", "inspect", "verify"} & set(vars(found))
        assert rule.modelled_by
        assert rule.summary.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_the_overused_resource_is_named(name: str) -> None:
    """It is reported first, by its place on the fabric, with the excess."""
    make = next(make for mutant, _, make in MUTANTS if mutant == name)
    first, *_ = verify(make()).violations
    assert first.resource == NAMES[name]
    assert first.excess == 1


def test_a_transceiver_each_way_has_a_laser_each_way() -> None:
    """What one transceiver cannot do, two can: a wavelength out both ways at once."""
    rows = rings_and_switches.ring_circuits(
        [(0, 2, 0, [0]), (2, 3, 0, [0, 1]), (3, 2, 1, [0]), (3, 1, 1, [1])]
    )
    for shared in (False, True):
        base = rings_and_switches.ring_demand(shared=shared)
        verdict = verify(with_circuits(base, 0, rows))
        assert verdict.valid == (not shared)
    found = {violation.resource for violation in verdict.violations}
    assert found == {"photodiode 0 of node 2"}


def test_faults_of_different_kinds_are_reported_together() -> None:
    """A malformed circuit does not hide an overused laser or a false count."""
    lasers = next(
        make for name, _, make in MUTANTS if name == "two circuits of one laser"
    )
    broken = lasers()
    circuits = broken.segments[1].circuits
    assert circuits.wavelengths is not None
    dark = replace(circuits.wavelengths, values=circuits.wavelengths.values + 7)
    second = replace(broken.segments[1], circuits=replace(circuits, wavelengths=dark))
    segments = (broken.segments[0], second, *broken.segments[2:])
    assert broken.footer is not None
    footer = replace(broken.footer, steps=9)
    verdict = verify(replace(broken, segments=segments, footer=footer))
    rules = [violation.rule for violation in verdict.violations]
    assert rules == ["footer-counts", "lasers", "wavelength-range"]


def test_independent_faults_of_data_are_all_reported() -> None:
    """Neither a broken order of segments nor data not held hides what is missing."""
    base = FAMILIES[0]()
    faulty = with_transfers(base, 0, moves([(0, 1, 3, 4), (1, 0, 1, 2)]))
    gone = replace(faulty.parts[1], segment=7)
    verdict = verify(replace(faulty, parts=(faulty.parts[0], gone)))
    assert set(verdict.counts) == {
        "segment-exists",
        "source-holds-data",
        "post-condition-missing",
    }


def test_bytes_of_a_schedule_have_a_limit() -> None:
    """All transfers together move at most 2**63 - 1 bytes, and verify says so."""
    base = FAMILIES[0]()
    assert isinstance(base.task, Collective)
    large = msgspec.structs.replace(base.task, buffer_bytes=2**60 - 4)
    verdict = verify(replace(base, task=large, footer=None))
    assert verdict.valid
    rows = moves([(0, 1, 0, 1), (1, 0, 1, 2), (2, 3, 2, 3), (3, 2, 3, 4)] * 9)
    broken = replace(with_transfers(base, 0, rows), task=large, footer=None)
    (violation,) = [one for one in verify(broken).violations if one.step is None]
    moved = (36 + 8) * (2**58 - 1)
    assert violation.rule == "bytes-range"
    assert violation.excess == moved - 2**63 + 1
    with pytest.raises(InputError, match=r"more than 2\*\*63 - 1 bytes"):
        replay(broken)


def test_many_violations_are_counted() -> None:
    """Beyond a thousand violations of a rule only their number is kept."""
    broken = with_transfers(
        FAMILIES[0](), 0, moves([(0, 1, 0, 1), (0, 0, 0, 1)] * 1500)
    )
    verdict = verify(broken)
    assert len(verdict.violations) == 1001
    assert verdict.violations[-1].excess == 500


@pytest.mark.parametrize("make", FAMILIES)
def test_certificates_of_whole_schedules(make: Callable[[], Schedule]) -> None:
    """A true certificate is accepted, and optimal exactly where it meets the time."""
    whole = make()
    assert whole.footer is not None
    time_ps = whole.footer.completion_time_ps
    certificate = LowerBounds(load_fabric(whole.fabric), whole.task).best()
    assert certificate is not None
    verdict = verify(sealed(whole, replace(certificate, value=time_ps)))
    assert verdict.valid
    status = verdict.certificate.status
    meets = certificate.bound == time_ps
    assert status == (CertificateStatus.OPTIMAL if meets else CertificateStatus.GAP)
    assert verify(whole).certificate.status == CertificateStatus.NO_BOUND


def test_exchange_of_a_pair_is_proven_optimal() -> None:
    """Two tiles that exchange on all their lasers do it in the least time."""
    pair = FAMILIES[2]()
    assert pair.footer is not None
    bound = LowerBounds(load_fabric(pair.fabric), pair.task).best()
    assert bound is not None
    # 3.7 us to configure, 0.7 us alpha, 1000 bytes at 300 Gb/s rounded up.
    assert bound.bound == pair.footer.completion_time_ps == 4_426_667


def test_certificate_of_a_broken_schedule_is_refused() -> None:
    """However true its bound, a broken schedule has no certificate."""
    whole = certified()
    assert verify(whole).certificate.status == CertificateStatus.GAP
    assert whole.footer is not None
    broken = replace(whole, footer=replace(whole.footer, steps=7))
    assert verify(broken).certificate.status == CertificateStatus.REFUSED


def test_weaker_bound_is_allowed() -> None:
    """A bound below what the witness proves is true."""
    assert verify(certified(bound=1)).valid


def test_verdicts_are_sorted_and_repeatable() -> None:
    """Violations come sorted by rule, and twice the same."""
    for _, _, make in MUTANTS:
        verdict = verify(make())
        rules = [violation.rule for violation in verdict.violations]
        assert rules == sorted(rules)
        assert verdict == verify(make())
