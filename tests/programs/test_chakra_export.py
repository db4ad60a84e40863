"""Chakra traces: read back, and run by a simulator that knows only the format."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import FormatError, InputError
from lightloom.formats.chakra import NodeType, TraceNode, chakra_bytes, read_chakra
from lightloom.instances.catalogue import load_instance
from lightloom.programs.chakra_export import chakra_export
from lightloom.replay import replay
from lightloom.synth.synthesise import synthesise
from tests.oracle.trace_simulator import finish_times
from tests.programs.lowered import schedule_of

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.schedule import Schedule

GIB = 2**30


def simulated(files: dict[str, bytes], folder: Path) -> list[int]:
    """Return when each rank ends, from the files alone."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    lines = (folder / "network.yml").read_text(encoding="utf-8").splitlines()
    values = dict(line.split("#")[0].split(": ") for line in lines)
    ranks, latency = (
        int(values[key].strip(" []")) for key in ("npus_count", "latency")
    )
    rate = Fraction(values["bandwidth"].strip(" []")) * GIB / 10**9
    traces = [read_chakra(folder / f"collective.{rank}.et") for rank in range(ranks)]
    return finish_times(traces, latency, rate)


def longest_path(schedule: Schedule) -> int:
    """Return the transfers that follow one another: of a pair, step by step."""
    pairs: Counter[tuple[int, int, int]] = Counter()
    for part in schedule.parts:
        ends = (part.transfers.src.tolist(), part.transfers.dst.tolist())
        pairs.update((part.index, src, dst) for src, dst in zip(*ends, strict=True))
    most: Counter[int] = Counter()
    for (step, _, _), count in pairs.items():
        most[step] = max(most[step], count)
    return most.total()


AGREEING = [
    *itertools.product(
        (
            f"lightpath-{nodes}/{op}-1MiB"
            for nodes in (8, 16)
            for op in ("all-reduce", "all-gather", "reduce-scatter")
        ),
        ("auto", "ring", "lumorph-2", "multiport"),
    ),
    ("lightpath-16/all-to-all-1MiB", "auto"),
    ("ring-2d-16/all-reduce-1MiB", "auto"),
    ("sipac-16/all-to-all-1MiB", "auto"),
    ("ramp-16/all-reduce-1MiB", "auto"),
    ("ocs-16/all-reduce-1MiB", "auto"),
    ("ring-16/all-reduce-1MiB", "auto"),
]


@pytest.mark.parametrize(("name", "algorithm"), AGREEING)
def test_the_simulator_agrees_with_replay(
    name: str, algorithm: str, tmp_path: Path
) -> None:
    """Reconfigurations included, to a picosecond a transfer on the path."""
    schedule = schedule_of(name, algorithm)
    export = chakra_export(schedule)
    ends = simulated(export.files, tmp_path)
    assert export.completion_time_ps == replay(schedule).completion_time_ps
    # The simulator rounds a message down, replay every transfer of a pair up.
    slack = longest_path(schedule)
    assert export.completion_time_ps - slack <= max(ends)
    assert max(ends) <= export.completion_time_ps


def ring_of_eight(rank: int) -> list[TraceNode]:
    """Return a rank's trace: 7 steps that add what arrives, then 7 that do not."""
    made: list[TraceNode] = []
    before: tuple[int, ...] = ()
    for step in range(14):
        for place, kind in enumerate((NodeType.SEND, NodeType.RECEIVE)):
            src = (rank - place) % 8
            given = {
                "comm_src": src,
                "comm_dst": (src + 1) % 8,
                "comm_tag": step,
                "comm_size": 131072,
            }
            made.append(TraceNode(len(made), "", kind, before, 0, given))
        before = (made[-2].id, made[-1].id)
        if step < 7:
            made.append(TraceNode(len(made), "add", NodeType.COMPUTE, before))
            before = (made[-1].id,)
    return made


def test_the_ring_of_eight(tmp_path: Path) -> None:
    """41,181 ns at 50 GiB/s and 500 ns, as the public simulator was measured to say."""
    traces = []
    for rank in range(8):
        made = ring_of_eight(rank)
        path = tmp_path / f"ring.{rank}.et"
        path.write_bytes(chakra_bytes(made))
        traces.append(read_chakra(path))
        assert traces[-1] == made
    ends = finish_times(traces, 500, Fraction(50 * GIB, 10**9))
    assert set(ends) == {14 * (2441 + 500) + 7} == {41181}


@pytest.mark.parametrize("cut", [1, 7, 30, 100])
def test_damaged_traces_are_refused(cut: int, tmp_path: Path) -> None:
    """A file that ends within a message is no trace."""
    export = chakra_export(schedule_of("lightpath-8/all-reduce-1MiB"))
    path = tmp_path / "x.et"
    path.write_bytes(export.files["collective.0.et"][:-cut])
    with pytest.raises(FormatError, match="damaged"):
        read_chakra(path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lightpath-8/broadcast-1MiB", "no implementation"),
        ("ideal-switch-8/all-reduce-1MiB", "wires do not"),
    ],
)
def test_what_a_simulator_cannot_say(name: str, says: str) -> None:
    """One error, and what would do."""
    with pytest.raises(InputError, match=says):
        chakra_export(schedule_of(name))


def test_a_demand_is_no_collective() -> None:
    """It has no operation."""
    made = synthesise(load_instance("sipac-16/hybrid-parallel-100MB")).incumbent
    assert made is not None
    with pytest.raises(InputError, match="no collective"):
        chakra_export(made.schedule)
