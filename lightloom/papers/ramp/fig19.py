"""RAMP Fig. 19: speed-ups where all systems have the same rate of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.papers.claims import holds, near
from lightloom.papers.ramp.baseline_networks import matched
from lightloom.papers.ramp.systems import (
    ESTIMATED,
    GB,
    NOT_PRINTED,
    OPERATIONS,
    TERABIT,
    best_on,
    on_ramp,
    title_of,
)
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.ramp.systems import Timed
    from lightloom.papers.reproduction import Comparison

FAT_TREE, TORUS, TOPOOPT = "fat-tree", "2d-torus", "topoopt"
RIVALS = (FAT_TREE, TORUS, TOPOOPT)
_BANDWIDTH = "all-to-all"
_SHOWN = ("reduce-scatter", "all-gather", "all-reduce", "all-to-all", "broadcast")

Key = tuple[int, str, str]
"""Rate of a node in Gb/s, operation, system."""


@dataclass(frozen=True)
class Fig19:
    """The figure, over some rates of a node in Gb/s."""

    rates: tuple[int, ...] = (200, 400, 800, 1600, 3200, 6400, 12_800)
    size_bytes: int = GB
    name: str = "ramp-fig19"
    title: str = "speed-up of RAMP with 1 GB on 65,536 nodes at equal rates of a node"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Estimate every operation on every system at every rate."""
        timed: dict[Key, Timed] = {}
        for rate in self.rates:
            progress(f"{rate} Gb/s")
            bits_per_s = rate * TERABIT // 1000
            for op in OPERATIONS:
                timed[rate, op, "ramp"] = on_ramp(
                    op, self.size_bytes, bits_per_s=bits_per_s
                )
                for net in matched(bits_per_s):
                    timed[rate, op, net.name] = best_on(net, op, self.size_bytes)
        gain = {
            key: found.times(timed[key[0], key[1], "ramp"])
            for key, found in timed.items()
        }
        rows = tuple(
            (rate, op, system, found.label, found.us, gain[rate, op, system])
            for (rate, op, system), found in timed.items()
        )
        columns = (
            *("gbit_per_s", "operation", "system", "strategy", "time_us"),
            "times_ramp",
        )
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(gain)),
            (ESTIMATED,),
            tuple(self._panel(gain, system) for system in RIVALS),
        )

    def _claims(self, gain: dict[Key, float]) -> Iterator[Comparison]:
        best = {
            (rate, op): min(gain[rate, op, system] for system in RIVALS)
            for rate in self.rates
            for op in OPERATIONS
        }
        least, most = min(best.values()), max(gain.values())
        yield holds(
            "range of speed-ups",
            "1.04X to 2.24E3X (2.2E4X for all-to-all)",
            f"{least:.2f}X to {most:.3g}X",
            holds=round(least, 2) == 1.04 and 2.2e3 <= most <= 2.3e4,
            why=NOT_PRINTED,
        )
        behind = {key: times for key, times in best.items() if times < 1}
        worst = ", ".join(
            f"{min(times for (_, at), times in behind.items() if at == op):.2f}X {op}"
            for op in OPERATIONS
            if any(at == op for _, at in behind)
        )
        yield holds(
            "RAMP is the fastest at every rate and operation",
            "yes",
            f"behind in {len(behind)} of {len(best)} cases: {worst}",
            holds=not behind,
            why="at low rates 31 of 32 transceivers are what counts, for a node has 31"
            " peers in the first step; and all-to-all goes direct in 2048 steps, for"
            " only one transceiver a pair does not collide in the fourth",
        )
        others = [
            (rate, op)
            for rate in self.rates
            for op in OPERATIONS
            if op != "broadcast" and best[rate, op] < gain[rate, op, FAT_TREE]
        ]
        cases = len(self.rates) * (len(OPERATIONS) - 1)
        yield holds(
            "of the others the fat tree is always the fastest, but for broadcast",
            "yes",
            f"in {cases - len(others)} of {cases} cases",
            holds=not others,
            why=NOT_PRINTED,
        )
        yield from self._growth(gain)

    def _growth(self, gain: dict[Key, float]) -> Iterator[Comparison]:
        """Yield the claims on speed-ups at the highest rate over those at the least."""
        slow, fast = self.rates[0], self.rates[-1]
        grows = {
            system: {
                op: gain[fast, op, system] / gain[slow, op, system]
                for op in OPERATIONS
                if op != _BANDWIDTH
            }
            for system in (FAT_TREE, TOPOOPT)
        }
        every = [times for of in grows.values() for times in of.values()]
        yield holds(
            f"speed-ups over fat tree and TopoOpt grow from {slow} to {fast} Gb/s",
            "yes, but for all-to-all",
            f"{min(every):.1f}X to {max(every):.1f}X",
            holds=min(every) > 1,
            why=NOT_PRINTED,
        )
        for system, paper in ((FAT_TREE, 32.0), (TOPOOPT, 27.0)):
            op = max(grows[system], key=grows[system].__getitem__)
            yield near(
                f"greatest growth over {system} ({op})",
                paper,
                grows[system][op],
                "X",
                why=NOT_PRINTED,
            )

    def _panel(self, gain: dict[Key, float], system: str) -> Panel:
        series = [
            Series(op, self.rates, [gain[rate, op, system] for rate in self.rates])
            for op in _SHOWN
        ]
        return Panel(
            f"over {title_of(system)}",
            "rate of a node (Gb/s)",
            "speed-up of RAMP",
            series,
            x_log=2,
            y_log=10,
            x_ticks=[(rate, str(rate)) for rate in self.rates[::2]],
        )


FIGURE = Fig19()
