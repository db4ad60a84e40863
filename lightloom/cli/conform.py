"""``lightloom conform``: whether somebody's synthesiser keeps its promises."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from lightloom.cli.console import progress, write_json, write_text
from lightloom.cli.failure import INVALID, as_given
from lightloom.cli.options import (
    JSON,
    Seconds,
    argument,
    command,
    option,
    seed_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.testing import ConformanceReport
    from lightloom.testing.conformance.check import Example


@command
def conform_command(
    *,
    synthesiser: str = argument(),
    kinds: tuple[str, ...] = option(
        "Kind of fabric to draw from; repeatable; default: all.",
        "--fabric",
        metavar="KIND",
    ),
    tasks: tuple[str, ...] = option(
        "Collective to draw, or demand; or relayed-demand, which allows relays and"
        " comes only by name; repeatable; default: all.",
        "--task",
        metavar="NAME",
    ),
    examples: int = option(
        "Examples to try.", type=click.IntRange(1, 10**6), default=100
    ),
    seed: int = seed_option("Seed of the examples."),
    time_limit: float = option(
        "For one call.", type=Seconds(zero=False), default=10.0, metavar="SECONDS"
    ),
    as_json: bool = JSON,
) -> int:
    """Check a synthesiser of your own on generated tasks.

    SYNTHESISER is a function fn(instance, seed) that returns a schedule, as
    module:function. It runs in a process of its own, on generated tasks and on tasks
    that make no sense. Exit code 0 if every property holds, 1 with a small failing
    example of each that does not, 2 if there is no such function.
    """
    from lightloom.testing import check_synthesiser

    options = {"kinds": "--fabric", "tasks": "--task", "limit_s": "--time-limit"}
    with progress("conform") as tell, as_given(**options), _no_traces():
        report = check_synthesiser(
            synthesiser,
            kinds=kinds or None,
            tasks=tasks or None,
            examples=examples,
            seed=seed,
            limit_s=time_limit,
            progress=tell,
        )
    if as_json:
        write_json(_record(report))
    else:
        write_text(_text(report))
    return 0 if report.conforms else INVALID


@contextlib.contextmanager
def _no_traces() -> Iterator[None]:
    """Have hypothesis keep what it keeps out of the user's folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", folder)
        yield


def _record(report: ConformanceReport) -> dict[str, object]:
    """Return a report as its documented JSON object."""
    found = asdict(report)
    subject = found.pop("subject")
    return {"synthesiser": subject, "conforms": report.conforms, **found}


def _text(report: ConformanceReport) -> str:
    """Return a report for people: a line a property, three a failing one."""
    word = "conforms" if report.conforms else "does not conform"
    tried = f"{report.examples} examples, {report.refused} refused"
    lines = [f"{report.subject}: {word}; {tried}"]
    if report.cut_short:
        lines.append("  stopped early: too many calls timed out")
    if not report.of("answers").passed and not report.of("answers").failed:
        lines.append("  it refused every task; name what it does by --fabric, --task")
    for result in report.properties:
        count = f"{result.passed} passed, {result.failed} failed"
        if not result.passed + result.failed:
            count = "not asked"
        lines.append(f"  {result.name}: {count} ({result.statement})")
        if result.example is not None:
            lines.append(f"    {result.example.message}")
            lines.append(
                f"    seed {result.example.seed} on {_compact(result.example)}"
            )
    return "\n".join(lines)


def _compact(example: Example) -> str:
    """Return the instance of an example on one line."""
    return json.dumps(example.instance, ensure_ascii=False)
