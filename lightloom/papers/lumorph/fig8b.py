"""LUMORPH Fig. 8b: all-reduce against the data rate of one laser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.units import MIB, format_bytes
from lightloom.papers.claims import holds, near
from lightloom.papers.lumorph.rack import lightpath, measure
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Mark, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.lumorph.rack import Measured
    from lightloom.papers.reproduction import Comparison

ALGORITHMS = ("lumorph-2", "lumorph-4", "auto")
Points = dict[tuple[int, int, str], "Measured"]
"""By (rate in Gb/s, buffer in bytes, algorithm)."""

_GBIT, _BITS_PER_GBYTE = 10**9, 8 * 10**9


@dataclass(frozen=True)
class Fig8b:
    """The figure, over some laser rates in Gb/s and buffers."""

    gpus: int = 256
    rates: tuple[int, ...] = (25, 50, 100, 150, 224, 400)
    buffers: tuple[int, ...] = (1 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)
    name: str = "lumorph-fig8b"
    title: str = "all-reduce on 256 GPUs against the data rate of a laser"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Synthesise, verify and replay every rate and buffer."""
        points: Points = {}
        for rate in self.rates:
            fabric = lightpath(self.gpus, bits_per_second_per_wavelength=rate * _GBIT)
            for size in self.buffers:
                for algorithm in ALGORITHMS:
                    progress(f"{rate} Gb/s, {format_bytes(size)}, {algorithm}")
                    points[rate, size, algorithm] = measure(fabric, size, algorithm)
        rows = tuple(
            (
                rate,
                format_bytes(size),
                algorithm,
                point.algorithm,
                point.completion_time_us,
                point.every_round_us,
                point.steps,
                point.reconfigurations,
            )
            for (rate, size, algorithm), point in points.items()
        )
        columns = (
            *("laser_gbit_per_s", "buffer", "algorithm", "chosen", "time_us"),
            *("every_round_charged_us", "steps", "reconfigurations"),
        )
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(points)),
            _NOTES,
            tuple(self._panel(points, algorithm) for algorithm in ALGORITHMS),
        )

    def _claims(self, points: Points) -> Iterator[Comparison]:
        rack = lightpath(self.gpus)
        yield near(
            f"{rack.lasers} lasers of about 18 GB/s give 300 GB/s a GPU",
            300.0,
            rack.node_bits_per_s / _BITS_PER_GBYTE,
            "GB/s",
        )
        slow, fast = self.rates[0], self.rates[-1]
        gains = [
            points[slow, size, "lumorph-2"].every_round_us
            / points[fast, size, "lumorph-2"].every_round_us
            for size in self.buffers
        ]
        yield holds(
            f"faster lasers help large buffers most ({slow} to {fast} Gb/s, -2)",
            "more the larger the buffer",
            ", ".join(
                f"{format_bytes(size)} {gain:.2f}X"
                for size, gain in zip(self.buffers, gains, strict=True)
            ),
            holds=gains == sorted(gains) and gains[-1] > gains[0],
            why="the time of some buffer is not bound by its data",
        )

    def _panel(self, points: Points, algorithm: str) -> Panel:
        charged = algorithm != "auto"
        series = [
            Series(
                format_bytes(size),
                self.rates,
                [
                    points[rate, size, algorithm].every_round_us
                    if charged
                    else points[rate, size, algorithm].completion_time_us
                    for rate in self.rates
                ],
            )
            for size in self.buffers
        ]
        rule = "every round charged" if charged else "replayed"
        return Panel(
            f"{algorithm} ({rule})",
            "rate of a laser (Gb/s)",
            "completion time (us)",
            series,
            x_log=10,
            y_log=10,
            x_ticks=[(rate, str(rate)) for rate in self.rates],
            marks=(Mark("300 GB/s a GPU", x=150.0),),
        )


_NOTES = (
    "The paper's buffers for this figure are not given in its text.",
    "time_us is replayed, every_round_charged_us is the paper's rule.",
)

FIGURE = Fig8b()
