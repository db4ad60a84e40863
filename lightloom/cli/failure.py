"""Failures: every exception as one line for people and an exit code."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import sys
import traceback
from typing import TYPE_CHECKING

import click

from lightloom.core.errors import LightloomError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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


_TABLES = ("collective", "computation", "demand", "fabric", "requests", "workload")
"""Where an instance's own errors are, when they do not say of which instance."""
_OPTIONS = {
    "options.time_limit_s": "--time-limit",
    "options.node_limit": "--node-limit",
    "options.memory_limit_bytes": "--memory-limit",
    "options.seed": "--seed",
    "options.threads": "--threads",
    "algorithm": "--algorithm",
}
_EXTRA = "options.extra."
_ALGORITHM = "algorithm."


@contextlib.contextmanager
def as_given(instance: str = "", **options: str) -> Iterator[None]:
    """Have errors of the block name options, and the instance that they are about.

    `options`: option of each argument of the library, for example
    ``problem="--problem"``.
    """
    try:
        yield
    except LightloomError as problem:
        unknown = problem.what.startswith("unknown key")
        problem.where = _given(problem.where, instance, options, unknown=unknown)
        problem.args = (problem.line(),)
        raise


def _given(
    where: str, instance: str, options: Mapping[str, str], *, unknown: bool
) -> str:
    """Return a place as the user knows it; `unknown` of a key that there is not."""
    option = {**_OPTIONS, **options}.get(where)
    if option is not None:
        return option
    if where.startswith(_EXTRA):
        return f"--option {where.removeprefix(_EXTRA)}"
    if where.startswith(_ALGORITHM):
        # An algorithm's own checks name the key alone, the decoder its name before.
        *_, key = where.split(".")
        return "--param" if unknown else f"--param {key}"
    if instance and re.split(r"[.,: ]", where, maxsplit=1)[0] in _TABLES:
        return f"{instance}: {where}"
    return where


@contextlib.contextmanager
def about(place: str) -> Iterator[None]:
    """Have errors of the block say first which file they are about."""
    try:
        yield
    except LightloomError as problem:
        problem.where = f"{place}: {problem.where}" if problem.where else place
        raise


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """Have the process end soon after the block raises `SystemExit`.

    What was registered to run at the end since runs before, without a word about what
    fails. Then the memory goes back as a whole: Python would take a model of a million
    variables apart piece by piece, which takes seconds.
    """
    ended: list[SystemExit] = []
    atexit.register(_end, ended)  # what is registered first is run last
    try:
        yield
    except SystemExit as end:
        sys.unraisablehook = lambda _: None
        ended.append(end)  # and with it whatever its frames hold
        raise


def _end(ended: list[SystemExit]) -> None:
    for end in ended:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(end.code if isinstance(end.code, int) else INTERNAL)
