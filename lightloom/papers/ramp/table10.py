"""RAMP Table 10: DLRM models by the number of GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lightloom.instances.workloads import layer_graph, model_named
from lightloom.papers.claims import near
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell


class DlrmRow(NamedTuple):
    """A row of the table."""

    gpus: int
    tables: int
    rows: float
    features: int
    part_of_features: int
    batch_of_gpu: int
    parameters: float
    per_gpu: float


PRINTED = (
    DlrmRow(256, 8, 8e7, 4096, 128, 8192, 328e9, 1.3e9),
    DlrmRow(1024, 16, 1.6e8, 8192, 128, 4096, 1.3e12, 1.3e9),
    DlrmRow(4096, 32, 3.2e8, 16_384, 128, 3072, 5.2e12, 1.3e9),
    DlrmRow(16_384, 128, 1.28e9, 16_384, 128, 512, 21e12, 1.3e9),
    DlrmRow(65_536, 256, 2.56e9, 16_384, 64, 256, 41.9e12, 0.7e9),
)


GPUS = tuple(row.gpus for row in PRINTED)


def _compute(tell: Tell, *, gpus: tuple[int, ...] = GPUS) -> Iterator[Row]:
    """Build the models for some numbers of GPUs and derive rows from their layers."""
    for printed in PRINTED:
        if printed.gpus in gpus:
            tell(f"{printed.gpus} GPUs")
            yield printed.gpus, printed.tables, *derived(printed)


def derived(printed: DlrmRow) -> tuple[int, int, int, int, int]:
    """Return rows, part of the features, parameters, those of a GPU, and its batch.

    GPUs stand in a grid of tables times parts of their columns; samples are divided
    by the tables.
    """
    model = model_named(f"dlrm-{printed.gpus}")
    tables, features = model.parameters["tables"], model.parameters["sparse_features"]
    parameters = layer_graph(model).parameters
    parts = printed.gpus // tables
    rows = tables * model.parameters["rows"]
    batch = model.batch_size // tables
    # All tables have as many rows, so a GPU holds a part of one.
    per_gpu = model.parameters["rows"] * features // parts
    return rows, features // parts, parameters, per_gpu, batch


def _printed(data: Data) -> list[DlrmRow]:
    """Return the rows of the paper for which there are data."""
    return [row for row in PRINTED if row.gpus in data.sizes("gpus")]


def _claims(data: Data) -> Iterator[Comparison]:
    columns = map(data.numbers, data.columns[2:])
    for printed, *found in zip(_printed(data), *columns, strict=True):
        yield from _claims_of(printed, *found)


def _claims_of(
    printed: DlrmRow,
    rows: float,
    part: float,
    parameters: float,
    per_gpu: float,
    batch: float,
) -> Iterator[Comparison]:
    """Yield the claims of one row."""
    label = f"{printed.gpus} GPUs"
    yield near(f"{label}, rows of all tables", printed.rows, rows, "")
    yield near(f"{label}, features of a part", printed.part_of_features, part, "")
    yield near(f"{label}, parameters", printed.parameters, parameters, "")
    why = "printed with one digit"
    yield near(f"{label}, parameters of a GPU", printed.per_gpu, per_gpu, "", why=why)
    why = "65,536 samples over 32 tables; every other row divides by its tables"
    yield near(f"{label}, batch of a GPU", printed.batch_of_gpu, batch, "", why=why)


def _panels(data: Data) -> Iterator[Panel]:
    gpus = data.sizes("gpus")
    ours = [count / 1e9 for count in data.numbers("parameters_of_a_gpu")]
    theirs = [row.per_gpu / 1e9 for row in _printed(data)]
    yield Panel(
        "parameters of a GPU",
        "GPUs",
        "billions",
        [Series("ours", gpus, ours), Series("paper", gpus, theirs, "--")],
        x_log=2,
        x_ticks=[(count, f"{count:,}") for count in gpus],
    )


_NOTES = (
    "Tables have 10 million rows each; the printed number of rows is that of all.",
    "Times of an iteration: ramp-fig17, communication computed, computation given.",
)

FIGURE = Figure(
    name="ramp-table10",
    title="DLRM models: rows, parts and parameters",
    columns=(
        *("gpus", "tables", "rows", "part_of_features", "parameters"),
        *("parameters_of_a_gpu", "batch_of_a_gpu"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
