"""``lightloom conform``: exit codes, one-line errors, and the two ways to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.program import child, one_error, run, run_json
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from pathlib import Path

SUBJECTS = "tests.examples.synthesisers"
FEW = (
    *("--fabric", "ideal-switch", "--task", "broadcast", "--examples", "8"),
    *("--time-limit", str(HUNG_S)),
)


def test_an_honest_synthesiser() -> None:
    """It conforms, and the exit code says so."""
    record = run_json("conform", f"{SUBJECTS}:honest", *FEW)
    assert record["conforms"] is True
    assert record["examples"] <= 8
    assert record["refused"] == 0
    for result in record["properties"]:
        assert result["passed"] == record["examples"]
        assert result["example"] is None


def test_a_faulty_synthesiser() -> None:
    """Exit code 1, with the property, the message and the instance."""
    record = run_json("conform", f"{SUBJECTS}:bare", *FEW, exit_code=1)
    assert record["conforms"] is False
    footer = next(one for one in record["properties"] if one["name"] == "footer")
    assert footer["failed"] == record["examples"]
    assert "lightloom.validate.seal" in footer["example"]["message"]
    assert footer["example"]["instance"]["fabric"]["kind"] == "ideal-switch"
    assert footer["example"]["instance"]["collective"]["op"] == "broadcast"


def test_text_for_people() -> None:
    """A line a property; a failing one has its message and its example."""
    result = run("conform", f"{SUBJECTS}:crashing", *FEW)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{SUBJECTS}:crashing: does not conform; ")
    assert "    raised IndexError: list index out of range" in lines
    assert "Traceback" not in result.output


def test_nothing_but_refusals() -> None:
    """That is no success, and the text says what to do."""
    result = run("conform", f"{SUBJECTS}:idle", *FEW)
    assert result.exit_code == 1
    assert "it refused every task" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("no_such_module:run",), "No module named 'no_such_module'"),
        ((SUBJECTS,), "no module or no function"),
        ((f"{SUBJECTS}:nobody",), "no attribute 'nobody'"),
        ((f"{SUBJECTS}:honest", "--fabric", "rings"), "did you mean ring"),
        ((f"{SUBJECTS}:honest", "--task", "demands"), "did you mean demand"),
        ((f"{SUBJECTS}:honest", "--examples", "0"), "--examples"),
        ((f"{SUBJECTS}:honest", "--time-limit", "0"), "--time-limit"),
    ],
)
def test_bad_questions(arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2, and one line that says what is wrong."""
    result = run("conform", *arguments)
    assert result.exit_code == 2
    assert words in one_error(result)


def test_modules_are_found_where_the_user_is(tmp_path: Path) -> None:
    """A module of the working directory is imported; what it prints is no data."""
    (tmp_path / "mine.py").write_text(
        "print('imported')\n"
        "from tests.examples.synthesisers import talkative as make\n",
        encoding="utf-8",
    )
    done = child(
        "conform",
        "mine:make",
        *FEW,
        "--json",
        cwd=str(tmp_path),
        PYTHONPATH=str(_root()),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 1
    assert b"imported" in done.stderr


def _root() -> Path:
    from pathlib import Path

    return Path(__file__).parents[2]
