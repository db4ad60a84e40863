"""A bus: all nodes share one link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.fabric import Usage
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import FabricRecord

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


class Bus(FabricRecord, frozen=True, kw_only=True):
    """A bus of nodes.

    Parameters
    ----------
    nodes
        Number of nodes.
    bits_per_second
        Rate of the bus.
    alpha_ps
        Fixed cost of a transfer.
    """

    kind: Literal["bus"] = "bus"
    nodes: Annotated[int, Meta(ge=1, le=1024)]
    bits_per_second: Annotated[int, Meta(ge=1, le=10**15)] = 10**12
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000

    @property
    def node_bits_per_s(self) -> int:
        """A node alone has all of it."""
        return self.bits_per_second

    @property
    def latency_ps(self) -> int:
        """No switch."""
        return 0

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Every transfer takes the one link."""
        del dst
        row = np.arange(len(src), dtype=np.int64)
        return Usage(row, np.zeros_like(row), np.ones_like(row))

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of the bus."""
        return np.full(len(links), self.bits_per_second, dtype=np.int64)

    def resource_name(self, resource: int) -> str:
        """Return the bus in words."""
        del resource
        return "the bus"


FABRIC = FabricKind("bus", Bus)
