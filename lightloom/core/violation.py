"""Violations: broken rules as data."""

from __future__ import annotations

import msgspec


class Violation(msgspec.Struct, frozen=True, order=True):
    """One broken rule, at one place.

    Attributes
    ----------
    rule
        Rule id of the ledger (`lightloom.validate.rules`).
    step
        Step it happens in; ``None`` where no step is concerned.
    resource
        What is over-used, missing or malformed, in words.
    message
        The violation as a sentence: found and allowed.
    excess
        By how much a limit is exceeded, where that has a meaning.
    """

    rule: str
    step: int | None
    resource: str
    message: str
    excess: int | None = None
