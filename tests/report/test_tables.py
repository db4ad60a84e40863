"""Terminal tables: what is known is shown, what is not is a dash."""

from __future__ import annotations

import io

from rich.console import Console

from lightloom.core.certificate import Certificate
from lightloom.report.bound_table import bound_table
from lightloom.report.tables import Column, fit, terminal_table


def shown(table: object) -> str:
    """Return a table as plain text."""
    text = io.StringIO()
    Console(file=text, width=200).print(table)
    return text.getvalue()


def test_tables_show_values_and_dashes() -> None:
    """Every value is there; None is a dash; brackets are no markup."""
    columns = (Column("name"), Column("count", number=True))
    text = shown(terminal_table(columns, [("[a]", 3), ("b", None)], title="things"))
    assert "things" in text
    assert "[a]" in text
    assert text.splitlines()[-1].split() == ["b", "-"]


def test_numbers_align_right() -> None:
    """A column of numbers ends at one place."""
    rows = [("a", 1), ("b", 1000)]
    text = shown(terminal_table((Column("n"), Column("count", number=True)), rows))
    one, thousand = text.splitlines()[-2:]
    assert one.rstrip().endswith("1")
    assert thousand.rstrip().endswith("1000")
    assert len(one.rstrip()) == len(thousand.rstrip())


def test_long_witnesses_are_shortened() -> None:
    """A witness of many nodes is shown by its first and their number."""
    certificate = Certificate("rounds", "cut", 5, None, {"nodes": [*range(100)]})
    text = shown(bound_table([certificate], "rounds"))
    assert "(100)" in text
    assert "99" not in text


def test_a_narrow_terminal_breaks_texts_but_no_number() -> None:
    """Columns give way to the width; what cannot be broken makes the table wider."""
    columns = (Column("words"), Column("time", number=True), Column("more words"))
    rows = [("one two three four", "12,345.678 us", "five six seven")]
    table = terminal_table(columns, rows)
    assert fit(table, 200) == len("one two three four") + 3 + 13 + 3 + 14
    assert fit(table, 36) == 36
    text = io.StringIO()
    Console(file=text, width=36).print(table)
    lines = text.getvalue().splitlines()
    assert any("12,345.678 us" in line for line in lines)
    assert max(map(len, lines)) <= 36
    for word in ["one", "two", "three", "four", "five", "six", "seven"]:
        assert word in text.getvalue()
    assert fit(table, 5) == len("three") + 3 + 13 + 3 + len("seven")
