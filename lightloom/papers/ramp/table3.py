"""RAMP Table 3: cost of networks of 65,536 nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    between,
    holds,
    near,
)
from lightloom.papers.ramp.compared_systems import beside_the_paper
from lightloom.papers.ramp.components import (
    COPIES,
    DCN,
    HPC,
    NODE_GBIT_PER_S,
    TRANSCEIVER_USD,
    RampParts,
    usd_per_gbit,
)
from lightloom.papers.reproduction import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.ramp.components import FatTreeComponents
    from lightloom.report.panel import Panel

RAMP = RampParts()
RAMP_TRANSCEIVER_USD = (600, 1200)
"""400 Gb/s at a dollar each, 1.5 and 3 times."""

PRINTED = {
    ("HPC SuperPod", "1:1"): (25.2e6, 530e3, 16.8),
    ("HPC SuperPod", "10:1"): (2e6, 49.7e3, 1.57),
    ("HPC SuperPod", "64:1"): (0.3e6, 8.3e3, 0.26),
    ("DCN fat tree", "1:1"): (50.3e6, 655e3, 35.5),
    ("DCN fat tree", "10:1"): (4.7e6, 61.4e3, 3.33),
    ("DCN fat tree", "64:1"): (0.8e6, 10.2e3, 0.55),
}
"""Transceivers, switches and billions of dollars by network and oversubscription."""
RAMP_PRINTED_BUSD = (1.35, 2.61)

_BILLION = 10**9
_PAID = (
    "the table counts both ends of links at three levels, 6 for each port of a node;"
    " printed totals, shares and 10:1 follow from 5 on SuperPod and 4 on the fat tree"
)


def _compute(tell: Tell) -> Iterator[Row]:
    """Count components and add up their prices."""
    tell("counting components")
    for place, tree in enumerate((HPC, DCN)):
        for ratio, copies in COPIES.items():
            yield _electrical(tree, ratio, copies[place])
    for price in RAMP_TRANSCEIVER_USD:
        cost = RAMP.cost_usd(price)
        yield (
            *(f"RAMP at {price} USD", "1:1", RAMP.transceivers, RAMP.couplers),
            *(cost / _BILLION, None, 100 * RAMP.transceivers * price / cost),
            float(usd_per_gbit(cost, RAMP.node_gbit_per_s)),
        )


def _electrical(tree: FatTreeComponents, ratio: str, copies: int) -> Row:
    """Return the row of an electrical network."""
    items, paid = tree.transceivers(copies), tree.paid_transceivers(copies)
    cost, printed = tree.cost_usd(copies, items), tree.cost_usd(copies, paid)
    rate = copies * tree.port_gbit_per_s
    return (
        *(tree.name, ratio, items, tree.switches(copies)),
        *(cost / _BILLION, printed / _BILLION),
        100 * items * TRANSCEIVER_USD / cost,
        float(usd_per_gbit(cost, rate)),
    )


def _claims(_: Data) -> Iterator[Comparison]:
    for place, tree in enumerate((HPC, DCN)):
        for ratio, copies in COPIES.items():
            count = copies[place]
            parts, switches, busd = PRINTED[tree.name, ratio]
            label = f"{tree.name} {ratio}"
            yield _counted(f"{label}, transceivers", parts, tree.transceivers(count))
            yield _counted(f"{label}, switches", switches, tree.switches(count))
            cost = tree.cost_usd(count, tree.transceivers(count)) / _BILLION
            at_paid = tree.cost_usd(count, tree.paid_transceivers(count)) / _BILLION
            why = f"{_PAID}: {at_paid:.3g} BUSD"
            yield near(f"{label}, total", busd, cost, "BUSD", why=why)
    yield _counted("RAMP, transceivers", 2.1e6, RAMP.transceivers)
    yield _counted("RAMP, couplers", 32.8e3, RAMP.couplers)
    yield from _ramp_claims()


def _ramp_claims() -> Iterator[Comparison]:
    """Yield the claims on RAMP's cost, and on those of others beside it."""
    low, high = (RAMP.cost_usd(price) / _BILLION for price in RAMP_TRANSCEIVER_USD)
    yield near("RAMP, least total", RAMP_PRINTED_BUSD[0], low, "BUSD")
    claim = "RAMP, greatest total (Table 3)"
    yield near(claim, RAMP_PRINTED_BUSD[1], high, "BUSD")
    why = "a slip of 2.61, which the table has"
    yield near("RAMP, greatest total (section 4.3)", 2.16, high, "BUSD", why=why)
    rates = [
        float(usd_per_gbit(RAMP.cost_usd(price), RAMP.node_gbit_per_s))
        for price in RAMP_TRANSCEIVER_USD
    ]
    yield near("RAMP, least cost of a rate", 1.62, rates[0], "USD per Gb/s")
    yield near("RAMP, greatest cost of a rate", 3.12, rates[1], "USD per Gb/s")
    why = "a slip of 3.12, which the table has"
    claim = "RAMP, greatest cost of a rate (conclusion)"
    yield near(claim, 6.12, rates[1], "USD per Gb/s", why=why)
    saved = [
        float(usd_per_gbit(tree.cost_usd(copies, paid), NODE_GBIT_PER_S)) / rate
        for tree, copies, rate in ((HPC, 64, rates[1]), (DCN, 128, rates[0]))
        for paid in (tree.paid_transceivers(copies),)
    ]
    yield near("least saving at 1:1, by the printed totals", 6.4, saved[0], "X")
    yield near("greatest saving at 1:1, by the printed totals", 26.5, saved[1], "X")
    yield holds(
        "saving a bit (section 1)",
        "up to 12.4X",
        f"{saved[0]:.1f}X to {saved[1]:.1f}X",
        points=between({"least": saved[0], "greatest": saved[1]}, most=12.45),
        why="12.4X is HPC's 20.02 over 1.62; over the fat tree it is more, as the"
        " abstract says",
    )


def _counted(claim: str, paper: float, ours: int) -> Comparison:
    """Return a comparison of numbers of components."""
    why = "printed with 5 for each port of a node, where 1:1 has 6"
    return near(claim, paper, ours, "items", why=why)


def _panels(data: Data) -> Iterator[Panel]:
    paper = [*(busd for _, _, busd in PRINTED.values()), *RAMP_PRINTED_BUSD]
    ours = [round(busd, 2) for busd in data.numbers("cost_busd")]
    yield beside_the_paper(data, ours, paper, "cost (billion USD)")


_NOTES = (
    (
        "A 3-tier tree of k-port switches has 65,536 / (k/2) leaves, as many spines and"
        " 65,536 / k cores, rounded up; SuperPod is 64, 6 or 1 copies of a tree of"
        " 40-port switches, the fat tree 128, 12 or 2 of 64-port switches."
    ),
    (
        "Prices are the printed ones: 200 USD a transceiver in both, though those of"
        " the fat tree carry 100 Gb/s and a dollar each is the stated price; switches"
        " 23,700 and 44,000 USD; couplers 3000 USD. Cables, and what is inside of"
        " servers, are left out."
    ),
)

FIGURE = Figure(
    name="ramp-table3",
    title="cost of 65,536 nodes at up to 12.8 Tb/s",
    columns=(
        *("network", "oversubscription", "transceivers", "switches_or_couplers"),
        *("cost_busd", "cost_as_printed_busd", "transceiver_percent"),
        "usd_per_gbit_per_s",
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
