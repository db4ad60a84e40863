"""All claims as a page: ``python -m lightloom.papers.claims_page FOLDER`` renews it.

FOLDER is what ``lightloom reproduce --all --out FOLDER`` leaves. Numbers of ours come
from its files, or, where no figure has them, are computed anew (`text_claims`).
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.papers import FIGURES
from lightloom.papers.claims import CLAIM_COLUMNS, ClaimVerdict, text_claims
from lightloom.papers.reproduction import CLAIMS_FILE, PAPERS, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightloom.papers.claims import TextClaim
    from lightloom.papers.reproduction import Figure

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
ON_PAGE = ("lumorph", "sipml", "sipac", "ramp")
"""The papers that lightloom is about, by folder."""

_VERDICT = CLAIM_COLUMNS.index("verdict")
_HEAD = """# Claims

Every number that the four papers print and lightloom can compute, beside ours; and
those that it cannot, with the reason. The page is made by
`lightloom reproduce --all --out FOLDER` and
`python -m lightloom.papers.claims_page FOLDER`: no number of ours is typed into it.

- *Ours* is with the algorithms that the paper compares.
- *Best* is the same number where all that is compared has the best algorithm known to
  lightloom, if that is another.
- *Bound* is what no schedule can beat, with the kind of its
  [certificate](spec/certificates.md).
- *Band* is the range that counts as a match, and how many of the numbers that the claim
  is about are in it. A claim matches if all are.

"""


def claims_page(folder: Path) -> str:
    """Return the page as Markdown."""
    parts, counts = [], {}
    for paper in ON_PAGE:
        figures = sorted(
            (
                figure
                for name, figure in FIGURES.items()
                if name.startswith(f"{paper}-")
            ),
            key=lambda figure: in_order(figure.name),
        )
        saved = {figure.name: _saved(folder, figure.name) for figure in figures}
        texts = text_claims(paper)
        verdicts = [row[_VERDICT] for rows in saved.values() for row in rows]
        verdicts += [str(text.comparison.verdict) for text in texts]
        counts[paper] = Counter(verdicts)
        parts.append(f"## {PAPERS[paper]}\n")
        parts += [figure_section(figure, saved[figure.name]) for figure in figures]
        parts.append(text_section(paper, texts))
    return _HEAD + _overview(counts) + "\n" + "\n".join(parts)


def figure_section(figure: Figure, rows: Iterable[Sequence[str]]) -> str:
    """Return what the page says of a figure."""
    head = f"### {figure.label}: {figure.title}\n"
    source = f"{figure.section}; `lightloom reproduce {figure.name}`\n"
    return "\n".join([head, source, _table(CLAIM_COLUMNS, rows)])


def text_section(paper: str, texts: Iterable[TextClaim]) -> str:
    """Return what the page says of numbers that no figure computes."""
    rows = [
        (text.where, *text.comparison.row(), text.command and f"`{text.command}`")
        for text in texts
    ]
    head = f"### {PAPERS[paper]}, outside its figures\n"
    return "\n".join([head, _table(("where", *CLAIM_COLUMNS, "command"), rows)])


def _saved(folder: Path, name: str) -> list[list[str]]:
    """Return the claims of a figure from its file."""
    path = folder / name / CLAIMS_FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
    except (OSError, ValueError):
        what, fix = "no claims of a figure", f"lightloom reproduce --all --out {folder}"
        raise InputError(what, where=str(path), fix=fix) from None
    if tuple(head) != CLAIM_COLUMNS:
        what, fix = "claims of another version", "reproduce into an empty folder"
        raise InputError(what, where=str(path), found=", ".join(head), fix=fix)
    return rows


def _overview(counts: dict[str, Counter[str]]) -> str:
    """Return how many claims of each paper have which verdict."""
    rows = [
        (PAPERS[paper], *(str(of_paper[verdict]) for verdict in ClaimVerdict))
        for paper, of_paper in counts.items()
    ]
    return _table(("paper", *ClaimVerdict), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table without the columns that are empty."""
    rows = list(rows)
    used = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    lines = [[heads[at] for at in used], ["---"] * len(used)]
    lines += [[_cell(row[at]) for at in used] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    """Return a text that Markdown leaves as it is."""
    if text.startswith("`"):
        return text
    return re.sub(r"([|*_<>\[\]])", r"\\\1", text)


def _main() -> None:
    """Renew the page from a folder."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}")
    parser.add_argument("folder", type=Path, help="left by lightloom reproduce --all")
    try:
        PAGE.write_text(claims_page(parser.parse_args().folder), encoding="utf-8")
    except InputError as problem:
        parser.exit(2, f"{parser.prog}: error: {problem}\n")


if __name__ == "__main__":
    _main()
