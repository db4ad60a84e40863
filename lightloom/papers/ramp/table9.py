"""RAMP Table 9: Megatron models by the loss they aim at."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lightloom.instances.gpus import ELEMENT_BYTES
from lightloom.instances.workloads import layer_graph, model_named
from lightloom.papers.claims import near
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell


class MegatronRow(NamedTuple):
    """A row of the table, without the shape of its model."""

    loss: str
    batch: int
    parameters: float
    per_gpu: float
    gpus: int
    data: int
    model: int
    data_bytes: float
    model_bytes: float


PRINTED = (
    MegatronRow("2.5", 2480, 574e6, 574e6, 16, 16, 1, 1.14e9, 0),
    MegatronRow("2.4", 3424, 1.13e9, 1.13e9, 32, 32, 1, 2.27e9, 0),
    MegatronRow("2.2", 4896, 3.57e9, 893e6, 128, 32, 4, 1.78e9, 150e6),
    MegatronRow("2.0", 7168, 10.1e9, 1.2e9, 512, 64, 8, 2.52e9, 268e6),
    MegatronRow("1.8", 10_880, 32.2e9, 1e9, 2048, 64, 32, 2.01e9, 402e6),
    MegatronRow("1.7", 16_896, 103.1e9, 811e6, 32_768, 256, 128, 1.62e9, 1.11e9),
    MegatronRow("1.5", 14_080, 425.2e9, 843e6, 65_536, 128, 512, 1.69e9, 3.69e9),
    MegatronRow("1.3", 1024, 2.06e12, 1.03e9, 65_536, 32, 2048, 2.08e9, 2.15e9),
    MegatronRow("1.2", 64, 10.7e12, 1.35e9, 65_536, 8, 8192, 2.7e9, 2.15e9),
    MegatronRow("1.0", 4, 74.2e12, 1.27e9, 65_536, 1, 65_536, 2.55e9, 2.15e9),
)
_ELEMENT_BYTES = ELEMENT_BYTES["fp16"]


LOSSES = tuple(row.loss for row in PRINTED)


def _compute(tell: Tell, *, losses: tuple[str, ...] = LOSSES) -> Iterator[Row]:
    """Build the models that aim at some losses and derive rows from their layers."""
    for printed in PRINTED:
        if printed.loss in losses:
            tell(f"loss {printed.loss}")
            yield float(printed.loss), printed.gpus, *derived(printed)


def derived(printed: MegatronRow) -> tuple[int, int, int, int]:
    """Return the parameters of a model, those of a GPU, and the two messages.

    A message of data parallelism is the gradients of a GPU, one of model parallelism
    the activations of its local batch: positions times width in two bytes each.
    """
    model = model_named(f"megatron-ce-{printed.loss}")
    parameters = layer_graph(model, 1).parameters
    per_gpu = parameters // printed.model
    local = printed.batch // printed.data
    activations = model.parameters["positions"] * model.parameters["hidden"] * local
    sent = activations * _ELEMENT_BYTES if printed.model > 1 else 0
    return parameters, per_gpu, per_gpu * _ELEMENT_BYTES, sent


def _printed(data: Data) -> list[MegatronRow]:
    """Return the rows of the paper for which there are data."""
    return [row for row in PRINTED if float(row.loss) in data.sizes("loss")]


def _claims(data: Data) -> Iterator[Comparison]:
    columns = map(data.numbers, data.columns[2:])
    for printed, *found in zip(_printed(data), *columns, strict=True):
        yield from _claims_of(printed, *found)


def _claims_of(
    printed: MegatronRow,
    parameters: float,
    per_gpu: float,
    data_bytes: float,
    model_bytes: float,
) -> Iterator[Comparison]:
    """Yield the claims of one row."""
    label = f"loss {printed.loss}"
    yield near(f"{label}, parameters", printed.parameters, parameters, "", why=_SIZE)
    why = _SHARE if float(printed.loss) < 1.7 else "the last digit is cut off"
    yield near(f"{label}, of a GPU", printed.per_gpu, per_gpu, "", why=why)
    yield near(
        f"{label}, message of data", printed.data_bytes, data_bytes, "B", why=_SHARE
    )
    if printed.model_bytes:
        why = (
            f"2 B x 1024 x width x {printed.batch} / {printed.data}; the printed one is"
            " that of a batch of 32, which the table does not mention"
        )
        claim = f"{label}, message of model"
        yield near(claim, printed.model_bytes, model_bytes, "B", why=why)


def _panels(data: Data) -> Iterator[Panel]:
    losses, paper = data.numbers("loss"), _printed(data)
    for title, unit, column, theirs in (
        (
            "parameters of a GPU",
            "millions",
            "parameters_of_a_gpu",
            [row.per_gpu for row in paper],
        ),
        (
            "message of model parallelism",
            "MB",
            "model_message_bytes",
            [row.model_bytes for row in paper],
        ),
    ):
        ours = [value / 1e6 for value in data.numbers(column)]
        series = [
            Series("ours", losses, ours),
            Series("paper", losses, [value / 1e6 for value in theirs], "--"),
        ]
        yield Panel(title, "cross-entropy loss", unit, series)


_SIZE = "12 layers width^2 are printed; biases and norms are counted here"
_SHARE = (
    "parameters over the level of model parallelism; below a loss of 1.8 the paper has"
    " more, and does not say what"
)
_NOTES = (
    "Shapes are those printed; all else is derived from the layers of the models.",
    "Times of an iteration: ramp-fig16, communication computed, computation given.",
)

FIGURE = Figure(
    name="ramp-table9",
    title="Megatron models: parameters and messages",
    columns=(
        *("loss", "gpus", "parameters", "parameters_of_a_gpu"),
        *("data_message_bytes", "model_message_bytes"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
