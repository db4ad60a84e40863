"""A schedule as one page of HTML: its fabric, step by step, and where the time goes."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.certificate import COMPLETION_TIME, CertificateStatus
from lightloom.core.errors import LightloomError
from lightloom.core.schedule import Transfers
from lightloom.core.task import Collective
from lightloom.core.units import format_bytes, format_ps
from lightloom.formats.atomic import atomic_write
from lightloom.replay import replay
from lightloom.replay.time_shares import percentages, time_shares
from lightloom.report.bandwidth import bandwidth
from lightloom.report.moments import moments
from lightloom.report.schedule_page.fabric_drawing import (
    fabric_layout,
    link_view,
    page_links,
)
from lightloom.report.schedule_page.use_over_time import use_over_time
from lightloom.validate import verify

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, Segment
    from lightloom.replay import Timeline
    from lightloom.validate import CertificateReport, Verdict


_FOLDER = resources.files("lightloom.report.schedule_page")
_FRAME_HEIGHT = 900
"""Of a page in a notebook, in pixels."""


@dataclass(frozen=True, repr=False)
class SchedulePage:
    """A page of HTML that asks nothing of a network; notebooks show it in a frame.

    Attributes
    ----------
    title
        Its heading.
    html
        The document.
    """

    title: str
    html: str

    def save(self, path: Path) -> Path:
        """Write the page, and return its path.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        with atomic_write(path) as file:
            file.write(self.html.encode())
        return path

    def __repr__(self) -> str:
        """Return what it is of, and how large."""
        return f"<page of {self.title}: {len(self.html.encode()):,} bytes of HTML>"

    def _repr_html_(self) -> str:
        document = html.escape(self.html, quote=True)
        style = f"width:100%;height:{_FRAME_HEIGHT}px;border:0"
        return f'<iframe srcdoc="{document}" style="{style}"></iframe>'


def schedule_page(schedule: Schedule, title: str) -> SchedulePage:
    """Return the page of a schedule, which may break rules.

    Same schedule, same bytes.
    """
    page = (_FOLDER / "page.html").read_text("utf-8")
    data = json.dumps(page_data(schedule, title), separators=(",", ":"))
    inside = {
        "STYLE": (_FOLDER / "page.css").read_text("utf-8"),
        "SCRIPT": (_FOLDER / "page.js").read_text("utf-8"),
        # A script element ends at the first "</", wherever it stands.
        "DATA": data.replace("<", "\\u003c"),
    }
    for name, text in inside.items():
        page = page.replace(f"/*{name}*/", text, 1)
    return SchedulePage(title, page)


_MOST_ROWS = 24_000
"""Of pairs, circuits and transfers each; more are sampled by their sources."""
_MOST_VIOLATIONS = 500
"""Violations that a page lists; their count is told."""
_MOST_NODES = 4096
"""Of which a page says where their time goes."""


def page_data(schedule: Schedule, title: str) -> dict[str, Any]:
    """Return what a page shows of a schedule; times in picoseconds.

    A schedule that breaks rules, or cannot be replayed, is shown as far as it goes.
    """
    verdict = verify(schedule)
    notes: list[str] = []
    timeline: Timeline | None = None
    try:
        timeline = replay(schedule)
    except LightloomError as problem:
        notes.append(f"Without times, because it cannot be replayed: {problem}.")
    parts = moments(schedule, timeline)
    pairs = _pairs(schedule, timeline, notes)
    transfers = _transfers(schedule, notes)
    sent = {key: pairs.get(key, []) + transfers.get(key, []) for key in ("src", "dst")}
    data: dict[str, Any] = {
        "title": title,
        "facts": _facts(schedule, verdict, timeline),
        "layout": fabric_layout(schedule.fabric),
        "collective": isinstance(schedule.task, Collective),
        "alpha": int(schedule.fabric.get("alpha_ps", 0) or 0),
        "steps": _steps(schedule, timeline),
        "moments": [[one.step, one.start_ps, one.end_ps, one.begins] for one in parts],
        "shares": _shares(schedule, timeline, notes),
        "pairs": pairs,
        "segments": _segments(schedule, timeline, notes),
        "transfers": transfers,
        "links": page_links(link_view(schedule.fabric), timeline, parts, sent, notes),
        "used": use_over_time(schedule, timeline, valid=verdict.valid),
        "violations": [
            [one.rule, one.step, one.resource, one.message]
            for one in verdict.violations[:_MOST_VIOLATIONS]
        ],
        "violationCount": verdict.violation_count,
        "certificates": [_certificate(one) for one in verdict.certificates],
    }
    return {**data, "notes": notes}


def _facts(
    schedule: Schedule, verdict: Verdict, timeline: Timeline | None
) -> list[list[str]]:
    """Return the heading's words and values."""
    task, told = schedule.task, schedule.algorithm
    if isinstance(task, Collective):
        asked = f"{task.op}, {format_bytes(task.buffer_bytes)}, {task.rank_count} ranks"
    else:
        asked = f"demand of {len(task.src)} pairs, {format_bytes(sum(task.bytes))}"
    made = " ".join(f"{key}={value}" for key, value in told.parameters.items())
    facts = [
        ["fabric", str(schedule.fabric.get("kind"))],
        ["task", asked],
        ["algorithm", f"{told.name} {made}".strip()],
        ["verdict", "valid" if verdict.valid else "breaks rules"],
    ]
    if timeline is not None:
        time_ps = timeline.completion_time_ps
        facts.append(["completion time", format_ps(time_ps)])
        if rates := bandwidth(task, time_ps):
            facts.append(["bandwidth", str(rates)])
    footer = schedule.footer
    certificate = None if footer is None else footer.certificate
    if certificate is not None and verdict.valid:
        facts.append(["no schedule ends before", format_ps(int(certificate.bound))])
    return facts


def _certificate(report: CertificateReport) -> list[str]:
    """Return what a certificate is worth, and of what kind it is."""
    if report.kind is None:
        return [report.objective, str(report.status)]
    bound = str(report.bound)
    if report.objective == COMPLETION_TIME and report.bound is not None:
        bound = format_ps(int(report.bound))
    known = f"{report.status}: {report.kind} bound {bound}"
    if report.gap is not None and report.status is not CertificateStatus.REFUSED:
        known += f", the schedule is {100 * report.gap:.2f} % above it"
    return [report.objective, known]


def _shares(
    schedule: Schedule, timeline: Timeline | None, notes: list[str]
) -> dict[str, Any] | None:
    """Return where the time of nodes goes: by step, by node, and in percent."""
    if timeline is None:
        return None
    shares = time_shares(schedule, timeline)
    count = len(shares.node_ps)
    if count > _MOST_NODES:
        notes.append(
            f"Where the time goes: of {count:,} nodes, the first {_MOST_NODES:,}."
        )
    return {
        "all": count,
        "steps": shares.step_ps,
        "nodes": shares.node_ps[:_MOST_NODES].tolist(),
        "percent": percentages([*shares.total_ps().values()]),
    }


def _steps(schedule: Schedule, timeline: Timeline | None) -> list[list[Any]]:
    """Return release, end, bytes, transfers, segments and last pair of each step."""
    if timeline is not None:
        last = _last_pairs(timeline)
        return [
            [
                step.release_ps,
                step.end_ps,
                step.bytes,
                step.transfers,
                [list(one) for one in step.segments],
                pair,
            ]
            for step, pair in zip(timeline.steps, last, strict=True)
        ]
    steps: dict[int, list[Any]] = {}
    for part in schedule.parts:
        row = steps.setdefault(part.index, [part.index, part.index + 1, 0, 0, []])
        row[2] += int(schedule.transfer_bytes(part).sum())
        row[3] += len(part.transfers)
        if part.plane is not None:
            row[4].append([part.plane, part.segment])
    return [steps[index] for index in sorted(steps)]


def _last_pairs(timeline: Timeline) -> list[list[int]]:
    """Return the pair of each step that ends last, the first of several."""
    pairs, last = timeline.pairs, [list[int]() for _ in timeline.steps]
    end = np.array([step.end_ps for step in timeline.steps], dtype=np.int64)
    rows = np.flatnonzero(pairs.end_ps == end[pairs.step])
    steps, first = np.unique(pairs.step[rows], return_index=True)
    for step, row in zip(steps, rows[first], strict=True):
        last[step] = [int(pairs.src[row]), int(pairs.dst[row])]
    return last


def _pairs(
    schedule: Schedule, timeline: Timeline | None, notes: list[str]
) -> dict[str, list[int]]:
    """Return what each pair sends in each step, and when."""
    if timeline is not None:
        pairs = timeline.pairs
        names = (
            "step",
            "plane",
            "segment",
            "src",
            "dst",
            "bytes",
            "start_ps",
            "end_ps",
        )
        columns = {name: getattr(pairs, name) for name in names}
        return _sampled(columns, "pairs that send", notes)
    rows: dict[str, list[IntArray]] = {}
    for part in schedule.parts:
        count = len(part.transfers)
        plane = -1 if part.plane is None else part.plane
        segment = -1 if part.segment is None else part.segment
        for name, column in {
            "step": np.full(count, part.index),
            "plane": np.full(count, plane),
            "segment": np.full(count, segment),
            "src": part.transfers.src,
            "dst": part.transfers.dst,
            "bytes": schedule.transfer_bytes(part),
            "start_ps": np.full(count, part.index),
            "end_ps": np.full(count, part.index + 1),
        }.items():
            rows.setdefault(name, []).append(column)
    joined = {name: np.concatenate(columns) for name, columns in rows.items()}
    return _sampled(joined, "pairs that send", notes)


def _segments(
    schedule: Schedule, timeline: Timeline | None, notes: list[str]
) -> list[dict[str, Any]]:
    """Return the circuits of each segment, and when they are set."""
    set_up = {}
    if timeline is not None:
        set_up = {
            (done.plane, done.segment): [done.start_ps, done.end_ps]
            for done in timeline.reconfigurations
        }
    total = schedule.circuit_count
    every = max(1, -(-total // _MOST_ROWS))
    if every > 1:
        what = f"Circuits of one node in {every} are drawn ({total:,} in all)."
        notes.append(what)
    return [
        {
            "plane": segment.plane,
            "index": segment.index,
            "set": set_up.get((segment.plane, segment.index)),
            **_circuits(segment, every),
        }
        for segment in schedule.segments
    ]


def _circuits(segment: Segment, every: int) -> dict[str, Any]:
    """Return columns of the circuits whose source is drawn."""
    circuits = segment.circuits
    rows = np.flatnonzero(circuits.src % every == 0)
    columns: dict[str, Any] = {
        "src": circuits.src[rows].tolist(),
        "dst": circuits.dst[rows].tolist(),
    }
    if circuits.wavelengths is not None:
        columns["wavelengths"] = circuits.wavelengths.take(rows).to_lists()
    if circuits.route is not None:
        columns["route"] = circuits.route.take(rows).to_lists()
    if circuits.direction is not None:
        columns["direction"] = circuits.direction[rows].tolist()
    return columns


def _transfers(schedule: Schedule, notes: list[str]) -> dict[str, list[int]]:
    """Return chunk transfers, to follow chunks by."""
    chunked = [part for part in schedule.parts if isinstance(part.transfers, Transfers)]
    if not chunked:
        return {}
    moved = [part.transfers for part in chunked]
    length = [len(part.transfers) for part in chunked]
    whose = {
        "step": [part.index for part in chunked],
        "plane": [-1 if part.plane is None else part.plane for part in chunked],
        "segment": [-1 if part.segment is None else part.segment for part in chunked],
    }
    columns = {
        **{name: np.repeat(values, length) for name, values in whose.items()},
        **{
            name: np.concatenate([getattr(one, name) for one in moved])
            for name in ("src", "dst", "chunk_lo", "chunk_hi", "op")
        },
    }
    return _sampled(columns, "transfers of chunks", notes)


def _sampled(
    columns: dict[str, IntArray], what: str, notes: list[str]
) -> dict[str, list[int]]:
    """Return columns as lists, of some sources only where there are too many rows."""
    if not columns:
        return {}
    total = len(columns["src"])
    every = max(1, -(-total // _MOST_ROWS))
    if every > 1:
        notes.append(
            f"Of {total:,} {what}, those of one node in {every} are in this page."
        )
    rows = columns["src"] % every == 0
    return {name: column[rows].tolist() for name, column in columns.items()}
