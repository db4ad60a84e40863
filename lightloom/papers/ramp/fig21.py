"""RAMP Fig. 21: all-reduce against the number of GPUs, strategies at equal rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    below,
    between,
    holds,
    rising,
)
from lightloom.papers.ramp.all_reduce_sweep import (
    BITS_PER_S,
    BUFFERS,
    SIZES,
    against_nodes,
    sweep,
)
from lightloom.papers.ramp.baseline_strategies import HIERARCHICAL, RING
from lightloom.papers.ramp.compared_systems import ESTIMATED, size_text
from lightloom.papers.reproduction import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell


def _compute(
    tell: Tell, *, nodes: tuple[int, ...] = SIZES, buffers: tuple[int, ...] = BUFFERS
) -> Iterator[Row]:
    """Estimate every strategy for numbers of nodes and sizes of the buffer."""
    for count, size, found in sweep(nodes, buffers, tell):
        for system, timed in found.items():
            yield (
                *(count, size_text(size), system, timed.label, timed.us),
                *(timed.time.steps, timed.times(found["ramp"])),
            )


def _claims(data: Data) -> Iterator[Comparison]:
    first, *_, last = data.sizes("nodes")
    ring = data.numbers("times_ramp", nodes=last, system=RING)
    yield holds(
        f"over ring ({last} nodes)",
        "9X to 10,000X",
        f"{min(ring):.3g}X to {max(ring):,.0f}X",
        points=between({"least": min(ring)}, least=8, most=10)
        + between({"greatest": max(ring)}, least=9_000, most=11_000),
        why="sizes of the curves are not printed; 1 MB to 10 GB here",
    )
    tiers = data.numbers("times_ramp", nodes=last, system=HIERARCHICAL)
    yield holds(
        f"over hierarchical ({last} nodes)",
        "1.16X to 10X",
        f"{min(tiers):.3g}X to {max(tiers):.3g}X",
        points=between({"least": min(tiers)}, least=1.155, most=1.165)
        + between({"greatest": max(tiers)}, least=9, most=11),
        why="sizes of the curves and tiers of the tree are not printed",
    )
    small = data.names("buffer")[0]
    gains = data.numbers("times_ramp", buffer=small, system=RING)
    yield holds(
        f"the speed-up over ring grows with the nodes ({small})",
        "yes",
        f"{gains[0]:.3g}X to {gains[-1]:,.0f}X",
        points=rising(dict(zip(data.sizes("nodes"), gains, strict=True))),
        why="RAMP takes another step",
    )
    before, after = (
        data.numbers("time_us", nodes=nodes, system="ramp") for nodes in (first, last)
    )
    flat = max(late / early for early, late in zip(before, after, strict=True))
    yield holds(
        "RAMP's time stays almost flat with the nodes",
        "yes",
        f"at most {flat:.2f}X from {first} to {last} nodes",
        points=below(
            {
                f"buffer {place}": late / early
                for place, (early, late) in enumerate(zip(before, after, strict=True))
            },
            4,
        ),
        why="more steps",
    )


_NOTE = (
    f"Every node has {BITS_PER_S / 10**12:g} Tb/s, on RAMP over 32 transceivers; the"
    " fat tree has the same rate everywhere."
)

FIGURE = Figure(
    name="ramp-fig21",
    takes_s=2,
    title="all-reduce at 2.4 Tb/s a node, on a fat tree and on RAMP",
    columns=(
        *("nodes", "buffer", "system", "strategy", "time_us", "steps"),
        "times_ramp",
    ),
    compute=_compute,
    claims=_claims,
    panels=against_nodes("time_us", "completion time (us)"),
    notes=(ESTIMATED, _NOTE),
)
