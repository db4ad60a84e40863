"""Figures as jobs of the harness: each computed in a process of its own, and kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.bench.isolation import EventClock
from lightloom.bench.results import Ending, Finding, Row, code_version
from lightloom.papers.reproduction import CLAIMS_FILE, DATA_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
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
