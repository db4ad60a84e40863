"""RAMP Table 4: power and energy a bit of networks of 65,536 nodes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    Point,
    holds,
    near,
)
from lightloom.papers.ramp.compared_systems import beside_the_paper
from lightloom.papers.ramp.components import (
    COPIES,
    DCN,
    HPC,
    NODE_GBIT_PER_S,
    NODES,
    RampParts,
)
from lightloom.papers.reproduction import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.report.panel import Panel

RAMP = RampParts()
RAMP_TRANSCEIVER_W = (Fraction("3.4"), Fraction("3.8"))
"""With receivers of a fixed wavelength, and of a tunable one."""
SOA_W = Fraction("0.88")
SOAS_ON_PATH = 2

PRINTED_MW = {
    ("HPC SuperPod", "1:1"): 306.0,
    ("HPC SuperPod", "10:1"): 28.7,
    ("HPC SuperPod", "64:1"): 4.8,
    ("DCN fat tree", "1:1"): 336.0,
    ("DCN fat tree", "10:1"): 31.5,
    ("DCN fat tree", "64:1"): 5.2,
}
RAMP_PRINTED_MW = (7.1, 8.0)
PRINTED_PJ = {"HPC SuperPod": 383.0, "DCN fat tree": 400.0}

_MW = 10**6
_PAID = {"HPC SuperPod": 5, "DCN fat tree": 6}
"""Transceivers for each port of a node that the printed powers count."""


def _compute(tell: Tell) -> Iterator[Row]:
    """Count components and add up their powers."""
    tell("counting components")
    for place, tree in enumerate((HPC, DCN)):
        for ratio, copies in COPIES.items():
            watts = tree.power_w(copies[place], tree.transceivers_per_port)
            rate = copies[place] * tree.port_gbit_per_s
            yield (
                *(tree.name, ratio, float(watts / _MW)),
                float(1000 * watts / (NODES * rate)),
                float(tree.path_pj_per_bit),
            )
    for watts in RAMP_TRANSCEIVER_W:
        total = RAMP.power_w(watts)
        yield (
            *(f"RAMP at {float(watts)} W", "1:1", float(total / _MW)),
            float(1000 * total / (NODES * RAMP.node_gbit_per_s)),
            float(1000 * watts / RAMP.transceiver_gbit_per_s),
        )


def _claims(_: Data) -> Iterator[Comparison]:
    for place, tree in enumerate((HPC, DCN)):
        paper = PRINTED_PJ[tree.name]
        found = float(tree.path_pj_per_bit)
        yield near(f"{tree.name}, energy on a path", paper, found, "pJ/bit")
        for ratio, copies in COPIES.items():
            count, per_port = copies[place], tree.transceivers_per_port
            whole = float(tree.power_w(count, per_port) / _MW)
            as_paid = float(tree.power_w(count, _PAID[tree.name]) / _MW)
            why = (
                f"printed with {_PAID[tree.name]} transceivers for each port of a node"
                f" ({as_paid:.4g} MW), though the energy on a path counts {per_port}"
            )
            paper = PRINTED_MW[tree.name, ratio]
            yield near(f"{tree.name} {ratio}, power", paper, whole, "MW", why=why)
    low, high = (float(RAMP.power_w(watts) / _MW) for watts in RAMP_TRANSCEIVER_W)
    yield near("RAMP, least power", RAMP_PRINTED_MW[0], low, "MW")
    yield near("RAMP, greatest power", RAMP_PRINTED_MW[1], high, "MW")
    per_bit = [
        float(1000 * watts / RAMP.transceiver_gbit_per_s)
        for watts in RAMP_TRANSCEIVER_W
    ]
    yield near("RAMP, least energy on a path", 8.5, per_bit[0], "pJ/bit")
    yield near("RAMP, greatest energy on a path", 9.5, per_bit[1], "pJ/bit")
    why = "a milliwatt for each Gb/s is a picojoule a bit: 8.5, ten times less"
    yield near("RAMP, least power of a rate", 85, per_bit[0], "mW per Gb/s", why=why)
    with_soas = [
        value + float(1000 * SOAS_ON_PATH * SOA_W / RAMP.transceiver_gbit_per_s)
        for value in per_bit
    ]
    yield holds(
        "2 amplifiers of 0.88 W on a path are part of it",
        f"{per_bit[0]:g} to {per_bit[1]:g} pJ/bit",
        f"{with_soas[0]:.3g} to {with_soas[1]:.3g} pJ/bit with them",
        points=[
            Point(which, with_amplifiers, most=1.02 * alone)
            for which, with_amplifiers, alone in zip(
                ("least", "greatest"), with_soas, per_bit, strict=True
            )
        ],
        why="printed energies and totals are those of the transceiver's power alone;"
        " they hold if that includes the amplifiers, which the text suggests",
    )
    yield from _ratios(low, high)


def _ratios(low: float, high: float) -> Iterator[Comparison]:
    """Yield the claims on RAMP's power beside the printed powers of others."""
    yield near("least saving at 1:1", 38, PRINTED_MW["HPC SuperPod", "1:1"] / high, "X")
    most = PRINTED_MW["DCN fat tree", "1:1"] / low
    yield near("greatest saving at 1:1", 47, most, "X")
    ten = PRINTED_MW["HPC SuperPod", "10:1"] / high
    yield near("least saving at 10:1", 3.6, ten, "X")
    more = [
        100 * (low / PRINTED_MW["DCN fat tree", "64:1"] - 1),
        100 * (high / PRINTED_MW["HPC SuperPod", "64:1"] - 1),
    ]
    yield near("least excess over 64:1", 36, more[0], "%", why="of rounded megawatts")
    yield near("greatest excess over 64:1", 66, more[1], "%")


def _panels(data: Data) -> Iterator[Panel]:
    paper = [*PRINTED_MW.values(), *RAMP_PRINTED_MW]
    ours = [round(megawatts, 1) for megawatts in data.numbers("power_mw")]
    yield beside_the_paper(data, ours, paper, "power (MW)")


_NOTES = (
    (
        "Switches of 404 W (40 ports of 200 Gb/s) and 320 W (64 of 100 Gb/s), optical"
        " transceivers of 4.35 W and 3.5 W, copper ones of 0.5 W at both ends of the"
        " links to nodes of the fat tree. A path has 5 switches and 6 transceivers."
    ),
    f"At 1:1 every node has {NODE_GBIT_PER_S / 1000:g} Tb/s.",
)

FIGURE = Figure(
    name="ramp-table4",
    title="power of 65,536 nodes at up to 12.8 Tb/s",
    columns=(
        *("network", "oversubscription", "power_mw"),
        *("mw_per_gbit_per_s", "pj_per_bit_path"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
