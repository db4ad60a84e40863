"""Solvers say whether they can be used, and why not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lightloom.core.errors import InputError
from lightloom.solvers import (
    SOLVERS,
    Availability,
    SolveOptions,
    SolverUnavailableError,
    Status,
    gurobi,
    highs,
    usable,
)
from lightloom.solvers.adapter import Requirement
from tests.hang_guard import HUNG_S


def test_not_installed() -> None:
    """A missing package is named with what installs it."""
    missing = Requirement("no_such_module", "nothing", (1, 0), (2, 0), "", "install it")
    status = missing.status()
    assert status.availability is Availability.NOT_INSTALLED
    assert not status.availability
    assert status.version is None
    assert status.reason == "package nothing is missing: install it"


def test_bad_version() -> None:
    """A version outside the range is named with the range and the reason."""
    old = Requirement("pytest", "pytest", (1, 0), (2, 0), "too new", "install 1.9")
    status = old.status()
    assert status.availability is Availability.BAD_VERSION
    assert ">=1.0,<2.0 (too new): install 1.9" in status.reason


@pytest.mark.parametrize(
    ("version", "works"),
    [("1.12.9", False), ("1.13.0", True), ("1.14.0", True), ("1.15.0", False)],
)
def test_highspy_is_pinned(
    monkeypatch: pytest.MonkeyPatch, version: str, *, works: bool
) -> None:
    """HiGHS is only used in versions that share a process with OR-Tools."""
    pytest.importorskip("highspy")
    monkeypatch.setattr("importlib.metadata.version", lambda _: version)
    assert bool(highs.ADAPTER.status().availability) is works


def test_installed_highspy() -> None:
    """The installed highspy is below 1.15."""
    highspy = pytest.importorskip("highspy")
    found = highspy.Highs()
    assert (found.versionMajor(), found.versionMinor()) < (1, 15)


@pytest.mark.parametrize("order", [("highspy", "ortools"), ("ortools", "highspy")])
def test_import_orders(order: tuple[str, str]) -> None:
    """HiGHS and OR-Tools load and solve in one process, whichever comes first."""
    for module in order:
        pytest.importorskip(module)
    modules = {
        "highspy": "import highspy; h = highspy.Highs(); h.silent()\n"
        "x = h.addBinary(); h.maximize(x); assert h.val(x) == 1",
        "ortools": "from ortools.math_opt.python import mathopt\n"
        "m = mathopt.Model(); y = m.add_binary_variable(); m.maximize(y)\n"
        "for t in (mathopt.SolverType.GSCIP, mathopt.SolverType.CP_SAT):\n"
        "    assert mathopt.solve(m, t).variable_values()[y] == 1",
    }
    code = "\n".join(modules[module] for module in order)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=HUNG_S,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr


def test_without_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gurobi without a licence is there and cannot be used."""
    pytest.importorskip("gurobipy")
    monkeypatch.setattr(gurobi, "_licence_refusal", lambda _: 10009)
    status = gurobi.ADAPTER.status()
    assert status.availability is Availability.NO_LICENCE
    monkeypatch.setattr(gurobi, "_licence_refusal", lambda _: None)
    assert gurobi.ADAPTER.status() == Status(Availability.AVAILABLE, status.version, "")


def test_usable_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for a solver that is not installed says which extra to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(SolverUnavailableError, match=r"'lightloom\[gurobi\]'"):
        usable("gurobi")


def test_catalogue_imports_no_solver() -> None:
    """Listing solvers and their versions loads none of them, nor Pyomo."""
    code = (
        "import sys; from lightloom.solvers import SOLVERS\n"
        "for name, a in SOLVERS.items():\n"
        "    name == 'gurobi' or a.status()\n"
        "heavy = {'pyomo', 'highspy', 'ortools', 'gurobipy', 'scipy', 'networkx'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HUNG_S)
    assert list(SOLVERS) == sorted(SOLVERS)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("time_limit_s", -1.0),
        ("time_limit_s", float("nan")),
        ("time_limit_s", float("inf")),
        ("time_limit_s", 1e300),
        ("node_limit", -1),
        ("node_limit", 2**31),
        ("memory_limit_bytes", 0),
        ("memory_limit_bytes", 2**63),
        ("seed", -1),
        ("threads", 0),
        ("threads", 10**6),
    ],
)
def test_options_out_of_domain(field: str, value: float) -> None:
    """A limit out of its domain is refused by name."""
    with pytest.raises(InputError, match=rf"options\.{field}"):
        SolveOptions(**{field: value})


def test_misspelt_field() -> None:
    """A misspelt field of the options is an error of the call."""
    with pytest.raises(TypeError, match="time_limit"):
        SolveOptions(time_limit=3.0)  # type: ignore[call-arg]


def test_options_are_frozen() -> None:
    """The extra options cannot be changed behind the options' back."""
    given = {"presolve": "off"}
    options = SolveOptions(extra=given)
    given["presolve"] = "on"
    assert options.extra == {"presolve": "off"}
    with pytest.raises(TypeError):
        options.extra["presolve"] = "on"  # type: ignore[index]
