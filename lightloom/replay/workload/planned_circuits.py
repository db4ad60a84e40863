"""Iterations on circuits that are known beforehand, once set or changing in time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.replay.workload.circuit_network import CircuitNetwork

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import CircuitFabric
    from lightloom.replay.workload.circuit_network import Missing
    from lightloom.replay.workload.collective_flows import CollectiveModel
    from lightloom.replay.workload.network import Jobs


@dataclass(frozen=True, eq=False)
class PlaneConfiguration:
    """Circuits that a plane holds until its next configuration.

    `begin_ps`: when it begins to set them, dark for the fabric's reconfiguration delay;
    ``None`` where they are there when the iteration begins, at no cost, as circuits
    that serve one iteration after another.
    """

    plane: int
    circuits: Circuits
    begin_ps: int | None = None


@dataclass(frozen=True, eq=False)
class HeldCircuits:
    """A fabric with circuits whose planes hold what a list says.

    A transfer waits alpha, and then shares the circuits of its pair equally with the
    others of that pair. Nothing is forwarded.

    `fabric`: the fabric; device i is node i. `configurations`: in the order of time for
    each plane. A plane without any is dark, and so is one before its first
    configuration is set. `collectives`: how collectives load circuits; by default rings
    that pay alpha in each step. `missing`: ``wait``, or ``refuse``: a transfer that
    begins when no plane holds a circuit for it is then an error.
    """

    fabric: CircuitFabric
    configurations: tuple[PlaneConfiguration, ...]
    collectives: CollectiveModel | None = None
    missing: Missing = "wait"

    def open(self, jobs: Jobs) -> CircuitNetwork:
        """Return the network at time 0.

        Raises `InputError`: more devices than nodes; a plane that begins before it is
        done with the configuration before, or that the fabric lacks; circuits that
        cannot be built (said when they are set); a collective that cannot be accounted
        for.
        """
        first: dict[int, Circuits] = {}
        later: list[tuple[int, int, Circuits]] = []
        free_at: dict[int, int] = {}
        for number, each in enumerate(self.configurations):
            begin = each.begin_ps
            if begin is None and each.plane not in free_at:
                first[each.plane], free_at[each.plane] = each.circuits, 0
                continue
            least = free_at.get(each.plane, 0)
            if begin is None or begin < least:
                what = f"plane {each.plane} is still at its configuration before"
                where = f"configurations[{number}].begin_ps"
                raise InputError(
                    what, where=where, found=begin, allowed=f"from {least}"
                )
            free_at[each.plane] = begin + self.fabric.reconfiguration_ps
            later.append((begin, each.plane, each.circuits))
        later.sort(key=lambda change: change[:2])
        return _Held(self, jobs, first, later)


class _Held(CircuitNetwork):
    """Planes that change at times known beforehand."""

    def __init__(
        self,
        kind: HeldCircuits,
        jobs: Jobs,
        first: dict[int, Circuits],
        later: list[tuple[int, int, Circuits]],
    ) -> None:
        super().__init__(kind.fabric, jobs, first, kind.collectives, kind.missing)
        self._later = deque(later)

    def next_change_ps(self) -> int | None:
        """Return when the next plane changes."""
        return self._later[0][0] if self._later else None

    def change(self, now_ps: int) -> list[tuple[int, Circuits]]:
        """Return what begins now."""
        changes = []
        while self._later and self._later[0][0] <= now_ps:
            _, plane, circuits = self._later.popleft()
            changes.append((plane, circuits))
        return changes
