"""SiP-ML Fig. 10: time to accuracy against the number of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.papers.claims import holds
from lightloom.papers.reproduction import Reproduction
from lightloom.papers.sipml.curve_styles import CLUSTERS, lines
from lightloom.papers.sipml.setup import (
    CURVES,
    FLAT,
    LATENCY,
    OCS,
    RESNET,
    RING,
    ROOFLINE,
    TRANSFORMER,
    minutes,
)
from lightloom.papers.sipml.sweep import COLUMNS, Plans, rows, sweep
from lightloom.report.plots import Panel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison, Value
    from lightloom.papers.sipml.setup import Trained

_CLUSTER = CLUSTERS[-1]
_ORDER = (FLAT, _CLUSTER, OCS, RING)
_CLOSE = 1.25
"""Times up to this part of the ideal one are called close to it."""
_WELL = 0.9
"""Who gains this part of what the ideal fabric gains from more GPUs scales well."""


@dataclass(frozen=True)
class Fig10Sip:
    """The figure, over some numbers of GPUs."""

    sizes: tuple[int, ...] = (64, 256, 1024)
    rate: int = 8192
    models: tuple[Trained, ...] = (RESNET, TRANSFORMER)
    name: str = "sipml-fig10"
    title: str = "time to accuracy against the number of GPUs, 8 Tb/s a GPU"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Search, place and replay every model, size and fabric."""
        found: dict[int, Plans] = {}
        data: list[tuple[Value, ...]] = []
        for gpus in self.sizes:
            found[gpus] = {}
            for trained in self.models:
                found[gpus] |= sweep(trained, gpus, (self.rate,), progress, only=_ORDER)
            data += rows(found[gpus], gpus)
        return Reproduction(
            self.name,
            self.title,
            COLUMNS,
            tuple(data),
            tuple(self._claims(found)),
            (CURVES, ROOFLINE, LATENCY),
            tuple(self._panel(found, trained.model) for trained in self.models),
        )

    def _times(
        self, found: dict[int, Plans], model: str, fabric: str
    ) -> dict[int, float]:
        times = {}
        for gpus, plans in found.items():
            plan = plans[model, self.rate, fabric]
            if plan is not None:
                times[gpus] = minutes(plan)
        return times

    def _claims(self, found: dict[int, Plans]) -> Iterator[Comparison]:
        for trained in self.models:
            flat = self._times(found, trained.model, FLAT)
            ratios = {
                name: [
                    time / flat[gpus]
                    for gpus, time in self._times(found, trained.model, name).items()
                ]
                for name in (OCS, RING)
            }
            yield holds(
                f"{trained.model}: SiP-OCS and SiP-Ring are close to Elect-Flat",
                "close at all scales, the ring sometimes slightly worse",
                "; ".join(
                    f"{name} {', '.join(f'{ratio:.2f}' for ratio in line)} of its time"
                    for name, line in ratios.items()
                ),
                holds=max(max(line) for line in ratios.values()) <= _CLOSE,
                why="with many GPUs iterations are short and communication weighs more:"
                " circuits are coarse, and on the ring long ways take light of others",
            )
            gains = {
                name: self._last_gain(found, trained.model, name) for name in _ORDER
            }
            claim, paper = "Elect-Cluster's gains taper off with scale", "taper off"
            why = "servers are not what limits this model at these sizes"
            fits = gains[_CLUSTER] < _WELL * gains[FLAT]
            if trained == RESNET:
                claim, paper = "Elect-Cluster scales quite well", "quite well"
                why = "servers limit it already at these sizes"
                fits = not fits
            yield holds(
                f"{trained.model}: {claim}",
                paper,
                ", ".join(f"{name} {gain:.2f}X" for name, gain in gains.items())
                + f" from {self.sizes[-2]} to {self.sizes[-1]} GPUs"
                if len(self.sizes) > 1
                else "one size",
                holds=fits,
                why=why,
            )

    def _last_gain(self, found: dict[int, Plans], model: str, fabric: str) -> float:
        times = list(self._times(found, model, fabric).values())
        return times[-2] / times[-1] if len(times) > 1 else 1.0

    def _panel(self, found: dict[int, Plans], model: str) -> Panel:
        curves = {name: self._times(found, model, name) for name in _ORDER}
        return Panel(
            model,
            "GPUs",
            "time to accuracy (minutes)",
            tuple(lines(curves)),
            x_log=2,
            y_log=10,
            x_ticks=[(size, str(size)) for size in self.sizes],
        )


FIGURE = Fig10Sip()
