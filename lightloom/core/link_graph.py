"""The links of a fabric as a graph, for those who draw what each of them carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """Links between nodes and switches.

    Attributes
    ----------
    link
        Numbers of the links, as `PacketFabric.link_usage` has them.
    tail, head
        What each joins: nodes from 0 on, then the switches, tier by tier.
    tiers
        Name and number of the switches of each tier, the lowest first.
    """

    link: IntArray
    tail: IntArray
    head: IntArray
    tiers: tuple[tuple[str, int], ...] = ()


@runtime_checkable
class LinkedFabric(Protocol):
    """A fabric that says what its links join; others are drawn without links."""

    def link_graph(self) -> LinkGraph:
        """Return all links."""


def trunks(
    both_ways: Sequence[tuple[IntArray, IntArray, IntArray, IntArray]],
    tiers: tuple[tuple[str, int], ...],
) -> LinkGraph:
    """Return the graph of links that lead up and down again.

    Parameters
    ----------
    both_ways
        Columns: lower ends, upper ends, the links up and the links down.
    tiers
        Name and number of the switches of each tier.
    """
    columns = [np.concatenate(column) for column in zip(*both_ways, strict=True)]
    lower, upper, up, down = columns
    return LinkGraph(
        link=np.concatenate([up, down]),
        tail=np.concatenate([lower, upper]),
        head=np.concatenate([upper, lower]),
        tiers=tiers,
    )
