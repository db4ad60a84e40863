"""LUMORPH Fig. 10: how large the all-reduces of three models are."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from lightloom.core.units import KIB, MIB, format_bytes
from lightloom.instances.computation_table import computation_graph
from lightloom.papers.claims import holds
from lightloom.papers.lumorph.models import MODELS, STRATEGIES
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.lumorph.models import TrainedModel
    from lightloom.papers.reproduction import Comparison

_TICKS = (256, 4 * KIB, 64 * KIB, MIB, 16 * MIB, 128 * MIB)
_COMPARABLE = 4
"""Factor between medians up to which sizes are called comparable."""


@dataclass(frozen=True)
class Fig10:
    """The figure, for some models."""

    models: tuple[TrainedModel, ...] = MODELS
    name: str = "lumorph-fig10"
    title: str = "sizes of the all-reduces of three models, cumulated"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Take the gradients of every layer."""
        sizes: dict[str, list[int]] = {}
        for trained in self.models:
            progress(trained.title)
            graph = computation_graph(trained.training())
            found = [op.gradient_bytes for op in graph.ops if op.gradient_bytes]
            sizes[trained.title] = sorted(found)
        rows = tuple(
            (title, size, (rank + 1) / len(found))
            for title, found in sizes.items()
            for rank, size in enumerate(found)
            if rank + 1 == len(found) or found[rank + 1] != size
        )
        return Reproduction(
            self.name,
            self.title,
            ("model", "all_reduce_bytes", "share_of_calls_up_to_it"),
            rows,
            tuple(_claims(sizes)),
            (STRATEGIES, _COMPARES),
            (_panel(sizes),),
        )


def _claims(sizes: dict[str, list[int]]) -> Iterator[Comparison]:
    if not {"BERT", "Inception", "NCF"} <= set(sizes):
        return
    bert, inception, ncf = sizes["BERT"], sizes["Inception"], sizes["NCF"]
    large = sum(size >= MIB for size in bert) / len(bert)
    yield holds(
        "BERT has many ALLREDUCE calls of small sizes (6.1)",
        "many, small",
        f"{len(bert)} calls, median {median(bert) / MIB:.3g} MiB, largest"
        f" {bert[-1] / MIB:.3g} MiB",
        holds=len(bert) == max(map(len, sizes.values())) and median(bert) < MIB,
        why=f"{100 * large:.0f} % of the calls are matrices of 1 MiB or more: ours is"
        " BERT-large with a call a layer; FlexFlow's strategy cuts layers, and its"
        " shapes are not given",
    )
    factor = max(median(bert), median(inception)) / min(median(bert), median(inception))
    yield holds(
        "Inception's calls have sizes comparable to BERT's (6.1)",
        "comparable",
        f"medians {median(inception) / MIB:.3g} and {median(bert) / MIB:.3g} MiB",
        holds=factor <= _COMPARABLE,
        why="layers of Inception-v3 are an order smaller than those of BERT-large",
    )
    yield holds(
        "NCF has fewer calls with larger buffers (6.1)",
        "fewer, larger",
        f"{len(ncf)} calls of {sum(ncf) / len(ncf) / MIB:.3g} MiB on average; BERT"
        f" {sum(bert) / len(bert) / MIB:.3g}, Inception"
        f" {sum(inception) / len(inception) / MIB:.3g}",
        holds=len(ncf) == min(map(len, sizes.values()))
        and sum(ncf) / len(ncf)
        > max(sum(bert) / len(bert), sum(inception) / len(inception)),
        why="its embeddings are small beside the others' layers",
    )


def _panel(sizes: dict[str, list[int]]) -> Panel:
    series = []
    for title, found in sizes.items():
        x = [size for size in found for _ in range(2)]
        y = [
            step / len(found) for rank in range(len(found)) for step in (rank, rank + 1)
        ]
        series.append(Series(title, x, y, markers=False))
    return Panel(
        "all-reduce buffers",
        "size of a buffer",
        "share of calls up to it",
        series,
        x_log=2,
        x_ticks=[(size, format_bytes(size)) for size in _TICKS],
    )


_COMPARES = (
    "Gradients have 4 bytes (tf32); the paper does not say. Which model has more or"
    " larger calls compares with the paper; sizes do not, without its strategies."
)

FIGURE = Fig10()
