"""Certificates of objectives: true ones are accepted, false ones refused by rule."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.certificate import CertificateStatus
from lightloom.core.schedule import Op, StepPart
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate import verify
from lightloom.validate.certificates import OBJECTIVES
from lightloom.validate.certificates.congestion import (
    CongestionQuestion,
    EdgeLengths,
    check_edge_lengths,
    lengths_witness,
)
from tests.examples.small_schedules import moves, sealed, with_transfers
from tests.validate import objective_mutants as mutants

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule


@pytest.mark.parametrize(
    ("name", "optimal", "make"), mutants.TRUE, ids=[true[0] for true in mutants.TRUE]
)
def test_true_certificates_are_accepted(
    name: str,
    make: Callable[[], Schedule],
    *,
    optimal: bool,
) -> None:
    """Each verifies, and is optimal exactly where bound and value are equal."""
    verdict = verify(make())
    assert verdict.valid, (name, verdict.violations)
    (found,) = verdict.certificates
    wanted = CertificateStatus.OPTIMAL if optimal else CertificateStatus.GAP
    assert found.status is wanted
    assert (found.bound == found.value) is optimal


@pytest.mark.parametrize(
    "make",
    [mutant[2] for mutant in mutants.MUTANTS],
    ids=[m[0] for m in mutants.MUTANTS],
)
def test_false_certificates_are_refused(make: Callable[[], Schedule]) -> None:
    """However the schedule, a certificate with a fault is worth nothing."""
    assert {one.status for one in verify(make()).certificates} == {
        CertificateStatus.REFUSED
    }


def test_a_certificate_of_a_broken_schedule_is_refused() -> None:
    """Nothing is measured of it, and what is reported is its fault."""
    broken = with_transfers(mutants.rounds(), 0, moves([(0, 1, 0, 2)]))
    claimed = mutants.carrying(broken, "rounds", mutants.ROUNDS)
    verdict = verify(claimed)
    assert {one.rule for one in verdict.violations} == {"post-condition-missing"}
    assert verdict.certificates[0].status is CertificateStatus.REFUSED


def test_names_are_checked_though_nothing_can_be_measured(
    tiny_schedule: Schedule,
) -> None:
    """An unknown objective is reported beside the fault of the schedule."""
    base = tiny_schedule
    parts = (*base.parts, StepPart(2, 0, 7, moves([(0, 1, 0, 1)])))
    broken = mutants.carrying(base, "beauty", mutants.ROUNDS)
    verdict = verify(replace(broken, parts=parts))
    rules = {one.rule for one in verdict.violations}
    assert {"objective-name", "segment-exists"} <= rules


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (mutants.rounds, 2),
        (mutants.congestion, 3),
        (mutants.switches, Fraction(1, 2000)),
    ],
)
def test_a_bound_that_a_valid_schedule_beats_is_false(
    make: Callable[..., Schedule],
    bound: int | Fraction,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Were a proof wrong, the schedule itself would give it away."""
    base = make(bound=bound)
    assert base.footer is not None
    objective = OBJECTIVES[base.footer.certificates[0].objective]
    question, _ = objective.measure(load_fabric(base.fabric), base)
    monkeypatch.setattr(type(question), "prove", lambda *_: None)
    (violation,) = verify(base).violations
    assert violation.rule == "objective-bound"
    assert "but this schedule has" in violation.message


def test_rounds_count_steps_not_segments() -> None:
    """Steps that keep their circuits are rounds all the same."""
    base = mutants.rounds()
    held = with_transfers(base, 0, moves([(0, 1, 0, 1), (1, 0, 0, 1)], Op.REDUCE))
    more = StepPart(1, 0, 0, moves([(0, 1, 1, 2), (1, 0, 1, 2)], Op.REDUCE))
    two = sealed(replace(held, parts=(*held.parts, more)))
    assert len(two.segments) == 1
    claimed = mutants.carrying(two, "rounds", mutants.ROUNDS | {"value": 2})
    (found,) = verify(claimed).certificates
    assert (found.value, found.status) == (2, CertificateStatus.GAP)


def test_edge_lengths_survive_storage() -> None:
    """What is stored proves what the columns prove, whichever edges have lengths."""
    fabric = Lightpath(rows=3, cols=3, lasers=2)
    rng = np.random.default_rng(5)
    src, dst = np.arange(9), np.roll(np.arange(9), 4)
    question = CongestionQuestion(fabric, src, dst)
    for _ in range(20):
        length = rng.integers(0, 4, len(fabric.edges()[0]))
        given = EdgeLengths(length, int(length.sum()))
        witness = lengths_witness(fabric, given)
        edges = (*fabric.edges(), np.ones(len(length), dtype=np.int64))
        proven = check_edge_lengths(9, edges, src, dst, given)
        question.prove("edge-lengths", witness, proven)
        with pytest.raises(ValueError, match="the witness proves"):
            question.prove("edge-lengths", witness, proven + 1)
