"""Terminal tables: what is known is shown, what is not is a dash."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from lightloom.core.certificate import Certificate
from lightloom.report.listings import candidate_table
from lightloom.report.result_tables import bound_table
from lightloom.report.tables import Column, blocks, markdown_table, terminal_table
from lightloom.synth.auto import Candidate
from lightloom.synth.ring.span_time import NEVER_PS

if TYPE_CHECKING:
    from rich.table import Table


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


def drawn(table: Table, width: int) -> list[list[str]]:
    """Return the lines of the tables that a terminal of some width shows."""
    found = []
    for one in blocks(table, width):
        text = io.StringIO()
        Console(file=text, width=max(width, 26)).print(one)
        found.append([line.rstrip() for line in text.getvalue().splitlines()])
    return found


def test_a_narrow_terminal_breaks_texts_but_no_number() -> None:
    """Columns give way to the width; what has no room follows below, named again."""
    columns = (Column("words"), Column("time", number=True), Column("more words"))
    rows = [("one two three four", "12,345.678 us", "five six seven")]
    table = terminal_table(columns, rows)
    (wide,) = drawn(table, 200)
    assert len(wide) == 3
    (lines,) = drawn(table, 36)
    assert any("12,345.678 us" in line for line in lines)
    assert max(map(len, lines)) <= 36
    first, second = drawn(table, 26)
    assert max(map(len, [*first, *second])) <= 26
    words = ["one", "two", "three", "four"]
    for lines, others in ((first, ["12,345.678 us"]), (second, ["five", "seven"])):
        assert all(word in "\n".join(lines) for word in [*words, *others])


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 30)), min_size=1, max_size=9),
    st.integers(8, 120),
)
def test_every_cell_is_shown_in_room(
    shapes: list[tuple[bool, int]], width: int
) -> None:
    """No block is wider than the terminal, unless two columns alone would be."""
    columns = [Column(f"c{place}", number=n) for place, (n, _) in enumerate(shapes)]
    cells = [str(place) * size for place, (_, size) in enumerate(shapes)]
    found = drawn(terminal_table(columns, [cells]), width)
    text = "\n".join("\n".join(lines) for lines in found)
    longest = sorted((size for _, size in shapes), reverse=True)
    if sum(longest[:2]) + 3 <= width:
        assert all(cell in text for cell in cells)
        assert max(map(len, text.splitlines())) <= max(width, 26)


def test_a_table_in_markdown() -> None:
    """Numbers to the right, what is missing as a dash."""
    rows = [("a", 1), ("b", None)]
    assert markdown_table(("name", "count#"), rows) == (
        "| name | count |\n|---|---:|\n| a | 1 |\n| b | - |"
    )


def test_what_cannot_be_served_has_no_time() -> None:
    """A prediction that stands for never is said in words, not as a time."""
    never = Candidate("direct", {}, "as given", NEVER_PS)
    text = shown(candidate_table([never], shown=1))
    assert "not possible here" in text
    assert "us" not in text.partition("direct")[2]
