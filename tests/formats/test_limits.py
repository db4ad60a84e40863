"""Limits of readers: endless, long, deep and numerous things are refused.

Without its limit a test here does not fail by seconds: it does not end.
"""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard

from fuzz.targets import targets
from lightloom.bench.suite import load_suite
from lightloom.core.errors import FormatError, InputError, nearest
from lightloom.core.record import convert
from lightloom.formats import compression, json_file, schedule_reader
from lightloom.formats.compression import open_reading
from lightloom.formats.json_file import parse_toml, read_json, read_toml
from lightloom.formats.schedule_reader import read_schedule
from lightloom.formats.text_file import read_text
from lightloom.instances.instance_file import read_instance

if TYPE_CHECKING:
    from collections.abc import Callable

DOTS = json_file.MOST_KEY_PARTS


@pytest.mark.parametrize("name", targets())
def test_a_device_without_an_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reader gives up on /dev/zero, long before the memory is full."""
    monkeypatch.setattr(schedule_reader, "MOST_LINE_BYTES", 2**24)
    monkeypatch.setattr(schedule_reader, "MOST_STEP_LINE_BYTES", 2**24)
    if name == "onnx":
        shapes = pytest.importorskip("lightloom.formats.onnx_graph")
        monkeypatch.setattr(shapes, "MOST_MODEL_BYTES", 2**24)
    with pytest.raises(InputError) as caught:
        targets()[name].read(Path("/dev/zero"))
    assert len(str(caught.value)) < 1000


def test_long_files_say_how_long_they_may_be(tmp_path: Path) -> None:
    """A file of the limit is read; with a byte more the limit is named."""
    path = tmp_path / "file"
    path.write_text("12345")
    assert read_text(path, most_bytes=5) == "12345"
    with pytest.raises(FormatError, match="too long") as caught:
        read_text(path, most_bytes=4)
    assert (caught.value.where, caught.value.allowed) == (str(path), "4 bytes")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_bombs_and_long_files_are_told_apart(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever limit is lower is the one that is named, and so is the file."""
    monkeypatch.setattr(compression, "FREE_BYTES", 2**20)
    monkeypatch.setattr(compression, "MOST_RATIO", {".gz": 100, ".zst": 100})
    pack = gzip.compress if suffix == ".gz" else zstandard.compress
    path = tmp_path / f"file{suffix}"
    path.write_bytes(pack(b" " * 2**22))
    for most_bytes, what in ((2**19, "too long"), (2**30, "grows without reason")):
        with pytest.raises(FormatError, match=what) as caught:
            read_text(path, most_bytes=most_bytes)
        assert caught.value.where == str(path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_what_grows_a_lot_is_read_in_linear_time(tmp_path: Path, suffix: str) -> None:
    """A file just below the limit of bombs takes a time that is linear in its size."""
    pack = gzip.compress if suffix == ".gz" else zstandard.compress
    path = tmp_path / f"file{suffix}"
    path.write_bytes(pack(b" " * compression.FREE_BYTES))
    assert len(read_text(path)) == compression.FREE_BYTES


def test_standard_input_has_an_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is piped in is counted like a file."""

    class _Stdin:
        buffer = io.BytesIO(b"x" * 100)

    monkeypatch.setattr(compression.sys, "stdin", _Stdin())
    with (
        pytest.raises(FormatError, match="standard input: the file is too long"),
        open_reading("-", most_bytes=99) as file,
    ):
        file.read()


TOML = {
    "nested lists": ("a = " + "[" * 10**5, "nested too deeply"),
    "nested tables": ("a = " + "{a = " * 10**5, "nested too deeply"),
    "a key of many parts": ("a." * 10**6 + "a = 1", "a key of too many parts"),
    "a key one part too long": (".".join("a" * (DOTS + 1)) + " = 1", "too many parts"),
    "quoted parts": ('"=".' * 10**5 + "a = 1", "too many parts"),
    "spaced parts": ("'a' . " * 10**5 + "a = 1", "too many parts"),
    "parts in a header": ("[" + "a." * 10**5 + "a]", "too many parts"),
    "parts in a table": ("x = {" + "a." * 10**5 + "a = 1}", "too many parts"),
    "open quotes": ("." * 99 + 'x = "' + '\\"' * 10**6, "parts|TOML"),
    "a long number": ("a = " + "9" * 5000, "number is too long"),
}


@pytest.mark.parametrize("name", TOML)
def test_toml_that_takes_too_long(name: str) -> None:
    """Depth, parts of keys and digits are bounded, and checked in little time."""
    text, what = TOML[name]
    with pytest.raises(InputError, match=what) as caught:
        parse_toml(text, "f.toml")
    assert len(str(caught.value)) < 500


def test_toml_within_the_limits() -> None:
    """Keys of few parts, and dots that join none, are no matter."""
    key = ".".join("a" * DOTS)
    numbers = ", ".join(["1.5"] * 1000)
    text = f'{key} = 1\nb = [{numbers}]\nc = "{".".join("w" * 20)}"\n# ...\n'
    assert parse_toml(text, "f")["b"] == [1.5] * 1000


def test_a_long_toml_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser is slow, so its files are short."""
    monkeypatch.setattr(json_file, "MOST_TOML_BYTES", 10)
    path = tmp_path / "f.toml"
    path.write_text("a = 123456")
    assert read_toml(path) == {"a": 123456}
    path.write_text("a = 1234567")
    with pytest.raises(FormatError, match="too long"):
        read_toml(path)


@pytest.mark.parametrize(
    ("name", "read"), [("f.toml", read_instance), ("f.toml", load_suite)]
)
def test_files_that_cannot_be_opened(
    tmp_path: Path, name: str, read: Callable[[object], object]
) -> None:
    """A folder and a missing file are input errors; so is what is not UTF-8."""
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="cannot read"):
        read(tmp_path / name if read is read_instance else str(tmp_path / name))
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"a = '\xff'")
    with pytest.raises(InputError, match="UTF-8"):
        read(bad if read is read_instance else str(bad))


def test_numbers_too_long_to_print() -> None:
    """An integer of thousands of digits is named by its length."""
    table = parse_toml("a = 0x" + "f" * 10_000, "f")
    assert "too long to print" in str(InputError("wrong", found=table["a"]))
    with pytest.raises(InputError, match="integer of 12000 digits"):
        convert(table["a"], str, where="f")


def test_found_values_and_messages_are_cut() -> None:
    """A megabyte of a file is not a line for people."""
    error = InputError("odd " + "x" * 10**6, found="y" * 10**6)
    assert len(str(error)) < 3000


def test_names_are_compared_only_where_that_is_quick() -> None:
    """Suggestions are a kindness: not worth a minute."""
    assert nearest("abc", [f"abe{number}" for number in range(10**6)]) == ""
    assert nearest("a" * 10**6, ["a" * 10**6 + "b"]) == ""
    assert nearest("abc", ["abe", "z" * 10**6]) == "did you mean abe?"


def test_a_key_twice_among_very_many(tmp_path: Path) -> None:
    """It is found in a time that grows with the file, not with its square."""
    path = tmp_path / "f.json"
    keys = [f'"k{number}":0' for number in range(200_000)]
    path.write_text("{" + ",".join([*keys, keys[-1]]) + "}")
    with pytest.raises(FormatError, match="given twice") as caught:
        read_json(path)
    assert caught.value.found == "k199999"


def test_half_of_a_character(tmp_path: Path) -> None:
    """A lone surrogate, which no file or terminal can be given, is refused."""
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"a": "\ud83d\ude00 \\ud800"}))
    assert read_json(path).table == {"a": "\U0001f600 \\ud800"}
    path.write_text('{"a": "\\ud83d"}')
    with pytest.raises(FormatError, match="surrogate"):
        read_json(path)


def test_a_schedule_of_many_instances_is_no_suite(tmp_path: Path) -> None:
    """Lists in a table of instances multiply; so do sizes of a family."""
    head = (
        'format = "lightloom-suite"\nversion = 1\nsummary = "x"\n'
        '[[study]]\nproblem = "routing"\nby = ["lightloom"]\n'
    )
    many = list(range(1, 200))
    for table, what in (
        (f"rows = {many}, cols = {many}, copies = 1", "too many instances"),
        ("rows = 1000, cols = 1000, copies = 1000", "too large an instance"),
    ):
        path = tmp_path / "suite.toml"
        path.write_text(f'{head}instances = [{{ family = "permutations", {table} }}]\n')
        with pytest.raises(InputError, match=what):
            load_suite(str(path))


def test_a_schedule_longer_than_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole file has a limit too, and the line that crosses it is named."""
    good = (Path(__file__).parent / "data" / "all-gather-2x2.v2.jsonl").read_bytes()
    path = tmp_path / "f.jsonl"
    path.write_bytes(good)
    with open_reading(path, most_bytes=len(good)) as file:
        schedule_reader.read_schedule_stream(file, "f.jsonl")
    with (
        open_reading(path, most_bytes=len(good) - 1) as file,
        pytest.raises(FormatError, match=r"f\.jsonl:\d: the file is too long"),
    ):
        schedule_reader.read_schedule_stream(file, "f.jsonl")
    monkeypatch.setattr(schedule_reader, "MOST_LINES", 2)
    with pytest.raises(FormatError, match="too many lines"):
        read_schedule(path)
