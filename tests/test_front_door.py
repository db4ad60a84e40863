"""``import lightloom``: every name of it, instances and schedules in every form."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

import lightloom as ll
from lightloom.instances.fabrics import FABRICS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "ideal-switch-4/all-gather-1KiB"
TRAINED = "ideal-switch-16/ncf-batch65536"


def test_every_name_is_there() -> None:
    """There are few, and `dir` lists them for completion."""
    assert len(ll.__all__) <= 18
    assert dir(ll) == sorted(ll.__all__)
    for name in ll.__all__:
        assert getattr(ll, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'synthesize'"):
        _ = getattr(ll, "synthesize")  # noqa: B009  (a typing mistake on purpose)


def test_every_fabric_is_there() -> None:
    """By the name of its class; a misspelt one is told the nearest."""
    assert dir(ll.fabrics) == sorted(kind.record.__name__ for kind in FABRICS.values())
    assert ll.fabrics.Lightpath(rows=2, cols=2).node_count == 4
    with pytest.raises(AttributeError, match="did you mean Lightpath"):
        _ = getattr(ll.fabrics, "Lightpth")  # noqa: B009


def test_instances_and_schedules_in_every_form(tmp_path: Path) -> None:
    """A record, a name or a path: the answer is the same."""
    named = ll.load_instance(NAME)
    file = tmp_path / "mine.toml"
    file.write_text(
        '[fabric]\nkind = "ideal-switch"\nnodes = 4\n'
        '[collective]\nop = "all-gather"\nbuffer_bytes = 1024\n',
        encoding="utf-8",
    )
    built = ll.Instance(
        ll.fabrics.IdealSwitch(nodes=4), ll.Collective("all-gather", buffer_bytes=1024)
    )
    made = [ll.synthesise(asked, "ring") for asked in (NAME, named, file, built)]
    times = {one.completion_time_ps for one in made}
    assert len(times) == 1
    assert {ll.bound(asked).bound_ps for asked in (NAME, named, file, built)} == {
        made[0].certificate and made[0].certificate.bound
    }
    path = tmp_path / "mine.jsonl"
    ll.write_schedule(made[0].schedule, path)
    for schedule in (made[0].schedule, path, str(path)):
        assert ll.verify(schedule).valid
        assert {ll.replay(schedule).completion_time_ps} == times
        assert ll.read_schedule(schedule).step_count == 3


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("name", [NAME, "lightpath-4/all-reduce-1MiB"])
def test_plots(tmp_path: Path, name: str, suffix: str) -> None:
    """On fabrics with and without circuits; another suffix is refused."""
    schedule = ll.synthesise(name, "ring").schedule
    assert ll.plot(schedule, tmp_path / f"mine{suffix}").stat().st_size > 1000
    with pytest.raises(ll.LightloomError, match=r"found '\.bmp'; allowed: \.pdf, "):
        ll.plot(schedule, tmp_path / "mine.bmp")


def test_results_print_well() -> None:
    """One short line each, and a table in a notebook."""
    made = ll.synthesise(NAME, "ring")
    results = (
        made,
        made.schedule,
        ll.verify(made.schedule),
        ll.replay(made.schedule),
        ll.bound(NAME),
        ll.solve("ocs-8/neighbours-8MB"),
        ll.load_instance(NAME),
    )
    for result in results:
        assert repr(result).startswith(f"{type(result).__name__}(")
        assert len(repr(result)) < 300
        assert "\n" not in repr(result)
        assert result._repr_html_().startswith("<table>")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ll.load_instance(cast("str", 3)), "not an instance; found 3"),
        (lambda: ll.load_instance("a" * 300), "unknown instance"),
        (lambda: ll.load_instance("ocs-8"), "`lightloom instances --fabric ocs-8 --n"),
        (lambda: ll.verify(cast("str", 3)), "not a schedule; found 3"),
        (lambda: ll.replay(cast("str", None)), "not a schedule"),
        (lambda: ll.verify(cast("str", ll.synthesise(NAME))), "take its .schedule"),
        (lambda: ll.plot(ll.synthesise(NAME).schedule, ""), "not the name of a file"),
        (lambda: ll.synthesise(NAME, cast("str", 3)), "unknown algorithm; found 3"),
        (lambda: ll.synthesise(NAME, seed=-1), "seed: value not allowed; found -1"),
        (lambda: ll.synthesise(NAME, seed=2**63), "allowed: integer from 0 to"),
        (lambda: ll.synthesise(NAME, seed=cast("int", 1.5)), "found 1.5"),
        (
            lambda: ll.synthesise(NAME, "ring", cast("dict[str, object]", "a")),
            "by name",
        ),
        (lambda: ll.solve(NAME, "rounds", seed=cast("int", 1.5)), "options.seed"),
        (lambda: ll.solve(NAME, "rounds", time_limit_s=cast("int", "a")), "seconds"),
        (lambda: ll.train(TRAINED, cast("None", 3)), "request: not a request; found 3"),
        (lambda: ll.train(TRAINED, seed=-1), "seed: value not allowed; found -1"),
    ],
)
def test_a_wrong_kind_of_thing_is_named(
    call: Callable[[], object], message: str
) -> None:
    """Where it is given, with what would do; never an error of another module."""
    with pytest.raises(ll.LightloomError) as caught:
        call()
    assert message in str(caught.value)


def test_parameters_are_printed_as_they_are_given() -> None:
    """What a table or a summary shows can be pasted after ``--param``."""
    from lightloom.report.listings import parameters_text

    text = parameters_text({"ports": 3, "radices": [2, 2], "signed": True})
    assert text == "ports=3 radices=2,2 signed=true"


def test_numbers_of_numpy_are_parameters_and_seeds() -> None:
    """As in the records of fabrics: the schedule is the same."""
    radices = ll.synthesise(NAME, "radices", {"radices": [2, 2]}, seed=3).schedule
    for given in (np.array([2, 2]), (np.int64(2), 2)):
        made = ll.synthesise(NAME, "radices", {"radices": given}, seed=np.int64(3))
        assert made.schedule.algorithm == radices.algorithm


def test_ocs_demands_are_synthesised() -> None:
    """One call serves every fabric."""
    made = ll.synthesise("ocs-8/neighbours-8MB")
    assert ll.verify(made.schedule).valid


def test_solve_and_train() -> None:
    """Problems and trainings by name; what has no model to train says so."""
    solved = ll.solve("ocs-8/neighbours-8MB", "ocs")
    assert solved.value is not None
    assert solved.schedule is not None
    assert ll.train("ideal-switch-16/ncf-batch65536").iteration_ps > 0
    with pytest.raises(ll.LightloomError, match="without a model to train"):
        ll.train(NAME)


def test_the_room_is_a_function_whenever_it_was_imported() -> None:
    """``lightloom.replay`` is a room; importing it first changes nothing."""
    code = (
        "import lightloom.replay.execute, lightloom as ll\n"
        f"made = ll.synthesise({NAME!r}, 'ring')\n"
        "print(ll.replay(made.schedule).completion_time_ps > 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout == "True\n"
