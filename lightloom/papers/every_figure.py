"""Every figure: each computed in a process of its own, and kept; one page shows all."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.bench.isolation import EventClock
from lightloom.bench.results import Ending, Finding, Row, code_version
from lightloom.core.units import MIB
from lightloom.papers.claims import CLAIM_COLUMNS, ClaimVerdict
from lightloom.papers.reproduction import CLAIMS_FILE, DATA_FILE, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lightloom.bench.isolation import Event
    from lightloom.bench.results import Measured
    from lightloom.core.catalogue import Catalogue
    from lightloom.papers.reproduction import Figure


_FIGURE = "figure"
_TIME_LIMIT_S = 3600.0
"""A figure that is not there by then has come to a halt."""


@dataclass(frozen=True)
class FigureJob:
    """A figure that is to be computed and saved, in a folder of its name in `folder`.

    `version` is that of the code that computes and draws.
    """

    figures: Catalogue[Figure]
    name: str
    folder: Path
    version: str
    memory_limit_bytes: int | None = None
    search_limit_s: float = _TIME_LIMIT_S

    @property
    def key(self) -> str:
        """The hash of the name and of the code."""
        text = json.dumps([_FIGURE, self.name, self.version])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def files(self) -> tuple[Path, ...]:
        """What is left of the figure."""
        names = (DATA_FILE, CLAIMS_FILE, f"{self.name}.png", f"{self.name}.svg")
        return tuple(self.folder / self.name / name for name in names)

    def find(self, tell: Callable[[Event], None]) -> Finding:
        """Compute the figure and save it."""
        clock = EventClock(tell)
        figure = self.figures.get(self.name)
        figure.run(lambda _: None).save(self.folder / self.name)
        clock.stop()
        return Finding(
            ending=Ending.ANSWER,
            solve_s=clock.solve_s,
            cpu_s=clock.cpu_s,
            detail=self.digest(),
        )

    def digest(self) -> str:
        """Return the hash of the files, '' if one is missing."""
        digest = hashlib.sha256()
        for path in self.files:
            if not path.is_file():
                return ""
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def row(self, finding: Finding, measured: Measured) -> Row:
        """Return the row of the figure."""
        return Row(
            key=self.key,
            suite="reproduce",
            problem=_FIGURE,
            sense="",
            unit="",
            instance=self.name,
            instance_sha256="",
            size=0,
            solver="lightloom",
            parameters={},
            version=self.version,
            time_limit_s=self.search_limit_s,
            memory_limit_bytes=self.memory_limit_bytes,
            seed=0,
            finding=finding,
            peak_bytes=measured.peak_bytes,
            wall_s=measured.wall_s,
            started=measured.started,
            lightloom=self.version,
            machine=measured.machine,
        )


def figure_jobs(figures: Catalogue[Figure], folder: Path) -> tuple[FigureJob, ...]:
    """Return a job for each figure, those that take longest first."""
    version = code_version(drawn=True)
    ordered = sorted(
        figures.values(), key=lambda figure: (-figure.takes_s, figure.name)
    )
    return tuple(
        FigureJob(figures, figure.name, folder.resolve(), version) for figure in ordered
    )


def rows_with_files(jobs: Iterable[FigureJob], rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the last row of each figure whose files are as it left them."""
    last = {row.key: row for row in rows if row.solved}
    candidates = ((job, last.get(job.key)) for job in jobs)
    return tuple(
        row
        for job, row in candidates
        if row is not None and row.finding.detail == job.digest()
    )


_TITLE = "Figures and tables of papers, computed by lightloom"
_VERDICT = CLAIM_COLUMNS.index("verdict")
_CLASSES = {
    ClaimVerdict.MATCHES: "good",
    ClaimVerdict.DIFFERS: "bad",
    ClaimVerdict.NOT_REPRODUCIBLE: "open",
}
_STYLE = """
body { margin: 0 auto; max-width: 1200px; padding: 1rem; color: #1b1f24;
  font: 15px/1.45 system-ui, "DejaVu Sans", sans-serif; }
h2 { margin-top: 3rem; font-size: 1.2rem; }
img { max-width: 100%; display: block; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0;
  border-bottom: 1px solid #d5dae0; }
th, .small { color: #5c6670; }
details { overflow-x: auto; margin: .6rem 0; }
.number { text-align: right; white-space: nowrap; }
.good, .bad, .open { font-weight: 600; }
.good { color: #00664a; } .bad { color: #b04a00; } .open { color: #5c6670; }
"""


def index_page(
    jobs: Sequence[FigureJob], done: Mapping[str, Row], failed: Mapping[str, Row]
) -> str:
    """Return a document that needs no network and no other file.

    Same files and rows, same bytes.
    """
    ordered = sorted(jobs, key=lambda job: in_order(job.name))
    versions = ", ".join(dict.fromkeys(job.version for job in jobs))
    took_s = sum(row.finding.solve_s or 0 for row in done.values())
    summary = (
        f"lightloom {html.escape(versions)} (version and hash of its code):"
        f" {len(done)} of {len(jobs)} figures are here, {len(failed)} failed. Together"
        f" they took {took_s:.0f} s. A claim matches if every number that it is about"
        " is in its band. Best: ours where all that is compared has the best algorithm"
        " known to lightloom, if that is another; bound: what no schedule can beat."
    )
    lines = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_TITLE}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_TITLE}</h1>",
        f"<p>{summary}</p>",
        "<table><tr><th>figure<th>what it shows",
        *(f"<th>{verdict}" for verdict in ClaimVerdict),
        '<th class="number">seconds<th class="number">of a processor</tr>',
        *(_overview(job, done.get(job.name), failed.get(job.name)) for job in ordered),
        "</table>",
    ]
    for job in ordered:
        lines += _section(job, done.get(job.name), failed.get(job.name))
    return "\n".join([*lines, "</body></html>", ""])


def verdict_counts(job: FigureJob) -> Counter[str]:
    """Return how often each verdict stands in the saved claims of a figure."""
    _, *claims = _table(job, CLAIMS_FILE)
    return Counter(claim[_VERDICT] for claim in claims)


def _table(job: FigureJob, name: str) -> list[list[str]]:
    """Return what a CSV file of a figure holds, its heading first."""
    with (job.folder / job.name / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _overview(job: FigureJob, row: Row | None, failed: Row | None) -> str:
    """Return the line of a figure in the table at the top."""
    figure = job.figures.get(job.name)
    cells = [f'<a href="#{job.name}">{html.escape(figure.label)}</a>', figure.title]
    cells[1] = html.escape(cells[1])
    if row is None:
        word, kind = ("failed", "bad") if failed else ("not computed yet", "open")
        rest = f'<td colspan="5" class="{kind}">{word}'
    else:
        counts = verdict_counts(job)
        rest = "".join(
            f'<td class="{kind}">{counts[verdict] or ""}'
            for verdict, kind in _CLASSES.items()
        )
        for spent_s in (row.finding.solve_s, row.finding.cpu_s):
            rest += f'<td class="number">{spent_s or 0:.1f}'
    return f"<tr><td>{'<td>'.join(cells)}{rest}</tr>"


def _section(job: FigureJob, row: Row | None, failed: Row | None) -> Iterator[str]:
    """Yield what is said of a figure."""
    figure = job.figures.get(job.name)
    heading = html.escape(f"{figure.label}: {figure.title}")
    yield f'<h2 id="{job.name}">{heading}</h2>'
    command = f"<code>lightloom reproduce {job.name}</code>"
    if row is None:
        kind, why = "open", "not computed yet; the same command goes on"
        if failed is not None:
            kind, why = "bad", f"{failed.finding.ending}: {failed.finding.detail}"
        yield f'<p>{command}</p><p class="{kind}">{html.escape(why)}</p>'
        return
    yield f'<p class="small">{command}: {html.escape(_made(row))}</p>'
    yield _picture(figure, job.folder / job.name / f"{job.name}.png")
    yield _claims(_table(job, CLAIMS_FILE))
    yield from (f'<p class="small">{html.escape(note)}</p>' for note in figure.notes)
    heads, *rows = _table(job, DATA_FILE)
    yield f"<details><summary>data: {len(rows)} rows</summary><table><tr>"
    yield "".join(f"<th>{html.escape(head)}" for head in heads) + "</tr>"
    for values in rows:
        cells = "".join(f"<td>{html.escape(value)}" for value in values)
        yield f"<tr>{cells}</tr>"
    yield "</table></details>"


def _made(row: Row) -> str:
    """Return how long a figure took, where, and by which code."""
    finding = row.finding
    facts = [f"{finding.solve_s or 0:.1f} s"]
    facts += [f"{finding.cpu_s or 0:.1f} s of processor time"]
    if row.peak_bytes:
        facts.append(f"at most {row.peak_bytes // MIB} MiB of memory")
    if machine := row.machine:
        facts.append(f"{machine.system} {machine.processor}, {machine.cores} cores")
        facts.append(f"{machine.load:g} waiting for them")
    return ", ".join([*facts, f"lightloom {row.lightloom}"])


def _picture(figure: Figure, path: Path) -> str:
    """Return the picture, held in the page."""
    text = base64.b64encode(path.read_bytes()).decode("ascii")
    named = html.escape(f"{figure.label}: {figure.title}", quote=True)
    return f'<img alt="{named}" src="data:image/png;base64,{text}">'


def _claims(table: list[list[str]]) -> str:
    """Return the claims beside ours, the verdicts coloured, no column empty."""
    heads, *claims = table
    used = [at for at in range(len(heads)) if any(claim[at] for claim in claims)]
    lines = ["<table><tr>", *(f"<th>{html.escape(heads[at])}" for at in used), "</tr>"]
    for claim in claims:
        cells = {at: f"<td>{html.escape(claim[at])}" for at in used}
        kind = _CLASSES[ClaimVerdict(claim[_VERDICT])]
        cells[_VERDICT] = f'<td class="{kind}">{html.escape(claim[_VERDICT])}'
        lines.append(f"<tr>{''.join(cells.values())}</tr>")
    return "\n".join([*lines, "</table>"])
