"""SiPAC Figs 3, 4a and 4b: collectives on the testbed and on four clusters."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.units import GIGA, PS_PER_US
from lightloom.instances.catalogue import clusters
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.packet_forwarding import Torus
from lightloom.instances.fabrics.packet_tiers import FatTree, SuperPod
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.papers.claims import (
    NEAR,
    above,
    below,
    between,
    falling,
    holds,
    not_reproducible,
)
from lightloom.papers.collectives import (
    MeasuredCollective,
    best_bound,
    bound_text,
    bound_us,
    verified_schedule,
)
from lightloom.papers.reproduction import Plot, figures
from lightloom.replay import replay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import AnyFabric
    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell
    from lightloom.report.panel import Panel


CLUSTERS = ("sipac", "torus", "bcube", "superpod")
"""Those of the paper; the electrical ones in the order of its text, reversed."""

TITLES = {
    "sipac": "SiPAC",
    "torus": "2D torus",
    "bcube": "BCube",
    "superpod": "SuperPod",
}
"""Names of clusters in pictures."""

USUAL, AUTO = "usual", "auto"
"""Which algorithm a row has: the one that a cluster is usually given, or the best."""


def measure(
    fabric: AnyFabric, op: str, buffer_bytes: int, algorithm: str, **parameters: object
) -> MeasuredCollective:
    """Synthesise, verify and replay a collective over all nodes, in whole blocks."""
    if COLLECTIVES[op].uses_blocks:
        buffer_bytes += -buffer_bytes % fabric.node_count
    schedule = verified_schedule(fabric, op, buffer_bytes, algorithm, parameters)
    label = " ".join(
        f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in schedule.algorithm.parameters.items()
    )
    return MeasuredCollective.of(schedule, label)


def replayed_on(measured: MeasuredCollective, fabric: AnyFabric) -> MeasuredCollective:
    """Return the same schedule replayed at other rates of the same cluster."""
    moved = replace(measured.schedule, fabric=fabric.table())
    time_ps = replay(moved).completion_time_ps
    return replace(measured, completion_time_ps=time_ps, schedule=moved)


def usual(fabric: AnyFabric, op: str, buffer_bytes: int) -> MeasuredCollective:
    """Return a collective by the algorithm that a cluster is usually given.

    All-reduce: levels on SiPAC and BCube, rings both ways along rows and columns on a
    torus, the hierarchical ring on servers. All-to-all and incast: one hop at a time on
    SiPAC, whose nodes forward, packets straight to their ends elsewhere. Broadcast:
    the fastest that `auto` finds.
    """
    if op == "broadcast":
        return measure(fabric, op, buffer_bytes, "auto")
    if isinstance(fabric, Sipac):
        return measure(fabric, op, buffer_bytes, "levels")
    if op != "all-reduce":
        return measure(fabric, op, buffer_bytes, "direct")
    if fabric.kind == "bcube":
        return measure(fabric, op, buffer_bytes, "levels")
    ways = {}
    if isinstance(fabric, Torus):
        ways = {"parts": sum(size > 1 for size in fabric.sizes), "both_ways": True}
    return measure(fabric, op, buffer_bytes, "torus-rings", **ways)


MESSAGE_BYTES = 10**6
"""From one unit to another."""
OPS = {"incast": "gather", "broadcast": "broadcast", "all-to-all": "all-to-all"}
"""The paper's names, and ours."""
GAINS = {"superpod": (3.6, 5.3), "torus": (1.4, 5.9), "bcube": (1.4, 3.4)}
"""How many times faster SiPAC is, over the three patterns, as the paper has it."""
SMALL = 16
"""Units of the small clusters."""
SMALL_US = {"sipac": 617, "torus": 1454, "bcube": 2254, "superpod": 2728}
"""All-to-all on 16 units as the packet simulator of the paper gives it."""

_CHOICES = {
    USUAL: "SiPAC's units forward, packets of the others go straight to their ends",
    AUTO: "each by the best algorithm known to lightloom",
}
_QUEUES = "queues and congestion control of the packet simulator are not modelled"


def _fig4a_rows(tell: Tell, *, nodes: int = 512) -> Iterator[Row]:
    """Yield every pattern on every cluster, by the usual algorithm and by `auto`."""
    for units in sorted({SMALL, nodes}):
        fabrics = clusters(units)
        for pattern, op in OPS.items():
            size = _buffer_bytes(op, units)
            measured: dict[tuple[str, str], MeasuredCollective] = {}
            for cluster in CLUSTERS:
                tell(f"{units} units, {pattern}, {cluster}")
                given = usual(fabrics[cluster], op, size)
                measured[USUAL, cluster] = measured[AUTO, cluster] = given
                if op != "broadcast":  # there usual is auto
                    fastest = measure(fabrics[cluster], op, size, AUTO)
                    measured[AUTO, cluster] = fastest
            for (choice, cluster), point in sorted(
                measured.items(), key=lambda item: item[0][0] == AUTO
            ):
                sipac_ps = measured[choice, "sipac"].completion_time_ps
                yield (
                    *(units, pattern, cluster, choice, point.algorithm),
                    *(point.completion_time_us, point.steps),
                    point.completion_time_ps / sipac_ps,
                )


def _fig4a_claims(data: Data) -> Iterator[Comparison]:
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
                f"{second} over {first}": ours[second] / ours[first]
                for first, second in pairwise(order)
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


def _fig4a_panels(data: Data) -> Iterator[Panel]:
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


BUFFER_BYTES = 10**8
"""Of each collective here."""
_HYBRID_OPS = ("all-reduce", "all-to-all")
FIXED_PORT = "superpod, 200 Gb/s ports"
_PORT_GBIT = 200
"""Rate of a port between servers, where it stays, in Gb/s."""


def _fig4b_rows(
    tell: Tell,
    *,
    sizes: tuple[int, ...] = (64, 512),
    rates: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096),
) -> Iterator[Row]:
    """Synthesise and verify each collective once, replay it at every rate in Gb/s."""
    for nodes in sizes:
        times_ps: dict[tuple[int, str, str], int] = {}
        chosen: dict[tuple[str, str], str] = {}
        for op in _HYBRID_OPS:
            for cluster in (*CLUSTERS, FIXED_PORT):
                tell(f"{nodes} units, {op}, {cluster}")
                slow = _fabric(nodes, rates[0], cluster)
                at_lowest = measure(slow, op, BUFFER_BYTES, AUTO)
                chosen[cluster, op] = at_lowest.algorithm
                for rate in rates:
                    moved = replayed_on(at_lowest, _fabric(nodes, rate, cluster))
                    times_ps[rate, cluster, op] = moved.completion_time_ps
        for rate in rates:
            for cluster in (*CLUSTERS, FIXED_PORT):
                both_ps = [times_ps[rate, cluster, op] for op in _HYBRID_OPS]
                times_us = [time_ps / PS_PER_US for time_ps in (*both_ps, sum(both_ps))]
                algorithms = [chosen[cluster, op] for op in _HYBRID_OPS]
                yield nodes, rate, cluster, *times_us, *algorithms


def _fabric(nodes: int, rate: int, cluster: str) -> AnyFabric:
    """Return a cluster at a rate in Gb/s."""
    if cluster != FIXED_PORT:
        return clusters(nodes, rate * GIGA)[cluster]
    pod = clusters(nodes, rate * GIGA)["superpod"]
    assert isinstance(pod, SuperPod)
    # Never a port faster than NVLink: below 400 Gb/s they share the rate.
    ratio = max(1, rate // _PORT_GBIT - 1)
    return msgspec.structs.replace(pod, intra_to_inter=ratio)


def _fig4b_claims(data: Data) -> Iterator[Comparison]:
    for nodes in data.sizes("units"):
        rate = int(max(data.sizes("gbit_per_s")))
        bound = _fig4b_bound(int(nodes), rate)
        yield from _fig4b_claims_at(data.where(units=nodes), f"{nodes} units", bound)


def _fig4b_bound(nodes: int, rate: int) -> str:
    """Return what no schedules of SiPAC can beat at a rate in Gb/s."""
    sipac = _fabric(nodes, rate, "sipac")
    bounds_us = [bound_us(best_bound(sipac, op, BUFFER_BYTES)) for op in _HYBRID_OPS]
    return f"SiPAC at {rate} Gb/s: {sum(bounds_us):.1f} us"


def _fig4b_claims_at(data: Data, units: str, bound: str) -> Iterator[Comparison]:
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


GRADIENT_BYTES = 14 * 10**6
"""MobileNetV2 has 3.5 million parameters of four bytes."""
ALGORITHMS = ("ring", "auto")
"""The paper's ring, and the best that is known."""
_NODES = 4
"""Of the testbed."""
_BITS_PER_S = 2 * 10**10
"""Of a node of the testbed."""
_SIPAC, _TREE = "SiPAC(2, 1)", "leaf-spine"


def _fig3_compute(tell: Tell) -> Iterator[Row]:
    """Synthesise, verify and replay an all-reduce of the gradients."""
    for choice in ALGORITHMS:
        for name, fabric in _fig3_fabrics().items():
            tell(f"{choice} on {name}")
            algorithm, keys = choice, dict[str, object]()
            if choice == "ring" and name == _SIPAC:
                # Rings along both levels at once, each with half of the data.
                algorithm, keys = "torus-rings", {"parts": 2}
            point = measure(fabric, "all-reduce", GRADIENT_BYTES, algorithm, **keys)
            yield choice, name, point.algorithm, point.completion_time_us / 1000


def _fig3_fabrics() -> dict[str, AnyFabric]:
    """Return the two networks of the testbed."""
    return {
        _SIPAC: Sipac(radix=2, level=1, bits_per_second_per_node=_BITS_PER_S),
        _TREE: FatTree(
            nodes=_NODES, nodes_per_leaf=2, bits_per_second_per_node=_BITS_PER_S
        ),
    }


def _fig3_told(mine_ms: float, theirs_ms: float) -> str:
    """Return two times in words."""
    return f"{mine_ms:.2f} ms against {theirs_ms:.2f} ms"


def _fig3_claims(data: Data) -> Iterator[Comparison]:
    times_ms = {
        algorithm: [
            data.where(choice=algorithm).number("time_ms", network=name)
            for name in (_SIPAC, _TREE)
        ]
        for algorithm in ALGORITHMS
    }
    bounds = (
        f"{name} {bound_text(best_bound(fabric, 'all-reduce', GRADIENT_BYTES))}"
        for name, fabric in _fig3_fabrics().items()
    )
    bound = ", ".join(bounds)
    for algorithm, (mine, theirs) in times_ms.items():
        yield holds(
            f"all-reduce takes less time on SiPAC ({algorithm}, communication alone)",
            "less, by how much is not given",
            _fig3_told(mine, theirs),
            points=above({f"{_TREE} over {_SIPAC}": theirs / mine}, 1 + NEAR),
            why="both have the same rate a GPU and, without queues, the same data to"
            " move",
            best="" if algorithm == "auto" else _fig3_told(*times_ms["auto"]),
            bound=bound,
        )
    yield not_reproducible(
        "job completion time falls by 8 % (ring) and 22 % (NCCL)",
        "8 % and 22 %",
        "-",
        "times of MobileNetV2 on Tesla M40 GPUs and packet buffers of the testbed are"
        " not given; pairs of NCCL's tree share no switch of SiPAC, and how they are"
        " routed is not given either",
    )
    yield not_reproducible(
        "Fig. 2: crosstalk suppressed by 13.3 dB, all eyes open",
        "13.3 dB",
        "-",
        "a measurement of a switch in the laboratory; lightloom has no model of rings"
        " below whole wavelengths",
    )


FIGURE = figures(
    __package__,
    (
        "sipac-fig3",
        _fig3_compute,
        _fig3_claims,
        Plot(
            x="choice",
            y="time_ms",
            series="network",
            title="14 MB, 20 Gb/s a GPU",
            x_label="",
            y_label="completion time (ms)",
            kind="dots",
        ),
    ),
    ("sipac-fig4a", _fig4a_rows, _fig4a_claims, _fig4a_panels),
    (
        "sipac-fig4b",
        _fig4b_rows,
        _fig4b_claims,
        Plot(
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
    ),
)
