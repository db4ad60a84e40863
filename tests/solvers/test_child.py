"""Whatever happens in the solver's process is an outcome."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from lightloom.core.errors import InputError
from lightloom.core.outcome import Limit, Reason
from lightloom.isolation.child_process import idle_processes
from lightloom.solvers import SolveOptions, UnknownStatusError, child, run
from lightloom.solvers.solve import run_adapter
from tests.examples.small_models import knapsack, require
from tests.solvers.faulty_adapters import Faulty

ROOT = Path(__file__).parents[2]
PLAIN = SolveOptions()


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the solver's process import the faulty adapters."""
    monkeypatch.syspath_prepend(str(ROOT))


def test_killed() -> None:
    """A killed process is a failure that names the signal; its point is kept."""
    outcome = run_adapter(knapsack(5, 2, 1), Faulty("killed", finds_zeros=True), PLAIN)
    assert outcome.reason is Reason.FAILED
    assert "SIGKILL" in outcome.detail[0]
    assert outcome.incumbent.tolist() == [0] * 5
    assert outcome.objective == 0


def test_crashed() -> None:
    """A crash is a failure with the solver's last words."""
    outcome = run_adapter(knapsack(5, 2, 1), Faulty("aborts"), PLAIN)
    assert outcome.reason is Reason.FAILED
    assert "SIGABRT" in outcome.detail[0]
    assert "assertion 42" in outcome.detail[0]
    assert (outcome.incumbent, outcome.objective, outcome.bound) == (None, None, None)


def test_ran_dry() -> None:
    """A process that says it has no memory left was stopped by memory."""
    outcome = run_adapter(knapsack(5, 2, 1), Faulty("runs_dry"), PLAIN)
    assert outcome.reason is Reason.STOPPED_WITHOUT_ANSWER
    assert outcome.limit is Limit.MEMORY


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits need Linux")
@pytest.mark.parametrize("name", ["highs", "scip", "cp-sat"])
def test_memory_limit(name: str) -> None:
    """A solver that needs more than it may take is stopped, not the program."""
    require(name, "integer")
    model = knapsack(3000, 20, 1)
    outcome = run(model, name, SolveOptions(memory_limit_bytes=2**20, time_limit_s=600))
    assert outcome.limit is Limit.MEMORY, outcome
    assert outcome.provenance.memory_limit_bytes == 2**20
    enough = SolveOptions(memory_limit_bytes=2**31)
    assert run(knapsack(5, 2, 1), name, enough).reason is Reason.PROVEN_OPTIMAL


def test_overrun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that ignores its time limit is killed; its point is kept."""
    monkeypatch.setattr(child, "_OVERRUN_S", 0.1)
    monkeypatch.setattr(child, "_GRACE_S", 0.1)
    adapter = Faulty("hangs", finds_zeros=True)
    for limit_s in (1.0, 10.0, 100.0):  # a busy machine needs longer to tell of it
        options = SolveOptions(time_limit_s=limit_s)
        outcome = run_adapter(knapsack(5, 2, 1), adapter, options)
        if outcome.incumbent is not None:
            break
    assert outcome.reason is Reason.STOPPED_WITH_ANSWER
    assert outcome.limit is Limit.TIME
    assert outcome.objective == 0


def test_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that stops when told to was stopped by the limit that told it."""
    monkeypatch.setattr(child, "_OVERRUN_S", 0.1)
    monkeypatch.setattr(child, "_GRACE_S", 600.0)
    adapter = Faulty("waits")
    model = knapsack(1, 0, 1)
    outcome = run_adapter(model, adapter, SolveOptions(time_limit_s=0.1))
    assert outcome.limit is Limit.TIME
    assert outcome.objective == model.worth()


def test_unknown_status() -> None:
    """A status without a meaning is raised, never guessed away."""
    with pytest.raises(UnknownStatusError, match="99") as caught:
        run_adapter(knapsack(5, 2, 1), Faulty("unknown"), PLAIN)
    assert caught.value.status == "99"


def test_errors_arrive_whole() -> None:
    """An error of the adapter is raised here with all its parts."""
    with pytest.raises(InputError) as caught:
        run_adapter(knapsack(5, 2, 1), Faulty("refuses"), PLAIN)
    assert (caught.value.where, caught.value.found) == ("here", 7)
    assert caught.value.line().startswith("here: no; found 7; allowed: 8; do")


@pytest.mark.parametrize("fault", ["lies", "blurs"])
def test_points_are_checked(fault: str) -> None:
    """A point that does not satisfy the model is no answer, whatever is claimed."""
    model = knapsack(5, 2, 1)
    outcome = run_adapter(model, Faulty(fault), PLAIN)
    assert outcome.reason is Reason.FAILED
    assert "does not satisfy" in outcome.detail[0]
    assert outcome.incumbent is None
    assert model.take[0].value is None


def test_output_of_the_solver() -> None:
    """What a solver prints does not end up among the messages."""
    outcome = run_adapter(knapsack(5, 2, 1), Faulty("prints"), PLAIN)
    assert outcome.reason is Reason.PROVEN_OPTIMAL


def test_processes_are_reused() -> None:
    """Small runs share a process, one after the other; a failure ends it."""
    ids = [
        run_adapter(knapsack(5, 2, 1), Faulty("pid"), PLAIN).detail[0] for _ in range(2)
    ]
    assert ids[0] == ids[1] != str(os.getpid())
    waiting = idle_processes.take("faulty-pid")
    assert waiting is not None
    os.kill(int(ids[0]), signal.SIGKILL)
    assert waiting.how_it_ended() == "signal SIGKILL"
    idle_processes.keep("faulty-pid", waiting)
    third = run_adapter(knapsack(5, 2, 1), Faulty("pid"), PLAIN)
    assert third.reason is Reason.PROVEN_OPTIMAL
    assert third.detail[0] != ids[0]


SCRIPT = """
import sys
from lightloom.isolation.child_process import ChildProcess
from lightloom.solvers import SolveOptions, child
from lightloom.solvers.solve import run_adapter
from tests.solvers.faulty_adapters import Faulty
from tests.examples.small_models import knapsack

child._GRACE_S = 600.0
send = ChildProcess.send

def telling(process, message):
    send(process, message)
    if isinstance(message, child.Stop):
        print("told", flush=True)

ChildProcess.send = telling
adapter = Faulty({fault!r}, finds_zeros=True)
told = lambda news: print("ready", flush=True)
outcome = run_adapter(knapsack(5, 0, 1), adapter, SolveOptions(), told)
print(outcome.limit, outcome.objective > 0, outcome.reason.name)
"""


def _script(fault: str) -> subprocess.Popen[str]:
    """Start a program that solves, and wait until its solver runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT).format(fault=fault)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    _wait_for(process, "ready")
    return process


def _wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == f"{word}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt() -> None:
    """Ctrl-C has the solver stop and hand over what it has found."""
    process = _script("waits")
    process.send_signal(signal.SIGINT)
    _wait_for(process, "told")
    out, err = process.communicate(timeout=600)
    assert out == "interrupt True STOPPED_WITH_ANSWER\n", err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_second_interrupt() -> None:
    """A second Ctrl-C kills a solver that does not stop; its point is kept."""
    process = _script("hangs")
    process.send_signal(signal.SIGINT)
    _wait_for(process, "told")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert out == "interrupt False STOPPED_WITH_ANSWER\n", err


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_orphan() -> None:
    """When the program is killed, its solver ends too."""
    process = _script("hangs")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    process.kill()
    process.communicate(timeout=600)
    (orphan,) = children.split()
    for _ in range(6000):
        if not Path(f"/proc/{orphan}").exists():
            return
        state = Path(f"/proc/{orphan}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":  # ended, and waits for whoever adopted it
            return
        time.sleep(0.05)
    pytest.fail("the solver outlives the program")
