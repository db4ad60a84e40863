"""Streams: data on stdout, talk on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING

import click

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
