"""LUMORPH Fig. 11: training throughput of three models, ring against LUMORPH."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from lightloom.core.units import KIB, MIB, PS_PER_S
from lightloom.papers.claims import holds
from lightloom.papers.lumorph.models import MODELS, STRATEGIES
from lightloom.papers.lumorph.rack import ideal_switch, lightpath, measure
from lightloom.papers.reproduction import Comparison, Reproduction, Verdict
from lightloom.replay.workload import CallQueue, replay_iteration
from lightloom.report.plots import Panel, Series
from lightloom.training.iteration import training_iteration
from lightloom.training.replica import place_replica

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Iteration
    from lightloom.core.task import Demand
    from lightloom.papers.lumorph.models import TrainedModel
    from lightloom.papers.reproduction import Value

RING, TWO, FOUR, FREE = "ring (switch)", "lumorph-2", "lumorph-4", "no communication"
ALGORITHMS = (RING, TWO, FOUR, FREE)

_VERY_CLOSE = 0.95
_SMALL, _LARGE = 256 * KIB, 64 * MIB

Rates = dict[tuple[str, int, int, str], float]
"""Samples a second by (model, samples a GPU, GPUs, algorithm)."""


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
    """The figure, over some racks and models.

    On the largest rack samples of a GPU are also multiplied by `more`.
    """

    sizes: tuple[int, ...] = (64, 128, 256)
    models: tuple[TrainedModel, ...] = MODELS
    more: tuple[int, ...] = (4, 16)
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
        for trained, samples, sizes in self._cases():
            iteration = _iteration(trained, samples)
            for gpus, name in product(sizes, ALGORITHMS):
                progress(f"{trained.title}, {samples} a GPU, {gpus} GPUs, {name}")
                queue = CallQueue(calls[gpus, name])
                time_ps = replay_iteration(iteration, queue).iteration_ps
                case = trained.title, samples, gpus
                rate = rates[*case, name] = gpus * samples * PS_PER_S / time_ps
                over_ring = rate / rates[*case, RING]
                rows.append((*case, name, time_ps / 1e6, rate, over_ring))
        return Reproduction(
            self.name,
            self.title,
            (
                *("model", "samples_per_gpu", "gpus", "algorithm", "iteration_us"),
                *("samples_per_s", "over_ring"),
            ),
            tuple(rows),
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
            tuple(self._panel(rates, trained) for trained in self.models),
        )

    def _cases(self) -> Iterator[tuple[TrainedModel, int, tuple[int, ...]]]:
        """Yield models, samples a GPU and numbers of GPUs."""
        for trained in self.models:
            yield trained, trained.local_batch, self.sizes
            for factor in self.more:
                yield trained, factor * trained.local_batch, (max(self.sizes),)

    def _claims(self, rates: Rates) -> Iterator[Comparison]:
        few, many = min(self.sizes), max(self.sizes)
        best = {
            each.title: max(_gain(rates, each, gpus) for gpus in self.sizes)
            for each in self.models
        }
        yield holds(
            "BERT gains most, up to 1.7X over the ring",
            "BERT 1.7X, Inception 1.31X, NCF about 1.08X",
            ", ".join(f"{title} {gain:.2f}X" for title, gain in best.items()),
            holds=max(best, key=lambda title: best[title]) == "BERT",
            why="gains depend on samples a GPU and on the strategies, which are not"
            " given: see below",
        )
        grow = {
            each.title: (_gain(rates, each, few), _gain(rates, each, many))
            for each in self.models
        }
        yield holds(
            "LUMORPH's advantage grows with the number of GPUs",
            "better at larger numbers",
            ", ".join(
                f"{title} {before:.2f}X to {after:.2f}X"
                for title, (before, after) in grow.items()
            ),
            holds=all(after >= before for before, after in grow.values()),
            why="the ring's rounds are few beside its data",
        )
        for each in self.models:
            if each.title == "Inception":
                yield self._close(rates, each)
        yield Comparison(
            "the size of the gains, and the throughputs themselves",
            "1.7X, 1.31X and 1.08X",
            f"on {many} GPUs, by samples a GPU: "
            + "; ".join(self._by_samples(rates, each) for each in self.models),
            Verdict.NOT_REPRODUCIBLE,
            "batch sizes, strategies and measured layer times are not given; with more"
            " samples a GPU there is more computation to hide communication behind, and"
            " gains fall towards none",
        )

    def _close(self, rates: Rates, trained: TrainedModel) -> Comparison:
        """Compare LUMORPH with communication that costs nothing."""
        case = trained.title, trained.local_batch, max(self.sizes)
        close = max(rates[*case, one] for one in (TWO, FOUR)) / rates[*case, FREE]
        return holds(
            f"{trained.title}: LUMORPH is very close to communication without cost",
            "very close",
            f"{100 * close:.0f} % of its throughput at {case[-1]} GPUs",
            holds=close >= _VERY_CLOSE,
            why="with so few samples a GPU there is little computation to hide"
            " communication behind",
        )

    def _by_samples(self, rates: Rates, trained: TrainedModel) -> str:
        """Return the gains of a model on the largest rack, in words."""
        gains = [
            f"{_gain(rates, trained, max(self.sizes), factor):.2f}X with"
            f" {factor * trained.local_batch}"
            for factor in (1, *self.more)
        ]
        return f"{trained.title} {', '.join(gains)}"

    def _panel(self, rates: Rates, trained: TrainedModel) -> Panel:
        groups = [str(gpus) for gpus in self.sizes]
        case = trained.title, trained.local_batch
        series = [
            Series(
                name,
                groups,
                [
                    round(rates[*case, gpus, name] / rates[*case, gpus, RING], 2)
                    for gpus in self.sizes
                ],
            )
            for name in (RING, TWO, FOUR)
        ]
        return Panel(
            f"{trained.title}, samples a GPU: {trained.local_batch}",
            "GPUs",
            "throughput over the ring's",
            series,
            kind="bars",
        )


def _gain(rates: Rates, trained: TrainedModel, gpus: int, factor: int = 1) -> float:
    """Return the gain of the better LUMORPH over the ring."""
    case = trained.title, factor * trained.local_batch, gpus
    return max(rates[*case, one] for one in (TWO, FOUR)) / rates[*case, RING]


def _iteration(trained: TrainedModel, samples: int) -> Iteration:
    """Return the iteration of a GPU with so many samples.

    All GPUs do the same; two of them stand for all.
    """
    replica = place_replica(trained.training(), samples, 1)
    return training_iteration(replica, [(0,), (1,)], 2)


_BATCHES = "Samples a GPU, which the paper does not give: {}; those are drawn."
_QUEUE = (
    "Calls wait in one queue and are served one by one; computation goes on meanwhile."
    " Compute times are the roofline of an A100 in tf32, a lower bound; the paper"
    " measured an A100. An all-reduce's time is a line through replays at 256 KiB and"
    " 64 MiB, every round of LUMORPH charged a reconfiguration."
)

FIGURE = Fig11()
