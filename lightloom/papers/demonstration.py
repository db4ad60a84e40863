"""The demonstration: all-reduce on the rack and on an ideal switch, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.task import Collective
from lightloom.core.units import PS_PER_US, format_bytes, format_ps
from lightloom.formats.json_file import write_trace
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms.disjoint_trees import DoubleBinaryTree
from lightloom.replay import replay
from lightloom.replay.trace import trace_events
from lightloom.report.panel import Mark, Panel, Series
from lightloom.report.plots import save_plot
from lightloom.report.tables import Column, terminal_table
from lightloom.synth.publish import publish
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.table import Table

    from lightloom.core.schedule import Schedule
    from lightloom.instances.fabrics.packet_tiers import IdealSwitch
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay import Timeline
    from lightloom.validate import Verdict

ON_RACK = ("ring", "lumorph-2", "lumorph-4", "multiport", "auto")
ON_SWITCH = ("ring", "double-binary-tree", "auto")

_COLUMNS = (
    Column("fabric"),
    Column("algorithm"),
    Column("time", number=True),
    Column("vs ring on switch", number=True),
    Column("steps", number=True),
    Column("reconfigurations", number=True),
    Column("certificate"),
    Column("valid"),
)


@dataclass(frozen=True, eq=False)
class Entry:
    """One algorithm on one fabric: its schedule, verified and replayed."""

    fabric: str
    algorithm: str
    schedule: Schedule
    verdict: Verdict
    timeline: Timeline
    alpha_ps: int

    @property
    def completion_time_us(self) -> float:
        """Completion time in microseconds."""
        return self.timeline.completion_time_ps / PS_PER_US

    @property
    def reconfiguring_us(self) -> float:
        """Time of all reconfigurations in microseconds; one plane: none overlap."""
        spent = sum(
            done.end_ps - done.start_ps for done in self.timeline.reconfigurations
        )
        return spent / PS_PER_US

    @property
    def fixed_us(self) -> float:
        """The alpha of every step, in microseconds."""
        return len(self.timeline.steps) * self.alpha_ps / PS_PER_US


@dataclass(frozen=True, eq=False)
class Demonstration:
    """The entries of a demonstration, and the files it left."""

    title: str
    entries: tuple[Entry, ...]
    baseline: Entry
    files: tuple[Path, ...]

    @property
    def valid(self) -> bool:
        """Whether every schedule keeps every rule."""
        return all(entry.verdict.valid for entry in self.entries)

    def table(self) -> Table:
        """Return the comparison as a terminal table."""
        baseline_us = self.baseline.completion_time_us
        rows = [_row(entry, baseline_us) for entry in self.entries]
        return terminal_table(_COLUMNS, rows, title=self.title)


def demonstrate(
    rack: AnyFabric,
    switch: IdealSwitch,
    buffer_bytes: int,
    folder: Path,
    progress: Callable[[str], None],
) -> Demonstration:
    """Synthesise, verify and replay every algorithm, and leave files in `folder`.

    Leaves the schedule of `auto` (``all-reduce-auto.jsonl``), its trace
    (``trace.json``) and the comparison as ``comparison.png`` and ``comparison.svg``.
    """
    entries = [
        _entry(fabric, buffer_bytes, algorithm, progress)
        for fabric, algorithms in ((rack, ON_RACK), (switch, ON_SWITCH))
        for algorithm in algorithms
    ]
    auto = next(entry for entry in entries if entry.algorithm.startswith("auto"))
    schedule, trace = folder / "all-reduce-auto.jsonl", folder / "trace.json"
    progress("writing the schedule, its trace and the plot")
    folder.mkdir(parents=True, exist_ok=True)
    publish(auto.schedule, str(schedule))
    write_trace(trace_events(auto.schedule, auto.timeline), trace)
    title = f"all-reduce of {format_bytes(buffer_bytes)} on {rack.node_count} GPUs"
    plots = save_plot([_panel(title, entries)], folder / "comparison")
    baseline = entries[len(ON_RACK)]
    return Demonstration(title, tuple(entries), baseline, (schedule, trace, *plots))


def _entry(
    fabric: AnyFabric,
    buffer_bytes: int,
    algorithm: str,
    progress: Callable[[str], None],
) -> Entry:
    """Synthesise, verify and replay one algorithm."""
    label = f"{fabric.kind}-{fabric.node_count}"
    progress(f"{algorithm} on {label}")
    nodes = tuple(range(fabric.node_count))
    instance = Instance(fabric, Collective("all-reduce", nodes, buffer_bytes), label)
    parameters: dict[str, object] = {}
    if algorithm == "double-binary-tree":
        parameters["pieces"] = DoubleBinaryTree.best_pieces(
            fabric.node_count, buffer_bytes, fabric.alpha_ps, fabric.node_bits_per_s
        )
    synthesis = synthesise(instance, algorithm, parameters).incumbent
    assert synthesis is not None
    schedule = synthesis.schedule
    progress(f"verifying and replaying {algorithm} on {label}")
    name = schedule.algorithm.name
    shown = algorithm if algorithm == name else f"{algorithm}: {name}"
    return Entry(
        label, shown, schedule, verify(schedule), replay(schedule), fabric.alpha_ps
    )


def _row(entry: Entry, baseline_us: float) -> tuple[object, ...]:
    certificate = entry.verdict.certificate
    text = str(certificate.status)
    if certificate.gap:
        text += f" {100 * certificate.gap:.1f} % ({certificate.kind})"
    return (
        entry.fabric,
        entry.algorithm,
        format_ps(entry.timeline.completion_time_ps),
        f"{baseline_us / entry.completion_time_us:.2f}x",
        len(entry.timeline.steps),
        len(entry.timeline.reconfigurations),
        text,
        "yes" if entry.verdict.valid else "no",
    )


def _panel(title: str, entries: Sequence[Entry]) -> Panel:
    """Return the comparison as stacked bars: where the time goes."""
    names = [
        entry.algorithm.replace(": ", ":\n").replace("double-", "double-\n")
        + f"\non {entry.fabric.rsplit('-', 1)[0]}"
        for entry in entries
    ]
    fixed = [entry.fixed_us for entry in entries]
    reconfiguring = [entry.reconfiguring_us for entry in entries]
    data = [
        entry.completion_time_us - known - dark
        for entry, known, dark in zip(entries, fixed, reconfiguring, strict=True)
    ]
    marks = []
    for fabric in dict.fromkeys(entry.fabric for entry in entries):
        places = [at for at, entry in enumerate(entries) if entry.fabric == fabric]
        bounds = [entries[at].verdict.certificate.bound for at in places]
        known_bounds = [bound for bound in bounds if bound]
        if known_bounds:
            label = f"lower bound on {fabric.rsplit('-', 1)[0]}"
            y = float(max(known_bounds) / PS_PER_US)
            marks.append(Mark(label, y=y, groups=(places[0], places[-1])))
    return Panel(
        title,
        "",
        "completion time (us)",
        [
            Series("data", names, data),
            Series("fixed cost of steps (alpha)", names, fixed),
            Series("reconfiguration", names, reconfiguring),
        ],
        kind="stack",
        marks=marks,
    )
