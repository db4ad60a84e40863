"""SiP-ML Fig. 8: time to accuracy against the number of optical switches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from lightloom.instances.fabrics.ocs import Ocs
from lightloom.papers.claims import holds
from lightloom.papers.reproduction import Reproduction
from lightloom.papers.sipml.setup import (
    CURVES,
    FLAT,
    LATENCY,
    OCS,
    ROOFLINE,
    TRANSFORMER,
    best_plan,
    fabrics,
    minutes,
)
from lightloom.papers.sipml.sweep import MOST_MODEL_PARALLEL
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison, Value
    from lightloom.papers.sipml.setup import Trained

Times = dict[tuple[int, int], float]
"""Minutes by (rate of a GPU in Gb/s, switches); 0 switches: the ideal switch."""

_NOISE = 1.01
"""Times that differ by less are called the same."""


@dataclass(frozen=True)
class Fig8Sip:
    """The figure, over some numbers of switches and rates of a GPU in Gb/s."""

    gpus: int = 1024
    rates: tuple[int, ...] = (4096, 8192, 16_384)
    switches: tuple[int, ...] = (2, 4, 6, 8, 12, 16, 24, 32)
    trained: Trained = TRANSFORMER
    name: str = "sipml-fig8"
    title: str = "time to accuracy against the number of OCSs, Transformer, one-shot"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Search, place and replay every rate and number of switches."""
        planner, curve = self.trained.planner(progress), self.trained.curve()
        times: Times = {}
        rows: list[tuple[Value, ...]] = []
        for rate in self.rates:
            named = fabrics(self.gpus, rate)
            switched = named[OCS]
            assert isinstance(switched, Ocs)
            for count in (0, *self.switches):
                fabric = named[FLAT]
                if count:
                    fabric = msgspec.structs.replace(switched, switches=count)
                progress(f"{rate} Gb/s, {count} switches")
                plan = best_plan(planner, fabric, curve, MOST_MODEL_PARALLEL)
                if plan is None:
                    continue
                times[rate, count] = minutes(plan)
                strategy = plan.strategy
                rows.append(
                    (
                        rate,
                        count or None,
                        strategy.model_parallel,
                        strategy.replicas,
                        strategy.batch_size,
                        plan.iteration_ps / 1e6,
                        times[rate, count],
                    )
                )
        rows.sort(key=lambda row: (row[0], row[1] is None, row[1] or 0))
        return Reproduction(
            self.name,
            self.title,
            (
                *("gbit_per_s", "switches", "model_parallel", "replicas", "batch"),
                *("iteration_us", "minutes"),
            ),
            tuple(rows),
            tuple(self._claims(times)),
            ("Without a number of switches: Elect-Flat.", CURVES, ROOFLINE, LATENCY),
            (self._panel(times),),
        )

    def _claims(self, times: Times) -> Iterator[Comparison]:
        last = max(self.switches)
        middle = min(self.switches, key=lambda count: (abs(count - 12), count))
        first = min(self.switches)
        worse = {
            rate: max(
                times[rate, more] / times[rate, fewer]
                for fewer, more in pairwise(self.switches)
            )
            for rate in self.rates
        }
        yield holds(
            "performance improves with more OCSs",
            "improves",
            "; ".join(
                f"{rate} Gb/s: {times[rate, first] / times[rate, last]:.2f}X from"
                f" {first} to {last}, {100 * (worse[rate] - 1):.0f} % slower at the"
                " worst step"
                for rate in self.rates
            ),
            holds=max(worse.values()) <= _NOISE,
            why="finer circuits follow the bytes of a whole iteration more closely, as"
            " the paper's objective has it, and give more to the rings over replicas:"
            " those hide behind the backward pass, and what tensors lose does not."
            " Four switches give each of four partners a circuit",
        )
        gains = [times[rate, middle] / times[rate, last] for rate in self.rates]
        yield holds(
            "benefits are marginal beyond 12 OCSs",
            "marginal",
            f"{middle} to {last}: at most {100 * (max(gains) - 1):.1f} %",
            holds=max(gains) <= 1.05,
            why="finer circuits still align better with the traffic",
        )
        spread = [times[rate, first] / times[rate, last] for rate in self.rates]
        yield holds(
            "a larger B is less sensitive to the number of OCSs",
            "less sensitive",
            ", ".join(
                f"{rate} Gb/s {ratio:.2f}X"
                for rate, ratio in zip(self.rates, spread, strict=True)
            ),
            holds=spread == sorted(spread, reverse=True) and spread[0] > spread[-1],
            why="at low rates data parallelism with its single partner is chosen, which"
            " any number of switches serves; model parallelism, chosen at high rates,"
            " needs partners",
        )

    def _panel(self, times: Times) -> Panel:
        series = []
        for place, rate in enumerate(self.rates):
            x = [count for count in self.switches if (rate, count) in times]
            y = [times[rate, count] for count in x]
            series.append(Series(f"B = {rate} Gb/s", x, y, colour=place))
        for place, rate in enumerate(self.rates):
            flat = times[rate, 0]
            ends = [self.switches[0], self.switches[-1]]
            label = f"Elect-Flat, {rate} Gb/s"
            series.append(
                Series(label, ends, [flat] * 2, style="--", colour=place, markers=False)
            )
        return Panel(
            "Transformer, SiP-OCS",
            "optical switches",
            "time to accuracy (minutes)",
            series,
            x_log=2,
            x_ticks=[(count, str(count)) for count in self.switches],
        )


FIGURE = Fig8Sip()
