"""Model files: a model as MPS or LP text, for any other solver to read."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import InputError
from lightloom.formats.atomic import atomic_write
from lightloom.solvers.adapter import SolverUnavailableError
from lightloom.solvers.highs import REQUIREMENT, pass_model
from lightloom.solvers.standard_form import compile_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.solvers.standard_form import CompiledModel, StandardForm

SUFFIXES = (".lp", ".mps")
_LONGEST = 200
"""Characters of a name; LP readers cut or refuse at 255."""


def write_model(model: Any, path: str | Path) -> StandardForm:  # noqa: ANN401
    """Write a Pyomo model as MPS or LP, by suffix; whole or not at all.

    Names are those of the model, without what the formats cannot carry: ``lit[0,1]``
    becomes ``lit(0,1)``. Deterministic.

    Raises `InputError`: another suffix, a path that cannot be written, a model that is
    not linear; `SolverUnavailableError`: hiGHS, which does the writing, is not
    available; `TriviallyInfeasibleError`: a constraint without variables does not hold.
    """
    suffix = check_suffix(path)
    status = REQUIREMENT.status()
    if not status.availability:
        raise SolverUnavailableError(f"HiGHS writes model files; {status.reason}")
    compiled = compile_model(model)
    with tempfile.TemporaryDirectory(prefix="lightloom-") as folder:
        written = Path(folder) / f"model{suffix}"
        _write(compiled, written)
        with atomic_write(path) as file:
            file.write(written.read_bytes())
    return compiled.form


def check_suffix(path: str | Path) -> str:
    """Return the suffix of a model file.

    Raises `InputError` if it is none that can be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        what, allowed = "unknown kind of model file", " or ".join(SUFFIXES)
        raise InputError(what, where=str(path), found=suffix, allowed=allowed)
    return suffix


def _write(compiled: CompiledModel, path: Path) -> None:
    """Have HiGHS write a model with the names of the Pyomo model."""
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)  # noqa: FBT003  (no such keyword)
    pass_model(solver, compiled.form)
    for column, name in enumerate(_names(compiled.variables)):
        solver.passColName(column, name)
    for row, name in enumerate(_names(compiled.constraints)):
        solver.passRowName(row, name)
    if solver.writeModel(str(path)) == highspy.HighsStatus.kError:
        message = f"HiGHS could not write {path}"
        raise RuntimeError(message)


def _names(components: Sequence[Any]) -> list[str]:
    """Return names that are different, and that both formats can carry."""
    seen: set[str] = set()
    names: list[str] = []
    for number, component in enumerate(components):
        text = component.name.replace("[", "(").replace("]", ")")
        text = re.sub(r"[^A-Za-z0-9_.,()]", "_", text)
        if len(text) > _LONGEST or text in seen or not text[0].isalpha():
            text = f"n{number}_{text[:_LONGEST]}"
        if re.match(r"(?i)(e[0-9]|(free|inf|infinity|end|bin|gen|st)\b)", text):
            text = f"n{number}_{text}"  # a number or a word of the LP format
        seen.add(text)
        names.append(text)
    return names
