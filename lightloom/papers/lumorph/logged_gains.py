"""What LUMORPH gains over the ring on the calls of the published logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import between, holds
from lightloom.papers.lumorph.published_logs import device_count, published_logs
from lightloom.papers.lumorph.rack import ideal_switch, lightpath
from lightloom.report.panel import Panel, Series
from lightloom.training.recorded_iterations import log_iteration
from lightloom.training.recorded_replay import replay_recorded
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

_RACKS = (4, 8, 16, 32, 64, 128, 256)
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
        needed = device_count(calls)
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
                found = replay_recorded(log_iteration(calls, gpus), fabric, request)
            except (InfeasibleError, NoAnswerError):
                yield title, None, gpus, name, None, None, None
                continue
            time_ps = found.timeline.iteration_ps
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
