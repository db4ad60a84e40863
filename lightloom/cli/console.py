"""Streams: data on stdout, talk on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction

    from rich.console import RenderableType


_WIDE = 10_000
"""Columns of a table that is not shown on a terminal: never wrapped or cut."""


def say(message: str) -> None:
    """Write a line to stderr, signed with the name of the program."""
    click.echo(f"lightloom: {message}", err=True)


def write_json(record: Mapping[str, object]) -> None:
    """Write one JSON object to stdout, on one line."""
    write_text(json.dumps(record, ensure_ascii=False))


def write_text(text: str) -> None:
    """Write text to stdout, ending in a newline.

    Raises `InputError`: it cannot be written, to a full disk for example;
    `BrokenPipeError`: the reader went away.
    """
    try:
        click.echo(text.removesuffix("\n"))
    except BrokenPipeError:
        raise
    except OSError as problem:
        silence_stdout()
        what = f"cannot write: {problem.strerror or problem}"
        raise InputError(what, where="standard output") from None


def write_table(table: RenderableType) -> None:
    """Write a rich table to stdout."""
    _draw(table, err=False)


def say_table(table: RenderableType) -> None:
    """Write a rich table to stderr."""
    _draw(table, err=True)


def end_line() -> None:
    """End the line on which a terminal shows what was pressed."""
    if sys.stderr.isatty():
        click.echo(err=True)


def silence_stdout() -> None:
    """Send what is still buffered for a closed stdout to nowhere."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no real stdout: nothing can be left in it
        return


def _draw(table: RenderableType, *, err: bool) -> None:
    """Draw a table: to the width of a terminal, else as wide as it is, and plain.

    Numbers and words stay whole: columns that a terminal has no room for follow below.
    """
    from rich.console import Console
    from rich.table import Table

    from lightloom.report.tables import blocks

    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        console = Console(file=stream, highlight=False)
        drawings = [table]
        if isinstance(table, Table):
            drawings = [*blocks(table, console.width)]
        for number, drawing in enumerate(drawings):
            console.print(*([""] if number else []), drawing, sep="\n")
        return
    drawn = io.StringIO()
    Console(file=drawn, width=_WIDE, highlight=False).print(table)
    lines = (line.rstrip() for line in drawn.getvalue().splitlines())
    if err:
        click.echo("\n".join(lines), err=True)
    else:
        write_text("\n".join(lines))


_PATIENCE_S = 1.0
"""Nothing is said before this, and where stderr is no terminal not more often."""
_QUIET_S = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""


@contextmanager
def progress(label: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done; yields a function that takes the next message.

    A terminal gets a live line. Anything else gets plain lines, one every ten
    seconds at most and none in the first second.
    """
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(label) as status:
            yield lambda message: status.update(f"{label}: {message}")
        return
    due = time.monotonic() + _PATIENCE_S

    def tell(message: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + _QUIET_S
            say(f"{label}: {message}")

    yield tell


_PICOSECONDS = "ps"


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, which takes an s where it is not one."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def value_text(value: float | Fraction | str, unit: str) -> str:
    """Return a value of a problem's unit: times in microseconds, numbers plain.

    `value`: a number, or the text of an exact one. `unit`: the problem's unit, in the
    plural.
    """
    if unit == _PICOSECONDS:
        from lightloom.core.units import format_ps  # it brings numpy

        return format_ps(round(float(value)))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def answer_text(value: float | Fraction | str, unit: str) -> str:
    """Return a value with its unit, for example ``1 round`` or ``11.000 us``.

    `value`: a number, or the text of an exact one. `unit`: the problem's unit, in the
    plural, for example ``rounds``; ``ps`` for times.
    """
    text = value_text(value, unit)
    if unit == _PICOSECONDS:
        return text
    noun, *rest = unit.split(" ")
    if text == "1":
        noun = noun.removesuffix("s")
    return " ".join([text, noun, *rest])
