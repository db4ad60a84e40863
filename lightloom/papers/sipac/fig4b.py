"""SiPAC Fig. 4b: hybrid-parallel traffic against the rate of a compute unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.superpod import SuperPod
from lightloom.instances.sipac_clusters import clusters
from lightloom.papers.claims import holds
from lightloom.papers.reproduction import Reproduction
from lightloom.papers.sipac.clusters import (
    CLUSTERS,
    NOT_MODELLED,
    TITLES,
    replayed_on,
    usual,
)
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.instances.instance import AnyFabric
    from lightloom.papers.reproduction import Comparison

BUFFER_BYTES = 10**8
OPS = ("all-reduce", "all-to-all")
FIXED_PORT = "superpod, 200 Gb/s ports"
_STYLES: dict[str, Literal["--", ":"]] = {"bcube": "--", FIXED_PORT: ":"}
"""BCube and SiPAC lie upon each other."""
_TITLES = {**TITLES, FIXED_PORT: f"{TITLES['superpod']}, 200 Gb/s ports"}
_GBIT = 10**9
_PORT_GBIT = 200

Points = dict[tuple[int, int, str, str], int]
"""Picoseconds by (compute units, rate in Gb/s, cluster, operation)."""


@dataclass(frozen=True)
class Fig4b:
    """The figure, over some sizes and rates in Gb/s."""

    sizes: tuple[int, ...] = (64, 512)
    rates: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096)
    name: str = "sipac-fig4b"
    title: str = "all-reduce and all-to-all of 100 MB against the rate of a unit"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Synthesise and verify each collective once, replay it at every rate."""
        points: Points = {}
        for nodes in self.sizes:
            for op in OPS:
                for cluster in (*CLUSTERS, FIXED_PORT):
                    progress(f"{nodes} units, {op}, {cluster}")
                    found = usual(
                        _fabric(nodes, self.rates[0], cluster), op, BUFFER_BYTES
                    )
                    for rate in self.rates:
                        fabric = _fabric(nodes, rate, cluster)
                        at_rate = replayed_on(found, fabric).completion_time_ps
                        points[nodes, rate, cluster, op] = at_rate
        rows = tuple(
            (
                nodes,
                rate,
                cluster,
                points[nodes, rate, cluster, "all-reduce"] / PS_PER_US,
                points[nodes, rate, cluster, "all-to-all"] / PS_PER_US,
                _total_us(points, nodes, rate, cluster),
            )
            for nodes in self.sizes
            for rate in self.rates
            for cluster in (*CLUSTERS, FIXED_PORT)
        )
        columns = (
            *("units", "gbit_per_s", "cluster", "all_reduce_us", "all_to_all_us"),
            "both_us",
        )
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(points)),
            _NOTES,
            tuple(self._panel(points, nodes) for nodes in self.sizes),
        )

    def _claims(self, points: Points) -> Iterator[Comparison]:
        slow, fast = self.rates[0], self.rates[-1]
        for nodes in self.sizes:
            gain = {
                cluster: _total_us(points, nodes, slow, cluster)
                / _total_us(points, nodes, fast, cluster)
                for cluster in (*CLUSTERS, FIXED_PORT)
            }
            shown = ", ".join(f"{name} {times:.1f}X" for name, times in gain.items())
            falls = [_total_us(points, nodes, rate, "sipac") for rate in self.rates]
            yield holds(
                f"SiPAC gets faster with every rate ({nodes} units)",
                "yes",
                f"{gain['sipac']:.1f}X from {slow} to {fast} Gb/s",
                holds=falls == sorted(falls, reverse=True),
                why="the fixed cost of steps is all that is left",
            )
            others = [gain[cluster] for cluster in CLUSTERS[1:]]
            yield holds(
                f"the others gain little more at high rates ({nodes} units)",
                "yes",
                shown,
                holds=max(others) < gain["sipac"] / 2,
                why="links without queues scale with their rate on every cluster; what"
                " stops the others is in the packet simulator",
            )
            yield holds(
                f"SuperPod ends up waiting for its inter-server links ({nodes} units)",
                "yes",
                f"{gain[FIXED_PORT]:.1f}X where ports stay at {_PORT_GBIT} Gb/s,"
                f" {gain['superpod']:.1f}X where they grow with NVLink",
                holds=gain[FIXED_PORT] < gain["sipac"] / 2,
                why="its ports were taken to grow",
            )
            best = min(CLUSTERS, key=lambda name: _total_us(points, nodes, fast, name))
            yield holds(
                f"SiPAC is the fastest at {fast} Gb/s ({nodes} units)",
                "SiPAC",
                f"{TITLES[best]} {_total_us(points, nodes, fast, best):.1f} us, SiPAC"
                f" {_total_us(points, nodes, fast, 'sipac'):.1f} us",
                holds=best == "sipac",
                why="the least data on the same links, without queues, take as long",
            )

    def _panel(self, points: Points, nodes: int) -> Panel:
        series = [
            Series(
                _TITLES[cluster],
                self.rates,
                [_total_us(points, nodes, rate, cluster) for rate in self.rates],
                style=_STYLES.get(cluster, "-"),
            )
            for cluster in (*CLUSTERS, FIXED_PORT)
        ]
        return Panel(
            f"{nodes} compute units, 100 MB",
            "rate of a compute unit (Gb/s)",
            "all-reduce and all-to-all (us)",
            series,
            x_log=2,
            y_log=10,
            x_ticks=[(rate, str(rate)) for rate in self.rates],
        )


def _fabric(nodes: int, rate: int, cluster: str) -> AnyFabric:
    """Return a cluster at a rate in Gb/s."""
    if cluster != FIXED_PORT:
        return clusters(nodes, rate * _GBIT)[cluster]
    pod = clusters(nodes, rate * _GBIT)["superpod"]
    assert isinstance(pod, SuperPod)
    # Never a port faster than NVLink: below 400 Gb/s they share the rate.
    ratio = max(1, rate // _PORT_GBIT - 1)
    return msgspec.structs.replace(pod, intra_to_inter=ratio)


def _total_us(points: Points, nodes: int, rate: int, cluster: str) -> float:
    return sum(points[nodes, rate, cluster, op] for op in OPS) / PS_PER_US


_NOTES = (
    NOT_MODELLED,
    (
        "Hybrid-parallel traffic is taken to be one all-reduce and one all-to-all of"
        " 100 MB a unit, one after the other; the paper does not give its mix."
    ),
    (
        "Each schedule is synthesised and verified at the lowest rate, and replayed at"
        " all."
    ),
    (
        "A network port of SuperPod has a 13th of the rate, or in the dotted line"
        " 200 Gb/s at most, the rest being NVLink."
    ),
    "The curves of SiPAC and BCube, which have the same links, coincide.",
)

FIGURE = Fig4b()
