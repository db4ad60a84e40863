"""Whatever the columns hold, the verdict is a verdict and never a traceback."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.seed import seeded_random
from lightloom.validate import RULES, verify
from tests.examples.small_schedules import FAMILIES

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule

EXTREMES = (-(2**63), -(2**31), -1, 0, 1, 2, 3, 4, 99, 2**31, 2**60, 2**63 - 1)


def _corrupted(value: Any, rng: random.Random) -> Any:  # noqa: ANN401
    """Return a copy with a random integer of it replaced, lengths kept."""
    if isinstance(value, np.ndarray):
        changed = value.copy()
        if len(changed):
            changed[rng.randrange(len(changed))] = rng.choice(EXTREMES)
        return changed
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        place = rng.randrange(len(value))
        part = _corrupted(value[place], rng)
        return (*value[:place], part, *value[place + 1 :])
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.name != "offsets"]
        name = rng.choice(names)
        return replace(value, **{name: _corrupted(getattr(value, name), rng)})
    return rng.choice(EXTREMES) if isinstance(value, int) else value


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(FAMILIES), st.integers(1, 3))
def test_corrupted_columns_get_a_verdict(
    seed: int, make: Callable[[], Schedule], times: int
) -> None:
    """A few absurd integers anywhere in segments, steps or footer are reported."""
    rng = seeded_random(seed)
    broken = make()
    for _ in range(times):
        name = rng.choice(["segments", "parts", "footer"])
        part = _corrupted(getattr(broken, name), rng)
        broken = replace(broken, **{name: part})
    verdict = verify(broken)
    assert verdict.valid == (not verdict.violations)
    assert {violation.rule for violation in verdict.violations} <= set(RULES)
