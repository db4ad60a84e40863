"""Numbers of the SiP-ML paper that no figure computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.fabrics.ring import Ring
from lightloom.papers.claims import between, holds, near
from lightloom.papers.sipml import shared_fabric
from lightloom.papers.text_claims import TextClaim, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

_TESTBED = "a measurement of the testbed; lightloom takes the delay as an input"
_BUDGET_DB, _LOSS_DB = 10, 0.625
"""Power budget, and the greater of the two printed losses of a node."""


def claims() -> Iterator[TextClaim]:
    """Yield numbers of the text, those that cannot be computed last."""
    yield TextClaim(
        "section 3.1",
        holds(
            "duty cycle of circuits that are held for ten delays",
            "90 %",
            f"{100 * _duty(1, 10):.1f} %",
            points=between({"of the time": _duty(1, 10)}, least=0.9),
            why="one delay in eleven is dark",
        ),
    )
    yield TextClaim(
        "section 4.4, Fig. 12d",
        holds(
            "share of the rate in slots of 220 us with 20 us to reconfigure",
            "above 90 %",
            f"{100 * _duty(20, 200):.1f} %",
            points=between({"of the rate": _duty(20, 200)}, least=0.9),
            why="20 of 220 us are dark",
        ),
    )
    yield TextClaim(
        "section 4.4",
        near("nodes in a row that light passes", 16, _BUDGET_DB // _LOSS_DB, "nodes"),
    )
    ring = Ring(nodes=64, wavelengths=80, directions=1, reach=16)
    terabit_per_s = 80 * ring.bits_per_second_per_wavelength / 1e12
    yield TextClaim(
        "section 3.1",
        near("80 wavelengths of 25 Gb/s give a GPU", 2, terabit_per_s, "Tb/s"),
    )
    yield from shared_fabric.claims()
    yield unknown(
        "Fig. 14, A.3",
        "scaling efficiency over that of MLPerf's strategies",
        "up to 4.3X",
        "times of MLPerf's submissions and the profiles beside them are not printed",
    )
    yield unknown(
        "Fig. 1",
        "throughput and time to accuracy against the number of GPUs",
        "two curves",
        "results of others on real clusters",
    )
    for where, claim, paper in (
        ("section 4.4", "delay of a micro-ring", "25 us"),
        ("section 4.4, Fig. 12c", "time to switch from end to end", "13 and 15 us"),
    ):
        yield unknown(where, claim, paper, _TESTBED)


def _duty(dark: int, lit: int) -> float:
    """Return the lit share of a period."""
    return lit / (dark + lit)
