"""Certificates as schedule files hold them, to and from those in memory."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from lightloom.core.certificate import COMPLETION_TIME, Certificate, stored
from lightloom.core.errors import FormatError, InputError
from lightloom.formats.schedule_records import CertificateRecord, ObjectiveRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.certificate import Number
    from lightloom.formats.schedule_records import (
        StoredNumber,
        StoredWitness,
        TimeWitness,
    )


def exact(value: StoredNumber, where: str) -> Number:
    """Return an exact value from what a file holds.

    Raises `FormatError` if it is no fraction in lowest terms.
    """
    if isinstance(value, int):
        return value
    top, bottom = value
    if bottom < 1 or math.gcd(top, bottom) != 1:
        what, allowed = "invalid fraction", "numerator, denominator in lowest terms"
        raise FormatError(what, where=where, found=[top, bottom], allowed=allowed)
    return Fraction(top, bottom)


def read_certificates(
    certificate: CertificateRecord | None,
    objectives: Sequence[ObjectiveRecord],
    where: str,
) -> tuple[Certificate, ...]:
    """Return the certificates of a footer, that of the completion time first.

    Raises `FormatError`: a fraction that is not in lowest terms; a bound on the
    completion time among those of other objectives.
    """
    found = []
    if certificate is not None:
        one = certificate
        found.append(
            Certificate(COMPLETION_TIME, one.kind, one.bound, one.value, one.witness)
        )
    for row, other in enumerate(objectives):
        place, name = f"{where}: objectives[{row}]", other.objective
        if name == COMPLETION_TIME:
            what, fix = "invalid objective", "state its bound under certificate"
            raise FormatError(what, where=f"{place}.objective", found=name, fix=fix)
        bound = exact(other.bound, f"{place}.bound")
        value = other.value
        told = None if value is None else exact(value, f"{place}.value")
        found.append(Certificate(name, other.kind, bound, told, other.witness))
    return tuple(found)


def stored_certificates(
    certificates: Sequence[Certificate],
) -> tuple[CertificateRecord | None, list[ObjectiveRecord]]:
    """Return that of the completion time, and the others, as files hold them.

    Raises `InputError` if several are of the completion time, for which files have one
    place.
    """
    certificate, objectives = None, []
    for one in certificates:
        bound = stored(one.bound)
        value = None if one.value is None else stored(one.value)
        if one.objective == COMPLETION_TIME:
            if certificate is not None:
                what, allowed = "a second certificate of the completion time", "one"
                raise InputError(what, where="footer.certificates", allowed=allowed)
            # Readers refuse what is no whole number, and words in its witness.
            certificate = CertificateRecord(
                one.kind,
                cast("int", bound),
                cast("int | None", value),
                cast("TimeWitness", one.witness),
            )
        else:
            witness = cast("StoredWitness", one.witness)
            record = ObjectiveRecord(one.objective, one.kind, bound, value, witness)
            objectives.append(record)
    return certificate, objectives
