"""What the links of a fabric carry in each step, and where its switches are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import LightloomError
from lightloom.core.fabric import PacketFabric
from lightloom.core.link_graph import LinkedFabric
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.bcube import BCube
from lightloom.instances.fabrics.sipac import Sipac

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import FabricTable
    from lightloom.core.link_graph import LinkGraph
    from lightloom.replay import Timeline

_MOST_NODES = 2048
_MOST_LOADS = 100_000
"""Of all steps together; beyond, only the first steps have loads."""
_BELOW = ("NVLink", "level 0")
"""Tiers that are drawn below the nodes where there are others above."""


@dataclass(frozen=True, eq=False)
class LinkView:
    """Links and switches as they are drawn.

    Attributes
    ----------
    graph
        The links.
    spots
        Across and down, 0 to 1, of nodes and switches; none where the nodes stand in a
        grid or a circle of their own and there are no switches.
    fabric
        Whose ways packets go: on SiPAC's switches, those of a BCube.
    bits_per_s
        Rate of each link; none where wavelengths decide it.
    """

    graph: LinkGraph
    spots: list[tuple[float, float]]
    fabric: PacketFabric
    bits_per_s: IntArray | None

    def load(self, timeline: Timeline, step: int) -> tuple[IntArray, IntArray]:
        """Return the links that carry data in a step, by their place, and the bytes.

        Parameters
        ----------
        timeline
            Of a schedule on the fabric.
        step
            Number of the step, from 0.
        """
        pairs = timeline.pairs
        rows = np.flatnonzero(pairs.step == step)
        usage = self.fabric.link_usage(pairs.src[rows], pairs.dst[rows])
        order = np.argsort(self.graph.link)
        place = order[np.searchsorted(self.graph.link, usage.resource, sorter=order)]
        total = np.zeros(len(order), dtype=np.int64)
        np.add.at(total, place, pairs.bytes[rows][usage.circuit])
        used = np.flatnonzero(total)
        return used, total[used]


def link_view(table: FabricTable) -> LinkView | None:
    """Return the links of a fabric, or nothing where it has none to draw.

    Parameters
    ----------
    table
        Its instance table, which may be wrong.
    """
    try:
        fabric = load_fabric(table)
    except LightloomError:
        return None
    by_light = isinstance(fabric, Sipac)
    if isinstance(fabric, Sipac):
        fabric = BCube(radix=fabric.radix, level=fabric.level)
    if fabric.node_count > _MOST_NODES or not isinstance(fabric, PacketFabric):
        return None
    linked: object = fabric  # no class says that it is both
    if not isinstance(linked, LinkedFabric):
        return None
    graph = linked.link_graph()
    rate = None if by_light else fabric.link_bits_per_s(graph.link)
    return LinkView(graph, _spots(graph, fabric.node_count), fabric, rate)


def _spots(graph: LinkGraph, nodes: int) -> list[tuple[float, float]]:
    """Return where nodes and switches stand: a row for each tier."""
    if not graph.tiers:
        return []
    under = len(graph.tiers) > 1 and graph.tiers[0][0] in _BELOW
    floor = 0.7 if under else 0.93
    found = [((node + 0.5) / nodes, floor) for node in range(nodes)]
    above = len(graph.tiers) - under
    for tier, (_, count) in enumerate(graph.tiers):
        height = 0.94 if under and tier == 0 else 0.0
        height = height or floor - (floor - 0.06) * (tier + 1 - under) / above
        found += [((number + 0.5) / count, height) for number in range(count)]
    return found


def page_links(
    view: LinkView | None, timeline: Timeline | None, notes: list[str]
) -> dict[str, object] | None:
    """Return the links and what they carry, as the page reads it.

    Parameters
    ----------
    view
        What is drawn.
    timeline
        The replay; without one nothing is known.
    notes
        Is given a sentence if some steps are left out.

    Returns
    -------
    ``tail`` and ``head`` of each link, ``spots``, ``tiers`` (name, number), ``loads``
    (links and bytes, each different load once), ``of`` (which of them a step has) and,
    of packets, ``rate`` in bits per second.
    """
    if view is None or timeline is None:
        return None
    known: dict[bytes, int] = {}
    loads: list[list[list[int]]] = []
    of: list[int] = []
    room = _MOST_LOADS
    for step in range(len(timeline.steps)):
        links, size = view.load(timeline, step)
        key = links.tobytes() + size.tobytes()
        if key not in known:
            room -= len(links)
            if room < 0:
                notes.append(f"Loads of links are those of the first {step} steps.")
                break
            known[key] = len(loads)
            loads.append([links.tolist(), size.tolist()])
        of.append(known[key])
    return {
        "tail": view.graph.tail.tolist(),
        "head": view.graph.head.tolist(),
        "spots": [[round(x, 4), round(y, 4)] for x, y in view.spots],
        "tiers": [list(tier) for tier in view.graph.tiers],
        "rate": None if view.bits_per_s is None else view.bits_per_s.tolist(),
        "loads": loads,
        "of": of,
    }
