"""RAMP Table 10: DLRM models by the number of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lightloom.instances.workloads import layer_graph, model_named
from lightloom.papers.claims import near
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison


class Printed(NamedTuple):
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
    Printed(256, 8, 8e7, 4096, 128, 8192, 328e9, 1.3e9),
    Printed(1024, 16, 1.6e8, 8192, 128, 4096, 1.3e12, 1.3e9),
    Printed(4096, 32, 3.2e8, 16_384, 128, 3072, 5.2e12, 1.3e9),
    Printed(16_384, 128, 1.28e9, 16_384, 128, 512, 21e12, 1.3e9),
    Printed(65_536, 256, 2.56e9, 16_384, 64, 256, 41.9e12, 0.7e9),
)


@dataclass(frozen=True)
class Table10:
    """The table, or the rows of some numbers of GPUs."""

    gpus: tuple[int, ...] = tuple(row.gpus for row in PRINTED)
    name: str = "ramp-table10"
    title: str = "DLRM models: rows, parts and parameters"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Build every model and derive the row from its layers."""
        rows, claims = [], []
        kept = [row for row in PRINTED if row.gpus in self.gpus]
        for printed in kept:
            progress(f"{printed.gpus} GPUs")
            found = derived(printed)
            rows.append((printed.gpus, printed.tables, *found))
            claims += list(_claims(printed, found))
        series = [
            Series("ours", self.gpus, [row[5] / 1e9 for row in rows]),
            Series("paper", self.gpus, [row.per_gpu / 1e9 for row in kept], "--"),
        ]
        panel = Panel(
            "parameters of a GPU",
            "GPUs",
            "billions",
            series,
            x_log=2,
            x_ticks=[(gpus, f"{gpus:,}") for gpus in self.gpus],
        )
        columns = (
            *("gpus", "tables", "rows", "part_of_features", "parameters"),
            *("parameters_of_a_gpu", "batch_of_a_gpu"),
        )
        return Reproduction(
            self.name,
            self.title,
            columns,
            tuple(rows),
            tuple(claims),
            _NOTES,
            (panel,),
        )


def derived(printed: Printed) -> tuple[int, int, int, int, int]:
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


def _claims(
    printed: Printed, found: tuple[int, int, int, int, int]
) -> Iterator[Comparison]:
    rows, part, parameters, per_gpu, batch = found
    label = f"{printed.gpus} GPUs"
    yield near(f"{label}, rows of all tables", printed.rows, rows, "")
    yield near(f"{label}, features of a part", printed.part_of_features, part, "")
    yield near(f"{label}, parameters", printed.parameters, parameters, "")
    why = "printed with one digit"
    yield near(f"{label}, parameters of a GPU", printed.per_gpu, per_gpu, "", why=why)
    why = "65,536 samples over 32 tables; every other row divides by its tables"
    yield near(f"{label}, batch of a GPU", printed.batch_of_gpu, batch, "", why=why)


_NOTES = (
    "Tables have 10 million rows each; the printed number of rows is that of all.",
    (
        "Iteration times (Fig. 17) are not reproducible: the profiles behind them are"
        " not printed."
    ),
)

FIGURE = Table10()
