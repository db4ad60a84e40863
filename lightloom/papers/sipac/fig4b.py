"""SiPAC Fig. 4b: hybrid-parallel traffic against the rate of a compute unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.superpod import SuperPod
from lightloom.instances.sipac_clusters import clusters
from lightloom.papers.claims import below, between, falling, holds
from lightloom.papers.collective_bounds import best_bound, bound_us
from lightloom.papers.plot import Plot
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipac.clusters import (
    AUTO,
    CLUSTERS,
    NOT_MODELLED,
    TITLES,
    measure,
    replayed_on,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import AnyFabric
    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

BUFFER_BYTES = 10**8
OPS = ("all-reduce", "all-to-all")
FIXED_PORT = "superpod, 200 Gb/s ports"
_GBIT = 10**9
_PORT_GBIT = 200


def _compute(
    tell: Tell,
    *,
    sizes: tuple[int, ...] = (64, 512),
    rates: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096),
) -> Iterator[Row]:
    """Synthesise and verify each collective once, replay it at every rate in Gb/s."""
    for nodes in sizes:
        times_ps: dict[tuple[int, str, str], int] = {}
        chosen: dict[tuple[str, str], str] = {}
        for op in OPS:
            for cluster in (*CLUSTERS, FIXED_PORT):
                tell(f"{nodes} units, {op}, {cluster}")
                slow = _fabric(nodes, rates[0], cluster)
                found = measure(slow, op, BUFFER_BYTES, AUTO)
                chosen[cluster, op] = found.algorithm
                for rate in rates:
                    moved = replayed_on(found, _fabric(nodes, rate, cluster))
                    times_ps[rate, cluster, op] = moved.completion_time_ps
        for rate in rates:
            for cluster in (*CLUSTERS, FIXED_PORT):
                each = [times_ps[rate, cluster, op] for op in OPS]
                times_us = [time_ps / PS_PER_US for time_ps in (*each, sum(each))]
                algorithms = [chosen[cluster, op] for op in OPS]
                yield nodes, rate, cluster, *times_us, *algorithms


def _fabric(nodes: int, rate: int, cluster: str) -> AnyFabric:
    """Return a cluster at a rate in Gb/s."""
    if cluster != FIXED_PORT:
        return clusters(nodes, rate * _GBIT)[cluster]
    pod = clusters(nodes, rate * _GBIT)["superpod"]
    assert isinstance(pod, SuperPod)
    # Never a port faster than NVLink: below 400 Gb/s they share the rate.
    ratio = max(1, rate // _PORT_GBIT - 1)
    return msgspec.structs.replace(pod, intra_to_inter=ratio)


def _claims(data: Data) -> Iterator[Comparison]:
    for nodes in data.sizes("units"):
        rate = int(max(data.sizes("gbit_per_s")))
        bound = _bound(int(nodes), rate)
        yield from _claims_at(data.where(units=nodes), f"{nodes} units", bound)


def _bound(nodes: int, rate: int) -> str:
    """Return what no schedules of SiPAC can beat at a rate in Gb/s."""
    sipac = _fabric(nodes, rate, "sipac")
    each = [bound_us(best_bound(sipac, op, BUFFER_BYTES)) for op in OPS]
    return f"SiPAC at {rate} Gb/s: {sum(each):.1f} us"


def _claims_at(data: Data, units: str, bound: str) -> Iterator[Comparison]:
    """Yield the claims for one number of units; `bound` is that of SiPAC's time."""
    slow, *_, fast = data.sizes("gbit_per_s")
    curves = {
        cluster: data.numbers("both_us", cluster=cluster)
        for cluster in (*CLUSTERS, FIXED_PORT)
    }
    gain = {cluster: curve[0] / curve[-1] for cluster, curve in curves.items()}
    yield holds(
        f"SiPAC gets faster with every rate ({units})",
        "yes",
        f"{gain['sipac']:.1f}X from {slow} to {fast} Gb/s",
        points=falling(
            dict(zip(data.sizes("gbit_per_s"), curves["sipac"], strict=True))
        ),
        why="the fixed cost of steps is all that is left",
        bound=bound,
    )
    yield holds(
        f"the others gain little more at high rates ({units})",
        "yes",
        ", ".join(f"{name} {times:.1f}X" for name, times in gain.items()),
        points=below({name: gain[name] / gain["sipac"] for name in CLUSTERS[1:]}, 0.5),
        why="links without queues scale with their rate on every cluster; what"
        " stops the others is in the packet simulator",
    )
    yield holds(
        f"SuperPod ends up waiting for its inter-server links ({units})",
        "yes",
        f"{gain[FIXED_PORT]:.1f}X where ports stay at {_PORT_GBIT} Gb/s,"
        f" {gain['superpod']:.1f}X where they grow with NVLink",
        points=below({"of SiPAC's gain": gain[FIXED_PORT] / gain["sipac"]}, 0.5),
        why="its ports were taken to grow",
    )
    first = min(CLUSTERS, key=lambda name: curves[name][-1])
    yield holds(
        f"SiPAC is the fastest at {fast} Gb/s ({units})",
        "SiPAC",
        f"{TITLES[first]} {curves[first][-1]:.1f} us,"
        f" SiPAC {curves['sipac'][-1]:.1f} us",
        points=between(
            {name: curves[name][-1] / curves["sipac"][-1] for name in CLUSTERS[1:]},
            least=1,
        ),
        why="the least data on the same links, without queues, take as long",
        bound=bound,
    )


_NOTES = (
    NOT_MODELLED,
    (
        "Hybrid-parallel traffic is taken to be one all-reduce and one all-to-all of"
        " 100 MB a unit, one after the other; the paper does not give its mix."
    ),
    "Every cluster has what auto finds at the lowest rate, the fastest that is known.",
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

FIGURE = Figure(
    name="sipac-fig4b",
    takes_s=89,
    title="all-reduce and all-to-all of 100 MB against the rate of a unit",
    columns=(
        *("units", "gbit_per_s", "cluster", "all_reduce_us", "all_to_all_us"),
        *("both_us", "all_reduce_by", "all_to_all_by"),
    ),
    compute=_compute,
    claims=_claims,
    panels=Plot(
        x="gbit_per_s",
        y="both_us",
        series="cluster",
        panel="units",
        title="{} compute units, 100 MB",
        x_label="rate of a compute unit (Gb/s)",
        y_label="all-reduce and all-to-all (us)",
        names={**TITLES, FIXED_PORT: f"{TITLES['superpod']}, 200 Gb/s ports"},
        styles={"bcube": "--", FIXED_PORT: ":"},
        x_log=2,
        y_log=10,
    ),
    notes=_NOTES,
)
