"""RAMP Fig. 20: what the time of an all-reduce is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import holds, near
from lightloom.papers.ramp.baseline_networks import as_published
from lightloom.papers.ramp.systems import (
    ESTIMATED,
    GB,
    MB,
    NOT_PRINTED,
    on_ramp,
    on_rings,
    size_text,
    title_of,
)
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.ramp.systems import Timed
    from lightloom.papers.reproduction import Comparison

OP = "all-reduce"
PARTS = ("head to head", "head to tail", "computing")

Found = dict[tuple[int, str, str], "Timed"]
"""By (size, system, strategy)."""


@dataclass(frozen=True)
class Fig20:
    """The figure, for some sizes of the buffer."""

    sizes: tuple[int, ...] = (MB, 100 * MB, GB, 10 * GB)
    name: str = "ramp-fig20"
    title: str = "parts of the time of an all-reduce on 65,536 nodes"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Estimate every strategy of every system at every size."""
        found: Found = {}
        for size in self.sizes:
            progress(size_text(size))
            for net in as_published():
                for strategy, timed in on_rings(net, OP, size).items():
                    found[size, net.name, strategy] = timed
            found[size, "ramp", "ramp"] = on_ramp(OP, size)
        rows = tuple(
            (
                size_text(size),
                system,
                timed.label,
                timed.us,
                *shares(timed),
                timed.times(found[size, "ramp", "ramp"]),
            )
            for (size, system, _), timed in found.items()
        )
        columns = (
            *("buffer", "system", "strategy", "time_us"),
            *(f"{part.replace(' ', '_')}_percent" for part in PARTS),
            "times_ramp",
        )
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(found)),
            (ESTIMATED, _SIZES),
            tuple(
                _panel(found, size) for size in sorted({self.sizes[0], self.sizes[-1]})
            ),
        )

    def _claims(self, found: Found) -> Iterator[Comparison]:
        gain = {
            key: timed.times(found[key[0], "ramp", "ramp"])
            for key, timed in found.items()
            if key[1] != "ramp"
        }
        yield holds(
            "range of speed-ups over all sizes and strategies",
            "9X to 3.26E4X",
            f"{min(gain.values()):.1f}X to {max(gain.values()):.3g}X",
            holds=round(min(gain.values())) == 9 and 3.2e4 < max(gain.values()) < 3.3e4,
            why=f"sizes are not printed; {NOT_PRINTED}",
        )
        large = self.sizes[-1]
        least = min(times for key, times in gain.items() if key[0] == large)
        yield near(
            f"least speed-up with {size_text(large)}", 7.3, least, "X", why=NOT_PRINTED
        )
        yield holds(
            f"it is above the ratio of rates, 12.8 to 2.4 Tb/s ({size_text(large)})",
            "more than 5.3X",
            f"{least:.1f}X",
            holds=least > 12.8 / 2.4,
            why=NOT_PRINTED,
        )
        _, wire, adding = shares(found[large, "ramp", "ramp"])
        scatter = shares(on_ramp("reduce-scatter", large))
        yield holds(
            f"head to tail and computing on RAMP ({size_text(large)})",
            "44 % and 56 %",
            f"{wire:.0f} % and {adding:.0f} %",
            holds=abs(wire - 44) < 1 and abs(adding - 56) < 1,
            why="an all-reduce sends everything twice and adds once; for a"
            f" reduce-scatter it is {scatter[1]:.0f} % and {scatter[2]:.0f} %",
        )
        small = [
            shares(timed)[0]
            for (size, system, _), timed in found.items()
            if size == self.sizes[0] and system != "ramp"
        ]
        mine = shares(found[self.sizes[0], "ramp", "ramp"])[0]
        yield holds(
            f"head to head takes a smaller share of RAMP's time"
            f" ({size_text(self.sizes[0])})",
            "yes",
            f"{mine:.0f} % against {min(small):.0f} % and more",
            holds=mine < min(small),
            why="four steps with little data are waiting too",
        )


def shares(timed: Timed) -> tuple[float, float, float]:
    """Return the parts of a time in per cent, in the order of `PARTS`."""
    time = timed.time
    parts = (time.head_to_head_ps, time.head_to_tail_ps, time.compute_ps)
    head, wire, adding = (float(100 * part / time.total_ps) for part in parts)
    return head, wire, adding


def _panel(found: Found, size: int) -> Panel:
    bars = {key: timed for key, timed in found.items() if key[0] == size}
    names = tuple(
        "\n".join((title_of(system), title_of(timed.strategy), _time_text(timed)))
        for (_, system, _), timed in bars.items()
    )
    series = [
        Series(part, names, [shares(timed)[place] for timed in bars.values()])
        for place, part in enumerate(PARTS)
    ]
    return Panel(size_text(size), "", "share of the time (%)", series, kind="stack")


def _time_text(timed: Timed) -> str:
    us = float(timed.time.total_ps) / PS_PER_US
    for unit, name in ((10**6, "s"), (10**3, "ms")):
        if us >= unit:
            return f"{us / unit:.3g} {name}"
    return f"{us:.3g} us"


_SIZES = (
    "The paper names 10 GB alone; the other sizes are chosen here. Drawn are the least"
    " and the greatest; below each bar stands the time that it divides."
)

FIGURE = Fig20()
