"""Schedule files: what is written is read back, and is written the same again."""

from __future__ import annotations

import dataclasses
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings

from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers, Op, Transfers
from lightloom.formats.schedule_reader import read_schedule, read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines, write_schedule
from lightloom.validate import verify
from tests.formats.random_schedules import plain, schedules

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule

DATA = Path(__file__).parent / "data"


@settings(max_examples=300, deadline=None)
@given(schedules())
def test_read_after_write_is_the_same(schedule: Schedule) -> None:
    """Every field, type and order survives, and the bytes are the same again."""
    data = b"".join(schedule_lines(schedule))
    again = read_schedule_stream(io.BytesIO(data), "memory")
    assert plain(again) == plain(schedule)
    assert b"".join(schedule_lines(again)) == data


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".GZ"])
def test_files_of_every_suffix(tmp_path: Path, suffix: str) -> None:
    """Compressed or not, a file holds the schedule, and its bytes are reproducible."""
    schedule = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    one, two = tmp_path / f"one.jsonl{suffix}", tmp_path / f"two.jsonl{suffix}"
    write_schedule(schedule, one)
    write_schedule(schedule, two)
    assert plain(read_schedule(one)) == plain(schedule)
    assert one.read_bytes() == two.read_bytes()
    magic = {"": b"{", ".gz": b"\x1f\x8b", ".GZ": b"\x1f\x8b", ".zst": b"\x28\xb5"}
    assert one.read_bytes().startswith(magic[suffix])


def test_version_1_stays_readable() -> None:
    """The example of the specification, written by hand, means what it says."""
    schedule = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    assert schedule.fabric["rows"] == 2
    assert [segment.index for segment in schedule.segments] == [0, 1]
    circuits = schedule.segments[1].circuits
    assert circuits.route is not None
    assert circuits.route.to_lists() == [[0, 2], [1, 3], [2, 0], [3, 1]]
    moves = schedule.parts[1].transfers
    assert isinstance(moves, Transfers)
    assert moves.chunk_lo.tolist() == [0, 0, 2, 2]
    assert moves.op.tolist() == [Op.COPY] * 4
    assert schedule.footer is not None
    assert schedule.footer.completion_time_ps == 8_963_841


@pytest.mark.parametrize(
    "name", ["all-gather-2x2.v2.jsonl", "all-reduce-pair.v2.jsonl"]
)
def test_version_2_is_written_as_it_was(name: str) -> None:
    """Rewriting a file that the writer could have written gives its very bytes."""
    schedule = read_schedule(DATA / name)
    assert b"".join(schedule_lines(schedule)) == (DATA / name).read_bytes()


def test_version_1_is_written_as_version_2() -> None:
    """A file of an older version becomes one of the newest that says the same."""
    old = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    new = (DATA / "all-gather-2x2.v2.jsonl").read_bytes()
    assert b"".join(schedule_lines(old)) == new
    assert plain(read_schedule(DATA / "all-gather-2x2.v2.jsonl")) == plain(old)


def test_version_2_carries_certificates_of_objectives() -> None:
    """A pair that exchanges on both lasers does it in one round, and says why."""
    schedule = read_schedule(DATA / "all-reduce-pair.v2.jsonl")
    assert schedule.footer is not None
    (certificate,) = schedule.footer.certificates
    assert certificate.objective == "rounds"
    assert (certificate.kind, certificate.witness) == ("receive", {"node": 0})
    assert (certificate.bound, certificate.value) == (1, 1)
    assert verify(schedule).valid


def test_single_values_stand_for_all_rows() -> None:
    """A column may be one value; if all are, there is one row."""
    schedule = read_schedule(DATA / "demand-ideal-switch.v1.jsonl")
    first, second = (part.transfers for part in schedule.parts)
    assert isinstance(first, FluidTransfers)
    assert first.src.tolist() == [0, 0, 0]
    assert first.bytes.tolist() == [1000] * 3
    assert len(second) == 1
    pair = read_schedule(DATA / "all-reduce-pair.v1.jsonl")
    ops = [part.transfers.op.tolist() for part in pair.parts]  # type: ignore[union-attr]
    assert ops == [[Op.REDUCE] * 2, [Op.COPY] * 2]


def test_equal_operations_are_written_once() -> None:
    """`op` is one word where all rows agree, a list where they differ."""
    schedule = read_schedule(DATA / "all-reduce-pair.v1.jsonl")
    part = schedule.parts[0]
    assert isinstance(part.transfers, Transfers)
    mixed = dataclasses.replace(part.transfers, op=np.array([1, 0]))
    parts = (part, dataclasses.replace(schedule.parts[1], transfers=mixed))
    lines = list(schedule_lines(dataclasses.replace(schedule, parts=parts)))
    steps = [json.loads(line) for line in lines if b'"step"' in line]
    assert [step["op"] for step in steps] == ["reduce", ["reduce", "copy"]]


def test_segments_come_just_before_their_first_step() -> None:
    """Segments are written as late as their order allows, unused ones last."""
    schedule = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    late = dataclasses.replace(schedule.segments[1], index=2)
    schedule = dataclasses.replace(schedule, segments=(*schedule.segments, late))
    kinds = [json.loads(line)["record"] for line in schedule_lines(schedule)]
    body = ["segment", "step", "segment", "step", "segment"]
    assert kinds == ["header", *body, "footer"]


def test_a_schedule_without_footer_is_not_written(tmp_path: Path) -> None:
    """Nothing is written that claims nothing."""
    schedule = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    bare = dataclasses.replace(schedule, footer=None)
    with pytest.raises(InputError, match="no footer"):
        write_schedule(bare, tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_operation_is_not_written(tmp_path: Path) -> None:
    """An operation code that has no name is refused, and no file is left."""
    schedule = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    part = schedule.parts[0]
    assert isinstance(part.transfers, Transfers)
    for code in (-1, 2):
        wrong = dataclasses.replace(part.transfers, op=np.full(4, code))
        parts = (dataclasses.replace(part, transfers=wrong),)
        with pytest.raises(InputError, match="unknown operation"):
            write_schedule(
                dataclasses.replace(schedule, parts=parts), tmp_path / "x.jsonl"
            )
    assert list(tmp_path.iterdir()) == []


def test_standard_streams() -> None:
    """`-` reads standard input and writes standard output."""
    script = (
        "from lightloom.formats.schedule_reader import read_schedule\n"
        "from lightloom.formats.schedule_writer import write_schedule\n"
        "write_schedule(read_schedule('-'), '-')\n"
    )
    data = (DATA / "all-gather-2x2.v2.jsonl").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", script], input=data, capture_output=True, check=True
    )
    assert done.stdout == data
