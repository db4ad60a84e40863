"""Demands divided among configurations: model = the algorithm = its bound."""

from __future__ import annotations

import pytest

from lightloom.core.errors import InputError
from lightloom.core.outcome import Reason
from lightloom.core.seed import seeded_random
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.solvers import run
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.oracle.divided_demand_model import build, decode, objective, size


def _instance(seed: int, rate: int) -> Instance:
    """Return four pairs of three tiles with two lasers; times are a few picoseconds."""
    rng = seeded_random(seed)
    fabric = Lightpath(
        rows=1,
        cols=3,
        lasers=2,
        bits_per_second_per_wavelength=rate,
        alpha_ps=1,
        reconfiguration_ps=rng.choice([0, 2, 5]),
        initial_configuration_charged=seed % 2 == 0,
    )
    pairs = rng.sample([(a, b) for a in range(3) for b in range(3) if a != b], 4)
    return Instance(
        fabric, Demand.from_rows([(*pair, rng.randint(1, 12)) for pair in pairs])
    )


@pytest.mark.parametrize("solver", ["cp-sat", "highs"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rate", [8 * 10**12, 3 * 10**12])
def test_the_model_meets_the_algorithm(solver: str, seed: int, rate: int) -> None:
    """The solver's optimum is the certified time, whole bytes and all."""
    instance = _instance(seed, rate)
    made = synthesise(instance).incumbent
    assert made is not None
    assert made.certificate is not None
    assert verify(made.schedule).valid
    model = build(instance, count=3)
    assert run(model, solver).reason is Reason.PROVEN_OPTIMAL
    found = objective(decode(model))
    assert found == made.completion_time_ps == made.certificate.bound


def test_what_the_model_is_not_about_is_refused() -> None:
    """Racks where circuits stay lit; and its size is no less than it is."""
    instance = _instance(0, 8 * 10**12)
    fabric = Lightpath(rows=1, cols=3, dark_while_reconfiguring="changed-circuits")
    with pytest.raises(InputError, match="dark"):
        build(Instance(fabric, instance.task))
    estimate = size(instance, count=3)
    model = build(instance, count=3)
    assert estimate.columns >= model.nvariables()
    assert estimate.rows >= model.nconstraints()
