"""What a verdict says beyond single rules: keys, counts, and of absurd columns."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lightloom as ll
from lightloom.core.seed import seeded_random
from lightloom.validate import RULES, verify
from lightloom.validate.rules_page import PAGE, rules_page
from tests.examples.small_schedules import FAMILIES

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule


@pytest.fixture
def schedule() -> ll.Schedule:
    """Return a schedule that obeys every rule."""
    return ll.synthesise("lightpath-4/all-gather-1KiB", "direct").schedule


def test_a_fabric_says_every_key(schedule: ll.Schedule) -> None:
    """No time rests on a default of ours that the file does not state."""
    for key in schedule.fabric:
        table = {name: value for name, value in schedule.fabric.items() if name != key}
        verdict = ll.verify(replace(schedule, fabric=table))
        assert not verdict.valid
        assert {one.rule for one in verdict.violations} == {"fabric"}
        assert key in verdict.violations[0].message + verdict.violations[0].resource


def test_left_out_violations_are_counted() -> None:
    """Of 2,256 pairs without circuits 1,000 are listed, and all are counted."""
    matrix = [[int(src != dst) for dst in range(48)] for src in range(48)]
    instance = ll.Instance(
        ll.fabrics.IdealSwitch(nodes=48), ll.Demand.from_matrix(matrix)
    )
    made = ll.synthesise(instance).schedule
    verdict = ll.verify(replace(made, parts=()))
    served = verdict.counts["demand-bytes"]
    assert served == 48 * 47
    assert verdict.violation_count == sum(verdict.counts.values())
    listed = [one for one in verdict.violations if one.rule == "demand-bytes"]
    assert len(listed) == 1001


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


def test_the_page_is_current() -> None:
    """Renewed by ``python -m lightloom.validate.rules_page``."""
    assert PAGE.read_text(encoding="utf-8") == rules_page()
