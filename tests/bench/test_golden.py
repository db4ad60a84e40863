"""Golden cells: what counts as worse, which cells are asked, what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from lightloom.bench import golden
from lightloom.bench.results import Ending
from lightloom.core.errors import FormatError, InputError
from tests.bench.rows import row_of
from tests.bench.suites import suite_of
from tests.cli.program import child, run

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.bench.golden import GoldenAnswer
    from lightloom.bench.results import Row


def row(answer: str = "1000", bound: str = "1000", **found: str) -> Row:
    """Return a row that found this."""
    made = row_of(answer=answer, bound=bound, solver="lightloom")
    finding = msgspec.structs.replace(made.finding, **found)
    return msgspec.structs.replace(made, finding=finding)


@pytest.mark.parametrize(
    ("answer", "bound", "sense", "told"),
    [
        ("1000", "1000", "minimise", []),
        ("1001", "1000", "minimise", [("slower", False)]),
        ("1002", "1000", "minimise", [("slower", True)]),
        ("2003/2", "1000", "minimise", [("slower", True)]),
        ("998", "1000", "minimise", [("faster", False)]),
        ("998", "1000", "maximise", [("slower", True)]),
        ("1000", "990", "minimise", [("weaker bound", False)]),
        ("1000", "989", "minimise", [("weaker bound", True)]),
        ("1000", "1011", "maximise", [("weaker bound", True)]),
        ("1000", "1001", "minimise", [("stronger bound", False)]),
        ("1000", None, "minimise", [("bound", True)]),
    ],
)
def test_a_thousandth_of_the_answer_and_a_hundredth_of_the_bound_are_allowed(
    answer: str, bound: str | None, sense: str, told: list[tuple[str, bool]]
) -> None:
    """Beyond these a change is for the worse; ratios are exact."""
    before = golden.answer_of(row())
    after = row_of(answer=answer, bound=bound, sense=sense, solver="lightloom")
    found = golden.changes(after, before)
    assert [(change.what, change.worse) for change in found] == told


def test_a_bound_may_change_its_kind_but_not_fall_with_it() -> None:
    """The same bound proven otherwise is told, and is no loss."""
    before = golden.answer_of(row(witness="cut", algorithm="ring"))
    same = golden.changes(row(witness="prices", algorithm="tree"), before)
    assert [(one.what, one.worse) for one in same] == [
        ("kind", False),
        ("algorithm", False),
    ]
    fell = golden.changes(row(bound="999", witness="prices", algorithm="ring"), before)
    assert [(one.what, one.worse) for one in fell] == [
        ("weaker bound", False),
        ("kind", True),
    ]


def test_an_answer_that_is_gone_is_worse_and_one_that_is_new_is_not() -> None:
    """An ending stands where there is no answer."""
    gone = row_of(ending=Ending.TIMED_OUT, answer=None, solver="lightloom")
    (change,) = golden.changes(gone, golden.answer_of(row(bound="5")))
    assert (change.what, change.after, change.worse) == ("ending", "timed out", True)
    (change,) = golden.changes(row(bound="5"), golden.answer_of(gone))
    assert not change.worse


def test_stored_answers_are_read_as_they_were_written(tmp_path: Path) -> None:
    """And another file is refused with its line."""
    answers = {
        answer.key: answer
        for answer in (
            golden.answer_of(row(witness="cut")),
            replace(golden.answer_of(row()), instance='a, "b"', seed=3),
        )
    }
    path = tmp_path / "answers.csv"
    assert golden.read_answers(path) == {}
    path.write_text(golden.answers_text(answers.values()), encoding="utf-8")
    assert golden.read_answers(path) == answers
    path.write_text(path.read_text() + "routing,a\n", encoding="utf-8")
    with pytest.raises(FormatError, match="line 4"):
        golden.read_answers(path)
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(FormatError, match="not stored answers"):
        golden.read_answers(path)


def test_cells_are_chosen_by_words_by_seconds_and_evenly(tmp_path: Path) -> None:
    """Slow ones alone or not at all; quick ones only if their answers are stored."""
    family = {"family": "permutations", "rows": 2, "cols": 2, "draw": [0, 1, 2, 3]}
    jobs = suite_of(tmp_path, instances=[family]).jobs

    def answer(place: int, cpu_s: float) -> GoldenAnswer:
        problem, instance, solver, seed = golden.cell_key(jobs[place])
        return replace(
            golden.answer_of(row()),
            problem=problem,
            instance=instance,
            solver=solver,
            seed=seed,
            cpu_s=cpu_s,
        )

    stored = [answer(0, 0.1), answer(1, golden.SLOW_S + 1), answer(2, 5.0)]
    answers = {one.key: one for one in stored}
    assert golden.chosen(jobs, answers) == (jobs[0], jobs[2], jobs[3])
    assert golden.chosen(jobs, answers, slow=True) == (jobs[1],)
    assert golden.chosen(jobs, answers, quick=True) == (jobs[0],)
    assert golden.chosen(jobs, answers, every=2) == (jobs[0], jobs[3])
    assert golden.chosen(jobs, answers, only=["#2", "#3"]) == (jobs[2], jobs[3])
    with pytest.raises(InputError, match="no cell"):
        golden.chosen(jobs, answers, only=["nowhere"])


def test_every_stored_answer_is_that_of_a_cell() -> None:
    """Cells differ in their keys, and none that is gone is kept."""
    cells = [golden.cell_key(job) for job in golden.golden_jobs()]
    assert len(set(cells)) == len(cells)
    assert set(golden.read_answers(golden.STORED)) <= set(cells)


def test_the_command_stores_and_judges(tmp_path: Path) -> None:
    """Exit code 0 with the answers that were stored, 1 with better ones."""
    answers, results = str(tmp_path / "answers.csv"), str(tmp_path / "cells.jsonl")
    ask = ["bench", "golden", "--only", "lightpath-4/gather-1KiB", "--workers", "1"]
    ask += ["--answers", answers, "--results", results]
    stored = child(*ask, "--write")
    assert stored.returncode == 0, stored.stderr.decode()
    same = run(*ask)
    assert (same.exit_code, same.stdout[:6]) == (0, "1 cell")
    assert "0 without a stored answer; 0 changes for the worse" in same.stdout
    (answer,) = golden.read_answers(tmp_path / "answers.csv").values()
    better = replace(answer, answer=str(int(answer.answer) // 2))
    (tmp_path / "answers.csv").write_text(golden.answers_text([better]))
    done = run(*ask)
    assert done.exit_code == 1
    assert "slower" in done.stdout
    assert "1 changes for the worse" in done.stdout
