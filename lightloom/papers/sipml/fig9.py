"""SiP-ML Fig. 9: optical switches set anew within an iteration, or never."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.papers.claims import holds
from lightloom.papers.reproduction import Reproduction
from lightloom.papers.sipml.setup import (
    CURVES,
    GBIT,
    LATENCY,
    LATENCY_PS,
    ROOFLINE,
    TRANSFORMER,
    minutes,
)
from lightloom.report.plots import Panel, Series
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison, Value
    from lightloom.papers.sipml.setup import Trained
    from lightloom.training.training_plan import TrainingPlan

Times = dict[tuple[int, int], float]
"""Minutes by (rate of a GPU in Gb/s, delay in us); -1: circuits that stay."""

_STAY = -1
_CRITICAL_US = 300
_AS_WELL = 0.95


@dataclass(frozen=True)
class Fig9Sip:
    """The figure, over some delays and rates of a GPU in Gb/s."""

    gpus: int = 1024
    switches: int = 16
    rates: tuple[int, ...] = (2048, 8192)
    delays_us: tuple[int, ...] = (10, 30, 100, 200, 400, 1_000)
    model_parallel: int = 4
    batch: int = 256
    trained: Trained = TRANSFORMER
    name: str = "sipml-fig9"
    title: str = "time to accuracy against the delay of an OCS, Transformer"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Replay every rate and delay, and circuits that stay."""
        planner = self.trained.planner(progress)
        times: Times = {}
        rows: list[tuple[Value, ...]] = []
        for rate in self.rates:
            for delay in (_STAY, *self.delays_us):
                progress(f"{rate} Gb/s, {delay} us")
                fabric = Ocs(
                    nodes=self.gpus,
                    switches=self.switches,
                    bits_per_second_per_node=rate * GBIT,
                    alpha_ps=LATENCY_PS,
                )
                if delay != _STAY:
                    fabric = msgspec.structs.replace(
                        fabric, reconfiguration_ps=delay * PS_PER_US
                    )
                plan = planner.plan(
                    fabric,
                    TrainingRequest(
                        iterations={self.batch: self.trained.curve()[self.batch]},
                        model_parallel=self.model_parallel,
                        circuits="one-shot" if delay == _STAY else "controlled",
                        replayed=1,
                    ),
                )
                times[rate, delay] = minutes(plan)
                rows.append(_row(rate, delay, plan))
        rows.sort(key=lambda row: (row[0], row[1] is None, row[1]))
        return Reproduction(
            self.name,
            self.title,
            (
                *("gbit_per_s", "delay_us", "reconfigurations", "iteration_us"),
                "minutes",
            ),
            tuple(rows),
            tuple(self.claims(times)),
            (
                f"{self.model_parallel} devices a replica, batch {self.batch}.",
                _STAYING,
                _FOLLOWING,
                CURVES,
                ROOFLINE,
                LATENCY,
            ),
            (self._panel(times),),
        )

    def claims(self, times: Times) -> Iterator[Comparison]:
        """Compare what the paper finds with times, of whatever they are."""
        for rate in self.rates:
            line = [times[rate, delay] for delay in self.delays_us]
            stay = times[rate, _STAY]
            yield holds(
                f"{rate} Gb/s: a smaller delay always helps",
                "always",
                ", ".join(
                    f"{delay} us {time / times[rate, _STAY]:.2f} of one-shot"
                    for delay, time in zip(self.delays_us, line, strict=True)
                ),
                holds=line == sorted(line),
                why="a short period measures part of an operation, which is over when"
                " its circuits come; each setting leaves a whole switch dark",
            )
            better = [delay for delay in self.delays_us if times[rate, delay] < stay]
            slow = [delay for delay in self.delays_us if delay > _CRITICAL_US]
            yield holds(
                f"{rate} Gb/s: one-shot beats reconfiguration beyond {_CRITICAL_US} us",
                f"for d > {_CRITICAL_US} us",
                "reconfiguration is faster at"
                f" {', '.join(map(str, better)) or 'none of the delays'} (us)",
                holds=not set(slow) & set(better),
                why="the delay from which circuits that stay are better depends on how"
                " long an operation's traffic lasts, and so on rate and model",
            )
        yield from self._best_delays(times)

    def _best_delays(self, times: Times) -> Iterator[Comparison]:
        """Compare one-shot with the best delay, at the lowest and the highest rate."""
        best = {
            rate: min(times[rate, delay] for delay in self.delays_us)
            / times[rate, _STAY]
            for rate in self.rates
        }
        low, high = min(best), max(best)
        yield holds(
            f"{low} Gb/s: fast reconfiguration beats one-shot",
            "it does",
            f"{best[low]:.2f} of one-shot's time at the best delay",
            holds=best[low] < 1,
            why="each setting leaves a switch dark, and all pairs keep a circuit",
        )
        yield holds(
            f"{high} Gb/s: one-shot does as well as fast reconfiguration",
            "as well",
            f"{best[high]:.2f} of one-shot's time at the best delay",
            holds=best[high] > _AS_WELL,
            why="circuits that follow the traffic are still worth their dark times",
        )

    def _panel(self, times: Times) -> Panel:
        series = []
        for place, rate in enumerate(self.rates):
            y = [times[rate, delay] for delay in self.delays_us]
            label = f"B = {rate} Gb/s, reconfigured"
            series.append(Series(label, self.delays_us, y, colour=place))
        for place, rate in enumerate(self.rates):
            stay = [times[rate, _STAY]] * len(self.delays_us)
            label = f"B = {rate} Gb/s, one-shot"
            series.append(
                Series(
                    label,
                    self.delays_us,
                    stay,
                    style="--",
                    colour=place,
                    markers=False,
                )
            )
        return Panel(
            "Transformer, SiP-OCS",
            "reconfiguration delay (us)",
            "time to accuracy (minutes)",
            series,
            x_log=10,
            x_ticks=[(delay, str(delay)) for delay in self.delays_us],
        )


def _row(rate: int, delay: int, plan: TrainingPlan) -> tuple[Value, ...]:
    return (
        rate,
        None if delay == _STAY else delay,
        len(plan.timeline.reconfigurations),
        plan.iteration_ps / 1e6,
        minutes(plan),
    )


_STAYING = (
    "Without a delay: circuits for the traffic of the whole iteration, which stay."
)
_FOLLOWING = (
    "Circuits are set for the traffic of the period before: dark for one delay, held"
    " for five. Every pair of the iteration keeps one circuit, which the paper does not"
    " say; without it what begins after a period was measured waits for the next one."
    " Where nothing was set anew the circuits for a period are those for the iteration."
)

FIGURE = Fig9Sip()
