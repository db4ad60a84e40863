"""RAMP Fig. 18: every operation with 1 GB on 65,536 nodes, by the best strategy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import holds, near
from lightloom.papers.ramp.baseline_networks import as_published
from lightloom.papers.ramp.collective_estimates import ramp_loads
from lightloom.papers.ramp.repeated_steps import of_loads, total
from lightloom.papers.ramp.systems import (
    ESTIMATED,
    GB,
    NOT_PRINTED,
    OPERATIONS,
    PROCESSOR,
    best_on,
    on_ramp,
    ramp,
    rounded,
    title_of,
)
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series
from lightloom.synth.ramp.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.ramp.systems import Timed
    from lightloom.papers.reproduction import Comparison

LEAST, MOST = ("reduce-scatter", 7.6), ("all-to-all", 171.0)
"""Operations with the least and the greatest speed-up, as the paper has them."""

Found = dict[tuple[str, str], "Timed"]
"""By (operation, system)."""


@dataclass(frozen=True)
class Fig18:
    """The figure, for a size of the buffer."""

    size_bytes: int = GB
    name: str = "ramp-fig18"
    title: str = "operations with 1 GB on 65,536 nodes, best strategy of each system"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Estimate every operation on every system."""
        networks = as_published()
        found: Found = {}
        for op in OPERATIONS:
            progress(op)
            found[op, "ramp"] = on_ramp(op, self.size_bytes)
            for net in networks:
                found[op, net.name] = best_on(net, op, self.size_bytes)
        rivals = [net.name for net in networks]
        rows = tuple(
            (
                op,
                system,
                timed.label,
                timed.us,
                timed.time.steps,
                timed.times(found[op, "ramp"]),
            )
            for (op, system), timed in found.items()
        )
        columns = ("operation", "system", "strategy", "time_us", "steps", "times_ramp")
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(found, rivals)),
            (ESTIMATED, _ALL_TO_ALL),
            tuple(_panels(found, rivals)),
        )

    def _claims(self, found: Found, rivals: list[str]) -> Iterator[Comparison]:
        gain = {
            op: min(found[op, name].times(found[op, "ramp"]) for name in rivals)
            for op in OPERATIONS
        }
        op, paper = LEAST
        shown = ", ".join(
            f"{name} {found[op, name].times(found[op, 'ramp']):.1f}X" for name in rivals
        )
        why = f"{shown}; {NOT_PRINTED}"
        yield near(f"least speed-up of {op}", paper, gain[op], "X", why=why)
        yield holds(
            "RAMP is the fastest system at every operation",
            "yes",
            f"{min(gain.values()):.1f}X to {max(gain.values()):.1f}X",
            holds=min(gain.values()) > 1,
            why=NOT_PRINTED,
        )
        least = min(gain, key=gain.__getitem__)
        yield holds("the speed-up is least for", op, least, holds=least == op, why=why)
        op, paper = MOST
        printed = _printed_all_to_all_us(self.size_bytes)
        yield near(
            f"least speed-up of {op}",
            paper,
            gain[op],
            "X",
            why=f"RAMP takes {found[op, 'ramp'].us:,.0f} us; with the printed 17"
            f" transceivers a pair in step 4, which collide, it would take"
            f" {printed:,.0f} us. How rivals spread what is for other nodes is not"
            f" printed",
        )
        most = max(gain, key=gain.__getitem__)
        yield holds(
            "the speed-up is greatest for", op, most, holds=most == op, why=NOT_PRINTED
        )
        sequential, parallel = (
            found["reduce-scatter", name].time.compute_ps
            for name in ("fat-tree", "ramp")
        )
        faster = float(sequential / parallel)
        yield near("adding up is faster by (section 8.2)", 2.8, faster, "X")


def _printed_all_to_all_us(size_bytes: int) -> float:
    """Return the time of all-to-all with the transceivers of equation (3)."""
    fabric = ramp()
    rate = fabric.transceiver_bits_per_s
    loads = ramp_loads(Shape(32, 32, 64), "all-to-all", size_bytes, 32, rate)
    *others, last = of_loads(loads, fabric.alpha_ps)
    # Subgroups of d = 2: 1 + floor((x - floor(x / d) (d - 1)) / (d - 1)) for x = 32.
    last = replace(last, bits_per_s=17 * rate)
    return float(total([*others, last], PROCESSOR).total_ps) / PS_PER_US


def _panels(found: Found, rivals: list[str]) -> Iterator[Panel]:
    names = tuple(op.replace("-", "\n") for op in OPERATIONS)
    times = [
        Series(
            title_of(system),
            names,
            [rounded(found[op, system].us / 1000) for op in OPERATIONS],
        )
        for system in (*rivals, "ramp")
    ]
    yield Panel("1 GB, 65,536 nodes", "", "time (ms)", times, kind="bars", y_log=10)


_ALL_TO_ALL = (
    "All-to-all on RAMP may also go direct, in 2048 steps without forwarding, which is"
    " not in the paper. In its four steps half of the data waits for the one"
    " transceiver of a pair in step 4 that collides with nobody."
)

FIGURE = Fig18()
