"""RAMP Fig. 18: every operation with 1 GB on 65,536 nodes, by the best strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import (
    above,
    between,
    holds,
    near,
)
from lightloom.papers.plot import Plot
from lightloom.papers.ramp.baseline_networks import as_published
from lightloom.papers.ramp.collective_estimates import ramp_runs
from lightloom.papers.ramp.compared_systems import (
    ESTIMATED,
    GB,
    NOT_PRINTED,
    OPERATIONS,
    PROCESSOR,
    best_on,
    on_ramp,
    on_ramp_as_printed,
    ramp,
    rounded,
    title_of,
)
from lightloom.papers.ramp.repeated_steps import total
from lightloom.papers.reproduction import Figure
from lightloom.synth.ramp.subgroups import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

LEAST, MOST = ("reduce-scatter", 7.6), ("all-to-all", 171.0)
"""Operations with the least and the greatest speed-up, as the paper has them."""
_RIVALS = tuple(network.name for network in as_published())


def _compute(tell: Tell, *, size_bytes: int = GB) -> Iterator[Row]:
    """Estimate every operation on every system."""
    for op in OPERATIONS:
        tell(op)
        ours = on_ramp(op, size_bytes)
        printed = on_ramp_as_printed(op, size_bytes, ours)
        rivals = (best_on(net, op, size_bytes) for net in as_published())
        for timed in (ours, *printed, *rivals):
            yield (
                *(op, timed.system, timed.label, timed.us, timed.time.steps),
                timed.times(ours),
            )


def _claims(data: Data) -> Iterator[Comparison]:
    gains = {
        op: {
            name: data.number("times_ramp", operation=op, system=name)
            for name in _RIVALS
        }
        for op in OPERATIONS
    }
    gain = {op: min(over.values()) for op, over in gains.items()}
    op, paper = LEAST
    shown = ", ".join(f"{name} {times:.1f}X" for name, times in gains[op].items())
    why = f"{shown}; {NOT_PRINTED}"
    yield near(f"least speed-up of {op}", paper, gain[op], "X", why=why)
    yield holds(
        "RAMP is the fastest system at every operation",
        "yes",
        f"{min(gain.values()):.1f}X to {max(gain.values()):.1f}X",
        points=above(gain, 1),
        why=NOT_PRINTED,
    )
    least = min(gain, key=gain.__getitem__)
    yield holds(
        "the speed-up is least for",
        op,
        least,
        points=between({at: times / gain[op] for at, times in gain.items()}, least=1),
        why=why,
    )
    op, paper = MOST
    size_bytes = data.given["size_bytes"]
    yield near(
        f"least speed-up of {op}",
        paper,
        gain[op],
        "X",
        why=f"RAMP takes {data.number('time_us', operation=op, system='ramp'):,.0f} us;"
        " with the printed 17 transceivers a pair in step 4, which collide, it would"
        f" take {_printed_all_to_all_us(size_bytes):,.0f} us. How rivals spread what is"
        " for other nodes is not printed",
    )
    most = max(gain, key=gain.__getitem__)
    yield holds(
        "the speed-up is greatest for",
        op,
        most,
        points=between({at: times / gain[op] for at, times in gain.items()}, most=1),
        why=NOT_PRINTED,
    )
    fat_tree, *_ = as_published()
    sequential = best_on(fat_tree, "reduce-scatter", size_bytes).time.compute_ps
    parallel = on_ramp("reduce-scatter", size_bytes).time.compute_ps
    faster = float(sequential / parallel)
    yield near("adding up is faster by (section 8.2)", 2.8, faster, "X")


def _printed_all_to_all_us(size_bytes: int) -> float:
    """Return the time of all-to-all with the transceivers of equation (3)."""
    fabric = ramp()
    rate = fabric.transceiver_bits_per_s
    *others, last = ramp_runs(
        Shape(32, 32, 64), "all-to-all", size_bytes, 32, rate, fabric.alpha_ps
    )
    # Subgroups of d = 2: 1 + floor((x - floor(x / d) (d - 1)) / (d - 1)) for x = 32.
    last = replace(last, bits_per_s=17 * rate)
    return float(total([*others, last], PROCESSOR).total_ps) / PS_PER_US


_ALL_TO_ALL = (
    "All-to-all on RAMP goes in two phases of eight shifts, all transceivers busy,"
    " which is not in the paper. In its four steps (ramp-as-printed, with transceivers"
    " that do not collide) half of the data waits for the one transceiver of a pair in"
    " step 4."
)

FIGURE = Figure(
    name="ramp-fig18",
    takes_s=2,
    title="operations with 1 GB on 65,536 nodes, best strategy of each system",
    columns=("operation", "system", "strategy", "time_us", "steps", "times_ramp"),
    compute=_compute,
    claims=_claims,
    panels=Plot(
        x="operation",
        y="time_us",
        series="system",
        title="1 GB, 65,536 nodes",
        x_label="",
        y_label="time (ms)",
        only=(*_RIVALS, "ramp"),
        names=title_of,
        kind="dots",
        y_log=10,
        shown=lambda us: rounded(us / 1000),
    ),
    notes=(ESTIMATED, _ALL_TO_ALL),
)
