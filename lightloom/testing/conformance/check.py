"""The conformance suite: generated tasks, put to a synthesiser, every answer judged."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.testing.conformance.judge import judge, judge_refusal
from lightloom.testing.conformance.synthesiser_process import (
    Refusal,
    SynthesiserProcess,
    Trouble,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hypothesis import settings

    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance
    from lightloom.testing.conformance.judge import Findings
    from lightloom.testing.conformance.synthesiser_process import Synthesiser


MOST_TIMEOUTS = 3
"""Calls that may time out before no more are made."""
MOST_SHRINKING = 300
"""Calls that making one example smaller may take."""


def check_synthesiser(
    fn: Synthesiser | str,
    *,
    kinds: Iterable[str] | None = None,
    tasks: Iterable[str] | None = None,
    examples: int = 100,
    seed: int = 0,
    limit_s: float = 10.0,
    progress: Callable[[str], None] | None = None,
) -> ConformanceReport:
    """Put a synthesiser to the test on generated tasks.

    The function runs in a child process, twice for each example, and once more on a
    task that was spoilt. It may refuse what it does not do, by an `InputError` or any
    other `ValueError` with a message; a report of nothing but refusals is no success.
    A failing example is made as small as possible, as hypothesis does.

    Same function, arguments and version of hypothesis, same report; unless a call
    comes close to its time limit.

    Parameters
    ----------
    fn
        ``fn(instance, seed)`` returns a `Schedule` with its footer (see `seal`) that
        serves ``instance.task`` on ``instance.fabric``; or its name,
        ``module:function``. It must depend on nothing else. Memory is not limited.
        Strings hash the same in all calls, so that an order which depends on hashes
        is found only by other means.
    kinds
        Kinds of fabric to draw from; all if ``None``.
    tasks
        Collectives, and ``demand``, to draw from; all if ``None``. A demand that
        allows relays, ``relayed-demand``, is drawn by name only.
    examples
        Examples to try, at least 1; fewer where there are not as many.
    seed
        Of the examples.
    limit_s
        Seconds for one call.
    progress
        Told in words what is being done.

    Raises
    ------
    InputError
        Hypothesis is not installed; an unknown kind or task; an argument outside its
        domain; no function of that name.
    """
    if examples < 1 or limit_s <= 0:
        what = "nothing can be tried"
        allowed = "at least one example, and more than 0 s a call"
        found = {"examples": examples, "limit_s": limit_s}
        raise InputError(what, found=found, allowed=allowed)
    from lightloom.testing.strategies import fabrics

    kinds = None if kinds is None else tuple(kinds)
    tasks = None if tasks is None else tuple(tasks)
    fabrics(kinds)  # refuses unknown ones before anything is started
    suite = _Suite(SynthesiserProcess(fn, limit_s), kinds, tasks, seed, progress)
    try:
        suite.subject.start()
        return suite.report(examples)
    finally:
        suite.subject.stop()


class _Suite:
    """A running check; remembers every question and what came of it."""

    def __init__(
        self,
        subject: SynthesiserProcess,
        kinds: tuple[str, ...] | None,
        tasks: tuple[str, ...] | None,
        seed: int,
        progress: Callable[[str], None] | None,
    ) -> None:
        from hypothesis import strategies as st

        from lightloom.testing.strategies import instances

        self.subject, self.seed = subject, seed
        self._drawn = st.tuples(instances(kinds, tasks), st.integers(0, 3))
        self._known: dict[bytes, Findings] = {}
        self._refusals: dict[bytes, str] = {}
        self._timeouts = 0
        self._left = 0
        self._tell = progress or (lambda _: None)

    def report(self, examples: int) -> ConformanceReport:
        """Try examples, then make those that fail smaller."""
        self._left = examples
        tried: dict[bytes, tuple[Instance, int]] = {}

        def record(question: tuple[Instance, int]) -> None:
            if self._findings(*question) is not None:
                tried[_key(*question)] = question
                self._tell(f"{len(tried)} of {examples} examples")

        self._run(record, examples, shrink=False)
        passed: Counter[str] = Counter()
        failed: dict[str, list[bytes]] = {name: [] for name in PROPERTIES}
        for key in tried:
            for name, message in self._known[key].items():
                passed[name] += message is None
                if message is not None:
                    failed[name].append(key)
        refused = [key for key in tried if key in self._refusals]
        return ConformanceReport(
            self.subject.name,
            self.seed,
            len(tried),
            len(refused),
            self._timeouts >= MOST_TIMEOUTS,
            tuple(
                PropertyResult(
                    name,
                    statement,
                    passed[name],
                    len(failed[name]),
                    self._smallest(
                        name, [tried[key] for key in failed[name]], examples
                    ),
                )
                for name, statement in PROPERTIES.items()
            ),
        )

    def _smallest(
        self, name: str, failing: list[tuple[Instance, int]], examples: int
    ) -> Example | None:
        """Return the smallest example found on which a property fails."""
        if not failing:
            return None
        self._tell(f"looking for a small example that fails {name!r}")
        self._left = MOST_SHRINKING
        smallest = [failing[0]]

        def fails(question: tuple[Instance, int]) -> None:
            findings = self._findings(*question)
            if findings is not None and findings.get(name) is not None:
                smallest[0] = question
                raise _FoundError

        self._run(fails, examples, shrink=True)
        instance, number = smallest[0]
        message = self._known[_key(instance, number)][name]
        assert message is not None
        return Example(instance.table(), number, message)

    def _run(
        self,
        test: Callable[[tuple[Instance, int]], None],
        examples: int,
        *,
        shrink: bool,
    ) -> None:
        """Let hypothesis put questions, the same ones every time."""
        from hypothesis import given
        from hypothesis import seed as seeded
        from hypothesis.errors import HypothesisException

        @seeded(self.seed)
        @_settings(examples, shrink=shrink)
        @given(self._drawn)
        def run(question: tuple[Instance, int]) -> None:
            test(question)

        try:
            run()
        except _FoundError:
            return
        except HypothesisException:  # its patience is over: what was found stands
            if not shrink:
                raise

    def _findings(self, instance: Instance, number: int) -> Findings | None:
        """Return what is to be said of a question, ``None`` if it is not asked."""
        key = _key(instance, number)
        if key in self._known:
            return self._known[key]
        if not self._left or self._timeouts >= MOST_TIMEOUTS:
            return None
        self._left -= 1
        reply = self.subject.ask(instance, number)
        again = reply
        if not isinstance(reply, Trouble):
            again = self.subject.ask(instance, number)
        findings = judge(instance, reply, again)
        if isinstance(reply, Refusal) and not reply.infeasible:
            self._refusals[key] = reply.line
        what, odd = nonsense(instance, zlib.crc32(key))
        spoilt = self.subject.ask(odd, number)
        findings |= judge_refusal(what, spoilt)
        for each in (reply, again, spoilt):
            self._timeouts += isinstance(each, Trouble) and each.timed_out
        self._known[key] = findings
        return findings


class _FoundError(Exception):
    """An example fails, as hypothesis wants to be told."""


def _settings(examples: int, *, shrink: bool) -> settings:
    from hypothesis import HealthCheck, Phase, settings

    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


def _key(instance: Instance, number: int) -> bytes:
    return msgspec.json.encode([instance.table(), number])


def nonsense(instance: Instance, choice: int) -> tuple[str, Instance]:
    """Return what is wrong, and an instance of which that alone is wrong."""
    task = instance.communication
    if isinstance(task, Collective):
        ways = _of_collective(task, instance.fabric.node_count)
    else:
        ways = _of_demand(task, instance.fabric.node_count)
    what, fields = ways[choice % len(ways)]
    odd = msgspec.structs.replace(task, **fields)
    spoilt = replace(instance, requests=None)
    # The constructor would refuse it, and the synthesiser is to be asked.
    object.__setattr__(spoilt, "task", odd)
    return what, spoilt


def _of_collective(
    task: Collective, node_count: int
) -> list[tuple[str, dict[str, object]]]:
    ways: list[tuple[str, dict[str, object]]] = [
        ("unknown collective", {"op": "all-confuse"}),
        ("no nodes", {"nodes": (), "root": None}),
        ("node beyond the fabric", {"nodes": (*task.nodes, node_count)}),
        ("negative node", {"nodes": (*task.nodes, -1)}),
        ("node repeated", {"nodes": (*task.nodes, task.nodes[0])}),
        ("no bytes", {"buffer_bytes": 0}),
        ("negative bytes", {"buffer_bytes": -task.buffer_bytes}),
        ("chunks that do not divide the buffer", {"chunks": task.buffer_bytes + 1}),
    ]
    if op_of(task).rooted:
        ways.append(("root that is no rank", {"root": node_count}))
    if op_of(task).uses_blocks and task.rank_count > 1:
        odd: dict[str, object] = {"buffer_bytes": task.rank_count + 1, "chunks": None}
        ways.append(("buffer that blocks do not divide", odd))
    return ways


def _of_demand(task: Demand, node_count: int) -> list[tuple[str, dict[str, object]]]:
    last = task.src[-1]
    return [
        ("node that sends to itself", {"dst": (*task.dst[:-1], last)}),
        ("node beyond the fabric", {"src": (*task.src[:-1], node_count)}),
        ("no bytes", {"bytes": (*task.bytes[:-1], 0)}),
        ("negative bytes", {"bytes": (*task.bytes[:-1], -1)}),
        ("columns of different length", {"bytes": task.bytes[:-1]}),
    ]


PROPERTIES = {
    "answers": "returns a schedule or refuses, in time",
    "task": "its schedule is for the fabric and the task that were asked for",
    "valid": "its schedule obeys every rule",
    "footer": "its footer says the truth: counts, replay's time, certificates",
    "repeatable": "the same task and seed give the same bytes",
    "file": "its schedule is the same after it was written and read",
    "bound": "no schedule is faster than a lower bound (else lightloom is wrong)",
    "refuses": "a task that makes no sense is refused by a ValueError that says why",
}
"""What is checked, in the order of a report, each as a sentence about the subject."""


@dataclass(frozen=True)
class Example:
    """A failing example, made as small as could be.

    `instance`: tables of the instance, as an instance file has them. `seed`: the seed
    that went with it. `message`: what happened, as one line.
    """

    instance: dict[str, dict[str, object]]
    seed: int
    message: str


@dataclass(frozen=True)
class PropertyResult:
    """What became of one property.

    `passed`, `failed`: examples on which it held, and on which it did not. Neither
    counts those on which it could not be asked. `example`: the smallest failing one,
    ``None`` where none failed.
    """

    name: str
    statement: str
    passed: int
    failed: int
    example: Example | None


@dataclass(frozen=True)
class ConformanceReport:
    """What `check_synthesiser` found.

    Attributes
    ----------
    subject
        Name of what was checked.
    seed
        Of the examples.
    examples
        Different examples that were tried, those of shrinking not counted.
    refused
        How many of them it refused to answer.
    cut_short
        Whether fewer examples than asked for were tried, because too many timed out.
    properties
        One result for each of `PROPERTIES`, in that order.
    """

    subject: str
    seed: int
    examples: int
    refused: int
    cut_short: bool
    properties: tuple[PropertyResult, ...]

    @property
    def conforms(self) -> bool:
        """Whether no property failed, and something was answered."""
        failed = any(result.failed for result in self.properties)
        return not failed and self.of("answers").passed > 0

    def of(self, name: str) -> PropertyResult:
        """Return the result of a property."""
        return next(result for result in self.properties if result.name == name)
