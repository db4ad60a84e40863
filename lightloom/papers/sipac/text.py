"""Numbers of the SiPAC paper that no figure computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.fabrics.sipac import Sipac
from lightloom.papers.claims import TextClaim, near, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECTION = "section 2"


def claims() -> Iterator[TextClaim]:
    """Yield numbers of the text, those that cannot be computed last."""
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
    yield unknown(
        "Fig. 2",
        "crosstalk suppressed, all eyes open",
        "13.3 dB",
        "a measurement of a switch in the laboratory: lightloom has no model of rings"
        " below whole wavelengths",
    )
    yield unknown(
        "section 3",
        "lines of the comb, and of each ring",
        "201.5 GHz, 14.41 nm",
        "properties of the device",
    )


def _one_hop(fabric: Sipac) -> set[int]:
    """Return the nodes that differ from node 0 in one digit."""
    ports = range(1, fabric.radix)
    levels = range(fabric.level + 1)
    return {port * fabric.radix**level for port in ports for level in levels}
