"""Adapters of solvers that misbehave, each in one way."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.outcome import Limit
from lightloom.solvers import Availability, Capabilities, Status, UnknownStatusError
from lightloom.solvers.adapter import LINEAR_AND_INTEGER, Answer, SolverClaim

if TYPE_CHECKING:
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm


@dataclass(frozen=True)
class Faulty:
    """A solver that does what `fault` says; it may find the point of zeros first."""

    fault: str
    finds_zeros: bool = False
    summary: str = "for tests"
    capabilities: Capabilities = LINEAR_AND_INTEGER

    @property
    def name(self) -> str:
        """Name, of its own so that processes are not shared."""
        return f"faulty-{self.fault}"

    def status(self) -> Status:
        """Be there."""
        return Status(Availability.AVAILABLE, "0", "")

    def refuse(self, form: StandardForm) -> None:
        """Take everything."""

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Misbehave."""
        zeros = np.zeros(form.columns)
        if self.finds_zeros:
            reporter.incumbent(zeros, form.objective(zeros))
        fault = getattr(self, f"_{self.fault}")
        return fault(form, options, reporter)

    @staticmethod
    def _killed(*_: object) -> Answer:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    @staticmethod
    def _aborts(*_: object) -> Answer:
        sys.stderr.write("assertion 42 of the solver failed\n")
        sys.stderr.flush()
        os.abort()

    @staticmethod
    def _runs_dry(*_: object) -> Answer:
        sys.stderr.write("terminate called: std::bad_alloc\n")
        sys.stderr.flush()
        os.abort()

    @staticmethod
    def _hangs(*_: object) -> Answer:
        time.sleep(3600)
        raise AssertionError

    @staticmethod
    def _waits(form: StandardForm, _: object, reporter: Reporter) -> Answer:
        while not reporter.stopped:
            time.sleep(0.01)
        return Answer(
            SolverClaim.STOPPED, Limit.INTERRUPT, np.ones(form.columns), None, "told to"
        )

    @staticmethod
    def _unknown(*_: object) -> Answer:
        raise UnknownStatusError("faulty", 99)

    @staticmethod
    def _refuses(*_: object) -> Answer:
        raise InputError("no", where="here", found=7, allowed="8", fix="do")

    @staticmethod
    def _lies(form: StandardForm, *_: object) -> Answer:
        return Answer(SolverClaim.OPTIMAL, None, np.full(form.columns, 5.0), 5.0)

    @staticmethod
    def _blurs(form: StandardForm, *_: object) -> Answer:
        return Answer(SolverClaim.OPTIMAL, None, np.full(form.columns, 0.4), 5.0)

    @staticmethod
    def _pid(form: StandardForm, *_: object) -> Answer:
        return Answer(
            SolverClaim.OPTIMAL, None, np.zeros(form.columns), None, str(os.getpid())
        )

    @staticmethod
    def _prints(form: StandardForm, *_: object) -> Answer:
        os.write(1, b"not a pickle\n")
        sys.stdout.write("neither\n")
        return Answer(SolverClaim.OPTIMAL, None, np.zeros(form.columns), 0.0)
