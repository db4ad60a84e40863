"""Failures that are nobody's input: defects, interrupts, closed pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from typing import TYPE_CHECKING

import click
import pytest

from lightloom.cli.failure import describe
from lightloom.cli.main import LazyGroup
from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from tests.cli.program import START, run
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("problem", "code", "says"),
    [
        (InputError("wrong", found=3), 2, "error: wrong; found 3"),
        (NoAnswerError("none"), 3, "error: none"),
        (InfeasibleError("never"), 4, "error: never"),
        (MemoryError(), 3, "out of memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "x"), 2, "x: permission denied"),
        (ZeroDivisionError("by\nzero"), 70, "internal error: ZeroDivisionError: by"),
    ],
)
def test_every_exception_has_a_line_and_a_code(
    problem: BaseException, code: int, says: str
) -> None:
    """Messages are one line; codes are those of the documentation."""
    message, found = describe(problem)
    assert found == code
    assert says in message
    assert "\n" not in message


def test_a_defect_shows_its_traceback_only_on_demand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """LIGHTLOOM_DEBUG=1 adds the traceback to the line."""
    assert "Traceback" not in describe(ZeroDivisionError("oh"))[0]
    monkeypatch.setenv("LIGHTLOOM_DEBUG", "1")
    with pytest.raises(ZeroDivisionError) as raised:
        _ = 1 / 0
    assert "Traceback" in describe(raised.value)[0]


def test_a_command_that_breaks_exits_with_70(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A defect in a command is reported as one, in one line."""

    @click.command("broken")
    def broken() -> None:
        message = "oh"
        raise RuntimeError(message)

    module = types.ModuleType("tests.cli.broken")
    module.broken_command = broken  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tests.cli.broken", module)
    group = LazyGroup(
        name="p", package="tests.cli", summaries={"broken": "Breaks."}, modules={}
    )
    with pytest.raises(SystemExit) as stopped:
        group.main(["broken"])
    assert stopped.value.code == 70
    error = capsys.readouterr().err
    assert error.startswith(
        "lightloom: internal error: RuntimeError: oh; please report"
    )
    assert error.count("\n") == 1


def test_an_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a command quietly."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lightloom.instances.catalogue.named_instances", interrupted)
    result = run("instances")
    assert result.exit_code == 130
    assert result.stderr.strip() == "lightloom: interrupted"


def test_a_closed_pipe_ends_quietly() -> None:
    """A reader that goes away causes no message and no traceback."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", START, "instances", "--names"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        timeout=HUNG_S,
    )
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == b""


SLOW_WRITING = """
import contextlib, time
import lightloom.synth.publish as room

class Slow:
    def __init__(self, file):
        self.file = file

    def write(self, line):
        self.file.write(line)
        print("ready", flush=True)
        time.sleep(1800)

@contextlib.contextmanager
def slow(path, writing=room.open_writing):
    with writing(path) as file:
        yield Slow(file)

room.open_writing = slow
"""


def test_an_interrupted_synth_leaves_no_file(tmp_path: Path) -> None:
    """A real interrupt while the file is being written: no message but one word."""
    code = SLOW_WRITING + START
    arguments = ("synth", "lightpath-4/all-reduce-64KiB", "--algorithm", "ring")
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments, "-o", "x.jsonl"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=HUNG_S) == 130
        assert process.stderr.read().strip() == b"lightloom: interrupted"
    assert list(tmp_path.iterdir()) == []
