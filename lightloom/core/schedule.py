"""A schedule in memory: header, segments, steps, footer."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.certificate import COMPLETION_TIME
from lightloom.core.columns import column
from lightloom.core.outcome import Summarised
from lightloom.core.task import Collective, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lightloom.core.certificate import Certificate
    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import FabricTable


ParameterValue: TypeAlias = int | str | bool | list[int] | list[str]


class Op(IntEnum):
    """What a transfer does to the chunk at its destination."""

    COPY = 0
    REDUCE = 1


@dataclass(frozen=True, eq=False)
class Transfers:
    """Chunk ranges on the move; row i moves chunks ``chunk_lo[i]:chunk_hi[i]``.

    Attributes
    ----------
    src, dst
        Nodes (not ranks), shape (transfers,).
    chunk_lo, chunk_hi
        Half-open chunk range.
    op
        `Op` codes.
    """

    src: IntArray
    dst: IntArray
    chunk_lo: IntArray
    chunk_hi: IntArray
    op: IntArray

    def __len__(self) -> int:
        """Return the number of transfers."""
        return len(self.src)


@dataclass(frozen=True, eq=False)
class FluidTransfers:
    """Bytes on the move, without identity; row i moves ``bytes[i]``.

    Attributes
    ----------
    src, dst
        Nodes at the ends of each transfer, shape (transfers,).
    bytes
        How many it moves.
    origin, final
        Nodes where the bytes of each transfer come from, and that they are for;
        ``None`` where these are `src` and `dst`, so that nothing is relayed.
    """

    src: IntArray
    dst: IntArray
    bytes: IntArray
    origin: IntArray | None = None
    final: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of transfers."""
        return len(self.src)


def transfer_columns(transfers: Transfers | FluidTransfers) -> dict[str, IntArray]:
    """Return the columns that transfers have, by name."""
    columns = {each.name: getattr(transfers, each.name) for each in fields(transfers)}
    return {name: column for name, column in columns.items() if column is not None}


@dataclass(frozen=True, eq=False)
class Segment:
    """The circuits one plane holds between two reconfigurations."""

    plane: int
    index: int
    circuits: Circuits


@dataclass(frozen=True, eq=False)
class StepPart:
    """The transfers of one step in one segment of one plane.

    Parts of equal `index` form one step: released together, ended together.
    `plane` and `segment` are ``None`` on packet fabrics, which have no circuits.
    """

    index: int
    plane: int | None
    segment: int | None
    transfers: Transfers | FluidTransfers


@dataclass(frozen=True)
class Algorithm:
    """Who made the schedule, with everything needed to make it again."""

    name: str
    parameters: dict[str, ParameterValue] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True)
class Footer:
    """What a schedule claims of itself; `validate` recomputes every field.

    Attributes
    ----------
    segments, steps, circuits, transfers
        Counts.
    completion_time_ps
        What replay says.
    certificates
        Bounds with their witnesses, each objective at most once.
    """

    segments: int
    steps: int
    circuits: int
    transfers: int
    completion_time_ps: int
    certificates: tuple[Certificate, ...] = ()

    @property
    def certificate(self) -> Certificate | None:
        """The certificate of the completion time, ``None`` where there is none."""
        return self.certificate_of(COMPLETION_TIME)

    def certificate_of(self, objective: str) -> Certificate | None:
        """Return the certificate of an objective, ``None`` where there is none."""
        own = (one for one in self.certificates if one.objective == objective)
        return next(own, None)


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Summarised):
    """When which circuit carries which data, for a fabric and a task.

    Attributes
    ----------
    fabric
        The fabric as its instance table, defaults filled in.
    task
        What is communicated.
    algorithm
        Who made the schedule.
    segments
        In the order of the file; indices of a plane count from 0.
    parts
        In the order of the file; step indices count from 0.
    footer
        What the author claims of all this; ``None`` while it is being made.
    written_by
        Program and version that wrote the file.
    """

    fabric: FabricTable
    task: Task
    algorithm: Algorithm
    segments: tuple[Segment, ...]
    parts: tuple[StepPart, ...]
    footer: Footer | None = None
    written_by: str = ""

    def facts(self) -> Mapping[str, object]:
        """Return what it is for, who made it, and how large it is."""
        task = self.task
        time_ps = None if self.footer is None else self.footer.completion_time_ps
        return {
            "fabric": self.fabric.get("kind"),
            "task": task.op if isinstance(task, Collective) else "demand",
            "bytes": task.buffer_bytes
            if isinstance(task, Collective)
            else sum(task.bytes),
            "algorithm": self.algorithm.name,
            "steps": self.step_count,
            "circuits": self.circuit_count,
            "transfers": self.transfer_count,
            "completion_time_ps": time_ps,
        }

    @property
    def step_count(self) -> int:
        """Number of steps."""
        return self.parts[-1].index + 1 if self.parts else 0

    @property
    def circuit_count(self) -> int:
        """Number of circuits over all segments."""
        return sum(len(segment.circuits) for segment in self.segments)

    @property
    def transfer_count(self) -> int:
        """Number of transfers over all steps."""
        return sum(len(part.transfers) for part in self.parts)

    def transfer_bytes(self, part: StepPart) -> IntArray:
        """Return the size of each transfer of `part` in bytes."""
        transfers = part.transfers
        if isinstance(transfers, FluidTransfers):
            return transfers.bytes
        if not isinstance(self.task, Collective):
            message = "chunk transfers belong to a collective"
            raise TypeError(message)
        size = (transfers.chunk_hi - transfers.chunk_lo) * self.task.chunk_bytes
        return size.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class SealedSchedule(Schedule):
    """A schedule with its footer: what files hold, and what is judged.

    Attributes
    ----------
    footer
        What the author claims of the schedule.
    """

    footer: Footer = field()

    @classmethod
    def of(cls, schedule: Schedule, footer: Footer) -> SealedSchedule:
        """Return a schedule with a footer, whatever footer it had.

        Parameters
        ----------
        schedule
            What the footer is about.
        footer
            What is claimed.
        """
        return cls(
            schedule.fabric,
            schedule.task,
            schedule.algorithm,
            schedule.segments,
            schedule.parts,
            footer,
            schedule.written_by,
        )


def transfer_parts(
    moves: Iterable[tuple[int, int, int, int, int]],
) -> tuple[StepPart, ...]:
    """Return moves as steps without planes and segments.

    Parameters
    ----------
    moves
        (step, src, dst, op, chunk) of each chunk that moves, in any order; ``op`` is
        the code of an `Op`. Steps without moves are left out, so the others count
        0, 1, 2, ...

    Notes
    -----
    Deterministic: a step is sorted by src, dst, op and chunk. A move that is given
    twice is there twice.
    """
    rows = np.array(sorted(moves), dtype=np.int64).reshape(-1, 5)
    if not len(rows):
        return ()
    follows = np.zeros(len(rows), dtype=np.bool_)
    gap = np.diff(rows, axis=0)
    follows[1:] = (gap[:, :4] == 0).all(axis=1) & (gap[:, 4] == 1)
    first = np.flatnonzero(~follows)
    last = np.append(first[1:], len(rows)) - 1
    step, src, dst, op, low = rows[first].T
    high = rows[last, 4] + 1
    parts = []
    bounds = np.flatnonzero(np.diff(step)) + 1
    for index, group in enumerate(np.split(np.arange(len(step)), bounds)):
        columns = (column(each[group]) for each in (src, dst, low, high, op))
        parts.append(StepPart(index, None, None, Transfers(*columns)))
    return tuple(parts)
