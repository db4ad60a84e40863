"""Programs of switches: applied in order, planes hold what segments say."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.programs.ramp_nic import node_program
from lightloom.programs.switch_commands import switch_changes, switch_text
from lightloom.replay import replay
from lightloom.synth.synthesise import synthesise

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.programs.switch_commands import TileSetting

NAMES = (
    "lightpath-8/all-reduce-64MiB",
    "ring-2d-16/all-reduce-1MiB",
    "sipac-16/all-to-all-1MiB",
    "ramp-16/all-reduce-1MiB",
)


def schedule_of(name: str) -> Schedule:
    """Return what `auto` makes."""
    outcome = synthesise(load_instance(name))
    assert outcome.incumbent is not None
    return outcome.incumbent.schedule


@pytest.mark.parametrize("name", NAMES)
def test_changes_lead_to_every_segment(name: str) -> None:
    """What is connected after a change are the circuits of its segment."""
    schedule = schedule_of(name)
    held: dict[int, set[str]] = {}
    circuits = {
        (segment.plane, segment.index): sorted(
            zip(
                segment.circuits.src.tolist(),
                segment.circuits.dst.tolist(),
                strict=True,
            )
        )
        for segment in schedule.segments
    }
    for change in switch_changes(schedule):
        now = held.setdefault(change.plane, set())
        now -= {json.dumps(row) for row in change.disconnect}
        now |= {json.dumps(row) for row in change.connect}
        pairs = sorted((json.loads(row)["src"], json.loads(row)["dst"]) for row in now)
        assert pairs == circuits[change.plane, change.segment]
    times = {(r.plane, r.segment): r for r in replay(schedule).reconfigurations}
    for change in switch_changes(schedule):
        told = times.get((change.plane, change.segment))
        if told is not None:
            assert (change.start_ps, change.end_ps) == (told.start_ps, told.end_ps)


def test_csv_has_a_line_for_each_circuit() -> None:
    """Header, then circuits that go and come, with wavelengths and routes."""
    schedule = schedule_of(NAMES[0])
    rows = list(csv.DictReader(io.StringIO(switch_text(schedule, "csv"))))
    changes = switch_changes(schedule)
    assert len(rows) == sum(len(c.disconnect) + len(c.connect) for c in changes)
    first = rows[0]
    assert first["action"] == "connect"
    assert first["route"].split()[0] == first["src"]
    assert first["route"].split()[-1] == first["dst"]


def test_a_node_sends_and_receives_what_it_must() -> None:
    """Bytes of the program of a node are those of replay."""
    schedule = schedule_of(NAMES[0])
    nodes = replay(schedule).nodes
    for node in range(8):
        records = json.loads(switch_text(schedule, "json", node))
        for action, total in (
            ("send", nodes.sent_bytes[node]),
            ("receive", nodes.received_bytes[node]),
        ):
            moved = sum(each["bytes"] for each in records if each["do"] == action)
            assert moved == total
        times = [each["time_ps"] for each in records]
        assert times == sorted(times)


@pytest.mark.parametrize("name", [NAMES[0], "lightpath-64/all-to-all-1MiB"])
def test_light_goes_where_circuits_do(name: str) -> None:
    """From laser to photodiode, tile by tile; no waveguide carries a colour twice."""
    schedule = schedule_of(name)
    fabric = load_instance(name).fabric
    assert isinstance(fabric, Lightpath)
    step = {"up": -fabric.cols, "down": fabric.cols, "left": -1, "right": 1}
    facing = {"up": "down", "down": "up", "left": "right", "right": "left"}
    segments = {(each.plane, each.index): each.circuits for each in schedule.segments}
    tiles: dict[int, TileSetting] = {}
    for change in switch_changes(schedule):
        tiles |= change.tiles
        passed: dict[tuple[int, str, int, int], tuple[str, int]] = {}
        for tile, setting in tiles.items():
            for one in setting.switches:
                alone = (0,) * len(one.wavelengths)
                lanes_in = one.waveguides_in or alone
                lanes_out = one.waveguides_out or alone
                for colour, lane_in, lane_out in zip(
                    one.wavelengths, lanes_in, lanes_out, strict=True
                ):
                    key = (tile, one.enters, lane_in, colour)
                    assert key not in passed
                    passed[key] = (one.leaves, lane_out)
                    if one.waveguides_out:
                        assert lane_out < 64
        found = set()
        for tile, side, _, colour in list(passed):
            if side != "laser":
                continue
            assert colour in tiles[tile].lasers
            at, enters, lane = tile, side, 0
            while (end := passed.pop((at, enters, lane, colour)))[0] != "photodiode":
                at, enters, lane = at + step[end[0]], facing[end[0]], end[1]
            assert colour in tiles[at].photodiodes
            found.add((tile, at, colour))
        assert not passed
        circuits = segments[change.plane, change.segment]
        assert found == {
            (int(circuits.src[row]), int(circuits.dst[row]), int(colour))
            for row in range(len(circuits))
            for colour in circuits.lists("wavelengths")[row]
        }


def test_programs_of_ramp_are_those_of_its_transcoder() -> None:
    """Transceiver, wavelength, path, peer, bytes and slots of every step."""
    name = NAMES[3]
    schedule, question = schedule_of(name), load_instance(name)
    fabric, task = question.fabric, question.task
    assert isinstance(fabric, Ramp)
    assert isinstance(task, Collective)
    made_by = str(schedule.algorithm.parameters["strategy"])
    for node in range(fabric.node_count):
        at = coordinates(fabric, node)
        told = node_program(fabric, task, at, strategy=made_by).instructions
        asked = {
            (line.first_step, line.direction, line.transceiver, line.wavelength)
            for line in told
        }
        sizes = {(line.path, line.peers, line.bytes, line.slots) for line in told}
        lit: dict[tuple[int, int], list[dict[str, int]]] = {}
        found, found_sizes = set(), set()
        for record in json.loads(switch_text(schedule, "json", node)):
            ends = (record.get("src"), record.get("dst"))
            if record["do"] == "connect":
                lit.setdefault(ends, []).append(record)
            elif record["do"] == "disconnect":
                lit.pop(ends, None)
            else:
                sends = record["do"] == "send"
                peer = record["peer"]
                circuits = lit[(node, peer) if sends else (peer, node)]
                for one in circuits:
                    key = (record["step"], record["do"])
                    found.add((*key, one["transceiver"], one["wavelength"]))
                    path = (one["dst_group" if sends else "src_group"],)
                    each = -(-record["bytes"] // len(circuits))
                    at = (coordinates(fabric, peer),)
                    found_sizes.add((path, at, each, record["slots"]))
        assert found == asked
        assert found_sizes == sizes


def coordinates(fabric: Ramp, node: int) -> tuple[int, int, int]:
    """Return group, rack and number of a node."""
    group, rack, number = fabric.coordinates(np.array([node]))
    return int(group[0]), int(rack[0]), int(number[0])


def test_sonic_patches_of_switches() -> None:
    """One patch a change, removals first, ports counted from 1."""
    schedule = schedule_of("ocs-8/neighbours-8MB")
    updates = json.loads(switch_text(schedule, "sonic-ocs"))
    assert {update["switch"] for update in updates} <= set(range(4))
    for update in updates:
        kinds = [each["op"] for each in update["patch"]]
        assert kinds == sorted(kinds, reverse=True)
        for each in update["patch"]:
            name = each["path"].removeprefix("/OCS_CROSS_CONNECT/")
            one, other = name.split("-")
            assert each["value"] == {"a_side": one, "b_side": other}
            assert 1 <= int(one.removesuffix("A")) <= 8
            assert 1 <= int(other.removesuffix("B")) <= 8


@pytest.mark.parametrize(
    ("name", "form", "node", "says"),
    [
        ("ideal-switch-8/all-reduce-1MiB", "csv", None, "no circuits to switch"),
        (NAMES[0], "sonic-ocs", None, "optical circuit switches"),
        (NAMES[0], "json", 8, "unknown node"),
        (NAMES[0], "csv", 0, "written as json"),
    ],
)
def test_what_cannot_be_written(
    name: str, form: str, node: int | None, says: str
) -> None:
    """A path that cannot be written is refused, and nothing is created."""
    with pytest.raises(InputError, match=says):
        switch_text(schedule_of(name), form, node)
