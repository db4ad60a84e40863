"""Failures: every exception as one line for people and an exit code."""

from __future__ import annotations

import os
import re
import traceback

import click

from lightloom.core.errors import LightloomError

INVALID = 1
"""Exit code of ``verify`` for a schedule that breaks a rule."""
USAGE = 2
"""Exit code of a question that is wrong: usage, values, files."""
NO_ANSWER = 3
"""Exit code of a search that ended without an answer."""
INTERNAL = 70
"""Exit code of a defect of the program itself."""
INTERRUPTED = 130
"""Exit code after an interrupt."""
PIPE_CLOSED = 141
"""Exit code when the reader of stdout went away."""

_UNKNOWN = re.compile(r"unknown command '[^']*'$")
"""An unknown command, where no known one is like it."""
_DEBUG = "LIGHTLOOM_DEBUG"


def describe(problem: BaseException) -> tuple[str, int]:
    """Return the message ('' for none) and exit code of an exception.

    With ``LIGHTLOOM_DEBUG=1`` in the environment the message of a defect carries
    its traceback.
    """
    if isinstance(problem, SystemExit):
        return "", problem.code if isinstance(problem.code, int) else INTERNAL
    if isinstance(problem, click.Abort | KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    expected = _expected(problem)
    if expected is None:
        return _internal(problem), INTERNAL
    return f"error: {_one_line(expected[0])}", expected[1]


def _expected(problem: BaseException) -> tuple[str, int] | None:
    """Return the line and exit code of an exception that is no defect of ours."""
    if isinstance(problem, LightloomError):
        return problem.line(), problem.exit_code
    if isinstance(problem, click.UsageError):
        return _usage(problem), USAGE
    if isinstance(problem, click.ClickException):
        return problem.format_message(), USAGE
    if isinstance(problem, OSError):
        return _os_error(problem), USAGE
    if isinstance(problem, MemoryError):
        return "out of memory; try a smaller instance", NO_ANSWER
    return None


def _usage(problem: click.UsageError) -> str:
    path = problem.ctx.command_path if problem.ctx else "lightloom"
    message = _one_line(problem.format_message()).rstrip(".")
    message = re.sub("^no such ", "unknown ", message[:1].lower() + message[1:])
    group = problem.ctx.command if problem.ctx else None
    if problem.ctx and isinstance(group, click.Group) and _UNKNOWN.match(message):
        message += f"; allowed: {', '.join(group.list_commands(problem.ctx))}"
    for kind, name in (("integer", "integer"), ("float", "number")):
        message = re.sub(rf"valid {kind}( range)?", f"valid {name}", message)
    return f"{message}; see `{path} --help`"


def _os_error(problem: OSError) -> str:
    reason = (problem.strerror or str(problem)).lower()
    where = problem.filename2 or problem.filename
    return f"{where}: {reason}" if where else reason


def _internal(problem: BaseException) -> str:
    kind, text = type(problem).__name__, _one_line(str(problem))
    line = f"internal error: {kind}: {text}" if text else f"internal error: {kind}"
    if os.environ.get(_DEBUG) == "1":
        return line + "\n" + "".join(traceback.format_exception(problem)).rstrip()
    return f"{line}; please report it with the output of {_DEBUG}=1"


def _one_line(text: str) -> str:
    return " ".join(text.split())
