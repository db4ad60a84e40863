"""SiP-ML Table 1: what the latency of a fabric costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import holds
from lightloom.papers.reproduction import Comparison, Reproduction, Verdict
from lightloom.papers.sipml.setup import (
    CURVES,
    FLAT,
    LATENCY,
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

    from lightloom.papers.reproduction import Value
    from lightloom.papers.sipml.setup import Trained

PAPER = {
    32: {1: 1.0, 3: 0.99, 10: 0.83, 30: 0.73, 100: 0.64},
    128: {1: 2.11, 3: 2.10, 10: 1.52, 30: 1.36, 100: 1.29},
    512: {1: 4.27, 3: 4.04, 10: 3.03, 30: 2.49, 100: 2.03},
}
"""Speed-ups of the paper by GPUs and latency in us."""

_RATE_GBIT = 10_000
_HARMFUL_US = 10
_HARM = 0.9

Times = dict[tuple[int, int], float]
"""Minutes by (GPUs, latency in us)."""

Line = dict[int, float]
"""Values by latency in us."""


@dataclass(frozen=True)
class Table1Sip:
    """The table, over some sizes and latencies."""

    sizes: tuple[int, ...] = (32, 128, 512)
    latencies_us: tuple[int, ...] = (1, 3, 10, 30, 100)
    trained: Trained = TRANSFORMER
    name: str = "sipml-table1"
    title: str = "speed-up against fabric latency, 10 Tb/s a GPU, Transformer"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Search, place and replay every size and latency."""
        planner, curve = self.trained.planner(progress), self.trained.curve()
        times: Times = {}
        rows: list[tuple[Value, ...]] = []
        for gpus in self.sizes:
            for latency in self.latencies_us:
                progress(f"{gpus} GPUs, {latency} us")
                named = fabrics(gpus, _RATE_GBIT, latency_ps=latency * PS_PER_US)
                plan = best_plan(planner, named[FLAT], curve, MOST_MODEL_PARALLEL)
                if plan is None:
                    continue
                times[gpus, latency] = minutes(plan)
                base = times[self.sizes[0], self.latencies_us[0]]
                rows.append(
                    (
                        gpus,
                        latency,
                        plan.strategy.model_parallel,
                        plan.strategy.batch_size,
                        plan.iteration_ps / 1e6,
                        base / times[gpus, latency],
                        PAPER.get(gpus, {}).get(latency),
                    )
                )
        return Reproduction(
            self.name,
            self.title,
            (
                *("gpus", "latency_us", "model_parallel", "batch", "iteration_us"),
                *("speedup", "paper"),
            ),
            tuple(rows),
            tuple(self._claims(times)),
            (
                _MODEL,
                CURVES,
                ROOFLINE,
                LATENCY,
            ),
            (
                self._panel(f"{self.sizes[0]} GPUs", times, self._over_first),
                self._panel("as many GPUs", times, _kept),
            ),
        )

    def _claims(self, times: Times) -> Iterator[Comparison]:
        low = self.latencies_us[0]
        for gpus in self.sizes:
            kept = _kept(times, gpus)
            high = [share for us, share in kept.items() if us >= _HARMFUL_US]
            yield holds(
                f"{gpus} GPUs: latencies above about 10 us hurt",
                "10 us keep 0.71 to 0.83 of the speed, 100 us 0.48 to 0.64",
                ", ".join(f"{us} us keep {share:.2f}" for us, share in kept.items()),
                holds=min(high) <= _HARM,
                why="iterations of so few GPUs are long beside any latency: our"
                " replay pays it once for each level of the graph and step of a ring",
            )
        yield Comparison(
            "the speed-ups themselves",
            "1X to 4.27X",
            ", ".join(
                f"{gpus}: {times[self.sizes[0], low] / times[gpus, low]:.2f}X"
                for gpus in self.sizes
            )
            + f" at {low} us",
            Verdict.NOT_REPRODUCIBLE,
            "the model, its batch sizes and profiles are not given",
        )

    def _over_first(self, times: Times, gpus: int) -> Line:
        """Return speed-ups over the fewest GPUs at the least latency."""
        base = times[self.sizes[0], self.latencies_us[0]]
        return {us: base / time for (of, us), time in times.items() if of == gpus}

    def _panel(
        self, base: str, times: Times, line: Callable[[Times, int], Line]
    ) -> Panel:
        """Draw ours and the paper's, both over `base` as `line` has it."""
        paper = {
            (gpus, us): 1 / value
            for gpus, values in PAPER.items()
            for us, value in values.items()
            if gpus in self.sizes and us in self.latencies_us
        }
        whole = (self.sizes[0], self.latencies_us[0]) in paper
        series = []
        for place, gpus in enumerate(self.sizes):
            ours = line(times, gpus)
            label = f"{gpus} GPUs"
            series.append(Series(label, list(ours), list(ours.values()), colour=place))
            if whole and gpus in PAPER:
                theirs = line(paper, gpus)
                x, y = list(theirs), list(theirs.values())
                label = f"{gpus} GPUs (paper)"
                series.append(Series(label, x, y, style="--", colour=place))
        return Panel(
            f"Elect-Flat, over {base} at {self.latencies_us[0]} us",
            "fabric latency (us)",
            "speed-up",
            series,
            x_log=10,
            x_ticks=[(us, str(us)) for us in self.latencies_us],
        )


def _kept(times: Times, gpus: int) -> Line:
    """Return speeds over that of as many GPUs at the least latency."""
    least = min(us for of, us in times if of == gpus)
    return {
        us: times[gpus, least] / time for (of, us), time in times.items() if of == gpus
    }


_MODEL = "The paper does not name the model of its table; ours is the Transformer."

FIGURE = Table1Sip()
