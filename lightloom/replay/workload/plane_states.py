"""Planes in time: which pairs have light, and when it comes back."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Segment
from lightloom.replay.clock.circuit_table import circuit_table
from lightloom.replay.timeline import Reconfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric


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
