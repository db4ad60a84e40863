"""RAMP Figs 8, 15, 20 to 23: steps and times of all-reduce and reduce-scatter."""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.papers.claims import (
    above,
    below,
    between,
    fact,
    falling,
    holds,
    near,
    rising,
)
from lightloom.papers.ramp.closed_forms import (
    HIERARCHICAL,
    RING,
    STRATEGIES,
    as_published,
    fat_tree,
    plans,
    topoopt,
)
from lightloom.papers.ramp.systems import (
    GB,
    MB,
    NOT_PRINTED,
    PROCESSOR,
    TERABIT,
    boxes,
    fastest,
    on_ramp,
    on_rings,
    ramp,
    ramp_plans,
    size_text,
    title_of,
)
from lightloom.papers.reproduction import Plot, figures
from lightloom.programs.ramp_nic import check_operation, operation
from lightloom.report.panel import Mark, Panel, Series
from lightloom.synth.ramp.team import STEPS, Shape, per_pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.papers.claims import Comparison, Point
    from lightloom.papers.ramp.systems import Timed
    from lightloom.papers.reproduction import Data, Row, Tell


BITS_PER_S = 2_400_000_000_000
"""Of a node, on all networks alike."""
SIZES = tuple(2**k for k in range(4, 17))
BUFFERS = (MB, 100 * MB, 10 * GB)
SYSTEMS = (*STRATEGIES, "ramp")
OP = "all-reduce"


def sweep(
    nodes: Sequence[int], buffers: Sequence[int], tell: Tell
) -> Iterator[tuple[int, int, dict[str, Timed]]]:
    """Yield numbers of nodes, sizes of the buffer, and the all-reduce by strategy."""
    for count in nodes:
        tell(f"{count} nodes")
        network = fat_tree(BITS_PER_S, BITS_PER_S).part(count)
        for size in buffers:
            mine = {"ramp": on_ramp(OP, size, count, BITS_PER_S)}
            yield count, size, on_rings(network, OP, size) | mine


def against_nodes(y: str, y_label: str, *marks: Mark) -> Plot:
    """Return a plot of a column against the nodes, a panel for each buffer."""
    return Plot(
        x="nodes",
        y=y,
        series="system",
        panel="buffer",
        x_label="nodes",
        y_label=y_label,
        only=SYSTEMS,
        names=title_of,
        x_log=2,
        y_log=10,
        tick="{:,}".format,
        ticks_every=4,
        marks=marks,
    )


PARTS = {
    "head to head": "head_to_head_percent",
    "head to tail": "head_to_tail_percent",
    "computing": "computing_percent",
}
"""Parts of a time, and their columns."""


def _fig20_rows(
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


def _fig20_claims(data: Data) -> Iterator[Comparison]:
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


def _fig20_panels(data: Data) -> Iterator[Panel]:
    buffers = data.names("buffer")
    for buffer in dict.fromkeys((buffers[0], buffers[-1])):
        bars = data.where(buffer=buffer)
        columns = (bars.values(name) for name in ("system", "strategy", "time_us"))
        names = [
            f"{title_of(system)}\n{title_of(strategy.split()[0])}\n{_time_text(us)}"
            for system, strategy, us in zip(*columns, strict=True)
            if isinstance(system, str) and isinstance(strategy, str)
            if isinstance(us, float)
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


def _fig21_rows(
    tell: Tell, *, nodes: tuple[int, ...] = SIZES, buffers: tuple[int, ...] = BUFFERS
) -> Iterator[Row]:
    """Estimate every strategy for numbers of nodes and sizes of the buffer."""
    for count, size, by_system in sweep(nodes, buffers, tell):
        for system, timed in by_system.items():
            yield (
                *(count, size_text(size), system, timed.label, timed.us),
                *(timed.time.steps, timed.times(by_system["ramp"])),
            )


def _fig21_claims(data: Data) -> Iterator[Comparison]:
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


NEGLIGIBLE = 10
"""Ratio above which the paper calls head-to-head time negligible."""


def _fig22_rows(
    tell: Tell, *, nodes: tuple[int, ...] = SIZES, buffers: tuple[int, ...] = BUFFERS
) -> Iterator[Row]:
    """Estimate every strategy for numbers of nodes and sizes of the buffer."""
    for count, size, by_system in sweep(nodes, buffers, tell):
        for system, timed in by_system.items():
            ratio = float(timed.time.head_to_tail_ps / timed.time.head_to_head_ps)
            yield count, size_text(size), system, timed.label, ratio


def _fig22_claims(data: Data) -> Iterator[Comparison]:
    first, *_, last = data.sizes("nodes")
    large = data.names("buffer")[-1]
    mine = data.numbers("h2t_over_h2h", buffer=large, system="ramp")
    yield holds(
        f"RAMP keeps its ratio with the nodes ({large})",
        "approximately constant",
        f"{min(mine):.3g} to {max(mine):.3g}",
        points=between({"greatest over least": max(mine) / min(mine)}, most=NEGLIGIBLE),
        why="head-to-head time grows from 2 to 8 steps",
    )
    at_end = data.where(nodes=last, buffer=large)
    ends = dict(
        zip(at_end.names("system"), at_end.numbers("h2t_over_h2h"), strict=True)
    )
    yield holds(
        f"hierarchical and RAMP stay above {NEGLIGIBLE}, the others do not"
        f" ({large}, {last} nodes)",
        "hierarchical, ramp",
        ", ".join(f"{system} {value:.3g}" for system, value in ends.items()),
        points=above({name: ends[name] for name in (HIERARCHICAL, "ramp")}, NEGLIGIBLE)
        + between(
            {
                name: value
                for name, value in ends.items()
                if name not in (HIERARCHICAL, "ramp")
            },
            most=NEGLIGIBLE,
        ),
        why="the fewest steps of a 2D torus are few beside so much data",
    )
    before, after = (
        data.numbers("h2t_over_h2h", nodes=nodes, system=RING)
        for nodes in (first, last)
    )
    falls = [early / late for early, late in zip(before, after, strict=True)]
    yield holds(
        "ring falls with the nodes, alike for every size",
        "yes",
        ", ".join(f"{times:,.0f}X" for times in falls),
        points=above(dict(enumerate(falls)), 1)
        + below({"greatest over least": max(falls) / min(falls)}, 1.01),
        why="it does not",
    )


_SCATTER = "reduce-scatter"


def _fig23_rows(
    tell: Tell, *, nodes: tuple[int, ...] = SIZES, size_bytes: int = GB
) -> Iterator[Row]:
    """Yield the time that sums take with one source a step, and on RAMP."""
    fabric = ramp()
    for count in nodes:
        tell(f"{count} nodes")
        line = plans(topoopt(1).part(count), _SCATTER, size_bytes)
        steps = ramp_plans(fabric, next(boxes(fabric, count)), _SCATTER, size_bytes)
        alone_us, several_us = (
            float(fastest(offered, PROCESSOR)[1].compute_ps) / PS_PER_US
            for offered in (line, steps)
        )
        yield count, alone_us, several_us, alone_us / several_us


def _fig23_claims(data: Data) -> Iterator[Comparison]:
    ratios = data.numbers("ratio")
    last = data.sizes("nodes")[-1]
    yield near(f"speed-up at {last} nodes", 2.8, ratios[-1], "X")
    yield holds(
        "adding several sources at once is faster at every size",
        "yes",
        f"{min(ratios):.2f}X to {max(ratios):.2f}X",
        points=above(data.curve("nodes", "ratio"), 1),
        why="with two members a step has one source too",
    )


PRINTED_SUBGROUPS = (18, 18, 18, 27)
"""Subgroups by step, from Table 5: Lambda J, Lambda J, Lambda x, J x^2."""
_SHOWN = 3
"""Subgroups that have a colour of their own."""


def _fig8_rows(tell: Tell, *, sizes: tuple[int, int, int] = (3, 3, 6)) -> Iterator[Row]:
    """Yield the subgroups of every step for (groups, racks, numbers)."""
    tell("subgroups")
    for step in STEPS:
        of = _subgroups(Shape(*sizes), step)
        for number in np.unique(of).tolist():
            nodes = np.flatnonzero(of == number).tolist()
            yield step, number, " ".join(map(str, nodes))


def _subgroups(shape: Shape, step: int) -> IntArray:
    """Return the subgroup of each node in a step."""
    places = shape.places_of(np.arange(shape.size, dtype=np.int64))
    return shape.subgroup(step, places)


def _as_many(counts: Iterable[int], wanted: Iterable[int]) -> tuple[Point, ...]:
    """Return points that hold if numbers by step are those that are wanted."""
    differences = (
        count - printed for count, printed in zip(counts, wanted, strict=True)
    )
    named = (f"step {step}" for step in STEPS)
    return between(dict(zip(named, differences, strict=True)), least=0, most=0)


def _fig8_claims(data: Data) -> Iterator[Comparison]:
    shape = Shape(*data.given["sizes"])
    fabric = Ramp(groups=shape.groups, racks=shape.racks, nodes_per_rack=shape.numbers)
    report = check_operation(operation(fabric, "reduce-scatter", range(shape.size)))
    counts = tuple(len(np.unique(_subgroups(shape, step))) for step in STEPS)
    yield holds(
        "subgroups by step (Table 5)",
        ", ".join(map(str, PRINTED_SUBGROUPS)),
        ", ".join(map(str, counts)),
        points=_as_many(counts, PRINTED_SUBGROUPS),
        why="another network than the paper's",
    )
    yield holds(
        "every node ends with one part of all nodes' sums, and nothing contends",
        "yes",
        f"{report.circuits} circuits, {report.followed} of {report.chunks} chunks"
        f" followed, {len(report.violations)} violations",
        points=between({"violations": len(report.violations)}, most=0)
        + fact("valid", so=report.valid),
        why="a rule is broken",
    )
    used = [
        (shape.members(step) - 1) * per_pair(shape.groups, shape, step)
        for step in STEPS
    ]
    wanted = (shape.groups - 1,) * 3 + (shape.groups,)
    yield holds(
        "transceivers in use by step",
        ", ".join(map(str, wanted)),
        ", ".join(map(str, used)),
        points=_as_many(used, wanted),
        why="racks of a group share subnets: with more for each pair of step 4,"
        " circuits of different racks collide",
    )


def _fig8_panels(data: Data) -> Iterator[Panel]:
    """Yield the pairs of each step as a matrix, three subgroups in colour."""
    for step in STEPS:
        of = _subgroups(Shape(*data.given["sizes"]), step)
        pairs = (of[:, None] == of[None, :]) & ~np.eye(len(of), dtype=bool)
        src, dst = np.nonzero(pairs)
        shown = np.isin(of[src], np.unique(of)[:_SHOWN])
        series = [
            Series(label, src[some].tolist(), dst[some].tolist(), "", colour)
            for label, some, colour in (
                ("pair", ~shown, 5),
                (f"pair of the first {_SHOWN} subgroups", shown, 1),
            )
        ]
        yield Panel(f"step {step}", "source", "destination", series)


_OP = "reduce-scatter"
_COLUMNS = {name: name.replace("-", "_") for name in (*STRATEGIES, "ramp")}
"""Columns of the strategies."""

_SIZES = tuple(2**k for k in range(1, 17))


def _fig15_rows(tell: Tell, *, sizes: tuple[int, ...] = _SIZES) -> Iterator[Row]:
    """Yield the fewest steps of every strategy, for powers of two of nodes."""
    for nodes in sizes:
        tell(f"{nodes} nodes")
        counts: dict[str, int] = {}
        for plan in plans(fat_tree(TERABIT, TERABIT).part(nodes), _OP, 2**20):
            taken = sum(run.steps for run in plan.runs)
            counts[plan.strategy] = min(taken, counts.get(plan.strategy, taken))
        counts["ramp"] = len(next(boxes(ramp(), nodes)).steps)
        yield nodes, *(counts.get(name) for name in _COLUMNS)


def _fig15_claims(data: Data) -> Iterator[Comparison]:
    steps = {int(nodes): count for nodes, count in data.curve("nodes", "ramp").items()}
    most = max(steps.values())
    yield holds(
        "RAMP takes at most 4 steps, 8 for all-reduce (conclusion)",
        "4",
        str(most),
        points=between(
            {f"{nodes} nodes": count for nodes, count in steps.items()}, most=4
        ),
        why="a smaller network needs a step for each of its dimensions",
    )
    printed = {nodes: ceil(round(log(nodes, 32), 9)) for nodes in steps}
    off = [nodes for nodes, count in steps.items() if count != printed[nodes]]
    yield holds(
        "RAMP takes log_x(N) steps, rounded up, x = 32 (section 5)",
        "every size",
        f"{len(steps) - len(off)} of {len(steps)} sizes",
        points=between(
            {
                f"{nodes} nodes": count - printed[nodes]
                for nodes, count in steps.items()
            },
            least=0,
            most=0,
        ),
        why=f"not at {off}",
    )
    last = max(steps)
    at_last = data.where(nodes=last)
    *counts, mine = [
        count for column in _COLUMNS.values() for count in at_last.numbers(column)
    ]
    yield holds(
        f"ring, 2D torus, hierarchical, RAMP take ever fewer steps ({last} nodes)",
        "yes",
        " > ".join(map(str, [*counts, mine])),
        points=falling(dict(zip(_COLUMNS, (*counts, mine), strict=False)))
        + below({"ramp": mine}, counts[-1]),
        why="with few nodes, strategies coincide",
    )


FIGURE = figures(
    __package__,
    ("ramp-fig8", _fig8_rows, _fig8_claims, _fig8_panels),
    (
        "ramp-fig15",
        _fig15_rows,
        _fig15_claims,
        Plot(
            x="nodes",
            series={column: title_of(name) for name, column in _COLUMNS.items()},
            title="reduce-scatter",
            x_label="nodes",
            y_label="steps",
            x_log=2,
            y_log=10,
            ticks_every=3,
        ),
    ),
    ("ramp-fig20", _fig20_rows, _fig20_claims, _fig20_panels),
    (
        "ramp-fig21",
        _fig21_rows,
        _fig21_claims,
        against_nodes("time_us", "completion time (us)"),
    ),
    (
        "ramp-fig22",
        _fig22_rows,
        _fig22_claims,
        against_nodes(
            "h2t_over_h2h",
            "head to tail / head to head",
            Mark("latency negligible above", y=NEGLIGIBLE),
        ),
    ),
    (
        "ramp-fig23",
        _fig23_rows,
        _fig23_claims,
        Plot(
            x="nodes",
            series={
                "one_source_us": "one source a step",
                "ramp_us": "RAMP, several sources",
            },
            title="1 GB",
            x_label="nodes",
            y_label="computing (us)",
            x_log=2,
            tick="{:,}".format,
            ticks_every=4,
        ),
    ),
)
