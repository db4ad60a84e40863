"""The page on checking a synthesiser: its code runs, and does what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lightloom.testing.conformance.report import PROPERTIES
from tests.cli.program import child
from tests.hang_guard import HUNG_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "check-your-synthesiser.md").read_text("utf-8")


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Return a folder with the files of the page."""
    blocks = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    for name, code in blocks:
        (tmp_path / name).write_text(code, encoding="utf-8")
    assert len(blocks) == 3
    return tmp_path


def test_tests_of_the_page_pass(folder: Path) -> None:
    """Both test files run in a folder of their own."""
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", str(folder), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=HUNG_S,
    )
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


@pytest.mark.parametrize("name", ["hub", "hub_of_ranks"])
def test_commands_of_the_page_print_what_it_shows(folder: Path, name: str) -> None:
    """The first line, but for the number of examples, is that of the page."""
    shown = re.search(rf"\$ lightloom (conform my_synth:{name} .*)\n(.*)\n```", PAGE)
    assert shown is not None
    done = child(*shown[1].split(), cwd=str(folder))
    first, *rest = done.stdout.decode().splitlines()
    numbers = re.compile(r"\d+ examples")
    assert numbers.sub("", first) == numbers.sub("", shown[2])
    assert done.returncode == (1 if "does not" in shown[2] else 0)
    if done.returncode:
        assert any("[rank-membership]" in line for line in rest)
        assert any('"nodes": 3' in line for line in rest)


def test_every_property_is_on_the_page() -> None:
    """The table has the properties of the suite, in their order."""
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert rows == list(PROPERTIES)
