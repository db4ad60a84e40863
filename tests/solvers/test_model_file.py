"""Model files say what the model says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyomo.environ as pyo
import pytest

from lightloom.core.errors import InputError
from lightloom.core.outcome import Reason
from lightloom.solvers import run
from lightloom.solvers.model_file import write_model
from tests.examples.small_models import knapsack, production

if TYPE_CHECKING:
    from pathlib import Path

highspy = pytest.importorskip("highspy")


def _odd_names() -> pyo.ConcreteModel:
    """Return a knapsack whose names no format can carry as they are."""
    model = knapsack(6, 2, 1)
    model.extra = pyo.Var(["a b", "é", "ü", "e9"], bounds=(-1, 2))
    model.end = pyo.Var(bounds=(0, 2))
    model.e5 = pyo.Var(within=pyo.Integers, bounds=(-3, 3))
    for key in model.extra:
        model.worth.expr += model.extra[key]
    model.worth.expr += model.end - model.e5 + 0.25
    model.bounds = pyo.Constraint(expr=(-1, model.end + model.e5, 2))
    return model


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("make", [production, _odd_names])
def test_read_back(tmp_path: Path, suffix: str, make: object) -> None:
    """HiGHS reads the file back and finds the optimum of the model."""
    model = make()  # type: ignore[operator]
    path = tmp_path / f"model{suffix}"
    form = write_model(model, path)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)  # noqa: FBT003
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    assert (solver.getNumCol(), solver.getNumRow()) == (form.columns, form.rows)
    solver.run()
    outcome = run(model)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert solver.getObjectiveValue() == pytest.approx(outcome.objective)
    names = list(solver.getLp().col_names_)
    assert len(set(names)) == form.columns
    if make is _odd_names:
        assert names[:2] == ["take(0)", "take(1)"]


def test_deterministic(tmp_path: Path) -> None:
    """The same model gives the same bytes."""
    texts = set()
    for number in range(2):
        path = tmp_path / f"{number}.mps"
        write_model(_odd_names(), path)
        texts.add(path.read_bytes())
    assert len(texts) == 1


def test_refused(tmp_path: Path) -> None:
    """Another suffix or a missing folder is refused, and nothing is left behind."""
    with pytest.raises(InputError, match=r"allowed: \.lp or \.mps"):
        write_model(production(), tmp_path / "model.txt")
    with pytest.raises(InputError, match="no such folder"):
        write_model(production(), tmp_path / "missing" / "model.lp")
    assert list(tmp_path.iterdir()) == []
