"""LUMORPH Fig. 11: training throughput of three models, ring against LUMORPH."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.units import KIB, MIB, PS_PER_S
from lightloom.replay.workload import CallQueue, replay_iteration
from lightloom.report.plots import Panel, Series
from lightloom.report.reproduce.lumorph.claims import holds
from lightloom.report.reproduce.lumorph.models import MODELS, STRATEGIES
from lightloom.report.reproduce.lumorph.rack import ideal_switch, lightpath, measure
from lightloom.report.reproduce.reproduction import Comparison, Reproduction, Verdict
from lightloom.synth.training.iteration import training_iteration
from lightloom.synth.training.replica import place_replica

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.report.reproduce.lumorph.models import TrainedModel
    from lightloom.report.reproduce.reproduction import Value

RING, TWO, FOUR, FREE = "ring (switch)", "lumorph-2", "lumorph-4", "no communication"
ALGORITHMS = (RING, TWO, FOUR, FREE)

_SMALL, _LARGE = 256 * KIB, 64 * MIB

Rates = dict[tuple[str, int, str], float]
"""Samples a second by (model, GPUs, algorithm)."""


@dataclass(frozen=True)
class LineOfCalls:
    """All-reduces of so many GPUs whose time is a line in the size.

    The line goes through two replays: rounds cost the same at every size, and data go
    at the same rate. LUMORPH's rounds are each charged a reconfiguration.

    Attributes
    ----------
    gpus
        GPUs of the rack, whoever takes part in the replay for them.
    algorithm
        One of `ALGORITHMS`.
    """

    gpus: int
    algorithm: str
    _known: dict[int, int] = field(default_factory=dict)

    def transfers_ps(self, demand: Demand) -> int:
        """Return nothing: data parallelism has no transfers."""
        del demand
        return 0

    def collective_ps(self, op: str, devices: IntArray, size_bytes: int) -> int:
        """Return the time of an all-reduce over all GPUs."""
        del op, devices
        if self.algorithm == FREE:
            return 0
        low, high = self._measured_ps(_SMALL), self._measured_ps(_LARGE)
        slope = Fraction(high - low, _LARGE - _SMALL)
        return max(0, round(low + slope * (size_bytes - _SMALL)))

    def _measured_ps(self, size_bytes: int) -> int:
        if size_bytes not in self._known:
            ring = self.algorithm == RING
            fabric = ideal_switch(self.gpus) if ring else lightpath(self.gpus)
            name = "ring" if ring else self.algorithm
            self._known[size_bytes] = measure(fabric, size_bytes, name).every_round_ps
        return self._known[size_bytes]


@dataclass(frozen=True)
class Fig11:
    """The figure, over some racks and models."""

    sizes: tuple[int, ...] = (64, 128, 256)
    models: tuple[TrainedModel, ...] = MODELS
    name: str = "lumorph-fig11"
    title: str = "training throughput of three models, ring against LUMORPH"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Replay an iteration of each model on each rack, its calls one by one."""
        rates: Rates = {}
        rows: list[tuple[Value, ...]] = []
        calls = {
            (gpus, name): LineOfCalls(gpus, name)
            for gpus in self.sizes
            for name in ALGORITHMS
        }
        for trained in self.models:
            replica = place_replica(trained.training(), trained.local_batch, 1)
            # All GPUs do the same; two of them stand for all.
            iteration = training_iteration(replica, [(0,), (1,)], 2)
            for (gpus, name), costs in calls.items():
                progress(f"{trained.title}, {gpus} GPUs, {name}")
                timeline = replay_iteration(iteration, CallQueue(costs))
                time_ps = timeline.iteration_ps
                rate = gpus * trained.local_batch * PS_PER_S / time_ps
                rates[trained.title, gpus, name] = rate
                ring = rates[trained.title, gpus, RING]
                rows.append(
                    (trained.title, gpus, name, time_ps / 1e6, rate, rate / ring)
                )
        return Reproduction(
            self.name,
            self.title,
            *(
                (
                    *("model", "gpus", "algorithm", "iteration_us"),
                    *("samples_per_s", "over_ring"),
                ),
                tuple(rows),
            ),
            tuple(self._claims(rates)),
            (
                STRATEGIES,
                _BATCHES.format(
                    ", ".join(
                        f"{each.title} {each.local_batch}" for each in self.models
                    )
                ),
                _QUEUE,
            ),
            tuple(self._panel(rates, trained.title) for trained in self.models),
        )

    def _gain(self, rates: Rates, title: str, name: str | None = None) -> float:
        """Return the largest gain over the ring, of one algorithm or the better."""
        names = (TWO, FOUR) if name is None else (name,)
        return max(
            rates[title, gpus, one] / rates[title, gpus, RING]
            for gpus in self.sizes
            for one in names
        )

    def _claims(self, rates: Rates) -> Iterator[Comparison]:
        titles = [trained.title for trained in self.models]
        gains = {title: self._gain(rates, title) for title in titles}
        shown = ", ".join(f"{title} {gain:.2f}X" for title, gain in gains.items())
        yield holds(
            "BERT gains most, up to 1.7X over the ring",
            "BERT 1.7X, Inception 1.31X, NCF about 1.08X",
            shown,
            holds=max(gains, key=lambda title: gains[title]) == "BERT",
            why="depends on samples a GPU and on the strategies, which are not given",
        )
        largest = max(self.sizes)
        grow = [
            max(rates[title, gpus, one] for one in (TWO, FOUR))
            / rates[title, gpus, RING]
            for gpus in (min(self.sizes), largest)
            for title in titles
        ]
        few, many = grow[: len(titles)], grow[len(titles) :]
        yield holds(
            "LUMORPH's advantage grows with the number of GPUs",
            "better at larger numbers",
            ", ".join(
                f"{title} {before:.2f}X to {after:.2f}X"
                for title, before, after in zip(titles, few, many, strict=True)
            ),
            holds=all(after >= before for before, after in zip(few, many, strict=True)),
            why="the ring's rounds are few beside its data",
        )
        if "Inception" in titles:
            close = max(
                rates["Inception", largest, one] / rates["Inception", largest, FREE]
                for one in (TWO, FOUR)
            )
            yield holds(
                "Inception: LUMORPH is very close to communication without cost",
                "very close",
                f"{100 * close:.0f} % of its throughput at {largest} GPUs",
                holds=close >= 0.95,
                why="with so few samples a GPU there is little computation to hide"
                " communication behind",
            )
        yield Comparison(
            "the throughputs themselves",
            "plotted",
            shown,
            Verdict.NOT_REPRODUCIBLE,
            "batch sizes, strategies and measured layer times are not given",
        )

    def _panel(self, rates: Rates, title: str) -> Panel:
        groups = [str(gpus) for gpus in self.sizes]
        series = [
            Series(
                name,
                groups,
                [
                    round(rates[title, gpus, name] / rates[title, gpus, RING], 2)
                    for gpus in self.sizes
                ],
            )
            for name in (RING, TWO, FOUR)
        ]
        return Panel(title, "GPUs", "throughput over the ring's", series, kind="bars")


_BATCHES = "Samples a GPU, which the paper does not give: {}."
_QUEUE = (
    "Calls wait in one queue and are served one by one; computation goes on meanwhile."
    " Compute times are the roofline of an A100 in tf32, a lower bound; the paper"
    " measured an A100. An all-reduce's time is a line through replays at 256 KiB and"
    " 64 MiB, every round of LUMORPH charged a reconfiguration."
)

FIGURE = Fig11()
