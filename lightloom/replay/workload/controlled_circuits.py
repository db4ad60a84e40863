"""Iterations on circuits that follow the traffic, measured from period to period."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.core.units import PS_PER_US
from lightloom.replay.workload.circuit_network import CircuitNetwork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import CircuitFabric
    from lightloom.replay.workload.circuit_network import Missing
    from lightloom.replay.workload.collective_flows import CollectiveModel
    from lightloom.replay.workload.network import Jobs

HOLDS_OF_OCS = 5
"""For how many delays an optical switch holds its circuits (SiP-ML paper, Fig. 9)."""

RING_PERIOD_PS = 100 * PS_PER_US
"""How often a ring is set anew (SiP-ML paper, section 3.3)."""


class Controller(Protocol):
    """Who decides on circuits: a function of the traffic measured, and of no more."""

    def circuits(self, demand: Demand) -> Mapping[int, Circuits]:
        """Return the circuits of each plane that is to be set.

        `demand` is what each pair of nodes wanted to send in the period: the bytes
        that were moved, and those that still wait. It is not empty. A plane that is
        not named keeps what it holds. The same demand has the same circuits.
        """


@dataclass(frozen=True, eq=False)
class ControlledCircuits:
    """A fabric whose circuits a controller sets from measured traffic.

    At the end of each period the controller is told the traffic of the period, and
    planes that are to change are dark for the fabric's reconfiguration delay. Where
    nothing was to be sent, or the same as in the period before, nothing changes.

    `fabric`: the fabric; device i is node i. `period_ps`: from one decision to the
    next; more than the reconfiguration delay. `first`: circuits that planes hold when
    the iteration begins; others are dark. `collectives`: how collectives load circuits;
    by default rings that pay alpha in each step. `missing`: ``wait``, or ``refuse``: a
    transfer that begins when no plane holds a circuit for it is then an error.

    Raises `InputError`: a period that ends before circuits are there.
    """

    fabric: CircuitFabric
    controller: Controller
    period_ps: int
    first: Mapping[int, Circuits] = field(default_factory=dict)
    collectives: CollectiveModel | None = None
    missing: Missing = "wait"

    def __post_init__(self) -> None:
        delay_ps = self.fabric.reconfiguration_ps
        if self.period_ps <= delay_ps:
            what, allowed = "a period without light", f"more than {delay_ps}"
            where, found = "period_ps", self.period_ps
            raise InputError(what, where=where, found=found, allowed=allowed)

    def open(self, jobs: Jobs) -> CircuitNetwork:
        """Return the network at time 0.

        Raises `InputError`: more devices than nodes; circuits that cannot be built; a
        collective that cannot be accounted for.
        """
        return _Controlled(self, jobs)


def ocs_period_ps(fabric: CircuitFabric) -> int:
    """Return the period of an optical switch: its delay, and five delays of light."""
    return (1 + HOLDS_OF_OCS) * fabric.reconfiguration_ps


class _Controlled(CircuitNetwork):
    """Planes that change at the ends of periods.

    What a flow wanted in a period is what was left of it when the period began, or
    all of it if it began later. Nobody is asked while no flow is under way, nor again
    while nothing moves: the answer would be the same.
    """

    def __init__(self, kind: ControlledCircuits, jobs: Jobs) -> None:
        super().__init__(
            kind.fabric, jobs, dict(kind.first), kind.collectives, kind.missing
        )
        self._controller, self._period = kind.controller, kind.period_ps
        self._boundary = kind.period_ps
        self._wanted: dict[int, int] = {}
        self._told: Demand | None = None
        self._asleep = False

    def next_change_ps(self) -> int | None:
        """Return the end of the period, if there is anything to measure."""
        return self._boundary if self.busy and not self._asleep else None

    def advance(self, now_ps: int) -> list[int]:
        """Move on to now; return the jobs that ended."""
        done = super().advance(now_ps)
        if done:
            self._wake(now_ps)
        return done

    def arrive(self, flows: list[int], now_ps: int) -> None:
        """Measure flows that begin."""
        super().arrive(flows, now_ps)
        if flows:
            self._wake(now_ps)
        for flow in flows:
            self._wanted[flow] = self.size_bytes(flow)

    def _wake(self, now_ps: int) -> None:
        """Ask again at the end of this period."""
        if self._boundary <= now_ps:
            if not self._asleep:
                self._wanted.clear()  # periods have gone by with nothing to send
            self._boundary = (now_ps // self._period + 1) * self._period
        self._asleep = False

    def change(self, now_ps: int) -> list[tuple[int, Circuits]]:
        """Ask the controller, at the end of a period."""
        if now_ps != self._boundary or self.next_change_ps() is None:
            return []
        rows = [
            (*self.ends[self.pair_of(flow)], size)
            for flow, size in self._wanted.items()
        ]
        demand, before = Demand.from_rows(rows), self._wanted
        self._wanted = {
            flow: left for flow, left in self.left_bytes(now_ps).items() if left
        }
        self._boundary = now_ps + self._period
        if demand == self._told:
            self._asleep = self._wanted == before and not self.moving
            return []
        self._told = demand
        return sorted(self._controller.circuits(demand).items())
