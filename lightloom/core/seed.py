"""Seeds of everything random."""

from __future__ import annotations

import operator
import random
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from typing import SupportsIndex

MOST_SEED = 2**63 - 1
"""The largest seed; a schedule file holds it in 64 bits."""


def checked_seed(seed: SupportsIndex) -> int:
    """Return a seed as a plain integer.

    Parameters
    ----------
    seed
        An integer, also one of NumPy's, 0 to `MOST_SEED`.

    Raises
    ------
    InputError
        If it is no integer, or out of its domain.
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number <= MOST_SEED:
        raise InputError(
            "value not allowed",
            where="seed",
            found=seed,
            allowed=f"integer from 0 to {MOST_SEED}",
        )
    return number


def seeded_random(seed: int) -> random.Random:
    """Return a source of numbers, which need not be secret: same seed, same numbers."""
    return random.Random(seed)
