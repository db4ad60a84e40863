"""Somebody's synthesiser, in a process of its own.

It may raise, hang, end its process or return rubbish; all of that comes back as data.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from lightloom.core.errors import InfeasibleError, InputError, LightloomError
from lightloom.core.schedule import Schedule
from lightloom.isolation.process_tree import ForkedProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from lightloom.instances.instance import Instance

Synthesiser: TypeAlias = "Callable[[Instance, int], Schedule]"

_READY = "ready"
_MOST_DETAIL = 300
"""Characters of somebody's message that are kept."""


@dataclass(frozen=True)
class Refusal:
    """It said why it gives no schedule.

    `line`: type and message of what it raised. `infeasible`: whether it claims that
    there is none.
    """

    line: str
    infeasible: bool


@dataclass(frozen=True)
class Trouble:
    """It gave neither a schedule nor a reason."""

    line: str
    timed_out: bool = False


Reply: TypeAlias = Schedule | Refusal | Trouble


class SynthesiserProcess:
    """A synthesiser in a child process, which is replaced when it is lost.

    Calls go to one process one after another, as they would in a program. What it
    prints goes to stderr.

    `target`: a callable ``fn(instance, seed)``, or its name as ``module:function``;
    modules are looked for in the working directory too, and imported in the child
    alone.

    Raises `InputError`: the platform cannot fork.
    """

    def __init__(self, target: Synthesiser | str, limit_s: float) -> None:
        if not hasattr(os, "fork"):
            what = "a synthesiser is checked in a forked process"
            raise InputError(what, found=sys.platform, fix="use Linux or macOS")
        self.target, self.limit_s = target, limit_s
        self._process: ForkedProcess | None = None

    @property
    def name(self) -> str:
        """Name of the function."""
        if isinstance(self.target, str):
            return self.target
        module = getattr(self.target, "__module__", None)
        name = getattr(self.target, "__qualname__", type(self.target).__name__)
        return f"{module}:{name}" if module else str(name)

    def ask(self, instance: Instance, seed: int) -> Reply:
        """Return what the function makes of an instance and a seed."""
        if self._process is None:
            self.start()
        assert self._process is not None
        pipe = self._process.messages
        try:
            pipe.send((instance, seed))
            if not pipe.poll(self.limit_s):
                self.stop()
                return Trouble(f"no answer within {self.limit_s:g} s", timed_out=True)
            reply: Reply = pickle.loads(pipe.recv_bytes())  # noqa: S301  (our child)
        except (EOFError, OSError):
            return Trouble(f"ended its process, exit code {self.stop()}")
        except Exception as problem:  # noqa: BLE001  (whatever a stranger has pickled)
            return Trouble(f"its schedule cannot be read: {one_line(problem)}")
        return reply

    def start(self) -> None:
        """Start the child; `ask` does so by itself.

        Raises `InputError`: the name is not of that form, or there is no such function.
        """
        self._process = ForkedProcess(partial(_live, self.target))
        pipe = self._process.messages
        ready = f"it was not imported within {self.limit_s:g} s"
        with contextlib.suppress(EOFError, OSError):
            if pipe.poll(self.limit_s):
                ready = "it ended the process that imported it"
                ready = str(pipe.recv())
        if ready != _READY:
            self.stop()
            what = "invalid synthesiser"
            allowed = "module:function, importable from here"
            raise InputError(f"{what}: {ready}", where=self.name, allowed=allowed)

    def stop(self) -> int | None:
        """End the child, with whatever it has started; return its exit code."""
        if self._process is None:
            return None
        process, self._process = self._process, None
        code, _ = process.end()
        process.messages.close()
        return code


def one_line(problem: BaseException) -> str:
    """Return an exception as one line, type first."""
    text = " ".join(str(problem).split())[:_MOST_DETAIL]
    kind = type(problem).__name__
    return f"{kind}: {text}" if text else kind


def _live(target: Synthesiser | str, pipe: Connection) -> None:
    """Be the child: load the function, then answer until nobody asks."""
    try:
        function = _load(target) if isinstance(target, str) else target
    except BaseException as problem:  # noqa: BLE001  (a stranger's module)
        what = problem.what if isinstance(problem, InputError) else one_line(problem)
        pipe.send(what)
        return
    pipe.send(_READY)
    with contextlib.suppress(EOFError):
        while True:
            instance, seed = pipe.recv()
            pipe.send_bytes(_reply(function, instance, seed))


def _load(target: str) -> Synthesiser:
    """Return a function by its name."""
    module, _, name = target.partition(":")
    if not module or not name:
        raise InputError("the name has no module or no function")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  (sys.path has strings)
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{name} is not callable")
    loaded: Synthesiser = found
    return loaded


def _reply(function: Synthesiser, instance: Instance, seed: int) -> bytes:
    """Return what a call gives, pickled."""
    reply: Reply
    try:
        given: object = function(instance, seed)
        if isinstance(given, Schedule):
            return pickle.dumps(given)
        kind = type(given).__name__
        reply = Trouble(f"returned a value of type {kind}, not a Schedule")
    except (LightloomError, ValueError) as problem:
        infeasible = isinstance(problem, InfeasibleError)
        if isinstance(problem, LightloomError):
            line = f"{type(problem).__name__}: {problem.line()}"
        else:
            line = one_line(problem)
        reply = Refusal(line, infeasible) if str(problem) else Trouble(f"raised {line}")
    except BaseException as problem:  # noqa: BLE001  (a stranger's function)
        reply = Trouble(f"raised {one_line(problem)}")
    return pickle.dumps(reply)
