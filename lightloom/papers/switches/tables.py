"""Tables of three papers on switches: shift rings, parallel switches, and overlap."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective, Demand
from lightloom.core.units import MIB, PS_PER_S, PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.papers.claims import between, fact, holds, near
from lightloom.papers.collectives import verified_schedule
from lightloom.papers.reproduction import Plot, figures
from lightloom.plans.algorithms.bruck import hop_rounds
from lightloom.replay import completion_time_ps
from lightloom.synth.bounds import find_bound
from lightloom.synth.ocs.baseline_schedules import baseline_schedule, ideal_ps
from lightloom.synth.ocs.plane_walks import EVERY_STEP, ONE_SHOT
from lightloom.synth.publish import signed
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from lightloom.validate.certificates.completion_time.switch_uses import least_line_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import FloatArray
    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell


KNOWN_MS = {
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
"""Decimal."""
_MS = PS_PER_S / 1000
_BEST, _CLOSED = 0.01, 0.001
"""How far, relatively, a best known time and one of a closed form may be exceeded."""
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


def _overlap_baseline_ms(fabric: Ocs, task: Collective, baseline: str) -> float:
    """Return when a verified schedule of a baseline ends."""
    schedule = baseline_schedule(fabric, task, _HALVING, baseline)
    verdict = verify(signed(schedule, Instance(fabric, task, baseline)))
    assert verdict.valid, verdict.violations[0]
    return completion_time_ps(schedule) / _MS


def _times_ms(fabric: Ocs, task: Collective) -> Iterator[tuple[str, float, str]]:
    """Yield the time of each method, and the algorithm behind it."""
    yield EVERY_STEP, _overlap_baseline_ms(fabric, task, EVERY_STEP), _HALVING
    if (task.rank_count - 1).bit_length() <= fabric.switches:
        yield ONE_SHOT, _overlap_baseline_ms(fabric, task, ONE_SHOT), _HALVING
    yield "ideal", ideal_ps(fabric, task, _HALVING) / _MS, _HALVING
    for method, name in (("overlapped", _HALVING), ("auto", "auto")):
        schedule = verified_schedule(fabric, task.op, task.buffer_bytes, name, {})
        yield method, completion_time_ps(schedule) / _MS, schedule.algorithm.name


def _overlap_compute(
    tell: Tell, *, cases: tuple[tuple[int, int, float, float], ...] = tuple(KNOWN_MS)
) -> Iterator[Row]:
    """Make, verify and replay every schedule."""
    for case in cases:
        nodes, planes, rate, size = case
        fabric = switches(nodes, planes, rate)
        buffer_bytes = round(size * _BYTES_PER_MB)
        task = Collective("all-reduce", tuple(range(nodes)), buffer_bytes)
        tell(f"{nodes} nodes, {planes} planes, {size} MB")
        known = dict(zip(METHODS, KNOWN_MS.get(case, ()), strict=False))
        for method, time_ms, algorithm in _times_ms(fabric, task):
            yield *case, method, algorithm, time_ms, known.get(method)


def _overlap_claims(data: Data) -> Iterator[Comparison]:
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


_OVERLAP_PLOT = Plot(
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


KNOWN_US = {(1, 0): 403.5, (1, 5): 82.7, (1, 2): 80.4} | {
    (8, 0): 2715.6,
    (8, 5): 1017.9,
    (8, 2): 696.7,
}
"""An all-to-all, by MiB and reconfigurations."""
KNOWN_CUTS = {
    ("all-to-all", 1): "3",
    ("all-to-all", 2): "2 4",
    ("all-gather", 1): "4",
    ("all-gather", 2): "3 5",
    ("reduce-scatter", 1): "2",
    ("reduce-scatter", 2): "1 3",
}
"""Of 64 ranks, in the order of time: before which of six steps strides change."""
OPERATIONS = ("all-to-all", "all-gather", "reduce-scatter")
_STEP_US, _HOP_US = 1.7, 1.0
"""Of the paper: what a step costs, and each hop of it, in microseconds."""
_BYTES_PER_US = 10**5
"""Of a port: 800 Gb/s."""
_DELAYS_US = {1: 7, 8: 150}


def best_cuts(
    steps: int, cuts: int, weight: Callable[[int], int] = lambda _step: 1
) -> tuple[int, ...]:
    """Return the steps before which strides change, with least weight times hops."""
    places = combinations(range(1, steps), cuts)
    return min(
        places,
        key=lambda some: (
            sum(weight(step) * hops for step, hops in _step_hops(some, steps)),
            some,
        ),
    )


def _step_hops(cuts: tuple[int, ...], steps: int) -> Iterator[tuple[int, int]]:
    """Yield the hops that each step takes."""
    for low, high in pairwise([0, *cuts, steps]):
        for step in range(low, high):
            yield step, 2 ** (step - low)


def _replayed_us(
    op: str, ranks: int, size_bytes: int, delay_us: int, cuts: tuple[int, ...]
) -> float:
    """Return the time of a verified schedule, its first ring there from the start."""
    fabric = Ocs(
        nodes=ranks,
        switches=1,
        bits_per_second_per_node=8 * 10**6 * _BYTES_PER_US,
        alpha_ps=round(_HOP_US * PS_PER_US),
        reconfiguration_ps=delay_us * PS_PER_US,
        initial_configuration_charged=False,
    )
    given = {"cuts": list(cuts)}
    schedule = verified_schedule(fabric, op, size_bytes, "shift-rings", given)
    return completion_time_ps(schedule) / PS_PER_US


def _bruck_compute(
    tell: Tell, *, ranks: int = 64, mebibytes: tuple[int, ...] = (1, 8)
) -> Iterator[Row]:
    """Work out the printed cost, and replay a schedule, for every number of cuts."""
    steps = (ranks - 1).bit_length()
    for op, size in product(OPERATIONS, mebibytes):
        delay_us = _DELAYS_US.get(size, 7)
        gathers = op != "all-to-all"
        for count in range(steps):
            # What an all-gather moves doubles with every step.
            cuts = best_cuts(steps, count, (lambda k: 2**k) if gathers else lambda _: 1)
            shares = ranks if gathers else 2
            data_us = sum(
                hops * (2**step if gathers else 1)
                for step, hops in _step_hops(cuts, steps)
            ) * (size * MIB / shares / _BYTES_PER_US)
            hops = hop_rounds(cuts, steps)
            tell(f"{op}, {size} MiB, {count} reconfigurations")
            printed = steps * _STEP_US + hops * _HOP_US + data_us + count * delay_us
            replayed = _replayed_us(op, ranks, size * MIB, delay_us, cuts)
            order = cuts
            if op == "reduce-scatter":
                order = tuple(steps - cut for cut in reversed(cuts))
            known = op == "all-to-all" and ranks == _RANKS
            yield (
                *(op, ranks, size, delay_us, count, " ".join(map(str, order)), hops),
                *(printed, replayed),
                KNOWN_US.get((size, count)) if known else None,
            )


_RANKS = 64
"""Of the tables."""


def _bruck_claims(data: Data) -> Iterator[Comparison]:
    ranks = int(data.given["ranks"])
    for op, _, size, _, count, cuts, _, ours, replayed, known in data.rows:
        if not isinstance(ours, float) or not isinstance(replayed, float):
            continue
        steps_us = _STEP_US * (ranks - 1).bit_length()
        name = f"{op}, {size} MiB, {count} reconfigurations"
        places = KNOWN_CUTS.get((str(op), int(str(count)))) if ranks == _RANKS else None
        if places is not None:
            same = fact("best cuts", so=cuts == places)
            yield holds(f"{name}: best cuts", places, str(cuts), points=same, why="")
        if op == "all-to-all":
            yield near(
                f"{name}: replay and the cost of the steps",
                ours,
                replayed + steps_us,
                "us",
                band=1e-6,
            )
        else:
            yield holds(
                f"{name}: replay and the cost of the steps",
                f"{ours:.6g} us",
                f"{replayed + steps_us:.6g} us",
                points=between({name: replayed + steps_us}, most=ours * (1 + 1e-6)),
                why="the rings pass no block to a rank that has it",
            )
        if isinstance(known, float):
            yield near(name, known, ours, "us", band=1e-3)


_BRUCK_PLOT = Plot(
    x="reconfigurations",
    y="time_us",
    series="mebibytes",
    panel="operation",
    title="{}, 64 ranks",
    names=lambda mebibytes: f"{mebibytes} MiB",
    x_label="reconfigurations",
    y_label="completion time (us)",
    y_log=10,
)


_NODES = 32
"""Of the pipeline."""
_NOISE = 0.003
"""Standard deviation, as a share of the largest line sum."""


def pipeline_matrix(seed: int) -> FloatArray:
    """Return traffic of tensor, pipeline and data parallelism on 32 nodes.

    The largest line sum is 1. What is there has noise of standard deviation .003.
    """
    i, j = np.indices((_NODES, _NODES))
    ahead = ((i % 8 < 6) & (j - i == 2)) | ((i % 8 >= 6) & (i - j == 6))
    size = np.where((i != j) & (i // 2 == j // 2), 680 * 125 / 1024, 0.0)
    size += np.where(abs(i - j) == 8, 16 * 125 / 1024, 0.0)
    size += np.where(ahead, 741 / 1024, 0.0)
    size += np.where(abs(i - j) == 24, 96 / 1024, 0.0)
    return _with_noise(size, np.random.default_rng(seed), _NOISE)


def permutation_matrix(seed: int, noise: float = 0.0) -> FloatArray:
    """Return 16 random permutations of 100 nodes, four of .7 in all, twelve of .3.

    The standard deviation of the noise is relative to the largest line sum.
    """
    rng = np.random.default_rng(seed)
    size = np.zeros((100, 100))
    for weight in [0.7 / 4] * 4 + [0.3 / 12] * 12:
        size[np.arange(100), rng.permutation(100)] += weight
    np.fill_diagonal(size, 0.0)
    return _with_noise(size, rng, noise)


def _with_noise(size: FloatArray, rng: np.random.Generator, noise: float) -> FloatArray:
    size = size / _line_sum(size)
    drawn = rng.normal(0, noise, size.shape) if noise else 0.0
    size = np.where(size > 0, np.maximum(size + drawn, 0.0), 0.0)
    whole: FloatArray = size / _line_sum(size)
    return whole


def _line_sum(size: FloatArray) -> float:
    return float(max(size.sum(axis=0).max(), size.sum(axis=1).max()))


KNOWN_UNITS = {
    0.01: (0.0833, 0.0752, 0.0737),
    0.02: (0.1007, 0.0860, 0.0850),
    0.04: (0.1330, 0.1106, 0.1072),
    0.08: (0.1937, 0.1523, 0.1475),
}
"""Pipeline traffic on 16 switches by delay: the best published method, implemented
again; wrap-around packing; and the line bound."""

_PIPELINE = "pipeline"
_MATRICES: dict[str, tuple[Callable[[int], FloatArray], tuple[int, ...]]] = {
    _PIPELINE: (pipeline_matrix, (16,)),
    "permutations": (permutation_matrix, (4, 16)),
    "permutations-noise": (partial(permutation_matrix, noise=_NOISE), (4, 16)),
}
_WITHIN = {_PIPELINE: 0.03, "permutations": 0.06, "permutations-noise": 0.06}
_UNIT_BYTES, _UNIT_PS = 10**9, 10**12
"""What 1 stands for in the matrices, where a line lasts a second."""


def _question(matrix: FloatArray, switches: int, delay: float) -> Instance:
    """Return a matrix in which a line of sum 1 takes a circuit a second."""
    fabric = Ocs(
        nodes=len(matrix),
        switches=switches,
        bits_per_second_per_node=switches * 8 * _UNIT_BYTES,
        alpha_ps=0,
        reconfiguration_ps=round(delay * _UNIT_PS),
    )
    size = np.rint(matrix * _UNIT_BYTES).astype(np.int64)
    return Instance(fabric, Demand.from_matrix(size), "decomposition")


def _uses_bound(instance: Instance) -> float:
    certificate = find_bound("switch-uses", instance.fabric, instance.communication)
    return 0.0 if certificate is None else int(certificate.bound) / _UNIT_PS


def _line_bound(instance: Instance) -> float:
    """Return what the uses of a line take at least, all switches together."""
    fabric, demand = instance.fabric, instance.communication
    assert isinstance(fabric, Ocs)
    assert isinstance(demand, Demand)
    lines = defaultdict(list)
    for direction, ends in enumerate((demand.src, demand.dst)):
        for node, size_bytes in zip(ends, demand.bytes, strict=True):
            lines[direction, node].append(size_bytes)
    longest_ps = max(
        (least_line_ps(fabric, line) for line in lines.values()), default=0
    )
    return longest_ps / _UNIT_PS


def _decomposition_compute(
    tell: Tell,
    *,
    delays: tuple[float, ...] = tuple(KNOWN_UNITS),
    matrices: tuple[str, ...] = tuple(_MATRICES),
    seed: int = 0,
) -> Iterator[Row]:
    """Synthesise, verify and replay every matrix, number of switches and delay."""
    for name in matrices:
        make, counts = _MATRICES[name]
        for switches in counts:
            for delay in delays:
                tell(f"{name}, {switches} switches, delay {delay}")
                instance = _question(make(seed), switches, delay)
                synthesis = synthesise(instance).incumbent
                assert synthesis is not None
                assert verify(synthesis.schedule).valid
                published = KNOWN_UNITS.get(delay) if name == _PIPELINE else None
                yield (
                    *(name, switches, delay),
                    completion_time_ps(synthesis.schedule) / _UNIT_PS,
                    _line_bound(instance),
                    _uses_bound(instance),
                    *(published or (None, None, None)),
                )


def _decomposition_claims(data: Data) -> Iterator[Comparison]:
    for name, switches, delay, ours, line, uses, published, packed, bound in data.rows:
        if not all(isinstance(value, float) for value in (ours, line, uses)):
            continue
        case = f"{name}, {switches} switches, delay {delay}"
        best = max(float(line or 0), float(uses or 0))
        within = _WITHIN[str(name)]
        yield holds(
            f"{case}: near the bound",
            f"at most {within:.0%} above",
            f"{float(ours or 0) / best - 1:.2%} above {best:.4f}",
            points=between({"makespan": float(ours or 0)}, most=best * (1 + within)),
            why="permutations that each node needs once hold noise up",
        )
        if isinstance(bound, float) and isinstance(packed, float):
            yield near(f"{case}: line bound", bound, float(line or 0), "", band=0.003)
            yield holds(
                f"{case}: packing",
                f"{packed}, best published {published}",
                f"{ours:.4f}",
                points=between({"makespan": float(ours or 0)}, most=packed * 1.005),
                why="the noise is another one",
            )


_DECOMPOSITION_PLOT = Plot(
    x="delay",
    y="makespan",
    series="switches",
    panel="matrix",
    x_label="delay, in times of the busiest line",
    y_label="makespan, in times of the busiest line",
    names=lambda switches: f"{switches} switches",
)


FIGURE = figures(
    __package__,
    ("overlap-table1", _overlap_compute, _overlap_claims, _OVERLAP_PLOT),
    (
        "decomposition-table1",
        _decomposition_compute,
        _decomposition_claims,
        _DECOMPOSITION_PLOT,
    ),
    ("bruck-table1", _bruck_compute, _bruck_claims, _BRUCK_PLOT),
)
