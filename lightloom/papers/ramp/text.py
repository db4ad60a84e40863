"""Numbers of the RAMP paper that no figure computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import TextClaim, near
from lightloom.papers.ramp.systems import NODES, ramp

if TYPE_CHECKING:
    from collections.abc import Iterator


def claims() -> Iterator[TextClaim]:
    """Yield numbers of the text that can be computed."""
    fabric = ramp()
    yield TextClaim(
        "abstract",
        near("nodes", NODES, fabric.node_count, "nodes"),
        "lightloom ramp check ramp-65536/all-reduce-1GiB --op all-gather",
    )
    yield TextClaim(
        "section 4.1",
        near("data of a transceiver in a slot of 20 ns", 950, fabric.slot_bytes, "B"),
        "lightloom ramp nic ramp-65536/all-reduce-1GiB --node 3,4,5",
    )
    yield TextClaim(
        "section 1",
        near(
            "capacity of all nodes",
            0.84,
            fabric.node_count * 32 * fabric.transceiver_bits_per_s / 1e18,
            "Eb/s",
        ),
        "lightloom reproduce ramp-fig7",
    )
