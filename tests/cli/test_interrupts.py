"""Ctrl-C in the middle of a command: exit code 130, one line, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import START
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("highspy")

READY = """
import time

def wait(*_, **__):
    print("ready", flush=True)
    time.sleep(1800)
"""
QUESTION = ("lightpath-4/all-to-all-1KiB", "--problem", "routing")
SOLVE = ("solve", *QUESTION, "--solver", "highs")
PLACES = {
    "while an instance is read": (
        "import lightloom.instances.catalogue as room; room.read_instance = wait",
        ("synth", "mine.toml", "-o", "x.jsonl"),
    ),
    "while a model is built": (
        "import lightloom.models.routing as room; room.candidate_routes = wait",
        SOLVE,
    ),
    "while a model with a time limit is built": (
        "import lightloom.models.routing as room; room.candidate_routes = wait",
        (*SOLVE, "--time-limit", str(HUNG_S)),
    ),
    "while a model is compiled": (
        "import lightloom.solvers.solve as room; room.compile_model = wait",
        SOLVE,
    ),
    "while a schedule is checked": (
        "import lightloom.formats.schedule_reader as room; room.read_schedule = wait",
        ("verify", "x.jsonl"),
    ),
    "while a synthesiser is": (
        "",
        ("conform", "endless:make", "--examples", "1", "--time-limit", str(HUNG_S)),
    ),
}
ENDLESS = """
import os, time

def make(instance, seed):
    os.write(2, b"ready\\n")
    time.sleep(1800)
"""


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupt(tmp_path: Path, place: str) -> None:
    """A terminal sends it to the whole group of processes; so does this test."""
    patch, arguments = PLACES[place]
    (tmp_path / "mine.toml").write_text("", encoding="utf-8")
    (tmp_path / "endless.py").write_text(ENDLESS, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    with subprocess.Popen(
        [sys.executable, "-c", f"{READY}\n{patch}\n{START}", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        stream = process.stderr if arguments[0] == "conform" else process.stdout
        while stream.readline() != b"ready\n":
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=HUNG_S) == 130
        # Read to the end: nobody who could still write to them is left.
        *said, last = process.stderr.read().splitlines()
        process.stdout.read()
    assert last == b"lightloom: interrupted"
    assert all(line.startswith(b"lightloom: ") for line in said)
    assert sorted(tmp_path.iterdir()) == before
