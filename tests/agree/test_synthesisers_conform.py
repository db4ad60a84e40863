"""Our own synthesisers pass the suite that we offer to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Collective
from lightloom.instances.collectives import COLLECTIVES, check_collective
from lightloom.instances.instance import check_demand_rows
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.problems import PROBLEMS
from lightloom.synth.auto import AUTO
from lightloom.synth.publish import signed
from lightloom.synth.synthesise import synthesise
from lightloom.testing import check_synthesiser
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance
    from lightloom.testing import ConformanceReport

WOVEN = ("ideal-switch", "lightpath")
PACKETS = (
    "bcube",
    "electrical-cluster",
    "fat-tree",
    "superpod",
    "topoopt",
    "torus",
)


def examples(fast: int, slow: int) -> pytest.MarkDecorator:
    """Run a test on few examples, and on more of them in the slow suite."""
    return pytest.mark.parametrize(
        "count", [fast, pytest.param(slow, marks=pytest.mark.slow)]
    )


def _as_read(instance: Instance) -> None:
    """Refuse what an instance file may not say."""
    task, count = instance.communication, instance.fabric.node_count
    if isinstance(task, Collective):
        check_collective(task, count)
        return
    columns = (task.src, task.dst, task.bytes)
    if len({len(column) for column in columns}) > 1 or not all(task.bytes):
        message = "no such demand"
        raise ValueError(message)
    check_demand_rows(*columns, count, "demand")


def _check(
    algorithm: str,
    kinds: tuple[str, ...],
    examples: int,
    tasks: tuple[str, ...] | None = None,
) -> ConformanceReport:
    def make(instance: Instance, seed: int) -> Schedule:
        outcome = synthesise(instance, algorithm, seed=seed)
        assert outcome.incumbent is not None
        return outcome.incumbent.schedule

    report = check_synthesiser(
        make, kinds=kinds, tasks=tasks, examples=examples, limit_s=HUNG_S
    )
    failed = [result for result in report.properties if result.failed]
    assert failed == []
    return report


SERVERS = {"rail-trees": ("superpod",)}
"""Algorithms for ranks in servers."""


@examples(6, 12)
@pytest.mark.parametrize("kind", [*WOVEN, *PACKETS])
def test_auto_conforms(kind: str, count: int) -> None:
    """It answers every collective and every demand."""
    report = _check(AUTO, (kind,), count)
    assert report.conforms
    assert report.refused == 0


SERVERS = {"rail-trees": ("superpod", "fat-tree")}
"""Algorithm -> kinds of fabric, where it needs servers with several nodes each."""


@examples(10, 20)
@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_conforms(name: str, count: int) -> None:
    """It answers what it offers to do, and refuses numbers of ranks that do not fit."""
    kinds = SERVERS.get(name, WOVEN)
    drawn = 20 if name in SERVERS else count  # most that are drawn are refused
    assert _check(name, kinds, drawn, ALGORITHMS[name].ops).conforms


@examples(8, 30)
@pytest.mark.parametrize("kind", ["ocs", "ring"])
def test_collectives_on_switches_and_rings_conform(kind: str, count: int) -> None:
    """Every operation, whatever the planes, the reach and the transceivers."""
    report = _check(AUTO, (kind,), count, tuple(sorted(COLLECTIVES)))
    assert report.conforms


@examples(6, 20)
@pytest.mark.parametrize("kind", ["ramp", "ring-2d", "sipac"])
def test_synthesisers_of_fabrics_conform(kind: str, count: int) -> None:
    """Those that make whole schedules for a kind of fabric."""
    assert _check(AUTO, (kind,), count).conforms


OWN = {
    "ocs": ("ocs", ("demand",)),
    "ring": ("ring", ("demand",)),
    "rounds": ("lightpath", tuple(sorted(COLLECTIVES))),
}
"""Problem -> kind of fabric and tasks, where answers are schedules."""


@examples(10, 40)
@pytest.mark.parametrize("problem", OWN)
def test_answers_of_problems_conform(problem: str, count: int) -> None:
    """Schedules of our own algorithms behind `solve`, signed with their bounds.

    The problems ask for one configuration; that there is none is no answer to ours.
    """
    algorithm = PROBLEMS[problem]

    def make(instance: Instance, seed: int) -> Schedule:
        """Answer the problem."""
        _as_read(instance)
        try:
            answer = algorithm.solve(instance, seed)
        except InfeasibleError as refusal:
            raise InputError(refusal.what) from None
        assert answer.schedule is not None
        return signed(answer.schedule(), instance, answer.certificates)

    kind, tasks = OWN[problem]
    report = check_synthesiser(
        make, kinds=[kind], tasks=tasks, examples=count, limit_s=HUNG_S
    )
    assert [result for result in report.properties if result.failed] == []
    assert report.conforms
