"""All figures: nothing is lost or done twice, and what fails is told."""

from __future__ import annotations

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from lightloom.bench.results import read_results
from lightloom.cli.reproduce import INDEX_FILE, RESULTS_FILE, reproduce_all
from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError, NoAnswerError
from lightloom.papers.every_figure import figure_jobs, rows_with_files
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.papers.reproduction import Figure

CHEAP: Catalogue[Figure] = Catalogue(
    "tests.papers.cheap", attribute="FIGURE", noun="figure"
)
FAULTY: Catalogue[Figure] = Catalogue(
    "tests.papers.faulty", attribute="FIGURE", noun="figure"
)
KILLED = """
import os, sys
from pathlib import Path
from lightloom.bench.results import ResultsFile
from lightloom.cli.reproduce import reproduce_all
from tests.papers.test_reproduce_all import CHEAP

append, rows = ResultsFile.append, []

def append_once(file, row):
    if rows:
        os._exit(9)
    append(file, row)
    rows.append(row)

ResultsFile.append = append_once
reproduce_all(CHEAP, Path(sys.argv[1]), None, 1)
"""
"""Ends at once when the second figure is computed and not yet noted."""


class References(HTMLParser):
    """Collects what a page refers to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the attributes that make a browser look elsewhere."""
        del tag
        self.found += [value or "" for key, value in attrs if key in ("src", "href")]


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return when every file was written, and what it holds."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(one): (one.stat().st_mtime_ns, one.read_bytes()) for one in files}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what a killed run leaves: one figure noted, another one computed."""
    folder = tmp_path_factory.mktemp("all")
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder)], timeout=HUNG_S, check=False
    )
    assert ended.returncode == 9
    return folder


@pytest.fixture(scope="module")
def whole(killed: Path) -> Path:
    """Return what the next run makes of it."""
    first, noted = read_results(killed / RESULTS_FILE), state(killed / "overlap-fig10")
    assert [row.instance for row in first] == ["overlap-fig10"]
    reproduce_all(CHEAP, killed, None, 1)
    assert read_results(killed / RESULTS_FILE)[:1] == first
    assert state(killed / "overlap-fig10") == noted
    return killed


def test_a_killed_run_goes_on_and_a_second_one_does_nothing(whole: Path) -> None:
    """What was noted is not touched again; every figure is noted once."""
    rows = read_results(whole / RESULTS_FILE)
    assert sorted(row.instance for row in rows) == list(CHEAP.names)
    before = state(whole)
    reproduce_all(CHEAP, whole, None, 1)
    assert state(whole) == before


def test_the_index_has_every_figure_and_needs_no_other_file(whole: Path) -> None:
    """Claims, verdicts, notes and pictures, in the order of their numbers."""
    page = (whole / INDEX_FILE).read_text("utf-8")
    for reference in References(page).found:
        assert reference.startswith(("#", "data:image/png;base64,"))
    for text in (
        *("overlapped reconfiguration Fig. 10", "squares &lt;10&gt;", "a note"),
        *("lightloom reproduce overlap-fig3", "&amp; &lt;b&gt;bold", "no camera"),
        *(">matches", ">differs", ">not reproducible", "3 of 3 figures"),
    ):
        assert text in page
    assert page.index('id="overlap-fig3"') < page.index('id="overlap-fig10"')


def test_a_figure_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    """By an exception or the end of its process; it is tried again."""
    with pytest.raises(NoAnswerError, match="overlap-fig4, overlap-fig5"):
        reproduce_all(FAULTY, tmp_path, None, 1)
    page = (tmp_path / INDEX_FILE).read_text("utf-8")
    assert "failed: ValueError: no such &lt;thing&gt;" in page
    assert "crashed: exit code 7" in page
    assert "1 of 3 figures are here, 2 failed" in page
    rows = read_results(tmp_path / RESULTS_FILE)
    kept = rows_with_files(figure_jobs(FAULTY, tmp_path), rows)
    assert (len(rows), [row.instance for row in kept]) == (3, ["overlap-fig2"])


def test_a_scheduler_that_is_none_is_told_before_anything_is_written(
    tmp_path: Path,
) -> None:
    """There is no index of figures that nobody began to compute."""
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="invalid address of a scheduler"):
        reproduce_all(CHEAP, tmp_path, "nonsense", None)
    assert not (tmp_path / INDEX_FILE).exists()


def test_what_is_out_of_date_is_done_again(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other code, or files that are not those that were noted."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    rows = read_results(tmp_path / RESULTS_FILE)
    assert len(rows_with_files(figure_jobs(CHEAP, tmp_path), rows)) == 3
    (tmp_path / "overlap-fig2" / "data.csv").write_text("x,y,name\n")
    (tmp_path / "overlap-fig3" / "overlap-fig3.png").unlink()
    kept = rows_with_files(figure_jobs(CHEAP, tmp_path), rows)
    assert [row.instance for row in kept] == ["overlap-fig10"]
    version = "lightloom.papers.every_figure.code_version"
    monkeypatch.setattr(version, lambda *, drawn: f"other {drawn}")
    assert rows_with_files(figure_jobs(CHEAP, tmp_path), rows) == ()
