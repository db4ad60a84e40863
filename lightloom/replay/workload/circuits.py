"""Networks of circuits: transfers of a pair share the circuits of the pair."""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Segment
from lightloom.core.task import Demand
from lightloom.core.units import PS_PER_US
from lightloom.replay.circuit_table import circuit_table
from lightloom.replay.timeline import Reconfiguration
from lightloom.replay.workload.flow_network import FlowNetwork, flow_table
from lightloom.replay.workload.network import RingCollectives

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.replay.workload.network import CollectiveModel, Jobs


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


class LitPlanes:
    """What each plane of a fabric holds; time only goes forward.

    Links are pairs: link i is the pair (src[i], dst[i]), at the rate of all its
    circuits on all planes that are lit. Pairs without a link are not of interest.

    `first`: circuits that planes hold from the start; others are dark.

    Raises `InputError`: circuits that the fabric cannot build, here and in `set`.
    """

    def __init__(
        self,
        fabric: CircuitFabric,
        src: IntArray,
        dst: IntArray,
        first: Mapping[int, Circuits],
    ) -> None:
        self.done: list[Reconfiguration] = []
        self._fabric = fabric
        self._keys = src * fabric.node_count + dst
        self._held: dict[int, Circuits] = {}
        self._lit: dict[int, dict[int, int]] = {}
        self._coming: dict[int, dict[int, int]] = {}
        self._dawns: list[tuple[int, int]] = []
        self._count: dict[int, int] = {}
        self.bits_per_s = dict.fromkeys(range(len(src)), 0)
        for plane in sorted(first):
            rates, _ = self._rates(plane, first[plane])
            self._held[plane], self._count[plane] = first[plane], 1
            self._shine(plane, rates)

    def holds(self, link: int) -> bool:
        """Return whether a plane has, or is being given, circuits for a pair."""
        return self.bits_per_s[link] > 0 or any(
            link in coming for coming in self._coming.values()
        )

    def next_ps(self) -> int | None:
        """Return when a plane next gets light."""
        return self._dawns[0][0] if self._dawns else None

    def set(self, now_ps: int, plane: int, circuits: Circuits) -> dict[int, int]:
        """Begin to reconfigure a plane; return links that change, and their rates.

        Nothing happens to a plane that holds these very circuits.

        `now_ps`: when the reconfiguration begins, in picoseconds. `circuits`: what it
        holds from ``now_ps`` plus the reconfiguration delay on.
        """
        held = self._held.get(plane)
        if held is not None and held.same_as(circuits):
            return {}
        rates, kept = self._rates(plane, circuits)
        lit = self._lit.get(plane, {})
        changed = self._shine(plane, {link: lit[link] for link in kept if link in lit})
        self._held[plane], self._coming[plane] = circuits, rates
        dawn = now_ps + self._fabric.reconfiguration_ps
        heapq.heappush(self._dawns, (dawn, plane))
        segment = self._count.get(plane, 0)
        self._count[plane] = segment + 1
        self.done.append(Reconfiguration(plane, segment, now_ps, dawn))
        return changed | self.lighten(now_ps)

    def lighten(self, now_ps: int) -> dict[int, int]:
        """Return links that get light by now, and their rates."""
        changed: dict[int, int] = {}
        while self._dawns and self._dawns[0][0] <= now_ps:
            plane = heapq.heappop(self._dawns)[1]
            changed |= self._shine(plane, self._coming.pop(plane))
        return changed

    def _shine(self, plane: int, rates: dict[int, int]) -> dict[int, int]:
        """Let a plane carry these links and no others; return what changes."""
        before, self._lit[plane] = self._lit.get(plane, {}), rates
        total, changed = self.bits_per_s, {}
        for link in sorted(before.keys() | rates.keys()):
            more = rates.get(link, 0) - before.get(link, 0)
            if more:
                total[link] = changed[link] = total[link] + more
        return changed

    def _rates(
        self, plane: int, circuits: Circuits
    ) -> tuple[dict[int, int], list[int]]:
        """Return the rate of each link on a plane, and the links kept as they are."""
        fabric, held = self._fabric, self._held.get(plane)
        segments = [Segment(plane, 0, circuits)]
        if held is not None:
            segments = [Segment(plane, 0, held), Segment(plane, 1, circuits)]
        table = circuit_table(fabric, tuple(segments))
        _refuse_unbuildable(fabric, plane, circuits)
        last = len(segments) - 1
        key = table.pair_key - last * fabric.node_count**2
        rows = np.flatnonzero(key >= 0)
        rows = rows[np.isin(key[rows], self._keys)]
        links = np.searchsorted(self._keys, key[rows])
        rates = table.pair_bits_per_s[rows]
        kept = links[table.pair_kept[rows]] if last else links[:0]
        return dict(zip(links.tolist(), rates.tolist(), strict=True)), kept.tolist()


def _refuse_unbuildable(fabric: CircuitFabric, plane: int, circuits: Circuits) -> None:
    """Raise if circuits are malformed, shared, or take more than there is."""
    where = f"circuits of plane {plane}"
    if len(np.unique(circuits.transmissions())) < len(circuits):
        what = "a circuit with several destinations; transfers have one each"
        fix = "give each destination a circuit of its own"
        raise InputError(what, where=where, fix=fix)
    for fault in fabric.circuit_faults(circuits):
        what = f"circuit {circuits.src[fault.row]} -> {circuits.dst[fault.row]}"
        raise InputError(f"{what} breaks {fault.rule}: {fault.message}", where=where)
    usage = fabric.usage(circuits)
    resources, of = np.unique(usage.resource, return_inverse=True)
    taken = np.zeros(len(resources), dtype=np.int64)
    np.add.at(taken, of, usage.amount)
    over = np.flatnonzero(taken > fabric.capacity(resources))
    for row in over[:1].tolist():
        resource = int(resources[row])
        what = f"{fabric.resource_name(resource)} is taken too often"
        rule, found = fabric.resource_rule(resource), int(taken[row])
        raise InputError(what, where=f"{where}, {rule}", found=found)


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
