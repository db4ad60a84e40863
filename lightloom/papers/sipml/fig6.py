"""SiP-ML Fig. 6: how many devices share a model, against the rate of a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.papers.claims import holds
from lightloom.papers.reproduction import Reproduction
from lightloom.papers.sipml.setup import (
    CURVES,
    LATENCY,
    OCS,
    RESNET,
    ROOFLINE,
    TRANSFORMER,
)
from lightloom.papers.sipml.sweep import COLUMNS, Plans, rows, sweep
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison
    from lightloom.papers.sipml.setup import Trained


@dataclass(frozen=True)
class Fig6Sip:
    """The figure, over some rates of a GPU in Gb/s."""

    gpus: int = 1024
    rates: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096, 10_240)
    models: tuple[Trained, ...] = (RESNET, TRANSFORMER)
    name: str = "sipml-fig6"
    title: str = "degrees of model and data parallelism on SiP-OCS, 1024 GPUs"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Search, place and replay every model and rate."""
        plans: Plans = {}
        for trained in self.models:
            plans |= sweep(trained, self.gpus, self.rates, progress, only=(OCS,))
        return Reproduction(
            self.name,
            self.title,
            COLUMNS,
            tuple(rows(plans, self.gpus)),
            tuple(self._claims(plans)),
            (CURVES, ROOFLINE, LATENCY),
            tuple(self._panel(plans, trained.model) for trained in self.models),
        )

    def _shares(self, plans: Plans, model: str) -> list[tuple[int, int, int]]:
        """Return (rate, k, l) of a model."""
        found = []
        for rate in self.rates:
            plan = plans[model, rate, OCS]
            if plan is not None:
                found.append(
                    (rate, plan.strategy.model_parallel, plan.strategy.replicas)
                )
        return found

    def _claims(self, plans: Plans) -> Iterator[Comparison]:
        for trained in self.models:
            shares = self._shares(plans, trained.model)
            degrees = [k for _, k, _ in shares]
            shown = ", ".join(f"{rate}: {k} x {count}" for rate, k, count in shares)
            yield holds(
                f"{trained.model}: more model parallelism as the rate grows (Fig. 6)",
                "more",
                shown,
                holds=degrees == sorted(degrees) and degrees[-1] > degrees[0],
                why="with this curve and these compute times the best degree does not"
                " rise throughout",
            )
            if trained == TRANSFORMER:
                yield holds(
                    f"{trained.model}: from 1 x 1024 to 16 x 64 at 10 Tb/s (4.3)",
                    "16 x 64",
                    shown,
                    holds=shares[0][1:] == (1, self.gpus)
                    and shares[-1][1:] == (16, self.gpus // 16),
                    why="degrees depend on the curve of iterations, the batches tried"
                    " and compute times, none of which the paper gives",
                )

    def _panel(self, plans: Plans, model: str) -> Panel:
        shares = self._shares(plans, model)
        x = [rate for rate, *_ in shares]
        return Panel(
            model,
            "rate of a GPU (Gb/s)",
            "devices",
            (
                Series("model parallelism k", x, [k for _, k, _ in shares]),
                Series("data parallelism l", x, [count for *_, count in shares]),
            ),
            x_log=2,
            y_log=2,
            x_ticks=[(rate, str(rate)) for rate in self.rates],
        )


FIGURE = Fig6Sip()
