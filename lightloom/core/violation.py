"""Violations: broken rules as data."""

from __future__ import annotations

import msgspec

MOST_PER_RULE = 1000
"""Violations of one rule that are listed; more are counted."""


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


class Unlisted(msgspec.Struct, frozen=True):
    """Violations of a rule of which so many are listed that these are counted.

    Attributes
    ----------
    rule
        Rule id of the ledger.
    count
        How many there are, 1 or more.
    """

    rule: str
    count: int
