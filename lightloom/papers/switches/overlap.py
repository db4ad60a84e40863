"""Halving and doubling on switches that change while others transmit, and rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.task import Collective
from lightloom.core.units import PS_PER_S
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.papers.claims import between, holds, near
from lightloom.papers.collectives import verified_schedule
from lightloom.papers.reproduction import Figure, Plot
from lightloom.replay import completion_time_ps
from lightloom.synth.ocs.baseline_schedules import baseline_schedule, ideal_ps
from lightloom.synth.ocs.plane_walks import EVERY_STEP, ONE_SHOT
from lightloom.synth.publish import signed
from lightloom.validate import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell

KNOWN = {
    (16, 4, 25.0, 0.125): (1.56234, 0.369375, 0.16234, 0.369375),
    (16, 4, 25.0, 2.0): (1.5975, 0.51, 0.1975, 0.51),
    (16, 4, 25.0, 8.0): (1.71, 0.96, 0.31, 0.84),
    (16, 4, 25.0, 32.0): (2.16, 2.76, 0.76, 1.61),
    (16, 4, 25.0, 128.0): (3.96, 9.96, 2.56, 3.84),
    (256, 8, 12.5, 0.5): (3.32996, 0.5996875, 0.32996, 0.5996875),
    (256, 8, 12.5, 32.0): (3.9575, 5.62, 0.9575, 2.02174),
    (8, 2, 50.0, 32.0): (1.68, None, 0.68, 1.34),
}
"""Times in ms by nodes, planes, GB/s a port and MB: every plane every step, planes that
keep one configuration each, no reconfigurations, and the best known whose planes hold
what they are used for."""

_HALVING = "lumorph-2"
_BYTES_PER_MB, _BITS_PER_GB = 10**6, 8 * 10**9
_MS = PS_PER_S / 1000
_BEST, _CLOSED = 0.01, 0.001
METHODS = (EVERY_STEP, ONE_SHOT, "ideal", "overlapped", "auto")


def switches(nodes: int, planes: int, port_gbyte_per_s: float) -> Ocs:
    """Return switches with .2 ms to change and .02 ms a transfer."""
    rate = round(planes * port_gbyte_per_s * _BITS_PER_GB)
    return Ocs(
        nodes=nodes,
        switches=planes,
        bits_per_second_per_node=rate,
        alpha_ps=20_000_000,
        reconfiguration_ps=200_000_000,
    )


def _baseline_ms(fabric: Ocs, task: Collective, baseline: str) -> float:
    """Return when a verified schedule of a baseline ends."""
    schedule = baseline_schedule(fabric, task, _HALVING, baseline)
    verdict = verify(signed(schedule, Instance(fabric, task, baseline)))
    assert verdict.valid, verdict.violations[0]
    return completion_time_ps(schedule) / _MS


def _times_ms(fabric: Ocs, task: Collective) -> Iterator[tuple[str, float, str]]:
    """Yield the time of each method, and the algorithm behind it."""
    yield EVERY_STEP, _baseline_ms(fabric, task, EVERY_STEP), _HALVING
    if (task.rank_count - 1).bit_length() <= fabric.switches:
        yield ONE_SHOT, _baseline_ms(fabric, task, ONE_SHOT), _HALVING
    yield "ideal", ideal_ps(fabric, task, _HALVING) / _MS, _HALVING
    for method, name in (("overlapped", _HALVING), ("auto", "auto")):
        schedule = verified_schedule(fabric, task.op, task.buffer_bytes, name, {})
        yield method, completion_time_ps(schedule) / _MS, schedule.algorithm.name


def _compute(
    tell: Tell, *, cases: tuple[tuple[int, int, float, float], ...] = tuple(KNOWN)
) -> Iterator[Row]:
    """Make, verify and replay every schedule."""
    for case in cases:
        nodes, planes, rate, size = case
        fabric = switches(nodes, planes, rate)
        buffer_bytes = round(size * _BYTES_PER_MB)
        task = Collective("all-reduce", tuple(range(nodes)), buffer_bytes)
        tell(f"{nodes} nodes, {planes} planes, {size} MB")
        known = dict(zip(METHODS, KNOWN.get(case, ()), strict=False))
        for method, time_ms, algorithm in _times_ms(fabric, task):
            yield *case, method, algorithm, time_ms, known.get(method)


def _claims(data: Data) -> Iterator[Comparison]:
    for nodes, planes, _, size, method, _, time_ms, known in data.rows:
        if not isinstance(time_ms, float) or not isinstance(known, float):
            continue
        claim = f"{nodes} nodes, {planes} planes, {size} MB: {method}"
        if method == "overlapped":
            yield holds(
                claim,
                f"{known} ms",
                f"{time_ms:.6g} ms",
                points=between({"time in ms": time_ms}, most=known * (1 + _BEST)),
                why="the search found no better used sets",
            )
        else:
            yield near(claim, known, time_ms, "ms", band=_CLOSED)


_PLOT = Plot(
    x="megabytes",
    y="time_ms",
    series="method",
    panel="nodes",
    title="{} nodes",
    x_label="all-reduce (MB)",
    y_label="completion time (ms)",
    x_log=10,
    y_log=10,
)

FIGURE = Figure(
    name="overlap-table1",
    takes_s=14,
    title="all-reduce on switches that change while others transmit",
    columns=(
        *("nodes", "planes", "port_gbyte_per_s", "megabytes"),
        *("method", "algorithm", "time_ms", "known_ms"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_PLOT,
    notes=(
        "The ideal is an estimate; all other times of ours are of verified schedules.",
        (
            "overlapped: halving and doubling, planes changing by themselves; known:"
            " the best whose planes hold what they are used for."
        ),
        (
            "A published optimiser prints shorter times for some cases: on those"
            " schedules planes do not hold what they are used for."
        ),
    ),
)
