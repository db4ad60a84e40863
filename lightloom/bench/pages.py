"""Tables of pages, made from stored answers: what stands between two comments.

A mark is a comment whose first line is ``<!-- table`` and whose other lines are TOML;
the table ends at ``<!-- table ends -->``. Everything else on a page is left as it is.
"""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from lightloom.bench.golden import STORED, GoldenAnswer, answer_of, read_answers
from lightloom.bench.job import problem_named
from lightloom.core.certificate import gap
from lightloom.core.errors import InputError, unknown_name
from lightloom.core.record import convert
from lightloom.core.units import PS_PER_US
from lightloom.formats.json_file import parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from lightloom.bench.results import Row

_BEGIN, _END = "<!-- table\n", "<!-- table ends -->"
_MARK = re.compile(
    r"^```.*?^```$|"  # what a page shows as code is left as it is
    rf"(?P<begin>^{_BEGIN}(?P<text>.*?)-->\n).*?(?P<end>^{_END}|\Z)",
    re.DOTALL | re.MULTILINE,
)


class TableMark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a table shows.

    `results`: stored answers, a CSV file beside the page; '' for the golden cells.
    `name`: what instances are called, with words in braces, as in
    ``{fabric}/{op}-{size}``; others are left out. ``{relays?}`` stands for a blank and
    a word, or for nothing. `only`: values of words, in the order of the table; besides
    those of the name there are problem, instance, solver and the solver's parameters.
    `rows`: words that tell lines apart. `across`: the word that tells columns apart, if
    any. `show`: names of `SHOWN`; where columns are told apart, the first one, and the
    others in brackets behind it.
    """

    rows: tuple[str, ...]
    show: tuple[str, ...]
    name: str = "{instance}"
    across: str = ""
    only: dict[str, tuple[str, ...]] = {}
    results: str = ""


@dataclass(frozen=True)
class Cell:
    """A stored answer, with the words of its name; `bound` is the best certified."""

    words: Mapping[str, str]
    stored: GoldenAnswer
    value: Fraction | None
    bound: Fraction | None

    def word(self, name: str) -> str:
        """Return a word, '' for one that this cell lacks."""
        return self.words.get(name, "")

    @property
    def gap(self) -> float | None:
        """How far the answer is from the bound, relative to the bound."""
        return gap(self.value, self.bound)


def rewritten(page: str, where: Path) -> str:
    """Return the text of the page at `where`, each marked table made anew.

    Raises `InputError` for a mark that is not understood, names a word or a column that
    there is not, or no stored answer.
    """

    def table(match: re.Match[str]) -> str:
        if match["begin"] is None:
            return match[0]
        line = page.count("\n", 0, match.start()) + 1
        place = f"{where}:{line}"
        if not match["end"] or _BEGIN in match[0][1:]:
            raise InputError("a table without an end", where=place, fix=f"add {_END}")
        mark = convert(parse_toml(match["text"], place), TableMark, where=place)
        path = where.parent / mark.results if mark.results else STORED
        lines = table_lines(mark, read_answers(path).values(), place)
        return match["begin"] + "\n" + "\n".join(lines) + "\n\n" + match["end"]

    return _MARK.sub(table, page)


def stored_answers(rows: Iterable[Row]) -> list[GoldenAnswer]:
    """Return what rows of results come to, processor seconds to three figures."""
    answers = {}
    for row in rows:
        answer = answer_of(row)
        cpu_s = float(f"{row.finding.cpu_s or 0.0:.3g}")
        answers[answer.key] = replace(answer, cpu_s=cpu_s)
    return list(answers.values())


def table_lines(
    mark: TableMark, answers: Iterable[GoldenAnswer], where: str
) -> list[str]:
    """Return the lines of a table in Markdown."""
    for name in mark.show:
        if name not in SHOWN:
            raise unknown_name("column", name, sorted(SHOWN), where=where)
    cells = _cells(mark, list(answers))
    if not cells:
        what = "no stored answer is called so"
        raise InputError(what, where=where, found=mark.name)
    known = sorted(set().union(*(cell.words for cell in cells)))
    for word in filter(None, (*mark.rows, mark.across)):
        if word not in known:
            raise unknown_name("word", word, known, where=where)
    keys = _in_order(mark, cells, mark.rows)
    columns = _in_order(mark, cells, (mark.across,)) if mark.across else [()]
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        key = *map(cell.word, mark.rows), *_column(mark, cell)
        groups.setdefault(key, []).append(cell)
    across = bool(mark.across)
    heads = [*mark.rows, *(key[0] or "-" for key in columns if across)]
    right = [False] * len(mark.rows) + [True] * (len(heads) - len(mark.rows))
    if not across:
        heads += mark.show
        right += [name not in _WORDS for name in mark.show]
    lines = [
        _line(heads),
        "|" + "|".join("---:" if number else "---" for number in right) + "|",
    ]
    for key in keys:
        entries = [
            entry
            for column in columns
            for entry in _entries(mark, groups.get((*key, *column), []), where)
        ]
        lines.append(_line([*key, *entries]))
    return lines


def _line(entries: Sequence[str]) -> str:
    return "| " + " | ".join(entry.replace("|", "\\|") for entry in entries) + " |"


def _column(mark: TableMark, cell: Cell) -> tuple[str, ...]:
    return (cell.word(mark.across),) if mark.across else ()


def _in_order(
    mark: TableMark, cells: Sequence[Cell], words: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return the values of words: as `only` lists them, else as cells are stored."""
    ranks: dict[str, dict[str, int]] = {}
    for word in words:
        values = [*mark.only.get(word, ()), *(cell.word(word) for cell in cells)]
        ranks[word] = {value: at for at, value in enumerate(dict.fromkeys(values))}
    keys = {tuple(map(cell.word, words)) for cell in cells}
    return sorted(
        keys,
        key=lambda key: [
            ranks[word][value] for word, value in zip(words, key, strict=True)
        ],
    )


def _entries(mark: TableMark, cells: list[Cell], where: str) -> list[str]:
    """Return what a line shows of the cells that are its own."""
    shown = [SHOWN[name](cells) if cells else "" for name in mark.show]
    if len(cells) > 1 and any(name in _SINGLE for name in mark.show):
        what = "rows do not tell these cells apart"
        found = ", ".join(cell.stored.instance for cell in cells[:3])
        fix = "name more words, or show what holds for many"
        raise InputError(what, where=where, found=found, fix=fix)
    if not mark.across:
        return shown
    first, rest = shown[0], ", ".join(shown[1:])
    return [f"{first} ({rest})" if first and rest else first]


def _cells(mark: TableMark, answers: Sequence[GoldenAnswer]) -> list[Cell]:
    """Return the cells that the table is about."""
    pattern, bounds, cells = _pattern(mark.name), _certified(answers), []
    for answer in answers:
        match = pattern.fullmatch(answer.instance)
        if match is None:
            continue
        given = answer.solver.split()[1:]
        words = {
            **dict(part.split("=", 1) for part in given if "=" in part),
            **{word: value or "" for word, value in match.groupdict().items()},
            "problem": answer.problem,
            "instance": answer.instance,
            "solver": answer.solver,
        }
        if all(words.get(word, "") in values for word, values in mark.only.items()):
            bound = bounds.get((answer.problem, answer.instance))
            cells.append(Cell(words, answer, _number(answer.answer), bound))
    return cells


def _pattern(name: str) -> re.Pattern[str]:
    """Return a name as a pattern; words hold blanks in brackets only, or alone."""
    if name == "{instance}":
        return re.compile(".*")
    pattern = ""
    for text, word, optional in re.findall(r"([^{]*)(?:\{(\w+)(\?)?\})?", name):
        inside = r"[^\]]+" if text.endswith("[") else r"[^\s\[\]/]+"
        pattern += re.escape(text)
        if word:
            pattern += (
                f"(?: (?P<{word}>{inside}))?" if optional else f"(?P<{word}>{inside})"
            )
    return re.compile(pattern)


def _certified(
    answers: Iterable[GoldenAnswer],
) -> dict[tuple[str, str], Fraction]:
    """Return the best bound of each question that has a kind of witness."""
    best: dict[tuple[str, str], Fraction] = {}
    for answer in answers:
        bound = _number(answer.bound)
        if bound is not None and answer.kind:
            question = answer.problem, answer.instance
            least = problem_named(answer.problem).sense == "maximise"
            better = min if least else max
            best[question] = better(best.get(question, bound), bound)
    return best


def _number(text: str) -> Fraction | None:
    """Return an exact number, ``None`` for how a run ended without one."""
    try:
        return Fraction(text)
    except ValueError:
        return None


def _microseconds(ps: Fraction | None) -> str:
    if ps is None:
        return ""
    microseconds = float(ps / PS_PER_US)
    places = 0 if microseconds >= 1000 else 1 if microseconds >= 100 else 2
    return f"{microseconds:,.{places}f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}" if share else "0"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2g}"


def _gaps(cells: Iterable[Cell]) -> list[float]:
    return [cell.gap for cell in cells if cell.gap is not None]


def _within(share: float) -> Callable[[list[Cell]], str]:
    return lambda cells: str(sum(gap <= share for gap in _gaps(cells)))


def _texts(of: Callable[[Cell], str]) -> Callable[[list[Cell]], str]:
    return lambda cells: ", ".join(dict.fromkeys(filter(None, map(of, cells))))


def _median_gap(cells: list[Cell]) -> str:
    gaps = _gaps(cells)
    return _percent(statistics.median(gaps)) if gaps else ""


def _farthest(cells: list[Cell]) -> str:
    """Return the instance of the widest gap, where there is a gap."""
    widest = max(cells, key=lambda cell: cell.gap or 0.0)
    return widest.stored.instance if widest.gap else ""


_SINGLE = {"us", "bound, us", "value", "bound", "gap, %", "s"}
"""Columns that show one cell."""
_WORDS = {"algorithm", "kind", "widest at"}
"""Columns that show words."""
SHOWN: dict[str, Callable[[list[Cell]], str]] = {
    "us": lambda cells: _microseconds(cells[0].value),
    "bound, us": lambda cells: _microseconds(cells[0].bound),
    "value": lambda cells: cells[0].stored.answer,
    "bound": lambda cells: "" if cells[0].bound is None else str(cells[0].bound),
    "gap, %": lambda cells: _percent(cells[0].gap),
    "s": lambda cells: _seconds(cells[0].stored.cpu_s),
    "algorithm": _texts(lambda cell: cell.stored.algorithm),
    "kind": _texts(lambda cell: cell.stored.kind),
    "cells": lambda cells: str(len(cells)),
    "largest": lambda cells: str(max((c.value for c in cells if c.value), default=0)),
    "answered": lambda cells: str(sum(cell.value is not None for cell in cells)),
    "optimal": _within(0.0),
    "within 2 %": _within(0.02),
    "within 10 %": _within(0.1),
    "median gap, %": _median_gap,
    "widest gap, %": lambda cells: _percent(max(_gaps(cells), default=None)),
    "widest at": _farthest,
    "median s": lambda cells: _seconds(
        statistics.median(cell.stored.cpu_s for cell in cells)
    ),
    "longest s": lambda cells: _seconds(max(cell.stored.cpu_s for cell in cells)),
}
"""What a table can show of the cells of a line, by the heading of its column."""
