"""Timelines: when everything in a schedule happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.summary import Summarised
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.columns import IntArray


@dataclass(frozen=True)
class StepTime:
    """One step in time.

    `release_ps`: when its transfers are released: the end of the step before. `end_ps`:
    when the last of them has ended. `segments`: the (plane, segment) pairs it uses,
    sorted; none on packet fabrics.
    """

    index: int
    release_ps: int
    end_ps: int
    transfers: int
    bytes: int
    segments: tuple[tuple[int, int], ...]

    @property
    def duration_ps(self) -> int:
        """Time from release to end, in picoseconds."""
        return self.end_ps - self.release_ps


@dataclass(frozen=True)
class Reconfiguration:
    """A plane sets the circuits of `segment` from `start_ps` to `end_ps`."""

    plane: int
    segment: int
    start_ps: int
    end_ps: int


@dataclass(frozen=True, eq=False)
class TransferTimes:
    """Start and end of every transfer of one step part, in its row order."""

    start_ps: IntArray
    end_ps: IntArray


@dataclass(frozen=True, eq=False)
class PairTimes:
    """What each pair does in each step; columns of shape (rows,).

    A row gathers the transfers of one (step, plane, segment, src, dst), which go
    one after another. Rows are sorted by that key.

    `step`, `plane`, `segment`: indices; plane and segment are -1 on packet fabrics.
    `bytes`, `chunks`: what its transfers carry; chunks are 0 for fluid transfers.
    `bits_per_s`: total rate of its circuits; 0 on packet fabrics, where links are
    shared. `start_ps`, `end_ps`: from the start of the first transfer to the end of the
    last.
    """

    step: IntArray
    plane: IntArray
    segment: IntArray
    src: IntArray
    dst: IntArray
    bytes: IntArray
    chunks: IntArray
    bits_per_s: IntArray
    start_ps: IntArray
    end_ps: IntArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.src)


@dataclass(frozen=True, eq=False)
class NodeTimes:
    """What each node does; row i is node i, shape (nodes,).

    `busy_ps`: length of the union of the intervals in which the node sends or receives.
    """

    sent_bytes: IntArray
    received_bytes: IntArray
    busy_ps: IntArray
    idle_ps: IntArray


@dataclass(frozen=True)
class Utilisation:
    """How much of the nodes' rate is used; the ratio is ``moved / possible``.

    Both are exact and in the same unit, a bit per second times a picosecond.

    `possible`: number of nodes that send or receive anything, times the rate of a node
    in bits per second, times the completion time in picoseconds.
    """

    moved: int
    possible: int


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(Summarised):
    """When everything in a schedule happens, in picoseconds from its start.

    Attributes
    ----------
    completion_time_ps
        End of the last step; 0 for a schedule without transfers.
    steps
        Every step, by index.
    reconfigurations
        Every reconfiguration, by (start, plane). Those into segments that no later
        step uses are listed too, and may end after the completion time.
    transfers
        Times of the transfers of each part, as ``schedule.parts`` orders them.
    pairs
        The same, one row for each pair, segment and step.
    nodes
        What each node does.
    utilisation
        How much of the nodes' rate is used.
    every_round_charged_ps
        Time if every round paid a reconfiguration, as the LUMORPH paper counts. A
        round is the use of one segment in one step: it pays
        ``reconfiguration_ps`` and then lasts as long as its slowest pair; rounds of
        a plane follow one another, planes work at once, steps are barriers. On
        packet fabrics it is the completion time.
    """

    completion_time_ps: int
    steps: tuple[StepTime, ...]
    reconfigurations: tuple[Reconfiguration, ...]
    transfers: tuple[TransferTimes, ...]
    pairs: PairTimes
    nodes: NodeTimes
    utilisation: Utilisation
    every_round_charged_ps: int

    def facts(self) -> Mapping[str, object]:
        """Return how long it takes, and of how many steps it is."""
        used = self.utilisation
        return {
            "completion_time_ps": self.completion_time_ps,
            "time": format_ps(self.completion_time_ps),
            "steps": len(self.steps),
            "reconfigurations": len(self.reconfigurations),
            "utilisation": f"{used.moved / used.possible:.1%}"
            if used.possible
            else None,
        }
