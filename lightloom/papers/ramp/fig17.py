"""RAMP Fig. 17: an iteration of DLRM models, its communication computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.gpus import ELEMENT_BYTES
from lightloom.instances.workloads import model_named
from lightloom.papers.claims import above, holds
from lightloom.papers.ramp.compared_systems import ESTIMATED, RAMP
from lightloom.papers.ramp.table10 import GPUS, PRINTED, derived
from lightloom.papers.ramp.training_parts import (
    COLUMNS,
    FLOPS_PER_S,
    GIVEN,
    RIVALS,
    ShareClaim,
    TimedCalls,
    panels,
    rows,
    share_claims,
)
from lightloom.papers.reproduction import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.ramp.table10 import DlrmRow
    from lightloom.report.panel import Panel

_WIDTH = ELEMENT_BYTES["fp16"]
_PASSES = 6
"""FLOPs of a parameter and a sample: forward, and twice that back."""
_SHARE = "communication_percent"
_FAT_TREE, _TOPOOPT = RIVALS
CLAIMS = (
    ShareClaim(
        "iteration time falls over TopoOpt by",
        *("up to 7.8X", "iteration_times_ramp", (_TOPOOPT,), "times"),
    ),
    ShareClaim(
        "iteration time falls over the fat tree by",
        *("up to 58X", "iteration_times_ramp", (_FAT_TREE,), "times"),
    ),
    ShareClaim("communication on RAMP", "below 1 % of the time", _SHARE, (RAMP,), "%"),
    ShareClaim(
        *("communication on TopoOpt", "12.5 % to 87 % of the time", _SHARE),
        *((_TOPOOPT,), "%"),
    ),
    ShareClaim(
        *("communication on the fat tree", "52 % to 98 % of the time", _SHARE),
        *((_FAT_TREE,), "%"),
    ),
)


def _compute(tell: Tell, *, gpus: tuple[int, ...] = GPUS) -> Iterator[Row]:
    """Estimate an iteration of the models for some numbers of GPUs."""
    for printed in PRINTED:
        if printed.gpus in gpus:
            tell(f"{printed.gpus} GPUs")
            for row in _rows(printed):
                yield printed.gpus, *row


def _rows(printed: DlrmRow) -> Iterator[Row]:
    """Yield an iteration of a model on every system."""
    model = model_named(f"dlrm-{printed.gpus}")
    shape = model.parameters
    _, part, _, _, batch_of_gpu = derived(printed)
    hidden = shape["bottom_hidden"]
    layers = shape["bottom_layers"] - 1 + shape["top_layers"]
    dense = hidden * (shape["dense_features"] + layers * hidden)
    looked_up = model.batch_size * part * _WIDTH
    parts = printed.gpus // printed.tables
    tables = TimedCalls("all-to-all", looked_up, 2, printed.tables, inner=parts)
    columns = TimedCalls("all-to-all", looked_up, 2, parts)
    towers = TimedCalls("all-reduce", dense * _WIDTH, 1, printed.gpus)
    computing_s = _PASSES * dense * batch_of_gpu / FLOPS_PER_S
    yield from rows([tables, columns], [towers], computing_s)


def _claims(data: Data) -> Iterator[Comparison]:
    column = "model_parallel_ms"
    shares = {
        (name, int(gpus)): data.number(column, system=name, gpus=gpus)
        / data.number("communication_ms", system=name, gpus=gpus)
        for gpus in data.sizes("gpus")
        for name in data.names("system")
    }
    yield holds(
        "all-to-all dominates the data transfer (section 8.1)",
        "it does",
        f"{100 * min(shares.values()):.0f} % to {100 * max(shares.values()):.0f} % of"
        " the time of communication",
        points=above(shares, 0.5),
        why="where gradients go round a ring of all GPUs, its steps take longer",
    )
    yield from share_claims(data, "gpus", CLAIMS)


def _panels(data: Data) -> Iterator[Panel]:
    return panels(data, "gpus", "GPUs", 4)


_MESSAGES = (
    "A GPU looks up its part of a table for the global batch. One all-to-all among the"
    " GPUs of all tables and one among those of a table bring these rows to the"
    " samples, and two take the gradients back. The towers are as wide as printed,"
    " their gradients are summed by all GPUs. How the paper forms its messages is not"
    " printed."
)

FIGURE = Figure(
    name="ramp-fig17",
    takes_s=5,
    title="an iteration of DLRM models on up to 65,536 GPUs",
    columns=("gpus", *COLUMNS),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(*GIVEN, _MESSAGES, ESTIMATED),
)
