"""Strategies for broken schedules: valid ones after exactly one mutation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import assume
from hypothesis import strategies as st

from lightloom.core.errors import unknown_name
from lightloom.core.seed import seeded_random
from lightloom.instances.fabrics import load_fabric
from lightloom.testing.strategies.mutations import (
    MUTATIONS,
    DoesNotApplyError,
    ValidSchedule,
)
from lightloom.testing.strategies.schedules import schedules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.schedule import SealedSchedule


@dataclass(frozen=True, eq=False)
class BrokenSchedule:
    """A valid schedule after one mutation.

    `schedule`: what it has become. Everything else in it is right; where the change
    alters counts or time, so does the footer, which then has no certificate. `rule`:
    the rule it breaks, and no other.
    """

    schedule: SealedSchedule
    rule: str
    mutation: str
    valid: SealedSchedule


def mutations() -> tuple[str, ...]:
    """Return the names of every mutation, sorted."""
    return tuple(sorted(MUTATIONS))


def break_schedule(
    whole: SealedSchedule, name: str, seed: int
) -> BrokenSchedule | None:
    """Return a valid schedule after one mutation, ``None`` where it does not apply.

    Parameters
    ----------
    whole
        A schedule that obeys every rule, with its footer, and has no circuits of
        several destinations: a change to one of those who share one may well break
        the rules of sharing too.
    name
        One of `mutations`.
    seed
        Decides where it is broken.

    Raises
    ------
    InputError
        If there is no such mutation.
    """
    if name not in MUTATIONS:
        raise unknown_name("mutation", name, mutations(), where="mutation")
    if any(segment.circuits.multicast is not None for segment in whole.segments):
        return None
    rng = seeded_random(seed)
    given = ValidSchedule(whole, load_fabric(whole.fabric), rng)
    try:
        rule, broken = MUTATIONS[name](given)
    except DoesNotApplyError:
        return None
    return BrokenSchedule(broken, rule, name, whole)


@st.composite
def broken_schedules(
    draw: st.DrawFn,
    kinds: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
) -> BrokenSchedule:
    """Draw a schedule that breaks exactly one rule, and which.

    Parameters
    ----------
    kinds
        Kinds of fabric, as in `fabrics`.
    names
        Tasks, as in `tasks`.
    only
        Names of mutations; all if ``None``.
    """
    whole = draw(schedules(kinds, names, multicast=False))
    chosen = tuple(mutations() if only is None else only)
    first = draw(st.integers(0, len(chosen) - 1))
    seed = draw(st.integers(0, 2**32 - 1))
    for name in (*chosen[first:], *chosen[:first]):
        made = break_schedule(whole, name, seed)
        if made is not None:
            return made
    assume(condition=False)
    raise AssertionError
