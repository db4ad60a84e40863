"""``lightloom solve`` by our own algorithms, against the models by HiGHS."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from lightloom.problems import PROBLEMS
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
GRAPH = {
    "ops": [
        {"id": "read", "duration_ps": 2000, "memory_bytes": 1},
        {"id": "left", "duration_ps": 3000, "memory_bytes": 1},
        {"id": "right", "duration_ps": 4000, "memory_bytes": 1},
    ],
    "edges": [
        {"src": "read", "dst": "left", "bytes": 8},
        {"src": "read", "dst": "right", "bytes": 8},
    ],
}
QUESTIONS = {
    "ocs": '[fabric]\nkind = "ocs"\nnodes = 4\nswitches = 3\n'
    "bits_per_second_per_node = 1_000_000_000_000\n" + DEMAND,
    "ring": '[fabric]\nkind = "ring"\nnodes = 4\nwavelengths = 4\n' + DEMAND,
    "rounds": GRID + '[collective]\nop = "all-gather"\nbuffer_bytes = 6144\n',
    "routing": GRID.replace("lasers = 2", "lasers = 3") + DEMAND,
    "placement": '[fabric]\nkind = "ideal-switch"\nnodes = 2\n'
    '[workload]\ngraph = "graph.json"\n',
}
OBJECTIVES = {
    "ocs": "circuits-per-byte",
    "ring": "circuits-per-byte",
    "rounds": "rounds",
    "routing": "congestion",
}
"""What the schedules of a problem certify; placements are none."""


def asked(problem: str, folder: Path) -> str:
    """Return the file of a question."""
    path = folder / "question.toml"
    path.write_text(QUESTIONS[problem])
    (folder / "graph.json").write_text(json.dumps(GRAPH))
    return str(path)


def test_every_own_algorithm_is_asked() -> None:
    """A new algorithm of our own must join the questions here."""
    assert set(QUESTIONS) == set(PROBLEMS)


@pytest.mark.parametrize("problem", QUESTIONS)
def test_own_answers_are_those_of_the_model(problem: str, tmp_path: Path) -> None:
    """Ours is the default, is proven, and is what HiGHS finds."""
    path = asked(problem, tmp_path)
    ours = run_json("solve", path, "--problem", problem)
    assert ours["solver"] == "lightloom"
    assert ours["status"] == "proven optimal"
    theirs = run_json("solve", path, "--problem", problem, "--solver", "highs")
    assert ours["answer"] == theirs["answer"]
    assert set(ours) == set(theirs)


@pytest.mark.parametrize("problem", OBJECTIVES)
def test_own_schedules_carry_their_proof(problem: str, tmp_path: Path) -> None:
    """What is written passes every rule, and its certificate says what was said."""
    path, file = asked(problem, tmp_path), str(tmp_path / "answer.jsonl")
    said = run_json("solve", path, "--problem", problem, "-o", file)
    read = run_json("verify", file)
    assert read["valid"]
    assert read["objectives"] == said["objectives"]
    (proven,) = read["objectives"]
    assert list(proven) == ["objective", "status", "kind", "bound", "value"]
    assert proven["objective"] == OBJECTIVES[problem]
    assert proven["status"] == "optimal"
    assert proven["bound"] == proven["value"]
    value = proven["value"]
    value = Fraction(*value) if isinstance(value, list) else value
    assert str(value) == said["answer"]
    words = f"{proven['objective'].replace('-', ' ')}: optimal ("
    assert words in run("verify", file).stdout


@pytest.mark.parametrize("problem", ["ocs", "ring", "rounds", "routing"])
def test_schedules_of_a_solver_carry_our_proof(problem: str, tmp_path: Path) -> None:
    """Whoever made it, the bound that the instance has is in the file."""
    path, file = asked(problem, tmp_path), str(tmp_path / "answer.jsonl")
    solve = ("solve", path, "--problem", problem, "--solver", "highs")
    assert run_json(*solve, "-o", file)["file"] == file
    (proven,) = run_json("verify", file)["objectives"]
    assert proven["status"] == "optimal"


@pytest.mark.parametrize("problem", QUESTIONS)
def test_bounds_come_from_the_instance_alone(problem: str, tmp_path: Path) -> None:
    """The best comes first, and meets the answer here."""
    path = asked(problem, tmp_path)
    found = run_json("bound", path, "--problem", problem)
    assert list(found) == [
        *("instance", "problem", "unit", "bound", "kind", "witness", "bounds"),
    ]
    assert found["bounds"][0] == {key: found[key] for key in found["bounds"][0]}
    solved = run_json("solve", path, "--problem", problem)
    bound = found["bound"]
    assert solved["answer"] == str(
        Fraction(*bound) if isinstance(bound, list) else bound
    )
    assert "witness checked" in run("bound", path, "--problem", problem).stdout


def test_bounds_of_no_problem(tmp_path: Path) -> None:
    """A problem that there is not is named, with those there are."""
    path = asked("routing", tmp_path)
    said = one_error(run("bound", path, "--problem", "rouds"))
    assert "did you mean rounds" in said
    assert "routing" in said


def test_routes_beyond_the_lasers_are_no_schedule(tmp_path: Path) -> None:
    """Asking for a file of them is refused, and none is left."""
    path, file = tmp_path / "question.toml", tmp_path / "answer.jsonl"
    path.write_text(GRID + DEMAND)
    result = run("solve", str(path), "--problem", "routing", "-o", str(file))
    assert result.exit_code == 3
    assert "node 0 receives 3 at once" in one_error(result)
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--problem", "colouring"), "unknown problem"),
        (("--problem", "rounds", "--horizon", "3"), "use the solver highs"),
        (("--problem", "rounds", "--threads", "2"), "use the solver highs"),
    ],
)
def test_what_we_do_not_solve_names_who_does(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    """Variants of models, limits and options go to solvers."""
    path = asked("rounds", tmp_path)
    result = run("solve", path, *arguments, "--solver", "lightloom")
    assert words in one_error(result)


def test_placements_are_no_schedule(tmp_path: Path) -> None:
    """Asking for a file of them is refused, and none is left."""
    path, file = asked("placement", tmp_path), tmp_path / "answer.jsonl"
    result = run("solve", path, "--problem", "placement", "-o", str(file))
    assert "not schedules" in one_error(result)
    assert not file.exists()


@pytest.mark.parametrize("problem", ["ocs", "ring"])
def test_synthesis_writes_the_answer_to_the_problem(
    problem: str, tmp_path: Path
) -> None:
    """A demand on such a fabric has the same schedule either way, byte for byte."""
    instance = asked(problem, tmp_path)
    solved, synthesised = tmp_path / "solved.jsonl", tmp_path / "synthesised.jsonl"
    answer = ("solve", instance, "--problem", problem, "--solver", "lightloom")
    run_json(*answer, "-o", str(solved), "--json")
    run_json("synth", instance, "-o", str(synthesised), "--json")
    assert solved.read_bytes() == synthesised.read_bytes()
