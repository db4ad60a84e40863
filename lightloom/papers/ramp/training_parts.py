"""Iterations on 65,536 nodes: communication estimated, computation given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from lightloom.core.units import PS_PER_S
from lightloom.instances.gpus import gpu_named
from lightloom.papers.claims import above, holds, not_reproducible
from lightloom.papers.plot import Plot
from lightloom.papers.ramp.baseline_networks import apart, as_published
from lightloom.papers.ramp.compared_systems import (
    AS_PRINTED,
    RAMP,
    best_on,
    on_ramp,
    on_ramp_as_printed,
    on_rival_as_printed,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row
    from lightloom.report.panel import Panel

FAT_TREE, _, TOPOOPT = as_published()
RIVALS = (FAT_TREE.name, TOPOOPT.name)
COLUMNS = (
    *("system", "model_parallel_ms", "data_parallel_ms", "communication_ms"),
    *("computation_ms_given", "communication_percent", "communication_times_ramp"),
    "iteration_times_ramp",
)
"""What `rows` yields."""
_A100 = gpu_named("a100")
FLOPS_PER_S = _A100.peak_flops_per_s("fp16")
_COMPUTED = (
    "Communication is computed: collectives by the estimates of ramp-fig18, one after"
    " the other, none of it hidden. Computation is given, not reproduced: FLOPs at the"
    " peak rate of an A100. The paper's profiles are not printed, and real kernels are"
    " slower: shares of communication are higher here, and speed-ups nearer to those of"
    " communication alone."
)
_PLACES = (
    "A group stands at the best of places on RAMP, all groups at once; on the others"
    " groups that share a model are neighbours, and replicas are apart. TopoOpt's"
    " circuits form the rings of both without a delay, as the paper has it."
)
GIVEN = (_COMPUTED, _PLACES)
"""Notes of both figures."""


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
            made = on_ramp_as_printed if printed else on_ramp
            timed = made(self.op, self.size_bytes, self.nodes)
        else:
            (whole,) = (net for net in (FAT_TREE, TOPOOPT) if net.name == name)
            group = apart(whole, self.inner, self.nodes)
            choose = on_rival_as_printed if printed else best_on
            timed = choose(group, self.op, self.size_bytes)
        return self.times * timed.time.total_ps


def rows(
    model: Sequence[TimedCalls], data: Sequence[TimedCalls], computing_s: float
) -> Iterator[Row]:
    """Yield an iteration on every system, by the best and by the paper's algorithms."""
    for ending in ("", AS_PRINTED):
        mine_s = 0.0
        for name in (RAMP, *RIVALS):
            parts = [
                float(sum(one.time_ps(name + ending) for one in part)) / PS_PER_S
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
        found = not_reproducible(claim, self.paper, ours, _PROFILES)
        return replace(found, best=best)

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


def panels(data: Data, label: str, text: str, x_log: int | None) -> Iterator[Panel]:
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
