"""Whether a solver can be used here, and if not, why."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.solvers.standard_form import StandardForm

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Adapter


class SolverUnavailableError(InputError):
    """The solver cannot be used here, or not for this model; says what to do."""


class Availability(StrEnum):
    """Whether a solver can be used here; only ``AVAILABLE`` is true."""

    AVAILABLE = "available"
    """Installed, of a supported version, licensed."""
    NOT_INSTALLED = "not installed"
    """Its package is missing."""
    NO_LICENCE = "no licence"
    """Its package is there, and refuses to work without a licence."""
    BAD_VERSION = "bad version"
    """Its package is there, in a version that is known not to work."""

    def __bool__(self) -> bool:
        """Return whether the solver can be used."""
        return self is Availability.AVAILABLE


@dataclass(frozen=True)
class Status:
    """What is known of a solver on this machine.

    Attributes
    ----------
    availability
        Whether it can be used.
    version
        Version of its package, or ``None`` if it is not installed.
    reason
        Why it cannot be used and what to do, or what restricts it; '' for nothing.
    """

    availability: Availability
    version: str | None
    reason: str


@dataclass(frozen=True)
class Requirement:
    """The Python package that a solver lives in.

    `module`: module whose presence shows that it is installed. `at_least`, `below`:
    supported versions, as (major, minor); `below` is not supported itself. `why`: why
    other versions do not work.
    """

    module: str
    package: str
    at_least: tuple[int, int]
    below: tuple[int, int]
    why: str
    fix: str

    def status(self) -> Status:
        """Return whether the package is there in a supported version.

        Nothing is imported; a few milliseconds.
        """
        if importlib.util.find_spec(self.module) is None:
            reason = f"package {self.package} is missing: {self.fix}"
            return Status(Availability.NOT_INSTALLED, None, reason)
        version = importlib.metadata.version(self.package)
        if not self.at_least <= _major_minor(version) < self.below:
            wanted = f">={_text(self.at_least)},<{_text(self.below)}"
            reason = f"{self.package} {version} is not {wanted} ({self.why})"
            return Status(Availability.BAD_VERSION, version, f"{reason}: {self.fix}")
        return Status(Availability.AVAILABLE, version, "")


def _major_minor(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version."""
    numbers = [int("".join(filter(str.isdigit, p)) or 0) for p in version.split(".")]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0)


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def smallest_model(adapter: Adapter) -> StandardForm:
    """Return the model ``minimise x, x >= 1, 0 <= x <= 1``."""
    one = np.ones(1)
    return StandardForm(
        cost=one,
        column_lower=0 * one,
        column_upper=one,
        integral=np.array([adapter.capabilities.integer]),
        row_start=np.array([0, 1], dtype=np.int32),
        row_column=np.array([0], dtype=np.int32),
        row_value=one,
        row_lower=one,
        row_upper=one,
        offset=0.0,
        maximise=False,
    )
