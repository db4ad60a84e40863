"""SiP-ML Fig. 5: time to accuracy against the rate of a GPU, on six fabrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    above,
    between,
    fact,
    holds,
    not_reproducible,
)
from lightloom.papers.figure_data import Data
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipml.curve_styles import CLUSTERS, curve_panels
from lightloom.papers.sipml.setup import (
    CURVES,
    DATA_PARALLEL,
    FLAT,
    LATENCY,
    MEGATRON,
    OCS,
    RESNET,
    RING,
    ROOFLINE,
    TRANSFORMER,
)
from lightloom.papers.sipml.sweep import COLUMNS, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Row, Tell
    from lightloom.papers.sipml.setup import Trained
    from lightloom.report.panel import Panel

_TERABIT = 1000
_SAME = 1.02
"""Gains up to this are none."""

Curves = dict[str, dict[float, float]]
"""Minutes by fabric and rate in Gb/s."""


def _compute(
    tell: Tell,
    *,
    gpus: int = 1024,
    rates: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096, 8192),
    models: tuple[Trained, ...] = (RESNET, TRANSFORMER),
) -> Iterator[Row]:
    """Search, place and replay every model, fabric and rate of a GPU in Gb/s.

    Half of each rate is there for the ideal switch too.
    """
    halves = [rate // 2 for rate in rates if rate // 2 not in rates]
    for trained in models:
        planner = trained.planner(tell)
        yield from sweep(
            *(trained, gpus, rates, tell), planner=planner, data_parallel=True
        )
        yield from sweep(*(trained, gpus, halves, tell), planner=planner, only=(FLAT,))


def _curves(data: Data, model: str) -> Curves:
    found = {
        name: data.curve("gbit_per_s", "minutes", model=model, fabric=name)
        for name in data.names("fabric")
    }
    return {name: dict(sorted(curve.items())) for name, curve in found.items()}


def _claims(data: Data) -> Iterator[Comparison]:
    rates = data.given["rates"]
    for model in data.names("model"):
        curves = _curves(data, model)
        yield _gain(curves, model)
        yield _alike(curves, model)
        yield from _half(curves, model, rates)
        yield from _hybrid(curves, model)
        yield _plateau(curves, model, rates)
    if MEGATRON.model not in data.names("model"):
        yield _NO_MEGATRON


def _gain(curves: Curves, model: str) -> Comparison:
    """Compare SiP with clusters over all rates."""
    sip = [curves[name] for name in (OCS, RING)]
    gains = [
        (cluster, time / min(curve[rate] for curve in sip if rate in curve), rate)
        for cluster in CLUSTERS
        for rate, time in curves[cluster].items()
        if any(rate in curve for curve in sip)
    ]
    low, high = (pick((gain, rate) for _, gain, rate in gains) for pick in (min, max))
    return holds(
        f"{model}: SiP-ML is 1.3 to 9.1 times as fast as Elect-Cluster (4.3, i)",
        "1.3X to 9.1X over models and rates",
        f"{low[0]:.2f}X at {low[1]} Gb/s to {high[0]:.2f}X at {high[1]} Gb/s",
        points=between(
            {(cluster, f"{rate} Gb/s"): gain for cluster, gain, rate in gains},
            least=1.3,
            most=9.1,
        ),
        why="a server has the whole rate inside, between any two GPUs: where that,"
        " or its uplink, suffices a cluster is no slower. How often it does depends"
        " on the curve of iterations and on compute times",
    )


def _alike(curves: Curves, model: str) -> Comparison:
    """Compare the ring with switches over all rates."""
    switches = curves[OCS]
    ratios = {
        f"{rate} Gb/s": time / switches[rate]
        for rate, time in curves[RING].items()
        if rate in switches
    }
    return holds(
        f"{model}: SiP-Ring performs similarly to SiP-OCS (finding ii)",
        "similarly, within 10 % as read here",
        f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} of its time",
        points=between(ratios, least=0.9, most=1.1)
        or fact("both run at some rate", so=False),
        why="at high rates long ways on the ring take light of others",
    )


def _half(curves: Curves, model: str, rates: tuple[int, ...]) -> Iterator[Comparison]:
    """Compare SiP at a rate with the ideal switch at half of it, or less."""
    flat = curves[FLAT]
    for name in (OCS, RING):
        sip = curves[name]
        pairs = [
            (rate, sip[rate] / flat[rate // 2])
            for rate in rates
            if rate in sip and rate // 2 in flat
        ]
        slow = [rate for rate, ratio in pairs if ratio > 1]
        needed = [
            f"{rate}, where Elect-Flat is as slow at {_as_slow(flat, sip[rate])}"
            for rate in slow
        ]
        ways = " and long ways take light of others" if name == RING else ""
        yield holds(
            f"{model}: {name} needs at most twice the rate of Elect-Flat (4.3, iii)",
            "up to 2X for the same time",
            "of Elect-Flat's time at half the rate: "
            + ", ".join(f"{ratio:.2f} at {rate}" for rate, ratio in pairs),
            points=between({f"{rate} Gb/s": ratio for rate, ratio in pairs}, most=1)
            or fact("some rate has its half among the rates", so=False),
            why=f"circuits are coarse{ways}: slower at {', '.join(needed)} Gb/s",
        )


def _hybrid(curves: Curves, model: str) -> Iterator[Comparison]:
    """Compare hybrid with data parallelism on the ideal switch."""
    best = curves[FLAT]
    gains = {rate: time / best[rate] for rate, time in curves[DATA_PARALLEL].items()}
    fast = max(gains)
    yield holds(
        f"{model}: hybrid beats data parallelism at high rates (4.3, finding iv)",
        "by up to 2X; Transformer by about 50 % at 8 Tb/s",
        f"{gains[fast]:.2f}X at {fast} Gb/s",
        points=above({f"{fast} Gb/s": gains[fast]}, _SAME),
        why="large batches cost few iterations on this curve, so data parallelism"
        " alone goes far",
    )
    low = {rate: gain for rate, gain in gains.items() if rate < _TERABIT}
    if low:
        yield holds(
            f"{model}: hybrid does not beat data parallelism below 1 Tb/s (4.3)",
            "Transformer: it cannot",
            ", ".join(f"{gain:.2f}X at {rate}" for rate, gain in low.items()),
            points=between(low, most=_SAME),
            why="at the lowest rate and the largest batch, GPUs that share a model"
            " have fewer gradients each to sum, which saves more than tensors cost",
        )


def _plateau(curves: Curves, model: str, rates: tuple[int, ...]) -> Comparison:
    """See whether clusters gain from the rate within servers."""
    middle, last = rates[len(rates) // 2], rates[-1]
    times = {name: curves[name] for name in (*CLUSTERS, FLAT)}
    gains = {name: time[middle] / time[last] for name, time in times.items()}
    slow, quick = (times[name] for name in CLUSTERS)
    ahead = all(quick[rate] <= slow[rate] for rate in rates)
    level = all(gains[name] <= max(_SAME, gains[FLAT]) for name in CLUSTERS)
    why = "servers of 8 hold all that shares this model, and what goes between"
    why += " servers is no bottleneck: a higher rate inside still helps"
    if level:
        why = "the slower uplink is ahead at some rate: of the best estimates only"
        why += " two are replayed"
    return holds(
        f"{model}: Elect-Cluster levels off as B grows, 400G ahead of 200G (4.3)",
        "levels off",
        f"from {middle} to {last} Gb/s: "
        + ", ".join(f"{name} {100 * (gain - 1):+.0f} %" for name, gain in gains.items())
        + ("; 400G never behind" if ahead else "; 400G behind at some rate"),
        points=between(
            {name: gains[name] for name in CLUSTERS}, most=max(_SAME, gains[FLAT])
        )
        + between(
            {
                f"time of 400G over 200G at {rate} Gb/s": quick[rate] / slow[rate]
                for rate in rates
            },
            most=1,
        ),
        why=why,
    )


def _panels(data: Data) -> Iterator[Panel]:
    # Elect-Flat also has halves of the rates, for claims: not drawn.
    place, rates = data.columns.index("gbit_per_s"), data.given["rates"]
    drawn = tuple(row for row in data.rows if row[place] in rates)
    return curve_panels(
        Data(data.columns, drawn), "gbit_per_s", "rate of a GPU (Gb/s)", y_log=10
    )


def _as_slow(flat: dict[float, float], time: float) -> str:
    """Return the highest rate at which the ideal switch needs as long as `time`."""
    rates = [rate for rate, needed in flat.items() if needed >= time]
    return str(max(rates)) if rates else "none of the rates"


_ALIKE = (
    "Replicas are alike: a few of them are replayed on a smaller fabric of the same"
    " kind, to the picosecond what all of them take (a test compares the two)."
)
_NO_MEGATRON = not_reproducible(
    "Megatron of 18 billion parameters: the largest gains",
    "up to 9.1X",
    "not computed",
    "its batch of 1024 fits 1024 GPUs of 32 GB at no split into 16 parts or fewer"
    " unless activations are computed anew, which the paper does not describe; a batch"
    " of 64 does, as an instance for `lightloom train`",
)

FIGURE = Figure(
    name="sipml-fig5",
    takes_s=68,
    title="time to accuracy against the rate of a GPU, 1024 GPUs",
    columns=COLUMNS,
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(CURVES, ROOFLINE, LATENCY, _ALIKE),
)
