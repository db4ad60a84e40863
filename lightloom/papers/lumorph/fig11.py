"""LUMORPH Fig. 11: training throughput of three models, ring against LUMORPH."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from lightloom.core.units import KIB, MIB, PS_PER_S
from lightloom.papers.claims import (
    above,
    between,
    fact,
    holds,
    not_reproducible,
)
from lightloom.papers.lumorph.logged_gains import log_claims, log_panels, log_rows
from lightloom.papers.lumorph.models import MODELS, STRATEGIES
from lightloom.papers.lumorph.published_logs import WITHOUT_LOGS
from lightloom.papers.lumorph.rack import ideal_switch, lightpath, measure
from lightloom.papers.reproduction import Figure
from lightloom.replay.workload import CallQueue, replay_iteration
from lightloom.report.panel import Panel, Series
from lightloom.training.iteration import training_iteration
from lightloom.training.replica import place_replica

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Iteration
    from lightloom.core.task import Demand
    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.lumorph.models import TrainedModel

RING, TWO, FOUR, FREE = "ring (switch)", "lumorph-2", "lumorph-4", "no communication"
AUTO, BEST = "auto", "auto (switch)"
ALGORITHMS = (RING, TWO, FOUR, FREE, AUTO, BEST)
_ON_SWITCH = {RING: "ring", BEST: "auto"}

_VERY_CLOSE = 0.95
_SMALL, _LARGE = 256 * KIB, 64 * MIB
_KNOTS = tuple(KIB * 4**power for power in range(10))
"""Sizes between which the times of `auto`, which chooses by the size, are lines."""

Gains = dict[str, dict[float, dict[float, float]]]
"""Of the better LUMORPH over the ring, by model, samples a GPU and GPUs."""


@dataclass(frozen=True)
class LineOfCalls:
    """All-reduces of so many GPUs whose time is a line in the size.

    The line goes through two replays: rounds cost the same at every size, and data go
    at the same rate. LUMORPH's rounds are each charged a reconfiguration. `auto` is
    what replay says, and has a line between every two of its sizes.
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
        small, large = _SMALL, _LARGE
        if self.algorithm in (AUTO, BEST):
            place = min(bisect_right(_KNOTS, size_bytes), len(_KNOTS) - 1)
            small, large = _KNOTS[max(0, place - 1)], _KNOTS[max(1, place)]
        low, high = self._measured_ps(small), self._measured_ps(large)
        slope = Fraction(high - low, large - small)
        return max(0, round(low + slope * (size_bytes - small)))

    def _measured_ps(self, size_bytes: int) -> int:
        if size_bytes not in self._known:
            switched = self.algorithm in _ON_SWITCH
            fabric = ideal_switch(self.gpus) if switched else lightpath(self.gpus)
            name = _ON_SWITCH.get(self.algorithm, self.algorithm)
            found = measure(fabric, size_bytes, name)
            auto = name == AUTO
            time_ps = found.completion_time_ps if auto else found.every_round_ps
            self._known[size_bytes] = time_ps
        return self._known[size_bytes]


def _compute(
    tell: Tell,
    *,
    sizes: tuple[int, ...] = (64, 128, 256),
    models: tuple[TrainedModel, ...] = MODELS,
    more: tuple[int, ...] = (4, 16),
    logs: str | None = None,
) -> Iterator[Row]:
    """Replay an iteration of each model on each rack, its calls one by one.

    On the largest rack samples of a GPU are also multiplied by `more`. Where there
    are logs, their calls are replayed instead.
    """
    if logs is not None:
        yield from log_rows(tell, logs)
        return
    calls = {
        (gpus, name): LineOfCalls(gpus, name) for gpus in sizes for name in ALGORITHMS
    }
    for trained in models:
        for factor in (1, *more):
            samples = factor * trained.local_batch
            iteration = _iteration(trained, samples)
            for gpus in sizes if factor == 1 else (max(sizes),):
                ring_ps = 0
                for name in ALGORITHMS:  # the ring is the first
                    tell(f"{trained.title}, {samples} a GPU, {gpus} GPUs, {name}")
                    queue = CallQueue(calls[gpus, name])
                    time_ps = replay_iteration(iteration, queue).iteration_ps
                    ring_ps = ring_ps or time_ps
                    rate, ring_rate = (
                        gpus * samples * PS_PER_S / each for each in (time_ps, ring_ps)
                    )
                    yield (
                        *(trained.title, samples, gpus, name, time_ps / 1e6),
                        *(rate, rate / ring_rate),
                    )


def _iteration(trained: TrainedModel, samples: int) -> Iteration:
    """Return the iteration of a GPU with so many samples.

    All GPUs do the same; two of them stand for all.
    """
    replica = place_replica(trained.training(), samples, 1)
    return training_iteration(replica, [(0,), (1,)], 2)


def _gains(data: Data) -> Gains:
    """Return the gains of every case, in order."""
    found: Gains = {}
    for model in data.names("model"):
        of_model = data.where(model=model)
        found[model] = {}
        for samples in of_model.sizes("samples_per_gpu"):
            two, four = (
                of_model.curve(
                    "gpus", "over_ring", samples_per_gpu=samples, algorithm=name
                )
                for name in (TWO, FOUR)
            )
            found[model][samples] = {gpus: max(two[gpus], four[gpus]) for gpus in two}
    return found


def _claims(data: Data) -> Iterator[Comparison]:
    if data.given["logs"] is not None:
        yield from log_claims(data)
        return
    gains = _gains(data)
    drawn = {model: next(iter(cases.values())) for model, cases in gains.items()}
    few, many = min(data.sizes("gpus")), max(data.sizes("gpus"))
    best = {model: max(curve.values()) for model, curve in drawn.items()}
    yield holds(
        "BERT gains most, up to 1.7X over the ring",
        "BERT 1.7X, Inception 1.31X, NCF about 1.08X",
        ", ".join(f"{model} {gain:.2f}X" for model, gain in best.items()),
        points=between(
            {f"BERT over {m}": best["BERT"] / gain for m, gain in best.items()}, least=1
        )
        if "BERT" in best
        else fact("BERT is among the models", so=False),
        why="gains depend on samples a GPU, which are not given, and on the strategies"
        " of the published logs (`--logs DIR`); here all is data parallel",
    )
    yield holds(
        "LUMORPH's advantage grows with the number of GPUs",
        "better at larger numbers",
        ", ".join(
            f"{model} {curve[few]:.2f}X to {curve[many]:.2f}X"
            for model, curve in drawn.items()
        ),
        points=between(
            {
                (m, f"{one} to {other} GPUs"): curve[other] / curve[one]
                for m, curve in drawn.items()
                for one, other in pairwise(sorted(curve))
            },
            least=1,
        ),
        why="the ring's rounds are few beside its data",
    )
    yield _best(data)
    if "Inception" in gains:
        yield _close(data.where(model="Inception", gpus=many), many)
    by_samples = (
        f"{model} "
        + ", ".join(
            f"{curve[many]:.2f}X with {samples}" for samples, curve in cases.items()
        )
        for model, cases in gains.items()
    )
    yield not_reproducible(
        "the size of the gains, and the throughputs themselves",
        "1.7X, 1.31X and 1.08X",
        f"on {many} GPUs, by samples a GPU: {'; '.join(by_samples)}",
        "batch sizes and measured layer times are not given, strategies only by the"
        " published logs (`--logs DIR`); with more"
        " samples a GPU there is more computation to hide communication behind, and"
        " gains fall towards none",
    )


def _best(data: Data) -> Comparison:
    """Compare the rack with the switch, each by its best algorithm."""
    drawn = {
        (model, f"{gpus} GPUs"): [
            data.numbers("samples_per_s", model=model, gpus=gpus, algorithm=name)[0]
            for name in (AUTO, BEST)
        ]
        for model in data.names("model")
        for gpus in data.sizes("gpus")
    }
    ratios = {case: rack / switch for case, (rack, switch) in drawn.items()}
    return holds(
        "ours: the rack is faster than the ideal switch, each by auto",
        "not in the paper, whose switch has the ring",
        f"{min(ratios.values()):.2f}X to {max(ratios.values()):.2f}X",
        points=above(ratios, 1),
        why="on an ideal switch every GPU exchanges with all others at once and pays"
        " alpha once; it stands for no network that can be built",
    )


def _close(data: Data, gpus: float) -> Comparison:
    """Compare LUMORPH on Inception with communication that costs nothing."""
    samples = data.sizes("samples_per_gpu")[0]
    two, four, free = (
        data.number("samples_per_s", samples_per_gpu=samples, algorithm=name)
        for name in (TWO, FOUR, FREE)
    )
    close = max(two, four) / free
    return holds(
        "Inception: LUMORPH is very close to communication without cost",
        "very close",
        f"{100 * close:.0f} % of its throughput at {gpus} GPUs",
        points=between({"of the throughput": close}, least=_VERY_CLOSE),
        why="with so few samples a GPU there is little computation to hide"
        " communication behind",
    )


def _panels(data: Data) -> Iterator[Panel]:
    if data.given["logs"] is not None:
        yield from log_panels(data)
        return
    for model in data.names("model"):
        samples = data.where(model=model).sizes("samples_per_gpu")[0]
        drawn = data.where(model=model, samples_per_gpu=samples)
        series = []
        for name in (RING, TWO, FOUR, AUTO, BEST):
            curve = drawn.curve("gpus", "over_ring", algorithm=name)
            gains = [float(f"{gain:.3g}") for gain in curve.values()]
            series.append(Series(name, list(map(str, curve)), gains))
        yield Panel(
            f"{model}, samples a GPU: {samples}",
            "GPUs",
            "throughput over the ring's",
            series,
            kind="bars",
        )


_BATCHES = "Samples a GPU, which the paper does not give: {}; those are drawn.".format(
    ", ".join(f"{trained.title} {trained.local_batch}" for trained in MODELS)
)
_QUEUE = (
    "Calls wait in one queue and are served one by one; computation goes on meanwhile."
    " Compute times are the roofline of an A100 in tf32, a lower bound; the paper"
    " measured an A100. An all-reduce's time is a line through replays at 256 KiB and"
    " 64 MiB, every round of LUMORPH charged a reconfiguration; that of auto, replayed,"
    " is lines between powers of four from 1 KiB to 256 MiB."
)

FIGURE = Figure(
    name="lumorph-fig11",
    takes_s=42,
    title="training throughput of three models, ring against LUMORPH",
    columns=(
        *("model", "samples_per_gpu", "gpus", "algorithm", "iteration_us"),
        *("samples_per_s", "over_ring"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(f"{WITHOUT_LOGS} {STRATEGIES}", _BATCHES, _QUEUE),
)
