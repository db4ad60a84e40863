"""Numbers of the SiPAC paper that no figure computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.fabrics.sipac import Sipac
from lightloom.papers.claims import TextClaim, near

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECTION = "section 2"


def claims() -> Iterator[TextClaim]:
    """Yield numbers of the text that can be computed."""
    fabric = Sipac(radix=8, level=2)
    rows = (
        ("compute units of SiPAC(8, 2), r^(l+1)", 8**3, fabric.node_count, "units"),
        (
            "units that one reaches in a hop, (l+1)(r-1)",
            3 * 7,
            len(_one_hop(fabric)),
            "units",
        ),
    )
    for claim, paper, ours, unit in rows:
        yield TextClaim(_SECTION, near(claim, paper, ours, unit))


def _one_hop(fabric: Sipac) -> set[int]:
    """Return the nodes that differ from node 0 in one digit."""
    ports = range(1, fabric.radix)
    levels = range(fabric.level + 1)
    return {port * fabric.radix**level for port in ports for level in levels}
