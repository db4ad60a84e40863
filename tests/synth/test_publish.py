"""Publishing: only what verifies reaches a file, whole, in any compression."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lightloom.core.task import Demand
from lightloom.formats.schedule_reader import read_schedule
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.synth.publish import UnverifiedError, publish
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.schedule import Schedule


def _schedule(instance: Instance) -> Schedule:
    synthesis = synthesise(instance).incumbent
    assert synthesis is not None
    return synthesis.schedule


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst"])
@pytest.mark.parametrize("kind", ["collective", "demand"])
def test_what_is_written_verifies(suffix: str, kind: str, tmp_path: Path) -> None:
    """Plain or compressed, the file is read back, and passes every rule."""
    instance = load_instance("lightpath-4/all-reduce-1KiB")
    if kind == "demand":
        demand = Demand((0, 1), (3, 2), (5, 7))
        instance = Instance(Lightpath(rows=2, cols=2), demand, "demand")
    path = tmp_path / f"schedule.{suffix}"
    assert publish(_schedule(instance), str(path)).valid
    assert verify(read_schedule(path)).valid


def test_a_broken_schedule_is_not_written(
    tmp_path: Path, four_node_instance: Instance
) -> None:
    """A false claim is our own defect, and leaves no file."""
    schedule = _schedule(four_node_instance)
    assert schedule.footer is not None
    footer = replace(schedule.footer, completion_time_ps=1)
    path = tmp_path / "schedule.jsonl"
    with pytest.raises(UnverifiedError, match="footer-time"):
        publish(replace(schedule, footer=footer), str(path))
    assert not list(tmp_path.iterdir())
