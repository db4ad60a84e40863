"""Children answer, and whatever becomes of them is noticed and leaves nothing."""

from __future__ import annotations

import os
import queue
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from lightloom.isolation.child_process import ChildProcess, Gone, IdleProcesses
from lightloom.isolation.process_tree import ForkedProcess
from tests.isolation.services import SLEEP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChildProcess]:
    """Return a child that answers."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    process = ChildProcess("tests.isolation.services:answer")
    yield process
    process.kill()


def test_messages_go_both_ways(child: ChildProcess) -> None:
    """Large ones too, and what a child prints is none."""
    for message in ({"a": [1, 2]}, "print", b"x" * 10**7):
        child.send(message)
    assert child.receive() == {"a": [1, 2]}
    assert child.receive() == "printed"
    assert child.receive() == b"x" * 10**7
    with pytest.raises(queue.Empty):
        child.receive(timeout_s=0.01)


def test_a_child_that_leaves(child: ChildProcess) -> None:
    """Its exit code and last words are known, and sending to it is no error."""
    child.send("leave")
    assert child.receive() == Gone()
    child.send("anybody there?")
    assert child.how_it_ended() == "exit code 7: ... good bye"
    assert not child.running


def test_a_message_that_cannot_be_read(child: ChildProcess) -> None:
    """It ends the child: what it would say next cannot be trusted."""
    child.send("unreadable")
    assert child.receive() == Gone()
    assert "SIGKILL" in child.how_it_ended()


@pytest.mark.skipif(sys.platform == "win32", reason="sessions")
def test_what_a_child_started_ends_with_it(child: ChildProcess) -> None:
    """Also in a session of its own."""
    child.send("start")
    pid = child.receive()
    assert isinstance(pid, int)
    assert psutil.pid_exists(pid)
    child.kill()
    assert child.killed
    _gone(pid)


def test_idle_children_are_taken_once(child: ChildProcess) -> None:
    """By name; one that has ended meanwhile is not given out."""
    idle = IdleProcesses()
    idle.keep("a", child)
    assert idle.take("b") is None
    assert idle.take("a") is child
    assert idle.take("a") is None
    child.send("leave")
    assert child.receive() == Gone()
    child.how_it_ended()
    idle.keep("a", child)
    assert idle.take("a") is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_ends_with_what_it_left_behind() -> None:
    """It has ended itself, by exit code 5; its child has not."""

    def work(connection: Connection) -> None:
        import subprocess

        connection.send(subprocess.Popen(SLEEP).pid)
        os._exit(5)

    process = ForkedProcess(work)
    pid = process.messages.recv()
    with pytest.raises(EOFError):
        process.messages.recv()
    code, peak_bytes = process.end()
    process.messages.close()
    assert code == 5
    assert peak_bytes > 2**20
    _gone(pid)


def _gone(pid: int) -> None:
    """Wait until a process has ended; whoever adopted it may not have noticed."""
    try:
        process = psutil.Process(pid)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            pass
    except psutil.NoSuchProcess:
        return
