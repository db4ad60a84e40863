"""RAMP Fig. 16: an iteration of Megatron models, its communication computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import model_named
from lightloom.papers.ramp.compared_systems import ESTIMATED, RAMP
from lightloom.papers.ramp.table9 import LOSSES, PRINTED, derived
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
    from lightloom.papers.ramp.table9 import MegatronRow
    from lightloom.report.panel import Panel

_PASSES = 8
"""FLOPs of a parameter and a token: forward, forward again, and twice that back."""
_SHARE = "communication_percent"
CLAIMS = (
    ShareClaim(
        "training time falls by",
        *("1.01X to 16.7X", "iteration_times_ramp", RIVALS, "times"),
    ),
    ShareClaim(
        "communication on RAMP", "0.6 % to 11 % of the time", _SHARE, (RAMP,), "%"
    ),
    ShareClaim(
        *("communication on the others", "23.8 % to 94.6 % of the time", _SHARE),
        *(RIVALS, "%"),
    ),
)


def _compute(
    tell: Tell,
    *,
    losses: tuple[str, ...] = LOSSES,
    all_reduces: int = 6,
) -> Iterator[Row]:
    """Estimate an iteration of each model, with so many all-reduces a layer."""
    for printed in PRINTED:
        if printed.loss in losses:
            tell(f"loss {printed.loss}")
            for row in _rows(printed, all_reduces):
                yield float(printed.loss), printed.gpus, *row


def _rows(printed: MegatronRow, all_reduces: int) -> Iterator[Row]:
    """Yield an iteration of a model on every system."""
    shape = model_named(f"megatron-ce-{printed.loss}").parameters
    _, per_gpu, _, _ = derived(printed)
    tokens = printed.batch // printed.data * shape["positions"]
    times, nodes = all_reduces * shape["layers"], printed.model
    sizes = int(printed.model_bytes), int(printed.data_bytes)
    model = TimedCalls("all-reduce", sizes[0], times, nodes)
    data = TimedCalls("all-reduce", sizes[1], 1, printed.data, inner=nodes)
    yield from rows([model], [data], _PASSES * per_gpu * tokens / FLOPS_PER_S)


def _claims(data: Data) -> Iterator[Comparison]:
    yield from share_claims(data, "loss", CLAIMS)


def _panels(data: Data) -> Iterator[Panel]:
    return panels(data, "loss", "cross-entropy loss", None)


_MESSAGES = (
    "A layer has two all-reduces forward, two where its forward pass is computed anew,"
    " and two backward; messages are those of Table 9, as printed."
)

FIGURE = Figure(
    name="ramp-fig16",
    takes_s=5,
    title="an iteration of Megatron models on up to 65,536 GPUs",
    columns=("loss", "gpus", *COLUMNS),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(*GIVEN, _MESSAGES, ESTIMATED),
)
