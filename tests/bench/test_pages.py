"""Tables of pages: what a mark shows of stored answers, and what it cannot show."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from lightloom.bench.golden import GoldenAnswer, answers_text, read_answers
from lightloom.bench.pages import (
    SHOWN,
    TableMark,
    rewritten,
    stored_answers,
    table_lines,
)
from lightloom.bench.results import Ending, Proof, ResultsFile
from lightloom.core.errors import InputError
from tests.bench.rows import row_of
from tests.cli.program import one_error, run

ROOT = Path(__file__).parents[2]
PAGE = """# Page

Before.

<!-- table
results = "answers.csv"
name = "{fabric}/{op}-{size}"
rows = ["fabric"]
across = "size"
show = ["us", "gap, %"]
-->
an old table
<!-- table ends -->

After.
"""


def answer(
    instance: str,
    ps: str,
    bound: str,
    *,
    problem: str = "completion-time",
    solver: str = "auto",
    kind: str = "prices",
    cpu_s: float = 0.5,
) -> GoldenAnswer:
    """Return a stored answer."""
    return GoldenAnswer(problem, instance, solver, 0, ps, bound, kind, "ring", cpu_s)


ANSWERS = [
    answer("ring-4/all-gather-1MiB", "1500000", "1000000"),
    answer("torus-4/all-gather-1KiB", "1000000", "1000000"),
    answer("torus-4/all-gather-1MiB", "123456000000", "120000000000"),
    answer("traffic torus-4 p=2 #0", "7", "7"),
]


def table(*answers: GoldenAnswer, **mark: object) -> list[list[str]]:
    """Return the entries of a table, its heads first, its line of dashes left out."""
    told = msgspec.convert(mark, TableMark)
    lines = table_lines(told, answers or ANSWERS, "here")
    return [line[2:-2].split(" | ") for at, line in enumerate(lines) if at != 1]


def test_words_of_a_name_tell_lines_and_columns_apart() -> None:
    """Names of another form are left out, and a cell that is not there is empty."""
    found = table(
        name="{fabric}/{op}-{size}",
        rows=["fabric", "op"],
        across="size",
        show=["us", "gap, %"],
    )
    assert found == [
        ["fabric", "op", "1MiB", "1KiB"],
        ["ring-4", "all-gather", "1.50 (50.0)", ""],
        ["torus-4", "all-gather", "123,456 (2.9)", "1.00 (0)"],
    ]


def test_only_chooses_and_orders() -> None:
    """Values of words stand as the mark lists them."""
    found = table(
        name="{fabric}/{op}-{size}",
        rows=["fabric"],
        across="size",
        show=["bound, us"],
        only={"fabric": ["torus-4", "ring-4"], "size": ["1KiB", "1MiB"]},
    )
    assert found == [
        ["fabric", "1KiB", "1MiB"],
        ["torus-4", "1.00", "120,000"],
        ["ring-4", "", "1.00"],
    ]


def test_many_cells_are_summed_up() -> None:
    """Counts and gaps of all cells of a line."""
    show = ["cells", "optimal", "within 2 %", "within 10 %", "median gap, %"]
    show += ["widest gap, %", "widest at", "median s", "longest s", "largest"]
    found = table(name="{fabric}/{op}-{size}", rows=["op"], show=show)
    at = "ring-4/all-gather-1MiB"
    told = [
        "all-gather",
        "3",
        "1",
        "1",
        "2",
        "2.9",
        "50.0",
        at,
        "0.5",
        "0.5",
        "123456000000",
    ]
    assert found == [["op", *show], told]


def test_words_in_brackets_hold_blanks_and_some_may_be_missing() -> None:
    """And what a solver is told are words as well."""
    nodes = [answer("ring-4[0 1]/gather-6 B", "6", "3")]
    assert table(
        *nodes, name="{fabric}[{nodes}]/{op}-{size} B", rows=["nodes"], show=["gap, %"]
    )[1:] == [["0 1", "100.0"]]
    traffic = [
        answer("traffic a #0", "6", "3", solver="auto k=2"),
        answer("traffic a #0 relays", "3", "3", solver="auto k=1"),
    ]
    name = "traffic {fabric} #0{relays?}"
    found = table(*traffic, name=name, rows=["k"], across="relays", show=["value"])
    assert found == [["k", "-", "relays"], ["2", "6", ""], ["1", "", "3"]]


def test_the_bound_is_the_best_with_a_witness_whoever_found_it() -> None:
    """What a solver claims is no bound, and an ending is no answer."""
    ours = answer("a", "5", "4", problem="routing", solver="lightloom")
    claimed = answer("a", "5", "5", problem="routing", solver="highs", kind="")
    none = answer("a", "timed out", "", problem="routing", solver="scip", kind="")
    found = table(
        ours, claimed, none, rows=["solver"], show=["answered", "widest gap, %"]
    )
    assert found[1:] == [
        ["lightloom", "1", "25.0"],
        ["highs", "1", "25.0"],
        ["scip", "0", ""],
    ]
    most = answer("b", "1/4", "1/2", problem="ocs", solver="lightloom")
    assert table(most, rows=["problem"], show=["gap, %"])[1:] == [["ocs", "50.0"]]


@pytest.mark.parametrize(
    ("mark", "what"),
    [
        (
            {"rows": ["fabrik"], "show": ["us"]},
            "unknown word; found 'fabrik'.*mean fabric",
        ),
        ({"rows": ["fabric"], "show": ["median"]}, "unknown column; found 'median'"),
        ({"rows": ["op"], "show": ["us"]}, "do not tell these cells apart"),
        ({"rows": ["op"], "show": ["us"], "only": {"op": ["x"]}}, "no stored answer"),
    ],
)
def test_what_cannot_be_shown_is_refused(mark: dict[str, object], what: str) -> None:
    """With the name that is meant, where there is one."""
    with pytest.raises(InputError, match=what):
        table(name="{fabric}/{op}-{size}", **mark)


def test_only_what_stands_between_the_marks_changes(tmp_path: Path) -> None:
    """Twice is as good as once, and every column can be shown of one cell."""
    (tmp_path / "answers.csv").write_text(answers_text(ANSWERS))
    page = rewritten(PAGE, tmp_path / "page.md")
    assert page.startswith(PAGE.partition("an old table")[0])
    assert page.endswith(PAGE.partition("an old table\n")[2])
    assert "| torus-4 | 123,456 (2.9) | 1.00 (0) |" in page
    assert rewritten(page, tmp_path / "page.md") == page
    (shown,) = table(ANSWERS[0], rows=["instance"], show=list(SHOWN))[1:]
    assert all(shown[:-2])
    fenced = f"```text\n{PAGE}```\n"
    assert rewritten(fenced, tmp_path / "page.md") == fenced


def test_the_command_stores_renews_and_checks(tmp_path: Path) -> None:
    """Exit code 1 for an old page, 2 for nothing to do or a mark without an end."""
    page, results = tmp_path / "page.md", str(tmp_path / "results.jsonl")
    store = ("--store", results, str(tmp_path / "answers.csv"))
    with ResultsFile(results) as file:
        file.append(row_of("ring-4/all-gather-1MiB", "lightloom", proof=Proof.CHECKED))
        file.append(row_of("b", "highs", seconds=0.123456, ending=Ending.ANSWER))
    page.write_text(PAGE)
    assert run("bench", "pages", "--check", *store, str(page)).exit_code == 1
    assert page.read_text() == PAGE
    stored = read_answers(tmp_path / "answers.csv").values()
    assert [one.cpu_s for one in stored] == [1.0, 0.123]
    assert run("bench", "pages", str(page)).exit_code == 0
    assert "| ring-4 | 0.00 |" in page.read_text()
    assert run("bench", "pages", "--check", str(page)).exit_code == 0
    assert "nothing to do" in one_error(run("bench", "pages"))
    for text in (PAGE.replace("rows", "lines"), PAGE.replace("table ends", "end")):
        page.write_text(text)
        refused = run("bench", "pages", str(page))
        assert refused.exit_code == 2
        assert f"{page}:5" in one_error(refused)


def test_the_last_of_repeated_runs_is_stored() -> None:
    """A question has one stored answer."""
    (stored,) = stored_answers([row_of(answer="6"), row_of(answer="5")])
    assert stored.answer == "5"


PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if "<!-- table\n" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_of_the_documentation_are_what_the_answers_say(page: Path) -> None:
    """Renew them with ``lightloom bench pages`` when stored answers change."""
    text = page.read_text(encoding="utf-8")
    assert rewritten(text, page) == text
