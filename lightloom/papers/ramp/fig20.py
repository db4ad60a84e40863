"""RAMP Fig. 20: what the time of an all-reduce is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    above,
    below,
    between,
    holds,
    near,
)
from lightloom.papers.ramp.baseline_networks import as_published
from lightloom.papers.ramp.compared_systems import (
    ESTIMATED,
    GB,
    MB,
    NOT_PRINTED,
    on_ramp,
    on_rings,
    size_text,
    title_of,
)
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.ramp.compared_systems import Timed

OP = "all-reduce"
PARTS = {
    "head to head": "head_to_head_percent",
    "head to tail": "head_to_tail_percent",
    "computing": "computing_percent",
}
"""Parts of a time, and their columns."""


def _compute(
    tell: Tell, *, sizes: tuple[int, ...] = (MB, 100 * MB, GB, 10 * GB)
) -> Iterator[Row]:
    """Estimate every strategy of every system at every size of the buffer."""
    for size in sizes:
        tell(size_text(size))
        ours = on_ramp(OP, size)
        rivals = [
            timed
            for net in as_published()
            for timed in on_rings(net, OP, size).values()
        ]
        for timed in (*rivals, ours):
            yield (
                *(size_text(size), timed.system, timed.label, timed.us),
                *(*_percent(timed), timed.times(ours)),
            )


def _percent(timed: Timed) -> tuple[float, float, float]:
    """Return the parts of a time in per cent, in the order of `PARTS`."""
    time = timed.time
    parts = (time.head_to_head_ps, time.head_to_tail_ps, time.compute_ps)
    head, wire, adding = (float(100 * part / time.total_ps) for part in parts)
    return head, wire, adding


def _claims(data: Data) -> Iterator[Comparison]:
    others = data.without("system", "ramp")
    gains = others.numbers("times_ramp")
    yield holds(
        "range of speed-ups over all sizes and strategies",
        "9X to 3.26E4X",
        f"{min(gains):.1f}X to {max(gains):.3g}X",
        points=between({"least": min(gains)}, least=8.5, most=9.5)
        + between({"greatest": max(gains)}, least=3.2e4, most=3.3e4),
        why=f"sizes are not printed; {NOT_PRINTED}",
    )
    small, *_, large = data.names("buffer")
    least = min(others.numbers("times_ramp", buffer=large))
    yield near(f"least speed-up with {large}", 7.3, least, "X", why=NOT_PRINTED)
    yield holds(
        f"it is above the ratio of rates, 12.8 to 2.4 Tb/s ({large})",
        "more than 5.3X",
        f"{least:.1f}X",
        points=above({"least": least}, 12.8 / 2.4),
        why=NOT_PRINTED,
    )
    wire, adding = (
        data.number(PARTS[part], buffer=large, system="ramp")
        for part in ("head to tail", "computing")
    )
    scatter = _percent(on_ramp("reduce-scatter", max(data.given["sizes"])))
    yield holds(
        f"head to tail and computing on RAMP ({large})",
        "44 % and 56 %",
        f"{wire:.0f} % and {adding:.0f} %",
        points=between({"head to tail": wire}, least=43, most=45)
        + between({"computing": adding}, least=55, most=57),
        why="an all-reduce sends everything twice and adds once; for a"
        f" reduce-scatter it is {scatter[1]:.0f} % and {scatter[2]:.0f} %",
    )
    waiting = PARTS["head to head"]
    mine = data.number(waiting, buffer=small, system="ramp")
    theirs = min(others.numbers(waiting, buffer=small))
    yield holds(
        f"head to head takes a smaller share of RAMP's time ({small})",
        "yes",
        f"{mine:.0f} % against {theirs:.0f} % and more",
        points=below({"of the least of the others": mine / theirs}, 1),
        why="four steps with little data are waiting too",
    )


def _panels(data: Data) -> Iterator[Panel]:
    buffers = data.names("buffer")
    for buffer in dict.fromkeys((buffers[0], buffers[-1])):
        bars = data.where(buffer=buffer)
        systems, strategies = bars.values("system"), bars.values("strategy")
        names = [
            "\n".join((title_of(str(system)), title_of(str(strategy).split()[0]), text))
            for system, strategy, text in zip(
                systems,
                strategies,
                map(_time_text, bars.numbers("time_us")),
                strict=True,
            )
        ]
        series = [
            Series(part, names, bars.numbers(column)) for part, column in PARTS.items()
        ]
        yield Panel(buffer, "", "share of the time (%)", series, kind="stack")


def _time_text(us: float) -> str:
    for unit, name in ((10**6, "s"), (10**3, "ms")):
        if us >= unit:
            return f"{us / unit:.3g} {name}"
    return f"{us:.3g} us"


_SIZES = (
    "The paper names 10 GB alone; the other sizes are chosen here. Drawn are the least"
    " and the greatest; below each bar stands the time that it divides."
)

FIGURE = Figure(
    name="ramp-fig20",
    title="parts of the time of an all-reduce on 65,536 nodes",
    columns=(
        *("buffer", "system", "strategy", "time_us"),
        *(*PARTS.values(), "times_ramp"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(ESTIMATED, _SIZES),
)
