"""The demonstration, on a rack of four."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, cast

from rich.console import Console

from lightloom.core.units import MIB
from lightloom.formats.schedule_reader import read_schedule
from lightloom.instances.catalogue import fabrics
from lightloom.papers.demonstration import ON_RACK, ON_SWITCH, demonstrate
from lightloom.validate import verify

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.instances.fabrics.packet_tiers import IdealSwitch


def test_the_demo_leaves_what_it_promises(tmp_path: Path) -> None:
    """A verified schedule, a trace and a plot; auto is not beaten."""
    known = fabrics()
    switch = cast("IdealSwitch", known["ideal-switch-4"])
    told: list[str] = []
    folder = tmp_path / "out" / "demo"
    shown = demonstrate(known["lightpath-4"], switch, MIB, folder, told.append)
    assert shown.valid
    assert [path.name for path in shown.files] == [
        *("all-reduce-auto.jsonl", "trace.json", "comparison.png", "comparison.svg"),
    ]
    assert {path.name for path in folder.iterdir()} == {p.name for p in shown.files}
    assert verify(read_schedule(folder / "all-reduce-auto.jsonl")).valid
    assert json.loads((folder / "trace.json").read_text())["traceEvents"]
    rack = shown.entries[: len(ON_RACK)]
    assert min(rack, key=lambda entry: entry.completion_time_us).completion_time_us == (
        rack[-1].completion_time_us
    )
    for entry in shown.entries:
        parts = entry.fixed_us + entry.reconfiguring_us
        assert 0 < parts < entry.completion_time_us
    text = io.StringIO()
    Console(file=text, width=200).print(shown.table())
    for name in (*ON_RACK, *ON_SWITCH):
        assert name in text.getvalue()
    assert any("verifying" in message for message in told)
