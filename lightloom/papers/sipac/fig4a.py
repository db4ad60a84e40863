"""SiPAC Fig. 4a: incast, broadcast and all-to-all on 512 compute units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.sipac_clusters import clusters
from lightloom.papers.claims import holds
from lightloom.papers.plot import Plot
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipac.clusters import (
    CLUSTERS,
    NOT_MODELLED,
    TITLES,
    usual,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.report.panel import Panel

MESSAGE_BYTES = 10**6
OPS = {"incast": "gather", "broadcast": "broadcast", "all-to-all": "all-to-all"}
"""The paper's names, and ours."""
GAINS = {"superpod": (3.6, 5.3), "torus": (1.4, 5.9), "bcube": (1.4, 3.4)}
"""How many times faster SiPAC is, over the three patterns, as the paper has it."""
SMALL = 16
SMALL_US = {"sipac": 617, "torus": 1454, "bcube": 2254, "superpod": 2728}
"""All-to-all on 16 units as the packet simulator of the paper gives it."""

_QUEUES = "queues and congestion control of the packet simulator are not modelled"


def _compute(tell: Tell, *, nodes: int = 512) -> Iterator[Row]:
    """Yield every pattern on every cluster, replayed."""
    for units in sorted({SMALL, nodes}):
        fabrics = clusters(units)
        for pattern, op in OPS.items():
            size = MESSAGE_BYTES * (1 if op == "broadcast" else units)
            sipac_ps = 0
            for cluster in CLUSTERS:  # SiPAC is the first
                tell(f"{units} units, {pattern}, {cluster}")
                point = usual(fabrics[cluster], op, size)
                sipac_ps = sipac_ps or point.completion_time_ps
                yield (
                    *(units, pattern, cluster, point.algorithm),
                    *(point.completion_time_us, point.steps),
                    point.completion_time_ps / sipac_ps,
                )


def _claims(data: Data) -> Iterator[Comparison]:
    units = max(data.sizes("units"))
    for cluster, (least, most) in GAINS.items():
        gains = data.numbers("times_sipac", units=units, cluster=cluster)
        yield holds(
            f"SiPAC is faster than {cluster} by ({units} units, three patterns)",
            f"{least}X to {most}X",
            ", ".join(
                f"{pattern} {gain:.2f}X"
                for pattern, gain in zip(OPS, gains, strict=True)
            ),
            holds=round(min(gains), 1) >= least and round(max(gains), 1) <= most,
            why=f"algorithms of the figure are not given, and {_QUEUES}",
        )
    order = sorted(SMALL_US, key=SMALL_US.__getitem__)
    small = data.where(units=SMALL, pattern="all-to-all")
    ours = {cluster: small.number("time_us", cluster=cluster) for cluster in order}
    yield holds(
        f"order of all-to-all on {SMALL} units",
        " < ".join(f"{cluster} {SMALL_US[cluster]} us" for cluster in order),
        " < ".join(
            f"{cluster} {ours[cluster]:.1f} us"
            for cluster in sorted(ours, key=ours.__getitem__)
        ),
        holds=sorted(ours, key=ours.__getitem__) == order,
        why="without queues a BCube carries all-to-all as fast as SiPAC, which has"
        " the same links, and in one step; it is packets that collide in its"
        " switches that cost it time",
    )
    yield holds(
        f"SuperPod is slowest at all-to-all on {SMALL} units, SiPAC before 2D torus",
        "yes",
        f"{ours['sipac']:.1f} < {ours['torus']:.1f} < {ours['superpod']:.1f} us",
        holds=ours["sipac"] < ours["torus"] < ours["superpod"] == max(ours.values()),
        why=_QUEUES,
    )


def _panels(data: Data) -> Iterator[Panel]:
    plot = Plot(
        x="pattern",
        y="time_us",
        series="cluster",
        panel="units",
        title="{} compute units, 1 MB",
        x_label="",
        y_label="completion time (us)",
        names=TITLES,
        kind="dots",
        y_log=10,
        shown=lambda us: float(f"{us:.3g}"),
    )
    return plot(data.where(units=max(data.sizes("units"))))


_NOTES = (
    NOT_MODELLED,
    (
        "A message of 1 MB is what each unit sends to each other (all-to-all), each to"
        " the root (incast), the root to all (broadcast); the paper does not say."
    ),
    (
        "Every cluster has alpha 0.7 us a transfer and 2048 Gb/s a unit over all its"
        " links; a unit of SuperPod has 12/13 of that inside its server."
    ),
    (
        "SiPAC forwards level by level in as many steps as levels; packets of the"
        " others cross their network within one step."
    ),
)

FIGURE = Figure(
    name="sipac-fig4a",
    title="primitive collectives of 1 MB at 2048 Gb/s a compute unit",
    columns=(
        *("units", "pattern", "cluster", "algorithm", "time_us", "steps"),
        "times_sipac",
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
