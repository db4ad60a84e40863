"""Strategies for broken schedules: valid ones after exactly one mutation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import assume
from hypothesis import strategies as st

from lightloom.core.errors import InputError, nearest
from lightloom.core.seed import seeded_random
from lightloom.instances.fabrics import load_fabric
from lightloom.testing.strategies import break_circuits, break_records, break_transfers
from lightloom.testing.strategies.mutation import BrokenSchedule
from lightloom.testing.strategies.schedules import schedules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.schedule import SealedSchedule
    from lightloom.testing.strategies.mutation import Mutation


def mutations() -> dict[str, Mutation]:
    """Return every mutation, by name, sorted."""
    rooms = (break_circuits, break_records, break_transfers)
    found = [mutation for room in rooms for mutation in room.MUTATIONS]
    named = {each.__name__.replace("_", "-"): each for each in found}
    assert len(named) == len(found)
    return dict(sorted(named.items()))


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
    known = mutations()
    if name not in known:
        allowed, fix = ", ".join(known), nearest(name, known)
        what = "unknown mutation"
        raise InputError(what, where="mutation", found=name, allowed=allowed, fix=fix)
    if any(segment.circuits.multicast is not None for segment in whole.segments):
        return None
    rng = seeded_random(seed)
    made = known[name](whole, load_fabric(whole.fabric), rng)
    if made is None:
        return None
    return BrokenSchedule(made[1], made[0], name, whole)


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
