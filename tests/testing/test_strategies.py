"""Strategies: what they draw is what they say it is, on every kind of fabric."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import FABRICS, load_fabric
from lightloom.synth.bounds import all_bounds
from lightloom.testing.strategies import (
    break_schedule,
    broken_schedules,
    fabrics,
    instances,
    known_kinds,
    mutations,
    random_schedule,
    schedules,
    tasks,
)
from lightloom.testing.strategies.candidate_circuits import (
    circuits_of,
    joined_pairs,
    light,
    overused,
)
from lightloom.testing.strategies.fabrics import DEMAND, RELAYED_DEMAND, connected
from lightloom.validate import RULES, verify

if TYPE_CHECKING:
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance
    from lightloom.testing.strategies import BrokenSchedule

NOT_BROKEN_BY_ONE_CHANGE = {
    "certificate-witness": "witnesses differ from kind to kind",
    "multicast-circuit": "random schedules have no multicast",
    "multicast-data": "random schedules have no multicast",
    "multicast-wavelength": "random schedules have no multicast",
    "objective-bound": "random schedules have no objectives",
    "objective-kind": "random schedules have no objectives",
    "objective-name": "random schedules have no objectives",
    "objective-value": "random schedules have no objectives",
    "objective-witness": "random schedules have no objectives",
    "post-condition-wrong": "no collective of the catalogue can break it",
}
"""Rules that `tests/validate/mutants.py` alone breaks, and why."""


def test_every_kind_has_a_strategy() -> None:
    """A new kind of fabric needs keys in `lightloom/validate/strategies/fabrics.py`."""
    assert set(known_kinds()) == set(FABRICS)


@settings(max_examples=150, deadline=None)
@given(fabrics())
def test_fabrics_are_small_and_connected(fabric: CircuitFabric) -> None:
    """A fabric is what its table says, and all of its nodes reach each other."""
    assert load_fabric(fabric.table()) == fabric
    assert 1 <= fabric.node_count <= 9
    assert connected(fabric, range(fabric.node_count))


@settings(max_examples=200, deadline=None)
@given(instances())
def test_instances_make_sense(instance: Instance) -> None:
    """A drawn task passes the checks that an instance file has to pass."""
    task = instance.communication
    if isinstance(task, Collective):
        check_collective(task, instance.fabric.node_count)
    else:
        assert min(task.bytes) > 0
        pairs = list(zip(task.src, task.dst, strict=True))
        assert pairs == sorted(set(pairs))


@pytest.mark.parametrize("kind", known_kinds())
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_random_schedules_are_valid(kind: str, data: st.DataObject) -> None:
    """On every fabric they obey every rule, and no bound is above their time."""
    made = data.draw(schedules([kind]))
    assert verify(made).violations == ()
    assert made.footer is not None
    for bound in all_bounds(load_fabric(made.fabric), made.task).values():
        assert bound.bound <= made.footer.completion_time_ps


@settings(max_examples=60, deadline=None)
@given(schedules())
def test_random_schedules_survive_a_file(made: Schedule) -> None:
    """A schedule that is written and read is the same."""
    lines = list(schedule_lines(made))
    read = read_schedule_stream(io.BytesIO(b"".join(lines)), "file")
    assert list(schedule_lines(read)) == lines


@settings(max_examples=30, deadline=None)
@given(instances(chunks_chosen=True), st.integers(0, 2**32 - 1))
def test_random_schedules_follow_from_their_seed(instance: Instance, seed: int) -> None:
    """The same instance and seed give the same bytes."""
    first, again = (
        list(schedule_lines(random_schedule(instance, seed))) for _ in range(2)
    )
    assert first == again


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(broken_schedules() | broken_schedules(names=[RELAYED_DEMAND]))
def test_one_change_breaks_one_rule(broken: BrokenSchedule) -> None:
    """A broken schedule trips the rule it says and no other; it was valid before."""
    assert verify(broken.valid).valid
    verdict = verify(broken.schedule)
    assert {found.rule for found in verdict.violations} == {broken.rule}


@pytest.mark.slow
def test_mutations_break_every_rule_they_can() -> None:
    """Some mutation breaks each rule, or the reason why not is written down."""
    left = set(RULES) - set(NOT_BROKEN_BY_ONE_CHANGE)
    tripped: set[str] = set()
    on_circuits = {name for name in mutations() if "circuit" in name}

    @seed(0)
    @settings(
        max_examples=32,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def gather(
        kind: str, names: set[str], tasks: list[str] | None, data: st.DataObject
    ) -> None:
        whole = data.draw(schedules([kind], tasks, multicast=False))
        if left <= tripped:
            return
        for name in sorted(names):
            for number in range(6 if name in on_circuits else 1):
                made = break_schedule(whole, name, number)
                if made is not None:
                    tripped.add(made.rule)

    gather("ideal-switch", set(mutations()), None)
    gather("lightpath", set(mutations()) - on_circuits, None)
    gather("lightpath", on_circuits, None)
    gather("ocs", {"relays-forbidden"}, [RELAYED_DEMAND])
    for kind in ("ocs", "ramp", "ring", "ring-2d", "sipac"):
        gather(kind, on_circuits, None)
    assert left == tripped


@settings(max_examples=50, deadline=None)
@given(
    fabrics(["lightpath", "ocs", "ramp", "ring", "ring-2d", "sipac"]),
    st.integers(0, 2**32 - 1),
)
def test_lit_circuits_fit(fabric: CircuitFabric, seed: int) -> None:
    """The first preferred pair is granted, and nothing is taken twice."""
    rng = seeded_random(seed)
    preferred = list(joined_pairs(fabric))
    rng.shuffle(preferred)
    lit = light(fabric, preferred, rng)
    assert not overused(fabric, circuits_of(fabric, lit))
    granted = {(path.src, path.dst) for path in lit}
    assert not preferred or preferred[0] in granted


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fabrics(["rings"]), "did you mean ring"),
        (lambda: fabrics([]), "at least one"),
        (lambda: tasks(_switch(), ["all-gathr"]), "did you mean all-gather"),
        (lambda: tasks(_switch(), []), "at least one"),
    ],
)
def test_unknown_names_are_refused(make: object, words: str) -> None:
    """A kind or a task that does not exist is named, with what was meant."""
    with pytest.raises(InputError, match=words):
        make()  # type: ignore[operator]


def _switch() -> CircuitFabric:
    return load_fabric({"kind": "ideal-switch", "nodes": 2})  # type: ignore[return-value]


def test_unknown_mutation_is_refused() -> None:
    """A mutation that does not exist is named, with what was meant."""
    fabric = load_fabric({"kind": "ideal-switch", "nodes": 2})
    instance = _instance(fabric)
    with pytest.raises(InputError, match="did you mean false-time"):
        break_schedule(random_schedule(instance, 0), "false-tme", 0)


def _instance(fabric: object) -> Instance:
    from lightloom.instances.instance import Instance

    return Instance(fabric, Collective("all-gather", (0, 1), 2), "two")  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(instances(names=[DEMAND]))
def test_demands_alone_can_be_drawn(instance: Instance) -> None:
    """No collective comes where only demands were asked for."""
    assert not isinstance(instance.task, Collective)


def test_without_hypothesis_one_line_says_so() -> None:
    """The message names the extra; the rest of `validate` needs no hypothesis."""
    script = (
        "import sys\n"
        "sys.modules['hypothesis'] = None\n"
        "from lightloom.testing import check_synthesiser\n"
        "from lightloom.validate import verify\n"
        "try:\n"
        "    check_synthesiser(print)\n"
        "except ValueError as problem:\n"
        "    print(type(problem).__name__, problem)\n"
        "try:\n"
        "    import lightloom.testing.strategies\n"
        "except ImportError as problem:\n"
        "    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    first, second = done.stdout.splitlines()
    assert first.startswith("MissingExtraError ")
    assert "pip install 'lightloom[testing]'" in first
    assert second in first
