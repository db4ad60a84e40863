"""RAMP Tables 9 and 10, Figs 16 and 17: iterations on 65,536 GPUs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from lightloom.core.units import PS_PER_S
from lightloom.instances.computation_table import ELEMENT_BYTES, gpu_named
from lightloom.instances.workloads import layer_graph, model_named
from lightloom.papers.claims import above, holds, near, not_reproducible
from lightloom.papers.ramp.closed_forms import apart, as_published
from lightloom.papers.ramp.systems import (
    AS_PRINTED,
    RAMP,
    best_on,
    on_ramp,
    on_ramp_as_printed,
    on_rival_as_printed,
    title_of,
)
from lightloom.papers.reproduction import Plot, figures
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell

_FAT_TREE, _, _TOPOOPT = as_published()
RIVALS = (_FAT_TREE.name, _TOPOOPT.name)
_WIDTH = ELEMENT_BYTES["fp16"]
FLOPS_PER_S = gpu_named("a100").peak_flops_per_s("fp16")


class TimedCalls(NamedTuple):
    """Collectives that follow each other in an iteration, all groups at once.

    There are `inner` places from one of the `nodes` of a group to the next.
    """

    op: str
    size_bytes: int
    times: int
    nodes: int
    inner: int = 1

    def time_ps(self, system: str) -> Fraction | int:
        """Return what they take."""
        if self.nodes == 1 or not self.size_bytes:
            return 0
        name, printed = system.removesuffix(AS_PRINTED), system.endswith(AS_PRINTED)
        if name == RAMP:
            on_mine = on_ramp_as_printed if printed else on_ramp
            timed = on_mine(self.op, self.size_bytes, self.nodes)
        else:
            (whole,) = (net for net in (_FAT_TREE, _TOPOOPT) if net.name == name)
            group = apart(whole, self.inner, self.nodes)
            choose = on_rival_as_printed if printed else best_on
            timed = choose(group, self.op, self.size_bytes)
        return self.times * timed.time.total_ps


def iteration_rows(
    model: Sequence[TimedCalls], data: Sequence[TimedCalls], computing_s: float
) -> Iterator[Row]:
    """Yield an iteration on every system, by the best and by the paper's algorithms."""
    for ending in ("", AS_PRINTED):
        mine_s = 0.0
        for name in (RAMP, *RIVALS):
            parts = [
                float(sum(calls.time_ps(name + ending) for calls in part)) / PS_PER_S
                for part in (model, data)
            ]
            moving_s = sum(parts)
            mine_s = mine_s or moving_s
            whole_s = moving_s + computing_s
            yield (
                name + ending,
                *(1000 * value for value in (*parts, moving_s, computing_s)),
                100 * moving_s / whole_s,
                moving_s / mine_s,
                whole_s / (mine_s + computing_s),
            )


def ratios(data: Data, column: str, ending: str = "") -> list[float]:
    """Return a column of all rivals, by the best or the paper's algorithms."""
    return [
        value for name in RIVALS for value in data.numbers(column, system=name + ending)
    ]


@dataclass(frozen=True)
class ShareClaim:
    """A range of the paper, in `unit`, that rests on its times of computation."""

    claim: str
    paper: str
    column: str
    systems: tuple[str, ...]
    unit: str

    def compared(self, data: Data) -> Comparison:
        """Return it beside ours, which is no verdict."""
        ours, best = (self._range(data, ending) for ending in (AS_PRINTED, ""))
        claim = f"{self.claim} (computation given)"
        comparison = not_reproducible(claim, self.paper, ours, _PROFILES)
        return replace(comparison, best=best)

    def _range(self, data: Data, ending: str) -> str:
        values = [
            value
            for name in self.systems
            for value in data.numbers(self.column, system=name + ending)
        ]
        return f"{min(values):.2f} to {max(values):.2f} {self.unit}"


def share_claims(
    data: Data, label: str, claims: Sequence[ShareClaim]
) -> Iterator[Comparison]:
    """Yield what communication alone decides, then what it does not."""
    column = "communication_times_ramp"
    points = {
        (place, name + ending): data.number(
            column, **{label: place}, system=name + ending
        )
        for place in data.sizes(label)
        for name in RIVALS
        for ending in ("", AS_PRINTED)
    }
    printed, known = (ratios(data, column, ending) for ending in (AS_PRINTED, ""))
    yield holds(
        "communication takes less time on RAMP, in every row",
        "less",
        f"{min(printed):.3g}X to {max(printed):.3g}X on the others",
        points=above(points, 1),
        why="groups of few nodes, or with much data, are as fast in a server",
        best=f"{min(known):.3g}X to {max(known):.3g}X",
    )
    for claim in claims:
        yield claim.compared(data)


def iteration_panels(
    data: Data, label: str, text: str, x_log: int | None
) -> Iterator[Panel]:
    """Yield the times of communication, and its share, by row of the paper."""
    for title, column, unit in (
        ("communication of an iteration", "communication_ms", "time (ms)"),
        (
            "share of an iteration, computation given",
            "communication_percent",
            "communication (%)",
        ),
    ):
        yield from Plot(
            x=label,
            y=column,
            series="system",
            title=title,
            x_label=text,
            y_label=unit,
            names=title_of,
            styles={name + AS_PRINTED: "--" for name in (RAMP, *RIVALS)},
            x_log=x_log,
            y_log=10,
            tick="{:,}".format if x_log else None,
        )(data)


_PROFILES = (
    "profiles of layers on A100 GPUs are not printed; ours is communication as computed"
    " beside computation at the peak rate"
)


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


MEGATRON = {
    float(row.loss): row
    for row in (
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
}


LOSSES = tuple(row.loss for row in MEGATRON.values())


def _table9_rows(tell: Tell, *, losses: tuple[str, ...] = LOSSES) -> Iterator[Row]:
    """Build the models that aim at some losses and derive rows from their layers."""
    for printed in MEGATRON.values():
        if printed.loss in losses:
            tell(f"loss {printed.loss}")
            yield float(printed.loss), printed.gpus, *derived_megatron(printed)


def derived_megatron(printed: MegatronRow) -> tuple[int, int, int, int]:
    """Return the parameters of a model, those of a GPU, and the two messages.

    A message of data parallelism is the gradients of a GPU, one of model parallelism
    the activations of its local batch: positions times width in two bytes each.
    """
    model = model_named(f"megatron-ce-{printed.loss}")
    parameters = layer_graph(model, 1).parameters
    per_gpu = parameters // printed.model
    local = printed.batch // printed.data
    activations = model.parameters["positions"] * model.parameters["hidden"] * local
    sent = activations * _WIDTH if printed.model > 1 else 0
    return parameters, per_gpu, per_gpu * _WIDTH, sent


def _table9_claims(data: Data) -> Iterator[Comparison]:
    columns = map(data.numbers, data.columns)
    for loss, _, total, per_gpu, data_bytes, model_bytes in zip(*columns, strict=True):
        row = MEGATRON[loss]
        label = f"loss {row.loss}"
        yield near(f"{label}, parameters", row.parameters, total, "", why=_WHY_SIZE)
        why = _PARTS_OF_MODEL if loss < 1.7 else "the last digit is cut off"
        yield near(f"{label}, of a GPU", row.per_gpu, per_gpu, "", why=why)
        claim, why = f"{label}, message of data", _PARTS_OF_MODEL
        yield near(claim, row.data_bytes, data_bytes, "B", why=why)
        if row.model_bytes:
            why = (
                f"2 B x 1024 x width x {row.batch} / {row.data}; the printed one is"
                " that of a batch of 32, which the table does not mention"
            )
            claim = f"{label}, message of model"
            yield near(claim, row.model_bytes, model_bytes, "B", why=why)


def _table9_panels(data: Data) -> Iterator[Panel]:
    losses = data.numbers("loss")
    paper = [MEGATRON[loss] for loss in losses]
    sizes, messages = (
        [row.per_gpu for row in paper],
        [row.model_bytes for row in paper],
    )
    for title, unit, column, theirs in (
        ("parameters of a GPU", "millions", "parameters_of_a_gpu", sizes),
        ("message of model parallelism", "MB", "model_message_bytes", messages),
    ):
        series = [
            Series("ours", losses, [value / 1e6 for value in data.numbers(column)]),
            Series("paper", losses, [value / 1e6 for value in theirs], "--"),
        ]
        yield Panel(title, "cross-entropy loss", unit, series)


_WHY_SIZE = "12 layers width^2 are printed; biases and norms are counted here"
_PARTS_OF_MODEL = (
    "parameters over the level of model parallelism; below a loss of 1.8 the paper has"
    " more, and does not say what"
)


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


DLRM = {
    row.gpus: row
    for row in (
        DlrmRow(256, 8, 8e7, 4096, 128, 8192, 328e9, 1.3e9),
        DlrmRow(1024, 16, 1.6e8, 8192, 128, 4096, 1.3e12, 1.3e9),
        DlrmRow(4096, 32, 3.2e8, 16_384, 128, 3072, 5.2e12, 1.3e9),
        DlrmRow(16_384, 128, 1.28e9, 16_384, 128, 512, 21e12, 1.3e9),
        DlrmRow(65_536, 256, 2.56e9, 16_384, 64, 256, 41.9e12, 0.7e9),
    )
}


GPUS = tuple(DLRM)


def _table10_rows(tell: Tell, *, gpus: tuple[int, ...] = GPUS) -> Iterator[Row]:
    """Build the models for some numbers of GPUs and derive rows from their layers."""
    for printed in DLRM.values():
        if printed.gpus in gpus:
            tell(f"{printed.gpus} GPUs")
            yield printed.gpus, printed.tables, *derived_dlrm(printed)


def derived_dlrm(printed: DlrmRow) -> tuple[int, int, int, int, int]:
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


def _table10_claims(data: Data) -> Iterator[Comparison]:
    columns = map(data.numbers, data.columns)
    for gpus, _, rows, part, total, per_gpu, batch in zip(*columns, strict=True):
        row, label = DLRM[int(gpus)], f"{gpus} GPUs"
        yield near(f"{label}, rows of all tables", row.rows, rows, "")
        yield near(f"{label}, features of a part", row.part_of_features, part, "")
        yield near(f"{label}, parameters", row.parameters, total, "")
        why = "printed with one digit"
        yield near(f"{label}, parameters of a GPU", row.per_gpu, per_gpu, "", why=why)
        why = "65,536 samples over 32 tables; every other row divides by its tables"
        yield near(f"{label}, batch of a GPU", row.batch_of_gpu, batch, "", why=why)


def _table10_panels(data: Data) -> Iterator[Panel]:
    gpus = data.sizes("gpus")
    ours = [count / 1e9 for count in data.numbers("parameters_of_a_gpu")]
    theirs = [DLRM[int(count)].per_gpu / 1e9 for count in gpus]
    yield Panel(
        "parameters of a GPU",
        "GPUs",
        "billions",
        [Series("ours", gpus, ours), Series("paper", gpus, theirs, "--")],
        x_log=2,
        x_ticks=[(count, f"{count:,}") for count in gpus],
    )


_MEGATRON_PASSES = 8
"""FLOPs of a parameter and a token: forward, forward again, and twice that back."""
_SHARE = "communication_percent"
_FIG16_SHARES = (
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


def _fig16_rows(
    tell: Tell,
    *,
    losses: tuple[str, ...] = LOSSES,
    all_reduces: int = 6,
) -> Iterator[Row]:
    """Estimate an iteration of each model, with so many all-reduces a layer."""
    for printed in MEGATRON.values():
        if printed.loss in losses:
            tell(f"loss {printed.loss}")
            for row in _megatron_rows(printed, all_reduces):
                yield float(printed.loss), printed.gpus, *row


def _megatron_rows(printed: MegatronRow, all_reduces: int) -> Iterator[Row]:
    """Yield an iteration of a model on every system."""
    shape = model_named(f"megatron-ce-{printed.loss}").parameters
    _, per_gpu, _, _ = derived_megatron(printed)
    tokens = printed.batch // printed.data * shape["positions"]
    times, nodes = all_reduces * shape["layers"], printed.model
    sizes = int(printed.model_bytes), int(printed.data_bytes)
    model = TimedCalls("all-reduce", sizes[0], times, nodes)
    data = TimedCalls("all-reduce", sizes[1], 1, printed.data, inner=nodes)
    yield from iteration_rows(
        [model], [data], _MEGATRON_PASSES * per_gpu * tokens / FLOPS_PER_S
    )


def _fig16_claims(data: Data) -> Iterator[Comparison]:
    yield from share_claims(data, "loss", _FIG16_SHARES)


def _fig16_panels(data: Data) -> Iterator[Panel]:
    return iteration_panels(data, "loss", "cross-entropy loss", None)


_DLRM_PASSES = 6
"""FLOPs of a parameter and a sample: forward, and twice that back."""
_FAT_TREE_NAME, _TOPOOPT_NAME = RIVALS
_FIG17_SHARES = (
    ShareClaim(
        "iteration time falls over TopoOpt by",
        *("up to 7.8X", "iteration_times_ramp", (_TOPOOPT_NAME,), "times"),
    ),
    ShareClaim(
        "iteration time falls over the fat tree by",
        *("up to 58X", "iteration_times_ramp", (_FAT_TREE_NAME,), "times"),
    ),
    ShareClaim("communication on RAMP", "below 1 % of the time", _SHARE, (RAMP,), "%"),
    ShareClaim(
        *("communication on TopoOpt", "12.5 % to 87 % of the time", _SHARE),
        *((_TOPOOPT_NAME,), "%"),
    ),
    ShareClaim(
        *("communication on the fat tree", "52 % to 98 % of the time", _SHARE),
        *((_FAT_TREE_NAME,), "%"),
    ),
)


def _fig17_rows(tell: Tell, *, gpus: tuple[int, ...] = GPUS) -> Iterator[Row]:
    """Estimate an iteration of the models for some numbers of GPUs."""
    for printed in DLRM.values():
        if printed.gpus in gpus:
            tell(f"{printed.gpus} GPUs")
            for row in _dlrm_rows(printed):
                yield printed.gpus, *row


def _dlrm_rows(printed: DlrmRow) -> Iterator[Row]:
    """Yield an iteration of a model on every system."""
    model = model_named(f"dlrm-{printed.gpus}")
    shape = model.parameters
    _, part, _, _, batch_of_gpu = derived_dlrm(printed)
    hidden = shape["bottom_hidden"]
    layers = shape["bottom_layers"] - 1 + shape["top_layers"]
    dense = hidden * (shape["dense_features"] + layers * hidden)
    looked_up = model.batch_size * part * _WIDTH
    parts = printed.gpus // printed.tables
    tables = TimedCalls("all-to-all", looked_up, 2, printed.tables, inner=parts)
    columns = TimedCalls("all-to-all", looked_up, 2, parts)
    towers = TimedCalls("all-reduce", dense * _WIDTH, 1, printed.gpus)
    computing_s = _DLRM_PASSES * dense * batch_of_gpu / FLOPS_PER_S
    yield from iteration_rows([tables, columns], [towers], computing_s)


def _fig17_claims(data: Data) -> Iterator[Comparison]:
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
    yield from share_claims(data, "gpus", _FIG17_SHARES)


def _fig17_panels(data: Data) -> Iterator[Panel]:
    return iteration_panels(data, "gpus", "GPUs", 4)


FIGURE = figures(
    __package__,
    ("ramp-table9", _table9_rows, _table9_claims, _table9_panels),
    ("ramp-table10", _table10_rows, _table10_claims, _table10_panels),
    ("ramp-fig16", _fig16_rows, _fig16_claims, _fig16_panels),
    ("ramp-fig17", _fig17_rows, _fig17_claims, _fig17_panels),
)
