"""Runs the program, inside this process or as a child."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from lightloom.cli.main import lightloom

if TYPE_CHECKING:
    from click.testing import Result

START = "from lightloom.cli.main import main; main()"


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run a command in this process."""
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
    timeout_s: float = 60,
    **env: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program as a child process."""
    return subprocess.run(
        [sys.executable, "-c", START, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=timeout_s,
        env={**os.environ, **env},
    )


def one_error(result: Result) -> str:
    """Return the error of a run, which must be one line and no traceback."""
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("lightloom: error: ")
    return lines[0].removeprefix("lightloom: error: ")
