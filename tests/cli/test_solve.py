"""``lightloom solve``, ``model`` and ``solvers`` on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.program import one_error, run, run_json
from tests.examples.small_models import NAMES

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("highspy")

INSTANCE = """
[fabric]
kind = "lightpath"
rows = 2
cols = 2
lasers = 2
waveguides = 1
fibers = 1
[collective]
op = "all-gather"
buffer_bytes = 4096
"""


APART = "[demand]\nsrc = [0]\ndst = [7]\nbytes = [5]\n"
INSIDE = "[demand]\nsrc = [0, 0, 0]\ndst = [1, 4, 5]\nbytes = [5, 5, 5]\n"


@pytest.fixture
def instance(tmp_path: Path) -> str:
    """Return a file of an all-gather on 2 x 2 tiles, which takes two rounds."""
    path = tmp_path / "square.toml"
    path.write_text(INSTANCE)
    return str(path)


def test_solve_writes_a_verified_schedule(instance: str, tmp_path: Path) -> None:
    """The optimum is printed, and the schedule that is written verifies."""
    file = str(tmp_path / "square.jsonl")
    record = run_json(
        *("solve", instance, "--problem", "rounds", "--solver", "highs", "-o", file)
    )
    assert record["status"] == "proven optimal"
    assert (record["answer"], record["objective"], record["bound"]) == ("2", 2, 2)
    assert (record["gap"], record["limit"], record["file"]) == (0, None, file)
    assert record["solver"] == "highs"
    assert run_json("verify", file)["valid"]


def test_solve_in_words(instance: str) -> None:
    """People read status, answer, bound, gap and seconds."""
    result = run("solve", instance, "--problem", "rounds", "--horizon", "3")
    assert result.exit_code == 0
    assert "proven optimal\n  answer 2 rounds\n" in result.stdout
    assert "objective 2, bound 2, gap 0.00 %" in result.stdout


def test_infeasible(instance: str) -> None:
    """One round is proven too few: exit code 4, the record all the same."""
    record = run_json(
        "solve", instance, "--problem", "rounds", "--horizon", "1", exit_code=4
    )
    assert record["status"] == "proven infeasible"
    assert (record["answer"], record["objective"], record["bound"]) == (
        None,
        None,
        None,
    )


def test_out_of_time(instance: str, tmp_path: Path) -> None:
    """Without time there is no answer: exit code 3, and no file."""
    file = tmp_path / "none.jsonl"
    record = run_json(
        *("solve", instance, "--problem", "rounds", "--time-limit", "0"),
        *("-o", str(file)),
        exit_code=3,
    )
    assert (record["status"], record["limit"]) == ("stopped without an answer", "time")
    assert not file.exists()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("form", ["arcs", "paths"])
def test_the_time_limit_counts_building(form: str) -> None:
    """A model that takes too long to build is given up, with what to use instead.

    The alarm may ring first in a callback of hypothesis, which is ignored.
    """
    record = run_json(
        *("solve", "lightpath-64/all-to-all-1MiB", "--problem", "routing"),
        *("--param", f"form={form}", "--param", "paths=1", "--time-limit", "0.01"),
        exit_code=3,
    )
    assert (record["limit"], record["model_sha256"]) == ("time", None)
    assert record["seconds"] >= 0.01
    assert "over while the model was " in record["detail"][0]
    assert "lightloom synth" in record["detail"][1]


def test_closed_edges_leave_no_route(tmp_path: Path) -> None:
    """Our own algorithm and the model agree that there is no answer, and say why."""
    path = tmp_path / "apart.toml"
    text = INSTANCE.replace("cols = 2", "cols = 8\nwafer_cols = 4")
    text = text.replace("fibers = 1", "fibers = 0")
    path.write_text(text[: text.index("[collective]")] + APART)
    for solver in ("lightloom", "highs"):
        question = ("solve", str(path), "--problem", "routing", "--solver", solver)
        result = run(*question)
        assert result.exit_code == 4
        assert "no route from 0 to 7" in result.stderr
    result = run("bound", str(path), "--problem", "routing")
    assert (result.exit_code, result.stdout) == (4, "")


def test_closed_edges_are_not_used(tmp_path: Path) -> None:
    """Where a wafer's borders are closed, our own answer is that of the model."""
    path, file = tmp_path / "inside.toml", str(tmp_path / "inside.jsonl")
    text = INSTANCE.replace("cols = 2", "cols = 4\nwafer_rows = 2\nwafer_cols = 2")
    text = text.replace("rows = 2", "rows = 4", 1).replace("lasers = 2", "lasers = 9")
    text = text.replace("fibers = 1", "fibers = 0").replace("des = 1", "des = 9")
    path.write_text(text[: text.index("[collective]")] + INSIDE)
    question = ("solve", str(path), "--problem", "routing")
    own = run_json(*question, "-o", file)
    model = run_json(*question, "--solver", "highs")
    assert own["answer"] == model["answer"] == "2"
    assert own["status"] == model["status"] == "proven optimal"
    assert run_json("verify", file)["objectives"][0]["status"] == "optimal"


def test_relaxation_has_no_answer() -> None:
    """The values of a relaxation are a bound, and are not decoded."""
    record = run_json(
        *("solve", "lightpath-4/all-to-all-1KiB", "--problem", "routing"),
        *("--param", "relaxed=true"),
    )
    assert record["answer"] is None
    assert record["objective"] == pytest.approx(2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--problem", "round"), "did you mean rounds"),
        (("--problem", "ROUNDS"), "did you mean rounds"),
        (("--problem", "rounds", "--solver", "hihgs"), "did you mean highs"),
        (("--problem", "rounds", "--param", "path=3"), "did you mean paths"),
        (("--problem", "rounds", "--param", "paths=x"), "allowed: integer"),
        (
            ("--problem", "routing", "--param", "requests=3"),
            "build the model in Python",
        ),
        (("--problem", "rounds", "--option", "presolv=off"), "did you mean presolve"),
        (("--problem", "rounds", "--threads", "0"), "--threads"),
        (("--problem", "rounds", "--threads", "100000"), "1<=x<=1024"),
        (("--problem", "rounds", "--time-limit", "nan"), "'nan' is not a valid number"),
        (("--problem", "rounds", "--time-limit", "inf"), "0<=x<=100000000"),
        (("--problem", "rounds", "--node-limit", "9" * 30), "--node-limit"),
        (("--problem", "rounds", "--memory-limit", "9" * 30), "--memory-limit"),
        (("--problem", "rounds", "--horizon", "-1"), "--horizon"),
        (("--problem", "rounds", "--param", "paths=0"), "--param paths: too few"),
        (("--problem", "routing", "--param", "paths=0"), "--param paths: too few"),
        (("--problem", "routing", "--param", "form=x"), "--param form: unknown"),
        (("--problem", "rounds", "--option", "presolv=off"), "--option presolv: "),
        (("--problem", "round"), "--problem: unknown problem"),
        (("--problem", "rounds", "-o", ""), "--output: the name of the file is empty"),
        (("--problem", "rounds", "-o", "no/x.jsonl"), "create "),
        (("--problem", "rounds", "--solver", "pdlp"), "linear programs only"),
    ],
)
def test_bad_input(
    instance: str,
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Misspelt words and wrong combinations are one line and exit code 2."""
    # On a busy machine it may take a second, after which progress is told.
    monkeypatch.setattr("lightloom.cli.console._PATIENCE_S", float("inf"))
    operation = "all-to-all-1KiB"
    name = f"lightpath-4/{operation}" if "routing" in arguments else instance
    result = run("solve", name, *arguments)
    assert result.exit_code == 2
    assert said in one_error(result)


def test_too_large() -> None:
    """A model that memory cannot hold is refused with what to use instead."""
    question = ("lightpath-256/all-gather-1MiB", "--problem", "rounds")
    result = run("solve", *question, "--solver", "highs")
    assert result.exit_code == 2
    assert "lightloom synth" in one_error(result)


def test_model(instance: str, tmp_path: Path) -> None:
    """The model is written, and its size is said."""
    file = tmp_path / "square.mps"
    record = run_json("model", instance, "--problem", "rounds", "--write", str(file))
    assert record["columns"] == record["integer_columns"] > 0
    assert file.read_text().startswith("NAME")
    text = run("model", instance, "--problem", "rounds", "--write", str(file)).stdout
    assert f"{record['rows']:,} rows" in text


def test_solvers() -> None:
    """Every solver is listed, with what it takes."""
    record = run_json("solvers")
    assert [row["name"] for row in record["solvers"]] == list(NAMES)
    by_name = {row["name"]: row for row in record["solvers"]}
    assert by_name["highs"]["available"]
    assert by_name["pdlp"]["kinds"] == ["lp"]
    assert "highs" in run("solvers").stdout


def test_algorithms_of_papers_by_name(instance: str, tmp_path: Path) -> None:
    """As a solver or as a variant; a solver takes none, and names are checked."""
    file = str(tmp_path / "divided.jsonl")
    asked = ("solve", instance, "--problem", "rounds")
    for how in (
        ("--param", "method=divide-and-conquer"),
        ("--solver", "divide-and-conquer"),
    ):
        record = run_json(*asked, *how, "-o", file)
        assert (record["answer"], record["solver"]) == ("2", "lightloom")
        assert run_json("verify", file)["valid"]
    flows = ("solve", "ring-8/groups-3MB", "--solver", "flow-heuristic")
    record = run_json(*flows, "-o", file)
    assert record["bound"] is not None
    assert run_json("verify", file)["valid"]
    unknown = one_error(run(*asked, "--param", "method=squares"))
    assert "divide-and-conquer" in unknown
    highs = ("--solver", "highs", "--param", "method=divide-and-conquer")
    assert "solvers take none" in one_error(run(*asked, *highs))
