"""Mutations: one change that makes a valid schedule break exactly one rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lightloom.core.schedule import Footer, SealedSchedule, transfer_columns

if TYPE_CHECKING:
    import random

    from lightloom.core.circuit import Circuits
    from lightloom.core.schedule import FluidTransfers, Transfers
    from lightloom.instances.instance import AnyFabric


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


class Mutation(Protocol):
    """A way to break schedules."""

    __name__: str

    def __call__(
        self, whole: SealedSchedule, fabric: AnyFabric, rng: random.Random, /
    ) -> tuple[str, SealedSchedule] | None:
        """Return (broken rule, broken schedule), ``None`` where it does not apply.

        Parameters
        ----------
        whole
            A valid schedule with its footer.
        fabric
            Its fabric.
        rng
            Decides where it is broken.
        """


def reckoned(broken: SealedSchedule) -> SealedSchedule:
    """Return a schedule with true counts, replay's time if it has one, no certificate.

    Where it has none, the time stays as it was: `verify` compares it only where
    replay makes sense.
    """
    from lightloom.replay import replay

    try:
        time_ps = replay(broken).completion_time_ps
    except (ValueError, TypeError, IndexError, OverflowError):
        time_ps = broken.footer.completion_time_ps
    footer = Footer(
        len(broken.segments),
        broken.step_count,
        broken.circuit_count,
        broken.transfer_count,
        time_ps,
    )
    return replace(broken, footer=footer)


def with_part(whole: SealedSchedule, number: int, **fields: object) -> SealedSchedule:
    """Return a schedule with fields of one part changed, and its footer reckoned."""
    parts = list(whole.parts)
    parts[number] = replace(parts[number], **fields)  # type: ignore[arg-type]
    return reckoned(replace(whole, parts=tuple(parts)))


def with_circuits(
    whole: SealedSchedule, number: int, circuits: Circuits
) -> SealedSchedule:
    """Return a schedule with other circuits in one segment, its footer reckoned."""
    segments = list(whole.segments)
    segments[number] = replace(segments[number], circuits=circuits)
    return reckoned(replace(whole, segments=tuple(segments)))


def with_row(
    rows: Transfers | FluidTransfers, copied: int, **fields: int
) -> Transfers | FluidTransfers:
    """Return transfers and a copy of one of them, some of its fields changed.

    `copied`: row that is copied to the end. `fields`: columns, and the value of the
    copy in them.
    """
    columns: dict[str, Any] = {}
    for name, values in transfer_columns(rows).items():
        last = fields.get(name, int(values[copied]))
        columns[name] = np.append(values, last)
    return replace(rows, **columns)


def with_value(
    rows: Transfers | FluidTransfers, row: int, **fields: int
) -> Transfers | FluidTransfers:
    """Return transfers with fields of one of them changed.

    `fields`: columns, and the new value in them.
    """
    columns: dict[str, Any] = {}
    for name, value in fields.items():
        columns[name] = getattr(rows, name).copy()
        columns[name][row] = value
    return replace(rows, **columns)


def without_row(
    rows: Transfers | FluidTransfers, row: int
) -> Transfers | FluidTransfers:
    """Return transfers but one."""
    columns: dict[str, Any] = {
        name: np.delete(column, row) for name, column in transfer_columns(rows).items()
    }
    return replace(rows, **columns)


def any_row(whole: SealedSchedule, rng: random.Random) -> tuple[int, int] | None:
    """Return (part, row) of some transfer, ``None`` if there is none."""
    rows = [
        (number, row)
        for number, part in enumerate(whole.parts)
        for row in range(len(part.transfers))
    ]
    return rng.choice(rows) if rows else None


def last_rows(whole: SealedSchedule) -> list[tuple[int, int]]:
    """Return (part, row) of the transfers of the last step."""
    return [
        (number, row)
        for number, part in enumerate(whole.parts)
        if part.index == whole.step_count - 1
        for row in range(len(part.transfers))
    ]
