"""LUMORPH Fig. 10: how large the all-reduces of three models are."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from lightloom.core.units import KIB, MIB, format_bytes
from lightloom.instances.computation_table import computation_graph
from lightloom.papers.claims import (
    above,
    below,
    between,
    holds,
)
from lightloom.papers.lumorph.models import MODELS, STRATEGIES
from lightloom.papers.lumorph.published_logs import (
    WITHOUT_LOGS,
    published_logs,
    reduced_bytes,
)
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.lumorph.models import TrainedModel

_TICKS = (256, 4 * KIB, 64 * KIB, MIB, 16 * MIB, 128 * MIB)
_COMPARABLE = 4
"""Factor between medians up to which sizes are called comparable."""


_OURS = (
    ": ours is BERT-large with a call a layer; FlexFlow's strategy cuts layers, and its"
    " shapes are not given"
)


def _compute(
    tell: Tell,
    *,
    models: tuple[TrainedModel, ...] = MODELS,
    logs: str | None = None,
) -> Iterator[Row]:
    """Take the all-reduces of every log, or the gradients of every layer."""
    for title, found in _all_sizes(models, logs).items():
        tell(title)
        for rank, size in enumerate(found, start=1):
            if rank == len(found) or found[rank] != size:
                yield title, size, rank / len(found)


def _all_sizes(
    models: tuple[TrainedModel, ...], logs: str | None
) -> dict[str, list[int]]:
    """Return the bytes of all-reduces, ascending, by model or log."""
    if logs is None:
        return {trained.title: _sizes(trained) for trained in models}
    found = {name: reduced_bytes(calls) for name, calls in published_logs(logs).items()}
    return {name: sizes for name, sizes in found.items() if sizes}


def _sizes(trained: TrainedModel) -> list[int]:
    """Return the bytes of a model's all-reduces, ascending."""
    graph = computation_graph(trained.training())
    return sorted(op.gradient_bytes for op in graph.ops if op.gradient_bytes)


def _claims(data: Data) -> Iterator[Comparison]:
    every = _all_sizes(data.given["models"], data.given["logs"])
    sizes = {
        title: next(
            (every[name] for name in every if title.lower() in name.lower()), []
        )
        for title in ("BERT", "Inception", "NCF")
    }
    if not all(sizes.values()):
        return
    bert, inception, ncf = sizes.values()
    large = sum(size >= MIB for size in bert) / len(bert)
    yield holds(
        "BERT has many ALLREDUCE calls of small sizes (6.1)",
        "many, small",
        f"{len(bert)} calls, median {median(bert) / MIB:.3g} MiB, largest"
        f" {bert[-1] / MIB:.3g} MiB",
        points=above(
            {
                f"calls over those of {n}": len(bert) / len(other)
                for n, other in sizes.items()
                if n != "BERT"
            },
            1,
        )
        + below({"median in MiB": median(bert) / MIB}, 1),
        why=f"{100 * large:.0f} % of the calls have 1 MiB or more"
        + (_OURS if data.given["logs"] is None else ""),
    )
    factor = max(median(bert), median(inception)) / min(median(bert), median(inception))
    yield holds(
        "Inception's calls have sizes comparable to BERT's (6.1)",
        "comparable",
        f"medians {median(inception) / MIB:.3g} and {median(bert) / MIB:.3g} MiB",
        points=between({"larger median over smaller": factor}, most=_COMPARABLE),
        why="layers of Inception-v3 are an order smaller than those of BERT-large",
    )
    yield holds(
        "NCF has fewer calls with larger buffers (6.1)",
        "fewer, larger",
        f"{len(ncf)} calls of {sum(ncf) / len(ncf) / MIB:.3g} MiB on average; BERT"
        f" {sum(bert) / len(bert) / MIB:.3g}, Inception"
        f" {sum(inception) / len(inception) / MIB:.3g}",
        points=below(
            {
                f"calls over those of {n}": len(ncf) / len(other)
                for n, other in sizes.items()
                if n != "NCF"
            },
            1,
        )
        + above(
            {
                f"bytes a call over those of {n}": sum(ncf)
                * len(other)
                / (len(ncf) * sum(other))
                for n, other in (("BERT", bert), ("Inception", inception))
            },
            1,
        ),
        why="its embeddings are small beside the others' layers",
    )


def _panels(data: Data) -> Iterator[Panel]:
    series = []
    for title in data.names("model"):
        curve = data.curve("all_reduce_bytes", "share_of_calls_up_to_it", model=title)
        shares = list(curve.values())
        steps = zip(curve, [0.0, *shares[:-1]], shares, strict=True)
        points = [(size, y) for size, *ends in steps for y in ends]
        x, y = [size for size, _ in points], [share for _, share in points]
        series.append(Series(title, x, y, markers=False))
    yield Panel(
        "all-reduce buffers",
        "size of a buffer",
        "share of calls up to it",
        series,
        x_log=2,
        x_ticks=[(size, format_bytes(size)) for size in _TICKS],
    )


_COMPARES = (
    "Gradients of ours have 4 bytes (tf32); the paper does not say. Which model has"
    " more or larger calls compares with the paper; sizes do not, without its"
    " strategies."
)

FIGURE = Figure(
    name="lumorph-fig10",
    title="sizes of the all-reduces of three models, cumulated",
    columns=("model", "all_reduce_bytes", "share_of_calls_up_to_it"),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(f"{WITHOUT_LOGS} {STRATEGIES}", _COMPARES),
)
