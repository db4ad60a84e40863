"""SiP-ML Figs 5, 6, 7, 10, Table 1: times to accuracy, and traffic of an iteration."""

from __future__ import annotations

import functools
from math import nextafter
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import MEGA, PS_PER_US
from lightloom.papers.claims import (
    Point,
    above,
    below,
    between,
    fact,
    holds,
    not_reproducible,
    rising,
)
from lightloom.papers.reproduction import Data, Plot, figures
from lightloom.papers.sipml.setup import (
    CLUSTERS,
    DATA_PARALLEL,
    FLAT,
    MEGATRON,
    MOST_MODEL_PARALLEL,
    OCS,
    RESNET,
    RING,
    TRANSFORMER,
    best_plan,
    curve_plot,
    fabrics,
    minutes,
    sweep,
)
from lightloom.report.panel import Panel, Series
from lightloom.synth.demand_subsets import most_partners
from lightloom.training.iteration import traffic, training_iteration
from lightloom.training.node_layout import AlikeReplicas
from lightloom.training.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Row, Tell
    from lightloom.papers.sipml.setup import Trained
    from lightloom.report.panel import LineStyle


_TERABIT = 1000
"""In Gb/s."""
_SAME = 1.02
"""Gains up to this are none."""

Curves = dict[str, dict[float, float]]
"""Minutes by fabric and rate in Gb/s."""


def _fig5_rows(
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
    by_fabric = {
        name: data.curve("gbit_per_s", "minutes", model=model, fabric=name)
        for name in data.names("fabric")
    }
    return {name: dict(sorted(curve.items())) for name, curve in by_fabric.items()}


def _fig5_claims(data: Data) -> Iterator[Comparison]:
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


def _fig5_panels(data: Data) -> Iterator[Panel]:
    # Elect-Flat also has halves of the rates, for claims: not drawn.
    place, rates = data.columns.index("gbit_per_s"), data.given["rates"]
    drawn = tuple(row for row in data.rows if row[place] in rates)
    return curve_plot("gbit_per_s", "rate of a GPU (Gb/s)")(Data(data.columns, drawn))


def _as_slow(flat: dict[float, float], time: float) -> str:
    """Return the highest rate at which the ideal switch needs as long as `time`."""
    rates = [rate for rate, needed in flat.items() if needed >= time]
    return str(max(rates)) if rates else "none of the rates"


_NO_MEGATRON = not_reproducible(
    "Megatron of 18 billion parameters: the largest gains",
    "up to 9.1X",
    "not computed",
    "its batch of 1024 fits 1024 GPUs of 32 GB at no split into 16 parts or fewer"
    " unless activations are computed anew, which the paper does not describe; a batch"
    " of 64 does, as an instance for `lightloom train`",
)


def _fig6_rows(
    tell: Tell,
    *,
    gpus: int = 1024,
    rates: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096, 10_240),
    models: tuple[Trained, ...] = (RESNET, TRANSFORMER),
) -> Iterator[Row]:
    """Search, place and replay every model and rate of a GPU in Gb/s."""
    for trained in models:
        yield from sweep(trained, gpus, rates, tell, only=(OCS,))


def _fig6_claims(data: Data) -> Iterator[Comparison]:
    gpus = data.given["gpus"]
    for model in data.names("model"):
        degrees = data.curve("gbit_per_s", "model_parallel", model=model)
        replicas = data.curve("gbit_per_s", "replicas", model=model)
        ks = list(degrees.values())
        shown = ", ".join(
            f"{rate}: {k} x {replicas[rate]}" for rate, k in degrees.items()
        )
        yield holds(
            f"{model}: more model parallelism as the rate grows (Fig. 6)",
            "more",
            shown,
            points=rising(degrees),
            why="with this curve and these compute times the best degree does not"
            " rise throughout",
        )
        if model == TRANSFORMER.model:
            first, *_, last = zip(ks, replicas.values(), strict=True)
            yield holds(
                f"{model}: from 1 x 1024 to 16 x 64 at 10 Tb/s (4.3)",
                "16 x 64",
                shown,
                points=between({"lowest rate, degree": first[0]}, least=1, most=1)
                + between({"its replicas there": first[1]}, least=gpus, most=gpus)
                + between({"highest rate, degree": last[0]}, least=16, most=16)
                + between(
                    {"replicas there": last[1]}, least=gpus // 16, most=gpus // 16
                ),
                why="degrees depend on the curve of iterations, the batches tried"
                " and compute times, none of which the paper gives",
            )


_CLUSTER = CLUSTERS[-1]
_FIG10_FABRICS = (FLAT, _CLUSTER, OCS, RING)
_CLOSE = 1.25
"""Times up to this part of the ideal one are called close to it."""
_WELL = 0.9
"""Who gains this part of what the ideal fabric gains from more GPUs scales well."""


def _fig10_rows(
    tell: Tell,
    *,
    sizes: tuple[int, ...] = (64, 256, 1024),
    rate: int = 8192,
    models: tuple[Trained, ...] = (RESNET, TRANSFORMER),
) -> Iterator[Row]:
    """Search, place and replay every model, number of GPUs and fabric."""
    for gpus in sizes:
        for trained in models:
            yield from sweep(trained, gpus, (rate,), tell, only=_FIG10_FABRICS)


def _fig10_claims(data: Data) -> Iterator[Comparison]:
    sizes = data.sizes("gpus")
    for model in data.names("model"):
        times = {
            name: data.curve("gpus", "minutes", model=model, fabric=name)
            for name in _FIG10_FABRICS
        }
        ratios = {
            name: [time / times[FLAT][gpus] for gpus, time in times[name].items()]
            for name in (OCS, RING)
        }
        yield holds(
            f"{model}: SiP-OCS and SiP-Ring are close to Elect-Flat",
            "close at all scales, the ring sometimes slightly worse",
            "; ".join(
                f"{name} {', '.join(f'{ratio:.2f}' for ratio in line)} of its time"
                for name, line in ratios.items()
            ),
            points=between(
                {
                    (name, f"{gpus} GPUs"): ratio
                    for name, line in ratios.items()
                    for gpus, ratio in zip(times[name], line, strict=True)
                },
                most=_CLOSE,
            ),
            why="with many GPUs iterations are short and communication weighs more:"
            " circuits are coarse, and on the ring long ways take light of others",
        )
        gains = {
            name: _last_gain(list(curve.values())) for name, curve in times.items()
        }
        claim, paper = "Elect-Cluster's gains taper off with scale", "taper off"
        why = "servers are not what limits this model at these sizes"
        kept = {"gain over Elect-Flat's": gains[_CLUSTER] / gains[FLAT]}
        points = below(kept, _WELL)
        if model == RESNET.model:
            claim, paper = "Elect-Cluster scales quite well", "quite well"
            why = "servers limit it already at these sizes"
            points = between(kept, least=_WELL)
        shown = ", ".join(f"{name} {gain:.2f}X" for name, gain in gains.items())
        yield holds(
            f"{model}: {claim}",
            paper,
            f"{shown} from {sizes[-2]} to {sizes[-1]} GPUs"
            if len(sizes) > 1
            else "one size",
            points=points,
            why=why,
        )


def _last_gain(times: list[float]) -> float:
    """Return the gain from the most GPUs over the second most."""
    return times[-2] / times[-1] if len(times) > 1 else 1.0


SPEEDUPS = {
    32: {1: 1.0, 3: 0.99, 10: 0.83, 30: 0.73, 100: 0.64},
    128: {1: 2.11, 3: 2.10, 10: 1.52, 30: 1.36, 100: 1.29},
    512: {1: 4.27, 3: 4.04, 10: 3.03, 30: 2.49, 100: 2.03},
}
"""Speed-ups of the paper by GPUs and latency in us."""

_RATE_GBIT = 10_000
"""Of a GPU, in Gb/s."""
_HARMFUL_US = 10
"""Latency from which the paper sees harm, in microseconds."""


def _table1_rows(
    tell: Tell,
    *,
    sizes: tuple[int, ...] = (32, 128, 512),
    latencies_us: tuple[int, ...] = (1, 3, 10, 30, 100),
    trained: Trained = TRANSFORMER,
) -> Iterator[Row]:
    """Search, place and replay every number of GPUs and latency."""
    planner, curve = trained.planner(tell), trained.curve()
    base = None
    for gpus in sizes:
        for latency in latencies_us:
            tell(f"{gpus} GPUs, {latency} us")
            named = fabrics(gpus, _RATE_GBIT, latency_ps=latency * PS_PER_US)
            plan = best_plan(planner, named[FLAT], curve, MOST_MODEL_PARALLEL)
            if plan is not None:
                base = base or minutes(plan)
                yield (
                    *(gpus, latency, plan.strategy.model_parallel),
                    *(plan.strategy.batch_size, plan.iteration_ps / 1e6),
                    base / minutes(plan),
                    SPEEDUPS.get(gpus, {}).get(latency),
                )


def _kept(speeds: dict[float, float]) -> dict[float, float]:
    """Return speeds over that at the least latency."""
    return {us: speed / speeds[min(speeds)] for us, speed in speeds.items()}


def _bands() -> dict[float, tuple[float, float]]:
    """Return by latency what the paper's rows keep of their speed, in two digits."""
    kept = [
        _kept({float(us): speed for us, speed in row.items()})
        for row in SPEEDUPS.values()
    ]
    return {
        us: (
            round(min(shares[us] for shares in kept), 2),
            round(max(shares[us] for shares in kept), 2),
        )
        for us in kept[0]
    }


def _table1_claims(data: Data) -> Iterator[Comparison]:
    first = data.sizes("latency_us")[0]
    bands = _bands()
    for gpus in data.sizes("gpus"):
        kept = _kept(data.curve("latency_us", "speedup", gpus=gpus))
        yield holds(
            f"{gpus} GPUs: latencies above about 10 us hurt",
            ", ".join(
                f"{us} us keep {low:.2f} to {high:.2f}"
                for us, (low, high) in bands.items()
                if us >= _HARMFUL_US
            ),
            ", ".join(f"{us} us keep {share:.2f}" for us, share in kept.items()),
            points=[
                Point(f"{us} us", round(share, 2), *bands[us])
                for us, share in kept.items()
                if us >= _HARMFUL_US and us in bands
            ]
            or fact("some latency is of the table", so=False),
            why="the table's model is another, and where few GPUs make iterations"
            " long a latency weighs less: our replay pays it once for each level of"
            " the graph and step of a ring",
        )
    speedups = data.curve("gpus", "speedup", latency_us=first)
    yield not_reproducible(
        "the speed-ups themselves",
        "1X to 4.27X",
        ", ".join(f"{gpus}: {speedup:.2f}X" for gpus, speedup in speedups.items())
        + f" at {first} us",
        "the model, its batch sizes and profiles are not given",
    )


def _table1_panels(data: Data) -> Iterator[Panel]:
    """Yield ours and the paper's, over the fewest GPUs and over as many."""
    sizes, latencies = data.sizes("gpus"), data.sizes("latency_us")
    for base, line in ((f"{sizes[0]} GPUs", dict), ("as many GPUs", _kept)):
        series = []
        for colour, gpus in enumerate(sizes):
            for column, label, style in _TABLE1_CURVES:
                curve = line(data.curve("latency_us", column, gpus=gpus))
                if curve:
                    points = list(curve), list(curve.values())
                    series.append(Series(f"{gpus} GPUs{label}", *points, style, colour))
        yield Panel(
            f"Elect-Flat, over {base} at {latencies[0]} us",
            "fabric latency (us)",
            f"speed-up over {base}",
            series,
            x_log=10,
            x_ticks=[(us, str(us)) for us in latencies],
        )


_TABLE1_CURVES: tuple[tuple[str, str, LineStyle], ...] = (
    ("speedup", "", "-"),
    ("paper", " (paper)", "--"),
)


_PORTS = 16
"""Partners that a GPU may have."""
_BATCH = 256
"""Samples."""


def _fig7_compute(
    tell: Tell,
    *,
    gpus: int = 1024,
    shown: int = 32,
    degrees: tuple[int, ...] = (4, 8, 16),
    trained: Trained = TRANSFORMER,
) -> Iterator[Row]:
    """Cut, place and add up the traffic for some degrees of model parallelism."""
    for k in degrees:
        tell(f"{k} devices a replica")
        matrix, _ = _matrix(k, gpus, shown, trained)
        for src, dst in np.argwhere(matrix[:k] > 0).tolist():
            yield k, src, dst, int(matrix[src, dst])


@functools.lru_cache(maxsize=8)
def _matrix(
    k: int, gpus: int, shown: int, trained: Trained
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the bytes between the first GPUs, and a GPU's partners."""
    strategy = Strategy(k, gpus // k, _BATCH)
    replica = trained.planner(lambda _: None).replicas.replica(strategy, _PORTS)
    # One replica more than is shown: the ring of replicas closes there.
    copies = shown // k + 1
    nodes = [range(first * k, (first + 1) * k) for first in range(copies)]
    iteration = training_iteration(replica, nodes, copies * k)
    demand = traffic(iteration, AlikeReplicas(0, strategy.replicas))
    matrix = np.zeros((copies * k, copies * k), dtype=np.int64)
    matrix[list(demand.src), list(demand.dst)] = demand.bytes
    return matrix[:shown, :shown], most_partners(demand)


def _shown(data: Data, k: int) -> tuple[npt.NDArray[np.int64], int]:
    """Return what the rows of a degree were taken from."""
    given = data.given
    return _matrix(k, given["gpus"], given["shown"], given["trained"])


def _fig7_claims(data: Data) -> Iterator[Comparison]:
    shown = {k: _shown(data, k) for k in data.given["degrees"]}
    matrices = {k: matrix for k, (matrix, _) in shown.items()}
    partners = {k: count for k, (_, count) in shown.items()}
    alike = all(_blocks_alike(k, matrix) for k, matrix in matrices.items())
    yield holds(
        "identical k x k blocks on the diagonal",
        "identical",
        "identical" if alike else "different",
        points=fact("identical", so=alike),
        why="replicas are not placed alike",
    )
    lonely = all(_only_twins(k, matrix) for k, matrix in matrices.items())
    yield holds(
        "beside them only the rings over replicas, each GPU to its twin",
        "an off-diagonal line at distance k",
        "so in all matrices" if lonely else "other pairs talk",
        points=fact("in all matrices", so=lonely),
        why="collectives of a replica leave it",
    )
    ratios = {
        k: matrix.diagonal(k).max(initial=0) / _block(k, matrix).max()
        for k, matrix in matrices.items()
    }
    yield holds(
        "rings carry less than the largest entry of a block, and still much",
        "smaller but significant",
        ", ".join(f"k={k}: {ratio:.2f} of it" for k, ratio in ratios.items()),
        points=between(ratios, least=0.1, most=nextafter(1, 0)),
        why="where few devices share a model each has many gradients to sum",
    )
    near = {k: _nearness(_block(k, matrix)) for k, matrix in matrices.items()}
    yield holds(
        "in a block entries near the diagonal are larger",
        "neighbours talk most",
        ", ".join(f"k={k}: {ratio:.2f} of the mean" for k, ratio in near.items()),
        points=above(near, 1.05),
        why="parts that need all of an input hear from all parts alike, so nobody"
        " is nearer; what stands out are rings, which sum gradients of copies",
    )
    yield holds(
        "no GPU has more partners than the degree",
        f"at most {_PORTS}",
        ", ".join(f"k={k}: {count}" for k, count in partners.items()),
        points=between(partners, most=_PORTS),
        why="placement breaks the degree",
    )


def _block(k: int, matrix: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return matrix[:k, :k]


def _blocks_alike(k: int, matrix: npt.NDArray[np.int64]) -> bool:
    first = _block(k, matrix)
    starts = range(0, len(matrix), k)
    return all((matrix[s : s + k, s : s + k] == first).all() for s in starts)


def _only_twins(k: int, matrix: npt.NDArray[np.int64]) -> bool:
    src, dst = np.nonzero(matrix)
    return bool(((src // k == dst // k) | (dst - src == k)).all())


def _nearness(block: npt.NDArray[np.int64]) -> float:
    """Return the mean entry beside the diagonal over that of all pairs."""
    k = len(block)
    beside = [block[i, j] for i in range(k) for j in range(k) if abs(i - j) == 1]
    others = [block[i, j] for i in range(k) for j in range(k) if i != j]
    return float(np.mean(beside) / np.mean(others))


def _fig7_panels(data: Data) -> Iterator[Panel]:
    for k in data.given["degrees"]:
        matrix, _ = _shown(data, k)
        places = range(len(matrix))
        series = [
            Series(str(src), places, (matrix[src] / MEGA).tolist()) for src in places
        ]
        title = f"k = {k} (MB)"
        yield Panel(title, "destination GPU", "source GPU", series, kind="matrix")


FIGURE = figures(
    __package__,
    ("sipml-fig7", _fig7_compute, _fig7_claims, _fig7_panels),
    ("sipml-fig5", _fig5_rows, _fig5_claims, _fig5_panels),
    (
        "sipml-fig6",
        _fig6_rows,
        _fig6_claims,
        Plot(
            x="gbit_per_s",
            series={
                "model_parallel": "model parallelism k",
                "replicas": "data parallelism l",
            },
            panel="model",
            x_label="rate of a GPU (Gb/s)",
            y_label="devices",
            x_log=2,
            y_log=2,
        ),
    ),
    ("sipml-fig10", _fig10_rows, _fig10_claims, curve_plot("gpus", "GPUs")),
    ("sipml-table1", _table1_rows, _table1_claims, _table1_panels),
)
