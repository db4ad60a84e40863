"""Certificates of every kind that was ever written verify, and say what they said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lightloom.core.certificate import CertificateStatus
from lightloom.formats.schedule_reader import read_schedule
from lightloom.validate import verify
from lightloom.validate.certificates.completion_time import (
    BOUND_KINDS,
    CompletionTimeQuestion,
)
from lightloom.validate.certificates.completion_time.former_kinds import FORMER_KINDS

FILES = sorted((Path(__file__).parent / "former_files").glob("*.jsonl"))
KINDS = """
busiest-link configurations cut distance few-holders growth hops level line
link-lengths link-steps link-stream planes receive relays ring-hops ring-steps send
spans stream sums switch-uses volume
"""


def test_there_is_a_file_of_every_kind() -> None:
    """Those that version 1 and 2 of the format ever had, and none that is not known."""
    names = {re.sub(r"-\d+$", "", path.stem) for path in FILES}
    assert names == set(KINDS.split())
    assert names <= {*BOUND_KINDS, *FORMER_KINDS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_keeps_its_verdict(path: Path) -> None:
    """It verifies with its bound; a bound above the schedule's own time does not."""
    sealed = read_schedule(path)
    (claim,) = sealed.footer.certificates
    verdict = verify(sealed)
    assert verdict.violations == ()
    assert verdict.certificate.kind == claim.kind
    assert verdict.certificate.status in (
        CertificateStatus.OPTIMAL,
        CertificateStatus.GAP,
    )
    assert isinstance(claim.value, int)
    forged = replace(claim, bound=claim.value + 1)
    footer = replace(sealed.footer, certificates=(forged,))
    rules = {one.rule for one in verify(replace(sealed, footer=footer)).violations}
    assert "certificate-bound" in rules


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_former_witness_is_read_strictly(path: Path) -> None:
    """A key more, or one less, is refused as it was."""
    sealed = read_schedule(path)
    (claim,) = sealed.footer.certificates
    broken = [{**claim.witness, "more": 1}]
    if claim.witness:
        broken.append(dict(list(claim.witness.items())[1:]))
    for witness in broken:
        forged = replace(claim, witness=witness)
        footer = replace(sealed.footer, certificates=(forged,))
        rules = {one.rule for one in verify(replace(sealed, footer=footer)).violations}
        assert "certificate-witness" in rules


def test_former_kinds_are_not_asked_for() -> None:
    """Nothing is written under a former name, and each leads to a kind of today."""
    assert not set(BOUND_KINDS) & set(FORMER_KINDS)
    assert {former.now for former in FORMER_KINDS.values()} <= set(BOUND_KINDS)
    some = read_schedule(FILES[0])
    from lightloom.instances.fabrics import load_fabric

    question = CompletionTimeQuestion(load_fabric(some.fabric), some.task)
    assert set(question.kinds) == {*BOUND_KINDS, *FORMER_KINDS}
