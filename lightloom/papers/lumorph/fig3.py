"""LUMORPH Fig. 3: seconds that Algorithm 2 (minimum-congestion routes) takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.papers.lumorph.rack import lightpath
from lightloom.papers.lumorph.round_requests import distinct, joined, rounds
from lightloom.papers.reproduction import (
    Comparison,
    Reproduction,
    Verdict,
)
from lightloom.report.plots import Panel, Series
from lightloom.synth.routing.minimum_congestion import minimum_congestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.papers.lumorph.round_requests import Requests

_PAPER_SIZE, _PAPER_LEAST_S = 128, 10.0
PATTERNS = ("lumorph-2", "lumorph-4", "permutation", "all-to-all")


@dataclass(frozen=True)
class Timed:
    """Routing the rounds of one pattern: totals over its distinct rounds."""

    gpus: int
    pattern: str
    rounds: int
    requests: int
    seconds: float
    congestion: int
    bound: int


@dataclass(frozen=True)
class Fig3:
    """The figure, over some rack sizes."""

    sizes: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    repeats: int = 3
    name: str = "lumorph-fig3"
    title: str = "seconds to route circuits with the least overlap"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Time every pattern on every size, the best of a few repeats."""
        timed = []
        for gpus in self.sizes:
            for pattern in PATTERNS:
                progress(f"{gpus} GPUs, {pattern}")
                timed.append(self._time(gpus, pattern))
        columns = (
            "gpus",
            "pattern",
            "rounds",
            "requests",
            "seconds",
            "congestion",
            "bound",
            "proved_optimal",
        )
        rows = tuple(
            (
                one.gpus,
                one.pattern,
                one.rounds,
                one.requests,
                one.seconds,
                one.congestion,
                one.bound,
                "yes" if one.congestion == one.bound else "no",
            )
            for one in timed
        )
        series = [
            Series(
                pattern,
                self.sizes,
                [one.seconds for one in timed if one.pattern == pattern],
            )
            for pattern in PATTERNS
        ]
        panel = Panel(
            "minimum-congestion routes",
            "GPUs",
            "time (s)",
            series,
            x_log=2,
            y_log=10,
            x_ticks=[(gpus, str(gpus)) for gpus in self.sizes],
        )
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(timed)),
            _NOTES,
            (panel,),
        )

    def _time(self, gpus: int, pattern: str) -> Timed:
        fabric = lightpath(gpus)
        requests = pattern_requests(pattern, gpus)
        best = float("inf")
        for _ in range(self.repeats if pattern != "all-to-all" else 1):
            start = time.perf_counter()
            routings = [minimum_congestion(fabric, src, dst) for src, dst in requests]
            best = min(best, time.perf_counter() - start)
        return Timed(
            gpus,
            pattern,
            len(requests),
            sum(len(src) for src, _ in requests),
            best,
            max(routing.congestion for routing in routings),
            max(routing.bound for routing in routings),
        )

    def _claims(self, timed: list[Timed]) -> list[Comparison]:
        """Return the paper's time for 128 nodes beside ours."""
        ours = [one for one in timed if one.gpus == _PAPER_SIZE]
        if not ours:
            return []
        slowest = max(ours, key=lambda one: one.seconds)
        alike = slowest.seconds >= _PAPER_LEAST_S
        return [
            Comparison(
                "Algorithm 2 takes tens of seconds up to 128 nodes",
                f"{_PAPER_LEAST_S:g} s or more",
                f"{slowest.seconds:.3g} s at most ({slowest.pattern},"
                f" {slowest.requests} requests)",
                Verdict.MATCHES if alike else Verdict.DIFFERS,
                ""
                if alike
                else "negotiated routing with a cut as proof instead of an integer"
                " program in Gurobi; another machine; the paper does not say which"
                " requests it routes",
            )
        ]


_NOTES = (
    (
        "Seconds depend on the machine; everything else does not. Best of three runs"
        " (all-to-all: one) over the distinct rounds of a pattern."
    ),
    (
        "congestion is that of the worst round, bound the largest bound of a round:"
        " where they are equal the worst round is proved optimal."
    ),
)


def pattern_requests(pattern: str, gpus: int) -> list[Requests]:
    """Return the distinct rounds of a pattern as requests."""
    node = np.arange(gpus, dtype=np.int64)
    if pattern == "all-to-all":
        src, dst = np.repeat(node, gpus), np.tile(node, gpus)
        return [(src[src != dst], dst[src != dst])]
    if pattern == "permutation":
        dst = np.random.default_rng(0).permutation(node)
        return [(node[node != dst], dst[node != dst])]
    return distinct([joined(lanes) for lanes in rounds(pattern, gpus)])


FIGURE = Fig3()
