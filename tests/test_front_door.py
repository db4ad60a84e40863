"""``import lightloom``: every name of it, instances and schedules in every form."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import lightloom as ll
from lightloom.instances.fabrics import FABRICS

if TYPE_CHECKING:
    from pathlib import Path

NAME = "ideal-switch-4/all-gather-1KiB"


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
