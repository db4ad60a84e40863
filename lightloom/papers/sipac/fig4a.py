"""SiPAC Fig. 4a: incast, broadcast and all-to-all on 512 compute units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.instances.sipac_clusters import clusters
from lightloom.papers.claims import holds
from lightloom.papers.reproduction import Reproduction
from lightloom.papers.sipac.clusters import (
    CLUSTERS,
    NOT_MODELLED,
    TITLES,
    usual,
)
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison
    from lightloom.papers.sipac.clusters import Measured

MESSAGE_BYTES = 10**6
OPS = {"incast": "gather", "broadcast": "broadcast", "all-to-all": "all-to-all"}
"""The paper's names, and ours."""
GAINS = {"superpod": (3.6, 5.3), "torus": (1.4, 5.9), "bcube": (1.4, 3.4)}
"""How many times faster SiPAC is, over the three patterns, as the paper has it."""
SMALL = 16
SMALL_US = {"sipac": 617, "torus": 1454, "bcube": 2254, "superpod": 2728}
"""All-to-all on 16 units as the packet simulator of the paper gives it."""

Points = dict[tuple[int, str, str], "Measured"]
"""By (compute units, pattern, cluster)."""

_QUEUES = "queues and congestion control of the packet simulator are not modelled"


@dataclass(frozen=True)
class Fig4a:
    """The figure, for a number of compute units."""

    nodes: int = 512
    name: str = "sipac-fig4a"
    title: str = "primitive collectives of 1 MB at 2048 Gb/s a compute unit"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Synthesise, verify and replay every pattern on every cluster."""
        points: Points = {}
        for nodes in sorted({SMALL, self.nodes}):
            for pattern, op in OPS.items():
                size = MESSAGE_BYTES * (1 if op == "broadcast" else nodes)
                for cluster in CLUSTERS:
                    progress(f"{nodes} units, {pattern}, {cluster}")
                    fabric = clusters(nodes)[cluster]
                    points[nodes, pattern, cluster] = usual(fabric, op, size)
        rows = tuple(
            (
                nodes,
                pattern,
                cluster,
                point.algorithm,
                point.completion_time_us,
                point.steps,
                point.completion_time_ps
                / points[nodes, pattern, "sipac"].completion_time_ps,
            )
            for (nodes, pattern, cluster), point in points.items()
        )
        columns = (
            *("units", "pattern", "cluster", "algorithm", "time_us", "steps"),
            "times_sipac",
        )
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(points)),
            _NOTES,
            (_panel(points, self.nodes),),
        )

    def _claims(self, points: Points) -> Iterator[Comparison]:
        for cluster, (least, most) in GAINS.items():
            gains = [_gain(points, self.nodes, pattern, cluster) for pattern in OPS]
            yield holds(
                f"SiPAC is faster than {cluster} by ({self.nodes} units, three"
                " patterns)",
                f"{least}X to {most}X",
                ", ".join(
                    f"{pattern} {gain:.2f}X"
                    for pattern, gain in zip(OPS, gains, strict=True)
                ),
                holds=round(min(gains), 1) >= least and round(max(gains), 1) <= most,
                why=f"algorithms of the figure are not given, and {_QUEUES}",
            )
        order = sorted(SMALL_US, key=SMALL_US.__getitem__)
        ours = {
            cluster: points[SMALL, "all-to-all", cluster].completion_time_us
            for cluster in order
        }
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
            f"SuperPod is slowest at all-to-all on {SMALL} units, SiPAC before 2D"
            " torus",
            "yes",
            f"{ours['sipac']:.1f} < {ours['torus']:.1f} < {ours['superpod']:.1f} us",
            holds=ours["sipac"]
            < ours["torus"]
            < ours["superpod"]
            == max(ours.values()),
            why=_QUEUES,
        )


def _gain(points: Points, nodes: int, pattern: str, cluster: str) -> float:
    theirs = points[nodes, pattern, cluster].completion_time_ps
    return theirs / points[nodes, pattern, "sipac"].completion_time_ps


def _panel(points: Points, nodes: int) -> Panel:
    series = [
        Series(
            TITLES[cluster],
            tuple(OPS),
            [_rounded(points[nodes, pattern, cluster]) for pattern in OPS],
        )
        for cluster in CLUSTERS
    ]
    title = f"{nodes} compute units, 1 MB"
    return Panel(title, "", "completion time (us)", series, kind="bars", y_log=10)


def _rounded(point: Measured) -> float:
    """Return a time with as many digits as fit above a bar."""
    return float(f"{point.completion_time_us:.3g}")


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

FIGURE = Fig4a()
