"""LUMORPH Figs 10 and 11: trainings of three models, or the authors' published logs."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.training import Training
from lightloom.core.units import KIB, MIB, PS_PER_S, PS_PER_US, format_bytes
from lightloom.formats.communication_log import (
    AllReduceCall,
    LayerTransfer,
    read_communication_log,
)
from lightloom.instances.computation_table import computation_graph
from lightloom.papers.claims import above, below, between, fact, holds, not_reproducible
from lightloom.papers.lumorph.rack import ideal_switch, lightpath, measure
from lightloom.papers.reproduction import figures
from lightloom.replay.workload import CallQueue, replay_iteration
from lightloom.report.panel import Panel, Series
from lightloom.training.iteration import training_iteration
from lightloom.training.recorded_replay import log_iteration, replay_recorded
from lightloom.training.replica import place_replica
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Iteration
    from lightloom.core.task import Demand
    from lightloom.formats.communication_log import Call
    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell


@dataclass(frozen=True)
class TrainedModel:
    """A model, and the samples that each GPU works on, which the paper does not give.

    `title` is its name in the paper, `model` that in the catalogue of workloads.
    """

    title: str
    model: str
    local_batch: int

    def training(self, gpus: int = 1) -> Training:
        """Return its training on A100s in tf32, as the paper's GPUs were A100s."""
        return Training(
            batch_size=self.local_batch * gpus,
            gpu="a100",
            precision="tf32",
            optimiser="adam",
            model=self.model,
        )


MODELS = (
    TrainedModel("BERT", "bert-large", 1),
    TrainedModel("Inception", "inception-v3", 8),
    TrainedModel("NCF", "ncf", 1024),
)


def published_logs(folder: str) -> dict[str, tuple[Call, ...]]:
    """Return the calls of every log of a folder, by the name of its file."""
    where = Path(folder)
    if not where.is_dir():
        what = "no such folder"
        raise InputError(what, where="--logs", found=folder, allowed="a folder")
    files = sorted(
        path
        for path in where.iterdir()
        if path.is_file() and not path.name.startswith(".")
    )
    if not files:
        what, allowed = "a folder without logs", "files of communication logs"
        raise InputError(what, where="--logs", found=folder, allowed=allowed)
    return {path.stem: read_communication_log(path) for path in files}


_RACKS = (4, 8, 16, 32, 64, 128, 256)
"""Sizes of racks, in GPUs."""
_ALGORITHMS = {
    "ring (switch)": "ring",
    "lumorph-2": "lumorph-2",
    "lumorph-4": "lumorph-4",
    "auto": "auto",
}
_PAPER = {"bert": 1.7, "inception": 1.31, "ncf": 1.08}


def log_rows(tell: Tell, folder: str) -> Iterator[Row]:
    """Yield how long the calls of every log take, as rows of Fig. 11."""
    for title, calls in published_logs(folder).items():
        needed = 1 + max(
            (
                node
                for call in calls
                for node in (
                    (call.src, call.dst)
                    if isinstance(call, LayerTransfer)
                    else call.gpus
                )
            ),
            default=0,
        )
        gpus = next((size for size in _RACKS if size >= needed), None)
        if gpus is None:
            what, allowed = "more devices than the largest rack has", f"{_RACKS[-1]}"
            raise InputError(what, where=title, found=needed, allowed=allowed)
        ring_ps = 0
        for name, algorithm in _ALGORITHMS.items():
            tell(f"{title}, {gpus} GPUs, {name}")
            fabric = ideal_switch(gpus) if algorithm == "ring" else lightpath(gpus)
            request = TrainingRequest(circuits="per-call", collectives=algorithm)
            try:
                iteration = replay_recorded(log_iteration(calls, gpus), fabric, request)
            except (InfeasibleError, NoAnswerError):
                yield title, None, gpus, name, None, None, None
                continue
            time_ps = iteration.timeline.iteration_ps
            ring_ps = ring_ps or time_ps
            gain = ring_ps / time_ps if time_ps else None
            yield title, None, gpus, name, time_ps / PS_PER_US, None, gain


def log_claims(data: Data) -> Iterator[Comparison]:
    """Yield the gains of the paper beside those of the calls alone."""
    for title in data.names("model"):
        paper = next(
            (gain for name, gain in _PAPER.items() if name in title.lower()), None
        )
        gains = [
            gain
            for name in ("lumorph-2", "lumorph-4")
            for gain in data.numbers("over_ring", model=title, algorithm=name)
        ]
        if paper is not None and gains:
            yield holds(
                f"{title}: LUMORPH's throughput over the ring's",
                f"{paper}X",
                f"{max(gains):.2f}X, calls alone",
                points=between({title: max(gains)}, least=paper),
                why="logs have no times of computation, which hides calls",
            )


def log_panels(data: Data) -> Iterator[Panel]:
    """Yield a panel with a bar for each log and algorithm."""
    titles, series = data.names("model"), []
    for name in _ALGORITHMS:
        gains = [
            sum(data.numbers("over_ring", model=title, algorithm=name))
            for title in titles
        ]
        series.append(Series(name, titles, [round(gain, 2) for gain in gains]))
    yield Panel("calls of the logs", "log", "over the ring", series, kind="bars")


_TICKS = (256, 4 * KIB, 64 * KIB, MIB, 16 * MIB, 128 * MIB)
_COMPARABLE = 4
"""Factor between medians up to which sizes are called comparable."""


_FIG10_OURS = (
    ": ours is BERT-large with a call a layer; FlexFlow's strategy cuts layers, and its"
    " shapes are not given"
)


def _fig10_rows(
    tell: Tell,
    *,
    models: tuple[TrainedModel, ...] = MODELS,
    logs: str | None = None,
) -> Iterator[Row]:
    """Take the all-reduces of every log, or the gradients of every layer."""
    for title, sizes in _all_sizes(models, logs).items():
        tell(title)
        for rank, size in enumerate(sizes, start=1):
            if rank == len(sizes) or sizes[rank] != size:
                yield title, size, rank / len(sizes)


def _all_sizes(
    models: tuple[TrainedModel, ...], logs: str | None
) -> dict[str, list[int]]:
    """Return the bytes of all-reduces, ascending, by model or log."""
    if logs is None:
        return {
            trained.title: sorted(
                op.gradient_bytes
                for op in computation_graph(trained.training()).ops
                if op.gradient_bytes
            )
            for trained in models
        }
    of_logs = {
        name: sorted(call.bytes for call in calls if isinstance(call, AllReduceCall))
        for name, calls in published_logs(logs).items()
    }
    return {name: sizes for name, sizes in of_logs.items() if sizes}


def _fig10_claims(data: Data) -> Iterator[Comparison]:
    every = _all_sizes(data.given["models"], data.given["logs"])
    sizes = {
        title: next(
            (every[name] for name in every if title.lower() in name.lower()), []
        )
        for title in ("BERT", "Inception", "NCF")
    }
    if not all(sizes.values()):
        return
    bert, inception, ncf = sizes.values()
    middle_b, middle_i = median(bert) / MIB, median(inception) / MIB
    large = sum(size >= MIB for size in bert) / len(bert)
    counts = {title: Fraction(len(of)) for title, of in sizes.items()}
    mean_bytes = {title: sum(of) / counts[title] for title, of in sizes.items()}
    yield holds(
        "BERT has many ALLREDUCE calls of small sizes (6.1)",
        "many, small",
        f"{len(bert)} calls, median {middle_b:.3g} MiB, largest"
        f" {bert[-1] / MIB:.3g} MiB",
        points=above(_over_others(counts, "BERT", "calls"), 1)
        + below({"median in MiB": middle_b}, 1),
        why=f"{100 * large:.0f} % of the calls have 1 MiB or more"
        + (_FIG10_OURS if data.given["logs"] is None else ""),
    )
    factor = max(middle_b, middle_i) / min(middle_b, middle_i)
    yield holds(
        "Inception's calls have sizes comparable to BERT's (6.1)",
        "comparable",
        f"medians {middle_i:.3g} and {middle_b:.3g} MiB",
        points=between({"larger median over smaller": factor}, most=_COMPARABLE),
        why="layers of Inception-v3 are an order smaller than those of BERT-large",
    )
    yield holds(
        "NCF has fewer calls with larger buffers (6.1)",
        "fewer, larger",
        f"{len(ncf)} calls of {sum(ncf) / len(ncf) / MIB:.3g} MiB on average; BERT"
        f" {sum(bert) / len(bert) / MIB:.3g}, Inception"
        f" {sum(inception) / len(inception) / MIB:.3g}",
        points=below(_over_others(counts, "NCF", "calls"), 1)
        + above(_over_others(mean_bytes, "NCF", "bytes a call"), 1),
        why="its embeddings are small beside the others' layers",
    )


def _over_others(
    numbers: Mapping[str, Fraction], title: str, what: str
) -> dict[str, float]:
    """Return the number of one model over those of the others."""
    return {
        f"{what} over those of {other}": float(numbers[title] / number)
        for other, number in numbers.items()
        if other != title
    }


def _fig10_panels(data: Data) -> Iterator[Panel]:
    series = []
    for title in data.names("model"):
        curve = data.curve("all_reduce_bytes", "share_of_calls_up_to_it", model=title)
        shares = list(curve.values())
        steps = zip(curve, [0.0, *shares[:-1]], shares, strict=True)
        points = [(size, y) for size, *ends in steps for y in ends]
        x, y = [size for size, _ in points], [share for _, share in points]
        series.append(Series(title, x, y, markers=False))
    yield Panel(
        "all-reduce buffers",
        "size of a buffer",
        "share of calls up to it",
        series,
        x_log=2,
        x_ticks=[(size, format_bytes(size)) for size in _TICKS],
    )


RING, TWO, FOUR, FREE = "ring (switch)", "lumorph-2", "lumorph-4", "no communication"
AUTO, BEST = "auto", "auto (switch)"
ALGORITHMS = (RING, TWO, FOUR, FREE, AUTO, BEST)
_ON_SWITCH = {RING: "ring", BEST: "auto"}

_VERY_CLOSE = 0.95
"""What the text calls so, as a share of the throughput."""
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
            measured = measure(fabric, size_bytes, name)
            auto = name == AUTO
            time_ps = measured.completion_time_ps if auto else measured.every_round_ps
            self._known[size_bytes] = time_ps
        return self._known[size_bytes]


def _fig11_rows(
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
                        gpus * samples * PS_PER_S / time for time in (time_ps, ring_ps)
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
    gains: Gains = {}
    for model in data.names("model"):
        of_model = data.where(model=model)
        gains[model] = {}
        for samples in of_model.sizes("samples_per_gpu"):
            two, four = (
                of_model.curve(
                    "gpus", "over_ring", samples_per_gpu=samples, algorithm=name
                )
                for name in (TWO, FOUR)
            )
            gains[model][samples] = {gpus: max(two[gpus], four[gpus]) for gpus in two}
    return gains


def _fig11_claims(data: Data) -> Iterator[Comparison]:
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
                (m, f"{few_gpus} to {many_gpus} GPUs"): curve[many_gpus]
                / curve[few_gpus]
                for m, curve in drawn.items()
                for few_gpus, many_gpus in pairwise(sorted(curve))
            },
            least=1,
        ),
        why="the ring's rounds are few beside its data",
    )
    yield _rack_over_switch(data)
    if "Inception" in gains:
        yield _close_to_free(data.where(model="Inception", gpus=many), many)
    yield _by_samples(gains, many)


def _by_samples(gains: Gains, many: float) -> Comparison:
    """Say what the gains are on the largest rack, which is no verdict."""
    by_samples = (
        f"{model} "
        + ", ".join(
            f"{curve[many]:.2f}X with {samples}" for samples, curve in cases.items()
        )
        for model, cases in gains.items()
    )
    return not_reproducible(
        "the size of the gains, and the throughputs themselves",
        "1.7X, 1.31X and 1.08X",
        f"on {many} GPUs, by samples a GPU: {'; '.join(by_samples)}",
        "batch sizes and measured layer times are not given, strategies only by the"
        " published logs (`--logs DIR`); with more"
        " samples a GPU there is more computation to hide communication behind, and"
        " gains fall towards none",
    )


def _rack_over_switch(data: Data) -> Comparison:
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


def _close_to_free(data: Data, gpus: float) -> Comparison:
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


def _fig11_panels(data: Data) -> Iterator[Panel]:
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


FIGURE = figures(
    __package__,
    ("lumorph-fig10", _fig10_rows, _fig10_claims, _fig10_panels),
    ("lumorph-fig11", _fig11_rows, _fig11_claims, _fig11_panels),
)
