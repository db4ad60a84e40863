"""The page of claims: made from files of figures, current where that is cheap."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.papers import FIGURES, figure
from lightloom.papers.claims import CLAIM_COLUMNS, ClaimVerdict, text_claims
from lightloom.papers.claims_page import (
    ON_PAGE,
    PAGE,
    claims_page,
    figure_section,
    text_section,
)
from lightloom.report.tables import save_csv

if TYPE_CHECKING:
    from pathlib import Path

CHEAP = (
    *("ramp-fig7", "ramp-fig15", "ramp-fig16", "ramp-fig23"),
    *("ramp-table3", "ramp-table4", "ramp-table9", "ramp-table10"),
)
"""Figures that take a second or so."""


def on_page() -> list[str]:
    """Return the names of the figures of the four papers."""
    return [name for name in FIGURES if name.split("-")[0] in ON_PAGE]


@pytest.mark.parametrize("name", CHEAP)
def test_the_page_has_what_a_figure_says_today(name: str) -> None:
    """Renewed by ``python -m lightloom.papers.claims_page FOLDER``."""
    found = figure(name).run(lambda _: None)
    rows = [entry.row() for entry in found.comparisons]
    assert figure_section(found.figure, rows) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", ON_PAGE)
def test_the_page_has_the_numbers_of_the_text(paper: str) -> None:
    """What no figure computes, and what nobody can compute here."""
    texts = text_claims(paper)
    assert text_section(paper, texts) in PAGE.read_text(encoding="utf-8")
    for text in texts:
        assert text.where
        entry = text.comparison
        assert entry.why or entry.verdict == ClaimVerdict.MATCHES


def test_every_figure_of_the_four_papers_is_on_the_page() -> None:
    """With its command; the rows that the claims of the papers rest on are there."""
    page = PAGE.read_text(encoding="utf-8")
    for name in on_page():
        assert f"`lightloom reproduce {name}`" in page
    for row in ("74 %", "80 %", "incast", "all-to-all", "finding", "22 %", "13.3 dB"):
        assert row in page
    heads = re.findall(r"^\| claim .*$", page, flags=re.MULTILINE)
    assert len(heads) == len(on_page())


def test_the_page_is_made_of_files(tmp_path: Path) -> None:
    """Cells stand as they are, bars and stars escaped; a missing figure is named."""
    row = ("a|b *c*", "1 X", "2 X", "3 X: *auto*", "4 us (cut)", "1: 0 of 1")
    for name in on_page():
        (tmp_path / name).mkdir()
        rows = [(*row, ClaimVerdict.DIFFERS, "why")]
        save_csv(CLAIM_COLUMNS, rows, tmp_path / name / "comparison.csv")
    page = claims_page(tmp_path)
    assert r"| a\|b \*c\* | 1 X | 2 X | 3 X: \*auto\* | 4 us (cut) |" in page
    assert page.count(r"a\|b") == len(on_page())
    broken = tmp_path / "ramp-fig7" / "comparison.csv"
    with broken.open("w", newline="") as file:
        csv.writer(file).writerow(("claim", "paper"))
    with pytest.raises(InputError, match="claims of another version"):
        claims_page(tmp_path)
    broken.unlink()
    with pytest.raises(InputError, match="reproduce --all"):
        claims_page(tmp_path)
