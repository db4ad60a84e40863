"""``lightloom solve`` by our own algorithms, against the models by HiGHS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.synth.own import catalogue
from tests.cli.program import one_error, run, run_json

if TYPE_CHECKING:
    from pathlib import Path

GRID = """
[fabric]
kind = "lightpath"
rows = 2
cols = 3
lasers = 2
waveguides = 1
"""
DEMAND = """
[demand]
src = [0, 0, 1, 2, 2]
dst = [1, 2, 0, 0, 0]
bytes = [100, 50, 70, 80, 20]
"""
QUESTIONS = {
    "ocs": '[fabric]\nkind = "ocs"\nnodes = 4\nswitches = 3\n'
    "bits_per_second_per_node = 1_000_000_000_000\n" + DEMAND,
    "ring": '[fabric]\nkind = "ring"\nnodes = 4\nwavelengths = 4\n' + DEMAND,
    "rounds": GRID + '[collective]\nop = "all-gather"\nbuffer_bytes = 6144\n',
    "routing": GRID + DEMAND,
}


def test_every_own_algorithm_is_asked() -> None:
    """A new algorithm of our own must join the questions here."""
    assert set(QUESTIONS) == set(catalogue())


@pytest.mark.parametrize("problem", QUESTIONS)
def test_own_answers_are_those_of_the_model(problem: str, tmp_path: Path) -> None:
    """Ours is the default, is proven, and is what HiGHS finds."""
    path = tmp_path / "question.toml"
    path.write_text(QUESTIONS[problem])
    ours = run_json("solve", str(path), "--problem", problem)
    assert ours["solver"] == "lightloom"
    assert ours["status"] == "proven optimal"
    theirs = run_json("solve", str(path), "--problem", problem, "--solver", "highs")
    assert ours["answer"] == theirs["answer"]
    assert set(ours) == set(theirs)


@pytest.mark.parametrize("problem", sorted({*QUESTIONS} - {"routing"}))
def test_own_schedules_verify(problem: str, tmp_path: Path) -> None:
    """What is written passes every rule."""
    path, file = tmp_path / "question.toml", str(tmp_path / "answer.jsonl")
    path.write_text(QUESTIONS[problem])
    assert run("solve", str(path), "--problem", problem, "-o", file).exit_code == 0
    assert run_json("verify", file)["valid"]


def test_routes_are_no_schedule(tmp_path: Path) -> None:
    """Asking for a file of them is refused, and none is left."""
    path, file = tmp_path / "question.toml", tmp_path / "answer.jsonl"
    path.write_text(QUESTIONS["routing"])
    result = run("solve", str(path), "--problem", "routing", "-o", str(file))
    assert "no schedules" in one_error(result)
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--problem", "placement"), "use --solver highs"),
        (("--problem", "rounds", "--horizon", "3"), "use --solver highs"),
    ],
)
def test_what_we_do_not_solve_names_who_does(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    """Problems without an own algorithm, and variants of models, go to solvers."""
    path = tmp_path / "question.toml"
    path.write_text(QUESTIONS["rounds"])
    result = run("solve", str(path), *arguments, "--solver", "lightloom")
    assert words in one_error(result)
