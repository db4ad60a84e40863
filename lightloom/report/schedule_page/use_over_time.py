"""How much of a fabric is used, and when: its nodes, its planes, its edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.errors import LightloomError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.fabrics import load_fabric

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.schedule import Schedule, Segment
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay import Timeline

    Floats = npt.NDArray[np.float64]

_BINS = 240
"""Intervals in which use is averaged."""
_MOST_PLANES = 64
"""Planes that have a curve of their own: each is a row of bins in the page."""
_MOST_CIRCUITS = 200_000
"""Of more circuits, or pairs, edges are left out: each crosses many."""
_BETWEEN = frozenset({"waveguides", "spans", "subnets", "switch-inputs"})
"""Rules about what is between nodes; where there is none, lasers stand for it."""


def use_over_time(
    schedule: Schedule, timeline: Timeline | None, *, valid: bool
) -> list[dict[str, Any]]:
    """Return shares of rates, 0 to 1: ``label``, and ``bins`` or a value per step.

    Those of all nodes in equal intervals; of each plane, where there are several; and
    in each step of the busiest edge and the mean over all edges that are ever used,
    where an edge is a link of packets, or a wavelength of a waveguide, span or subnet.
    Edges of a schedule that is not `valid` are left out: its circuits may not exist.
    """
    if timeline is None or not timeline.completion_time_ps:
        return []
    try:
        fabric = load_fabric(schedule.fabric)
    except LightloomError:
        return []
    rate = fabric.node_bits_per_s * fabric.node_count / PS_PER_S
    if not rate:
        return []
    everything = np.ones(len(timeline.pairs), dtype=np.bool_)
    found = [{"label": "all nodes", "bins": _binned(timeline, everything, rate)}]
    if isinstance(fabric, CircuitFabric) and 1 < fabric.plane_count <= _MOST_PLANES:
        for plane in range(fabric.plane_count):
            bins = _binned(
                timeline, timeline.pairs.plane == plane, rate / fabric.plane_count
            )
            found.append({"label": f"plane {plane}", "bins": bins})
    return found + (_edges(fabric, schedule, timeline) if valid else [])


def _binned(
    timeline: Timeline, rows: npt.NDArray[np.bool_], bits_per_ps: float
) -> list[float]:
    """Return the share of a rate that some pairs use in equal intervals."""
    pairs, end_ps = timeline.pairs, timeline.completion_time_ps
    edges = np.linspace(0, end_ps, _BINS + 1)
    start, end = pairs.start_ps[rows].astype(float), pairs.end_ps[rows].astype(float)
    rate = pairs.bytes[rows] * BITS_PER_BYTE / np.maximum(end - start, 1)
    # Bits moved until each edge of an interval: ramps of all pairs, summed.
    moved = np.array(
        [float((rate * np.clip(edge - start, 0, end - start)).sum()) for edge in edges]
    )
    possible = bits_per_ps * end_ps / _BINS
    return [round(float(share), 4) for share in np.diff(moved) / possible]


def _edges(
    fabric: AnyFabric, schedule: Schedule, timeline: Timeline
) -> list[dict[str, Any]]:
    """Return the busiest edge and the mean edge of each step."""
    if max(schedule.circuit_count, len(timeline.pairs)) > _MOST_CIRCUITS:
        return []
    if isinstance(fabric, CircuitFabric):
        pieces = list(_of_circuits(fabric, schedule, timeline))
    else:
        pieces = [_of_packets(fabric, timeline)]
    if not pieces:
        return []
    step, edge, bits, rate = (
        np.concatenate(column) for column in zip(*pieces, strict=True)
    )
    names, edge = np.unique(edge, return_inverse=True)
    lasts = np.array([max(1, one.end_ps - one.release_ps) for one in timeline.steps])
    count = len(timeline.steps)
    key, place = np.unique(step * max(1, len(names)) + edge, return_inverse=True)
    share = np.bincount(place, bits / rate, minlength=len(key)) * PS_PER_S
    of_step = key // max(1, len(names))
    share = share / lasts[of_step]
    busiest = np.zeros(count)
    np.maximum.at(busiest, of_step, share)
    mean = np.bincount(of_step, share, minlength=count) / max(1, len(names))
    return [
        {"label": label, "steps": [round(float(one), 4) for one in column]}
        for label, column in (("busiest edge", busiest), ("mean edge", mean))
    ]


def _of_packets(
    fabric: PacketFabric, timeline: Timeline
) -> tuple[IntArray, IntArray, Floats, Floats]:
    """Return step, link, bits and rate of what pairs put on links."""
    pairs = timeline.pairs
    usage = fabric.link_usage(pairs.src, pairs.dst)
    bits = pairs.bytes[usage.circuit].astype(float) * BITS_PER_BYTE
    rate = fabric.link_bits_per_s(usage.resource).astype(float)
    return pairs.step[usage.circuit], usage.resource, bits, rate


def _of_circuits(
    fabric: CircuitFabric, schedule: Schedule, timeline: Timeline
) -> Iterator[tuple[IntArray, IntArray, Floats, Floats]]:
    """Yield the same of every segment: a circuit loads what it crosses."""
    pairs, nodes = timeline.pairs, fabric.node_count
    for segment in schedule.segments:
        mine = (pairs.plane == segment.plane) & (pairs.segment == segment.index)
        rows = np.flatnonzero(mine)
        if not len(rows):
            continue
        circuit, edge, unit, capacity = _crossed(fabric, segment)
        circuits = segment.circuits
        key = circuits.src[circuit] * nodes + circuits.dst[circuit]
        order = np.argsort(key, kind="stable")
        key = key[order]
        sent = pairs.src[rows] * nodes + pairs.dst[rows]
        first, last = np.searchsorted(key, sent), np.searchsorted(key, sent, "right")
        row = np.repeat(np.arange(len(rows)), last - first)
        at = np.arange(len(row)) - np.repeat(
            np.cumsum(last - first) - last, last - first
        )
        at = order[at]
        bits = pairs.bytes[rows].astype(float) * BITS_PER_BYTE
        share = unit[at] / pairs.bits_per_s[rows][row]
        rate = unit[at] * capacity[at]
        yield pairs.step[rows][row], edge[at], bits[row] * share, rate


def _crossed(
    fabric: CircuitFabric, segment: Segment
) -> tuple[IntArray, IntArray, Floats, Floats]:
    """Return circuit, edge, rate of a light path on it, and its capacity."""
    circuits = segment.circuits
    usage = fabric.usage(circuits)
    names, place = np.unique(usage.resource, return_inverse=True)
    rules = np.array([fabric.resource_rule(int(name)) for name in names])
    wanted = np.isin(rules, list(_BETWEEN))
    if not wanted.any():
        wanted = rules == "lasers"
    rows = np.flatnonzero(wanted[place])
    circuit = usage.circuit[rows]
    rate = fabric.circuit_bits_per_s(circuits).astype(float)
    if circuits.wavelengths is not None:
        rate /= np.maximum(circuits.wavelengths.lengths, 1)
    capacity = np.maximum(fabric.capacity(names), 1).astype(float)
    # Planes have the same resources, each its own.
    edge = usage.resource[rows] * fabric.plane_count + segment.plane
    return circuit, edge, rate[circuit], capacity[place[rows]]
