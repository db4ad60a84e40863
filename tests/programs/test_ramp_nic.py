"""Programs of network interfaces: together they are the schedule, no more, no less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.errors import InputError
from lightloom.core.schedule import Segment, StepPart, Transfers
from lightloom.core.task import Collective, Demand
from lightloom.programs.ramp_nic import RECEIVE, SEND, node_program
from lightloom.synth.ramp.schedules import OPS, ROUTED, ways
from tests.examples.ramp_networks import network

if TYPE_CHECKING:
    from lightloom.instances.fabrics.ramp import Ramp

Line = tuple[int, int, int, int]
"""Step, transceiver, node, peer."""

FABRIC = network((3, 2, 6))


def _task(op: str, size: int = 36 * 4000) -> Collective:
    return Collective(op, tuple(range(FABRIC.node_count)), size)


def _scheduled(
    task: Collective, strategy: str | None = None
) -> tuple[set[Line], dict[tuple[int, int, int], int]]:
    """Return what a schedule has lit in each step, and the bytes of its pairs."""
    (way, *_) = ways(FABRIC, task, strategy)
    segments: dict[int, Segment] = {}
    lines: set[Line] = set()
    sizes: dict[tuple[int, int, int], int] = {}
    for event in way.events():
        if isinstance(event, Segment):
            segments[event.index] = event
            continue
        _add_step(event, segments, way.collective.chunk_bytes, lines, sizes)
    return lines, sizes


def _add_step(
    part: StepPart,
    segments: dict[int, Segment],
    chunk_bytes: int,
    lines: set[Line],
    sizes: dict[tuple[int, int, int], int],
) -> None:
    moved = part.transfers
    assert isinstance(moved, Transfers)
    assert part.segment is not None
    rows = zip(
        moved.src.tolist(),
        moved.dst.tolist(),
        (moved.chunk_hi - moved.chunk_lo).tolist(),
        strict=True,
    )
    for src, dst, chunks in rows:
        key = (part.index, src, dst)
        sizes[key] = sizes.get(key, 0) + chunks * chunk_bytes
    circuits = segments[part.segment].circuits
    assert circuits.transceiver is not None
    lit = zip(
        circuits.src.tolist(),
        circuits.dst.tolist(),
        circuits.transceiver.tolist(),
        strict=True,
    )
    for src, dst, used in lit:
        if (part.index, src, dst) in sizes:
            lines.add((part.index, used, src, dst))


def _places(fabric: Ramp) -> list[tuple[int, int, int]]:
    columns = fabric.coordinates(np.arange(fabric.node_count))
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _node(place: tuple[int, int, int]) -> int:
    return int(FABRIC.node(*(np.array(part) for part in place)))


@pytest.mark.parametrize(
    ("op", "strategy"),
    [
        *((op, None) for op in OPS),
        *(("all-reduce", name) for name in ("exchange", "hubs")),
        *(("all-to-all", name) for name in (*ROUTED, "steps")),
        ("broadcast", "steps"),
        *(("reduce", name) for name in ("rarest-first", "whole")),
        ("scatter", "classes"),
        *((op, "spread") for op in ("all-reduce", "gather", "reduce", "scatter")),
    ],
)
def test_programs_are_the_schedule(op: str, strategy: str | None) -> None:
    """Every circuit of every step is one instruction at both of its ends."""
    task = _task(op)
    tree = strategy == "tree" or (op == "broadcast" and strategy is None)
    lines, sizes = _scheduled(task, strategy)
    found: dict[str, set[Line]] = {SEND: set(), RECEIVE: set()}
    for place in _places(FABRIC):
        for line in node_program(FABRIC, task, place, None, strategy).instructions:
            for peer in line.peers:
                ends = (_node(place), _node(peer))
                src, dst = ends if line.direction == SEND else ends[::-1]
                for step in range(line.first_step, line.last_step + 1):
                    found[line.direction].add((step, line.transceiver, src, dst))
                assert line.wavelength == dst % 6
                assert {peer[0] for peer in line.peers} == set(line.path)
                if not tree:
                    count = sum(
                        (line.first_step, t, src, dst) in lines for t in range(3)
                    )
                    whole = sizes[line.first_step, src, dst]
                    assert line.bytes == -(-whole // count)
                    assert line.slots == -(-line.bytes // FABRIC.slot_bytes)
    assert found[SEND] == lines
    assert found[RECEIVE] == lines


@pytest.mark.parametrize(
    ("op", "stages"),
    [
        ("reduce-scatter", [("reshape", "reduce")] * 4),
        ("all-gather", [("copy", "identity")] * 4),
        ("all-to-all", [("reshape", "reshape")] * 4),
        ("barrier", [("identity", "and")] * 4),
        ("scatter", [("reshape", "identity")] * 4),
        ("gather", [("copy", "identity")] * 4),
        ("broadcast", [("identity", "identity")]),
    ],
)
def test_operations_of_table_8(op: str, stages: list[tuple[str, str]]) -> None:
    """What happens to the buffer before and after each step."""
    found = node_program(FABRIC, _task("all-gather"), (1, 1, 4), op).stages
    assert [(stage.buffer_op, stage.local_op) for stage in found] == stages


def test_sizes_of_table_8() -> None:
    """Reduce-scatter: m/x, m/x^2, m/(J x^2), m/(J Lambda x); all-to-all: m/d a step."""
    size = 36 * 3 * 1000

    def per_pair(op: str) -> list[int]:
        task = _task(op, size)
        found = node_program(FABRIC, task, (0, 0, 0), None, "steps").instructions
        sends: dict[int, dict[tuple[int, int, int], int]] = {}
        for line in found:
            if line.direction == SEND:
                step = sends.setdefault(line.ramp_step, {})
                step[line.peers[0]] = step.get(line.peers[0], 0) + line.bytes
        return [max(sends[step].values()) for step in sorted(sends)]

    assert per_pair("reduce-scatter") == [
        size // 3,
        size // 9,
        size // 18,
        size // 36,
    ]
    assert per_pair("all-to-all") == [size // 3, size // 3, size // 2, size // 2]


def test_a_program_at_the_size_of_the_paper() -> None:
    """One node of 65,536: 31 peers in three steps, one in the fourth."""
    fabric = network((32, 32, 64))
    task = Collective("reduce-scatter", tuple(range(65536)), 2**30)
    found = node_program(fabric, task, (31, 7, 63))
    sends = [line for line in found.instructions if line.direction == SEND]
    counts = [sum(line.ramp_step == step for line in sends) for step in (1, 2, 3, 4)]
    assert counts == [31, 31, 31, 1]
    assert sends[0].bytes == 2**30 // 32
    assert sends[0].slots == -(-(2**25) // 950)
    for step in (1, 2, 3):
        used = {line.transceiver for line in sends if line.ramp_step == step}
        assert len(used) == 31


def test_what_has_no_program() -> None:
    """A demand, a node that takes no part, an operation there is not."""
    with pytest.raises(InputError, match="demand"):
        node_program(FABRIC, Demand.from_rows([(0, 1, 5)]), (0, 0, 0))
    pair = Collective("all-gather", (0, 12), 8)
    with pytest.raises(InputError, match="takes no part"):
        node_program(FABRIC, pair, (0, 0, 1))
    with pytest.raises(InputError, match="did you mean all-gather"):
        node_program(FABRIC, pair, (0, 0, 0), "al-gather")
    with pytest.raises(InputError, match=r"unknown strategy for all-gather.*steps"):
        node_program(FABRIC, pair, (0, 0, 0), None, "direct")
    with pytest.raises(InputError, match=r"unknown strategy for barrier.*exchange"):
        node_program(FABRIC, pair, (0, 0, 0), "barrier", "steps")
    apart = Collective("all-to-all", (0, 13), 8)
    with pytest.raises(InputError, match=r"2 nodes at 4 places"):
        node_program(FABRIC, apart, (0, 0, 0), None, "direct")
    odd = Collective("all-reduce", (0, 12), 9)
    with pytest.raises(InputError, match="needs a buffer that 2 divides"):
        node_program(FABRIC, odd, (0, 0, 0), "all-gather")
