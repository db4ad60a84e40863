"""The conformance suite passes the honest and catches the others, for their fault."""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Collective, Demand
from lightloom.instances.instance import Instance
from lightloom.instances.instance_file import parse_instance
from lightloom.isolation.process_tree import descendants
from lightloom.testing import check_synthesiser
from lightloom.testing.conformance import check
from lightloom.testing.conformance.check import PROPERTIES, nonsense
from tests.examples import synthesisers as subjects
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.instances.fabrics.packet_tiers import IdealSwitch
    from lightloom.testing import ConformanceReport


checked = functools.partial(check_synthesiser, limit_s=HUNG_S)


def _failed(report: ConformanceReport) -> set[str]:
    return {result.name for result in report.properties if result.failed}


def _children() -> set[int]:
    return {process.pid for process in descendants(os.getpid())}


def _message(report: ConformanceReport, name: str) -> str:
    example = report.of(name).example
    assert example is not None
    assert "\n" not in example.message
    assert "Traceback" not in example.message
    return example.message


@pytest.mark.parametrize("subject", [subjects.honest, subjects.talkative])
def test_an_honest_synthesiser_conforms(subject: Callable[..., object]) -> None:
    """Everything is asked, and everything holds."""
    report = checked(subject, examples=60)  # type: ignore[arg-type]
    assert report.conforms
    assert _failed(report) == set()
    assert report.examples > 40
    assert [result.name for result in report.properties] == list(PROPERTIES)
    assert {result.passed for result in report.properties} == {report.examples}
    assert not report.cut_short


CAUGHT = (
    (subjects.careless, "valid", "[post-condition-missing]"),
    (subjects.modest, "footer", "[footer-time]"),
    (subjects.bare, "footer", "it has none"),
    (subjects.fickle, "repeatable", "the second time, line 1 differs"),
    (subjects.evasive, "task", "it serves another task"),
    (subjects.gullible, "refuses", ": "),
    (subjects.crashing, "answers", "raised IndexError: list index out of range"),
    (subjects.silent, "answers", "raised ValueError"),
    (subjects.despairing, "answers", "there is (InfeasibleError: no light"),
    (subjects.dying, "answers", "ended its process, exit code 3"),
    (subjects.leaving, "answers", "raised SystemExit: bye"),
    (subjects.rubbish, "answers", "returned a value of type dict"),
    (subjects.hollow, "answers", "its schedule makes no sense: AttributeError"),
)


@pytest.mark.parametrize(
    ("subject", "name", "words"), CAUGHT, ids=[case[0].__name__ for case in CAUGHT]
)
def test_faults_are_caught(
    subject: Callable[..., object], name: str, words: str
) -> None:
    """A fault shows under its property, as one line, on a small example."""
    kinds = ["ideal-switch", "lightpath"]
    report = check_synthesiser(subject, kinds=kinds, examples=25, limit_s=60)  # type: ignore[arg-type]
    assert not report.conforms
    assert name in _failed(report)
    assert _failed(report) <= {name, "refuses"}
    assert words in _message(report, name)


@pytest.mark.slow
def test_failing_examples_are_small() -> None:
    """Of all collectives of three ranks, the suite shows a smallest one."""
    report = checked(subjects.careless, examples=40)
    example = report.of("valid").example
    assert example is not None
    assert example.instance["fabric"]["kind"] == "ideal-switch"
    assert len(example.instance["collective"]["nodes"]) == 3  # type: ignore[arg-type]
    assert example.seed == 0
    made = subjects.careless(parse_instance(dict(example.instance), name="again"), 0)
    assert isinstance(made.task, Collective)


def test_a_synthesiser_that_hangs_is_ended() -> None:
    """It is given up after a few time-outs, and nothing is left running."""
    before = _children()
    report = check_synthesiser(subjects.hanging, examples=50, limit_s=0.3)
    assert report.cut_short
    assert report.examples < 50
    assert _message(report, "answers") == "no answer within 0.3 s"
    assert _children() == before


def test_refusing_everything_is_no_success() -> None:
    """Refusals are no faults, but somebody has to do something."""
    report = checked(subjects.idle, kinds=["ring"], examples=10)
    assert _failed(report) == set()
    assert report.refused == report.examples
    assert not report.conforms


@pytest.mark.slow
def test_reports_follow_from_the_seed() -> None:
    """The same seed gives the same report, another one other examples."""
    first, again, other = (
        checked(subjects.careless, kinds=["ring"], examples=8, seed=seed)
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first.of("valid") != other.of("valid")


def test_a_bound_that_is_beaten_is_our_own_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Should a bound ever exceed a valid schedule's time, that is said plainly."""
    from lightloom.testing.conformance import judge

    true = judge.every_bound

    def too_high(fabric: object, task: object, **few_sets: int) -> object:
        bounds = true(fabric, task, **few_sets)  # type: ignore[arg-type]
        if few_sets:  # The bound that the synthesiser itself states is a true one.
            return bounds
        return {name: replace(bound, bound=2**60) for name, bound in bounds.items()}

    monkeypatch.setattr(judge, "every_bound", too_high)
    report = checked(subjects.honest, kinds=["ocs"], examples=10)
    assert _failed(report) == {"bound"}
    assert "beats the bound" in _message(report, "bound")


def test_closures_can_be_checked() -> None:
    """A function needs no name of its own."""
    offset = 5
    report = checked(
        lambda instance, seed: subjects.honest(instance, seed + offset),
        kinds=["torus"],
        examples=8,
    )
    assert report.conforms


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"fn": "tests.examples.synthesisers:nobody"}, "no attribute 'nobody'"),
        ({"fn": "tests.examples.synthesisers"}, "no module or no function"),
        ({"fn": "no_such_module:run"}, "No module named"),
        ({"fn": "sys:path"}, "path is not callable"),
        ({"fn": subjects.honest, "kinds": ["rings"]}, "did you mean ring"),
        ({"fn": subjects.honest, "tasks": ["all-sum"]}, "unknown task"),
        ({"fn": subjects.honest, "examples": 0}, "at least one example"),
        ({"fn": subjects.honest, "limit_s": 0}, "more than 0 s"),
    ],
)
def test_questions_that_make_no_sense(arguments: dict[str, object], words: str) -> None:
    """What cannot be checked is refused by a message, and no process is left."""
    before = _children()
    with pytest.raises(InputError, match=words):
        check_synthesiser(**arguments)  # type: ignore[arg-type]
    assert _children() == before


TASKS = (
    Collective("all-gather", (0, 1, 2), 12),
    Collective("broadcast", (2, 0), 5, root=0),
    Demand.from_rows([(0, 1, 5), (2, 3, 7)]),
)


@pytest.mark.parametrize("task", TASKS)
def test_nonsense_is_refused_when_it_is_read(
    task: Collective | Demand, four_nodes: IdealSwitch
) -> None:
    """What the suite calls nonsense, an instance file may not say either."""
    spoilt = dict(nonsense(Instance(four_nodes, task, "odd"), way) for way in range(12))
    assert len(spoilt) >= 5
    spoilt.pop("no bytes", None)  # a row of no bytes may be read, and is left out
    for what, odd in spoilt.items():
        with pytest.raises(InputError):
            parse_instance(dict(odd.table()), name=what)


def test_limits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making an example smaller has its own limit of calls."""
    monkeypatch.setattr(check, "MOST_SHRINKING", 0)
    report = checked(subjects.careless, kinds=["ring"], examples=10)
    assert report.of("valid").example is not None
