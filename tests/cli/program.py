"""Runs the program, inside this process or as a child."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from click.testing import CliRunner

from lightloom.cli.main import lightloom
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from click.testing import Result

START = f"""
import lightloom.cli.console
lightloom.cli.console._PATIENCE_S = {HUNG_S}
from lightloom.cli.main import main
main()
"""
"""The program, silent about progress however slow the machine is."""


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run a command in this process, silent about progress."""
    with patch("lightloom.cli.console._PATIENCE_S", HUNG_S):
        return CliRunner().invoke(lightloom, list(arguments), input=stdin)


def run_json(*arguments: str, exit_code: int = 0) -> dict[str, Any]:
    """Run a command with ``--json`` and return its one object."""
    result = run(*arguments, "--json")
    assert result.exit_code == exit_code, result.stderr
    assert result.stdout.count("\n") == 1
    record: dict[str, Any] = json.loads(result.stdout)
    return record


def child(
    *arguments: str,
    cwd: str | None = None,
    stdin: bytes | None = None,
    **env: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program as a child process."""
    return subprocess.run(
        [sys.executable, "-c", START, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=HUNG_S,
        env={**os.environ, **env},
    )


def one_error(result: Result) -> str:
    """Return the error of a run, which must be one line and no traceback."""
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("lightloom: error: ")
    return lines[0].removeprefix("lightloom: error: ")
