"""LUMORPH Fig. 8b: all-reduce against the data rate of one laser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import MIB, format_bytes
from lightloom.papers.claims import (
    holds,
    near,
    rising,
)
from lightloom.papers.lumorph.rack import lightpath, measure
from lightloom.papers.plot import Plot
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.report.panel import Panel

ALGORITHMS = ("lumorph-2", "lumorph-4", "auto")
REPLAYED, CHARGED = "time_us", "every_round_charged_us"

_GBIT, _BITS_PER_GBYTE = 10**9, 8 * 10**9


def _compute(
    tell: Tell,
    *,
    gpus: int = 256,
    rates: tuple[int, ...] = (25, 50, 100, 150, 224, 400),
    buffers: tuple[int, ...] = (1 * MIB, 16 * MIB, 64 * MIB, 256 * MIB),
) -> Iterator[Row]:
    """Synthesise, verify and replay every rate of a laser in Gb/s and every buffer."""
    for rate in rates:
        fabric = lightpath(gpus, bits_per_second_per_wavelength=rate * _GBIT)
        for size in buffers:
            for algorithm in ALGORITHMS:
                tell(f"{rate} Gb/s, {format_bytes(size)}, {algorithm}")
                point = measure(fabric, size, algorithm)
                yield (
                    *(rate, format_bytes(size), algorithm, point.algorithm),
                    *(point.completion_time_us, point.every_round_us),
                    *(point.steps, point.reconfigurations),
                )


def _claims(data: Data) -> Iterator[Comparison]:
    rack = lightpath(data.given["gpus"])
    yield near(
        f"{rack.lasers} lasers of about 18 GB/s give 300 GB/s a GPU",
        300.0,
        rack.node_bits_per_s / _BITS_PER_GBYTE,
        "GB/s",
    )
    slow, *_, fast = data.sizes("laser_gbit_per_s")
    gains = _gains(data.where(algorithm="lumorph-2"), CHARGED)
    best = _gains(data.where(algorithm="auto"), REPLAYED)
    yield holds(
        f"faster lasers help large buffers most ({slow} to {fast} Gb/s, -2)",
        "more the larger the buffer",
        _told(gains),
        points=rising(gains),
        why="the time of some buffer is not bound by its data",
        best=f"{_told(best)} (auto, replayed)",
    )


def _gains(data: Data, column: str) -> dict[str, float]:
    """Return how much faster the fastest lasers are than the slowest, by buffer."""
    slow, *_, fast = data.sizes("laser_gbit_per_s")
    before, after = (data.numbers(column, laser_gbit_per_s=at) for at in (slow, fast))
    gains = (one / other for one, other in zip(before, after, strict=True))
    return dict(zip(data.names("buffer"), gains, strict=True))


def _told(gains: dict[str, float]) -> str:
    """Return gains by size in words."""
    return ", ".join(f"{size} {gain:.2f}X" for size, gain in gains.items())


def _panels(data: Data) -> Iterator[Panel]:
    for algorithm in ALGORITHMS:
        replayed = algorithm == "auto"
        rule = "replayed" if replayed else "every round charged"
        plot = Plot(
            x="laser_gbit_per_s",
            y=REPLAYED if replayed else CHARGED,
            series="buffer",
            title=f"{algorithm} ({rule})",
            x_label="rate of a laser (Gb/s)",
            y_label="completion time (us)",
            x_log=10,
            y_log=10,
            marks=(Mark("300 GB/s a GPU", x=150.0),),
        )
        yield from plot(data.where(algorithm=algorithm))


_NOTES = (
    "The paper's buffers for this figure are not given in its text.",
    "time_us is replayed, every_round_charged_us is the paper's rule.",
)

FIGURE = Figure(
    name="lumorph-fig8b",
    takes_s=47,
    title="all-reduce on 256 GPUs against the data rate of a laser",
    columns=(
        *("laser_gbit_per_s", "buffer", "algorithm", "chosen", REPLAYED, CHARGED),
        *("steps", "reconfigurations"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
