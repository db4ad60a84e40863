"""Judging one answer: each property, as far as it can be asked.

Lower bounds of small instances, by trying every small witness there is.

This owes nothing to the search of `lightloom.synth.bounds`: `lightloom.validate` is
asked of each witness what it proves.
"""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.schedule import Footer, Schedule
from lightloom.core.task import Collective
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines
from lightloom.testing.conformance.synthesiser_process import Refusal, Trouble, one_line
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.former_kinds import FORMER_KINDS
from lightloom.validate.verdict import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric, Instance
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


_ALL_SETS = 255
"""Node sets, smallest first: with their complements all sets of up to 9 nodes."""
_FEW_SETS = 32
"""Sets tried where schedules are drawn by the thousand: with their complements all sets
of up to 6 nodes."""
_MOST_LEVELS = 4
"""Levels of the fabrics that are drawn."""


def every_bound(
    fabric: AnyFabric, task: Task, *, most_sets: int = _ALL_SETS
) -> dict[str, Certificate]:
    """Return the best certificate of each kind of bound on the completion time.

    Tried are the empty witness, every node in either direction and on every level,
    every level, both axes, and small sets of nodes with their complements.

    `fabric`: a small one: the time is that of some proofs for each node.

    Returns by kind, without value; kinds that say nothing are left out. Of equal bounds
    the first witness is kept.
    """
    best: dict[str, Certificate] = {}
    for name, witness in _named_witnesses(fabric, task, most_sets):
        kind = BOUND_KINDS[name]
        if not kind.concerns(task):
            continue
        try:
            bound_ps = kind.prove(fabric, task, witness)
        except WitnessError:
            continue
        if bound_ps and (name not in best or bound_ps > best[name].bound):
            found = Certificate(COMPLETION_TIME, name, bound_ps, None, witness)
            best[name] = found
    return dict(sorted(best.items()))


def _named_witnesses(
    fabric: AnyFabric, task: Task, most_sets: int
) -> Iterator[tuple[str, Witness]]:
    """Yield witnesses of today's kinds, and what former kinds said with few numbers."""
    kinds = [kind.name for kind in BOUND_KINDS.usable()]
    for witness in _witnesses(fabric.node_count, most_sets):
        yield from ((name, witness) for name in kinds)
        for former in FORMER_KINDS.values():
            try:
                yield former.now, former.witness(fabric, task, witness)
            except WitnessError:
                continue


def best_bound(fabric: AnyFabric, task: Task) -> Certificate | None:
    """Return the certificate of the largest bound, ``None`` where none says anything.

    Few sets of nodes are tried: schedules that carry one are drawn by the thousand.
    """
    found = every_bound(fabric, task, most_sets=_FEW_SETS).values()
    return max(found, key=lambda certificate: certificate.bound, default=None)


def _witnesses(count: int, most_sets: int) -> Iterator[Witness]:
    """Yield witnesses of every form, right or wrong for a fabric of `count` nodes."""
    yield {}
    for node in range(count):
        yield {"node": node}
        for direction in (0, 1):
            yield {"node": node, "direction": direction}
            for level in range(_MOST_LEVELS):
                yield {"level": level, "direction": direction, "node": node}
    yield from ({"level": level} for level in range(_MOST_LEVELS))
    yield from ({"axis": axis} for axis in (0, 1))
    sizes = (combinations(range(count), size) for size in range(1, count))
    for some in islice(chain.from_iterable(sizes), most_sets):
        yield {"nodes": [*some]}
        yield {"nodes": [node for node in range(count) if node not in some]}
