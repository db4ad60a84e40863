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
from lightloom.instances.fabrics import FABRICS, load_fabric
from lightloom.replay import replay
from lightloom.synth.bounds import LowerBounds
from lightloom.validate import RULES, verify
from tests.examples.small_schedules import FAMILIES, moves, sealed, with_transfers
from tests.validate.mutants import MUTANTS, certified

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule

ELSEWHERE = {
    "post-condition-wrong": "no collective of the catalogue can trip it: contributions"
    " to a chunk always belong to it; tests/validate/test_postcondition.py trips it",
}


@pytest.mark.parametrize("make", FAMILIES)
def test_whole_schedules_are_valid(make: Callable[[], Schedule]) -> None:
    """Each family verifies, with and without footer."""
    assert verify(make()).violations == ()
    assert verify(replace(make(), footer=None)).valid


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
            assert hasattr(found, "check") or hasattr(found, "verify")
        assert rule.modelled_by
        assert rule.summary.endswith(".")


def test_resource_rules_are_in_the_ledger() -> None:
    """Every rule that a fabric of the catalogue limits resources by is a rule."""
    assert "lightpath" in FABRICS
    for make in FAMILIES:
        fabric = load_fabric(make().fabric)
        if not isinstance(fabric, CircuitFabric):
            continue
        for segment in make().segments:
            for resource in fabric.usage(segment.circuits).resource.tolist():
                assert fabric.resource_rule(resource) in RULES


def test_violation_carries_resource_and_excess() -> None:
    """An overused waveguide is named, with what is taken beyond its capacity."""
    make = next(make for name, _, make in MUTANTS if name == "swapped wavelength")
    (violation,) = verify(make()).violations
    assert violation.resource == "wavelength 1 on edge 1->2"
    assert violation.excess == 1


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
