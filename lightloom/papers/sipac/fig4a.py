"""SiPAC Fig. 4a: incast, broadcast and all-to-all on 512 compute units."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from lightloom.instances.sipac_clusters import clusters
from lightloom.papers.claims import above, between, holds
from lightloom.papers.collective_bounds import best_bound, bound_text
from lightloom.papers.plot import Plot
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipac.clusters import (
    AUTO,
    CLUSTERS,
    NOT_MODELLED,
    TITLES,
    USUAL,
    measure,
    usual,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.sipac.clusters import MeasuredCollective
    from lightloom.report.panel import Panel

MESSAGE_BYTES = 10**6
OPS = {"incast": "gather", "broadcast": "broadcast", "all-to-all": "all-to-all"}
"""The paper's names, and ours."""
GAINS = {"superpod": (3.6, 5.3), "torus": (1.4, 5.9), "bcube": (1.4, 3.4)}
"""How many times faster SiPAC is, over the three patterns, as the paper has it."""
SMALL = 16
SMALL_US = {"sipac": 617, "torus": 1454, "bcube": 2254, "superpod": 2728}
"""All-to-all on 16 units as the packet simulator of the paper gives it."""

_CHOICES = {
    USUAL: "SiPAC's units forward, packets of the others go straight to their ends",
    AUTO: "each by the best algorithm known to lightloom",
}
_QUEUES = "queues and congestion control of the packet simulator are not modelled"


def _compute(tell: Tell, *, nodes: int = 512) -> Iterator[Row]:
    """Yield every pattern on every cluster, by the usual algorithm and by `auto`."""
    for units in sorted({SMALL, nodes}):
        fabrics = clusters(units)
        for pattern, op in OPS.items():
            size = _buffer_bytes(op, units)
            found: dict[tuple[str, str], MeasuredCollective] = {}
            for cluster in CLUSTERS:
                tell(f"{units} units, {pattern}, {cluster}")
                given = usual(fabrics[cluster], op, size)
                found[USUAL, cluster] = found[AUTO, cluster] = given
                if op != "broadcast":  # there usual is auto
                    fastest = measure(fabrics[cluster], op, size, AUTO)
                    found[AUTO, cluster] = fastest
            for (choice, cluster), point in sorted(found.items(), key=_by_choice):
                sipac_ps = found[choice, "sipac"].completion_time_ps
                yield (
                    *(units, pattern, cluster, choice, point.algorithm),
                    *(point.completion_time_us, point.steps),
                    point.completion_time_ps / sipac_ps,
                )


def _by_choice(item: tuple[tuple[str, str], object]) -> int:
    """Return 0 for the usual algorithm, 1 for the best."""
    return (USUAL, AUTO).index(item[0][0])


def _claims(data: Data) -> Iterator[Comparison]:
    units = int(max(data.sizes("units")))
    for pattern, op in OPS.items():
        sipac = clusters(units)["sipac"]
        bound = bound_text(best_bound(sipac, op, _buffer_bytes(op, units)))
        for cluster, (least, most) in GAINS.items():
            row = data.where(units=units, cluster=cluster, pattern=pattern)
            gains = {
                choice: round(row.number("times_sipac", choice=choice), 2)
                for choice in _CHOICES
            }
            for choice, how in _CHOICES.items():
                yield holds(
                    f"{pattern}: SiPAC is faster than {cluster} by ({units} units,"
                    f" {how})",
                    f"{least}X to {most}X",
                    f"{gains[choice]:.2f}X",
                    points=between({"times": gains[choice]}, least=least, most=most),
                    why=f"algorithms of the figure are not given, and {_QUEUES}",
                    best=f"{gains[AUTO]:.2f}X" if choice == USUAL else "",
                    bound=f"SiPAC {bound}",
                )
    yield from _small(data.where(units=SMALL, pattern="all-to-all", choice=AUTO))


def _buffer_bytes(op: str, units: int) -> int:
    """Return the buffer in which every unit has a message for each other."""
    return MESSAGE_BYTES * (1 if op == "broadcast" else units)


def _small(data: Data) -> Iterator[Comparison]:
    """Yield the claims on the few units of the packet simulator's figure."""
    order = sorted(SMALL_US, key=SMALL_US.__getitem__)
    ours = {cluster: data.number("time_us", cluster=cluster) for cluster in order}
    yield holds(
        f"order of all-to-all on {SMALL} units, each by its best algorithm",
        " < ".join(f"{cluster} {SMALL_US[cluster]} us" for cluster in order),
        " < ".join(
            f"{cluster} {ours[cluster]:.1f} us"
            for cluster in sorted(ours, key=ours.__getitem__)
        ),
        points=above(
            {
                f"{other} over {one}": ours[other] / ours[one]
                for one, other in pairwise(order)
            },
            1,
        ),
        why="without queues a BCube carries all-to-all as fast as SiPAC, which has"
        " the same links, and in one step; it is packets that collide in its"
        " switches that cost it time",
    )
    yield holds(
        f"SuperPod is slowest at all-to-all on {SMALL} units, SiPAC before 2D torus",
        "yes",
        f"{ours['sipac']:.1f} < {ours['torus']:.1f} < {ours['superpod']:.1f} us",
        points=above(
            {
                "torus over SiPAC": ours["torus"] / ours["sipac"],
                **{
                    f"SuperPod over {cluster}": ours["superpod"] / ours[cluster]
                    for cluster in order
                    if cluster != "superpod"
                },
            },
            1,
        ),
        why=_QUEUES,
    )


def _panels(data: Data) -> Iterator[Panel]:
    plot = Plot(
        x="pattern",
        y="time_us",
        series="cluster",
        panel="choice",
        title="{} algorithm, " + f"{max(data.sizes('units'))} units, 1 MB",
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
        "usual: SiPAC forwards level by level in as many steps as levels; packets of"
        " the others cross their network within one step. That gives forwarding to"
        " SiPAC only."
    ),
    "auto: the fastest that lightloom knows for each cluster.",
)

FIGURE = Figure(
    name="sipac-fig4a",
    takes_s=97,
    title="primitive collectives of 1 MB at 2048 Gb/s a compute unit",
    columns=(
        *("units", "pattern", "cluster", "choice", "algorithm", "time_us"),
        *("steps", "times_sipac"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
