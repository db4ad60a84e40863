"""Judging one answer: each property, as far as it can be asked."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.schedule import Footer, Schedule
from lightloom.core.task import Collective
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines
from lightloom.testing.conformance.synthesiser_process import Refusal, Trouble, one_line
from lightloom.testing.exhaustive_bounds import every_bound
from lightloom.validate.verdict import verify

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.instances.instance import Instance
    from lightloom.testing.conformance.synthesiser_process import Reply

Findings = dict[str, str | None]
"""Property -> what is wrong, ``None`` where it holds; others could not be asked."""

_CLAIMS = ("footer-", "certificate-", "objective-")
_NO_FOOTER = Footer(0, 0, 0, 0, 0)


def judge(instance: Instance, reply: Reply, again: Reply) -> Findings:
    """Return what is to be said of two replies to the same question.

    The question must have an answer.
    """
    if isinstance(reply, Trouble):
        return {"answers": reply.line}
    if isinstance(reply, Refusal):
        if reply.infeasible:
            return {"answers": f"says that there is no answer; there is ({reply.line})"}
        return {}
    try:
        return {"answers": None, **_judge(instance, reply, again)}
    except Exception as problem:  # noqa: BLE001  (whatever a stranger has filled in)
        return {"answers": f"its schedule makes no sense: {one_line(problem)}"}


def judge_refusal(what: str, reply: Reply) -> Findings:
    """Return what is to be said of the reply to a question that makes no sense.

    `what`: what is wrong with the question, for example ``no nodes``.
    """
    if isinstance(reply, Refusal):
        return {"refuses": None}
    given = reply.line if isinstance(reply, Trouble) else "returned a schedule"
    return {"refuses": f"{what}: {given}"}


def _judge(instance: Instance, made: Schedule, again: Reply) -> Findings:
    verdict = verify(made)
    broken: dict[bool, list[str]] = {True: [], False: []}
    for violation in verdict.violations:
        claim = violation.rule.startswith(_CLAIMS)
        step = "" if violation.step is None else f" step {violation.step},"
        line = f"[{violation.rule}]{step} {violation.resource}: {violation.message}"
        broken[claim].append(line)
    findings: Findings = {
        "task": _other_task(instance, made),
        "valid": _first(broken[False]),
        "footer": _first(broken[True]),
    }
    if made.footer is None:
        findings["footer"] = "it has none; lightloom.validate.seal makes one"
    lines = _lines(made)
    findings["repeatable"] = None
    if not isinstance(again, Schedule):
        findings["repeatable"] = f"the second time: {again.line}"
    elif (at := _first_difference(lines, _lines(again))) is not None:
        findings["repeatable"] = f"the second time, line {at} differs"
    findings["file"] = _after_reading(lines)
    if made.footer is not None and verdict.valid and findings["task"] is None:
        time_ps = made.footer.completion_time_ps
        findings["bound"] = _beaten(instance, made, time_ps)
    return findings


def _first(lines: list[str]) -> str | None:
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return f"{lines[0]}{more}" if lines else None


def _other_task(instance: Instance, made: Schedule) -> str | None:
    if made.fabric != instance.fabric.table():
        return "its header describes another fabric"
    asked, served = instance.communication, made.task
    if _without_choice(asked, served) != served:
        return f"it serves another task: {served}"
    return None


def _without_choice(asked: Task, served: Task) -> Task:
    """Return the task asked for, with the number of chunks that was chosen."""
    free = isinstance(asked, Collective) and asked.chunks is None
    if free and isinstance(served, Collective):
        return msgspec.structs.replace(asked, chunks=served.chunks)
    return asked


def _lines(made: Schedule) -> list[bytes]:
    return list(schedule_lines(replace(made, footer=made.footer or _NO_FOOTER)))


def _first_difference(lines: list[bytes], other: list[bytes]) -> int | None:
    """Return the number, from 1, of the first line that differs, if any."""
    for number, pair in enumerate(zip(lines, other, strict=False), start=1):
        if pair[0] != pair[1]:
            return number
    return None if len(lines) == len(other) else min(len(lines), len(other)) + 1


def _after_reading(lines: list[bytes]) -> str | None:
    try:
        read = read_schedule_stream(io.BytesIO(b"".join(lines)), "its file")
    except ValueError as problem:
        return f"its file cannot be read: {one_line(problem)}"
    at = _first_difference(lines, _lines(read))
    return None if at is None else f"line {at} differs after reading"


def _beaten(instance: Instance, made: Schedule, time_ps: int) -> str | None:
    for name, bound in every_bound(instance.fabric, made.task).items():
        if bound.bound > time_ps:
            return f"{time_ps} ps beats the bound {name!r}, {bound.bound} ps"
    return None
