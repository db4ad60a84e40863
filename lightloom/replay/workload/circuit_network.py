"""Networks of circuits: transfers of a pair share the circuits of the pair."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal, TypeAlias

from lightloom.core.errors import InputError
from lightloom.replay.workload.collective_flows import RingCollectives
from lightloom.replay.workload.flow_network import FlowNetwork, flow_table
from lightloom.replay.workload.plane_states import LitPlanes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import CircuitFabric
    from lightloom.replay.timeline import Reconfiguration
    from lightloom.replay.workload.collective_flows import CollectiveModel
    from lightloom.replay.workload.network import Jobs

Missing: TypeAlias = Literal["wait", "refuse"]
"""What becomes of a transfer that begins when no plane holds a circuit for it."""


class CircuitNetwork(FlowNetwork):
    """Planes that are lit and dark, and flows on the circuits of their pairs.

    Who says when planes change is left to those who inherit.

    `fabric`: the fabric; device i is node i. `jobs`: what is to be carried. `first`:
    circuits that planes hold from the start. `collectives`: how collectives load
    circuits; by default rings that pay alpha in each step. `missing`: ``wait``, or
    ``refuse``: a transfer without a circuit is then an error.
    """

    def __init__(
        self,
        fabric: CircuitFabric,
        jobs: Jobs,
        first: Mapping[int, Circuits],
        collectives: CollectiveModel | None,
        missing: Missing,
    ) -> None:
        model = collectives or RingCollectives(fabric.alpha_ps)
        table = flow_table(jobs, fabric.node_count, fabric.alpha_ps, model)
        self.planes = LitPlanes(fabric, table.pair_src, table.pair_dst, first)
        paths = [((link, 1),) for link in range(len(table.pair_src))]
        super().__init__(jobs, table, [*paths], self.planes.bits_per_s)
        self.ends = [
            *zip(table.pair_src.tolist(), table.pair_dst.tolist(), strict=True)
        ]
        self._missing = missing

    @abstractmethod
    def next_change_ps(self) -> int | None:
        """Return when somebody next decides on circuits; ``None`` for never."""

    @abstractmethod
    def change(self, now_ps: int) -> list[tuple[int, Circuits]]:
        """Return planes and the circuits that they are to hold, if it is time."""

    def next_ps(self) -> int | None:
        """Return when a flow begins or ends, or a plane changes."""
        times = (super().next_ps(), self.planes.next_ps(), self.next_change_ps())
        return min((time for time in times if time is not None), default=None)

    def advance(self, now_ps: int) -> list[int]:
        """Move on to now; return the jobs that ended."""
        changed = self.planes.lighten(now_ps)
        for plane, circuits in self.change(now_ps):
            changed |= self.planes.set(now_ps, plane, circuits)
        return self.move(now_ps, changed)

    def arrive(self, flows: list[int], now_ps: int) -> None:
        """Refuse flows without a circuit, if that is what was asked for."""
        if self._missing == "wait":
            return
        for flow in flows:
            if not self.planes.holds(self.pair_of(flow)):
                what = f"{self.name_of(flow)} begins, and no plane holds a circuit"
                fix = "add a circuit, or let transfers wait"
                raise InputError(what, where=f"at {now_ps} ps", fix=fix)

    def waiting_for(self) -> str:
        """Say what a flow without rate waits for."""
        return "a circuit that never comes"

    def reconfigurations(self) -> tuple[Reconfiguration, ...]:
        """Return every reconfiguration so far."""
        done = self.planes.done
        return tuple(sorted(done, key=lambda each: (each.start_ps, each.plane)))
