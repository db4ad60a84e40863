"""Wavelengths of a ring: exhaustive search = every solver; ours lie below its bound."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.outcome import Reason
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import Instance
from lightloom.models.ring import build, decode, objective, schedule, size
from lightloom.replay import replay
from lightloom.solvers import run
from lightloom.synth.ring.arcs import ring_ways
from lightloom.synth.ring.flow_heuristic import control_ring
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.wavelengths import ring_schedule, ring_wavelengths
from lightloom.validate import verify
from lightloom.validate.certificates.circuits_per_byte import check_ring_witness
from tests.examples.small_demands import best_of_wavelengths, random_demand
from tests.models.available import INTEGER_SOLVERS

SIZES = (1, 2, 3, 5, 8, 13)
THREE = Demand((0, 1, 2), (2, 0, 1), (5, 5, 5))
"""Every span is crossed by two of the three pairs, and all three need wavelengths."""


def _solved(instance: Instance, solver: str, **variant: object) -> Fraction | None:
    """Return the optimum of the model, its answer verified; ``None`` if infeasible."""
    try:
        model = build(instance, **variant)  # type: ignore[arg-type]
    except InfeasibleError:
        return None
    outcome = run(model, solver)
    if outcome.reason is Reason.PROVEN_INFEASIBLE:
        return None
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    answer = decode(model)
    made = schedule(instance, answer)
    assert verify(made).violations == ()
    assert replay(made).completion_time_ps > 0
    return objective(answer)


FABRICS = {
    "one way": Ring(nodes=4, wavelengths=4),
    "one way, more": Ring(nodes=5, wavelengths=3, reach=4),
    "both ways": Ring(nodes=4, wavelengths=3, directions=2),
    "both ways, near": Ring(nodes=4, wavelengths=3, directions=2, reach=2),
    "shared": Ring(nodes=4, wavelengths=3, directions=2, shared_transceivers=True),
    "shared, near": Ring(
        nodes=5, wavelengths=2, directions=2, reach=3, shared_transceivers=True
    ),
}


@pytest.mark.parametrize("solver", INTEGER_SOLVERS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", FABRICS)
def test_model_meets_the_exhaustive_search(name: str, seed: int, solver: str) -> None:
    """Over everything each wavelength can carry nothing serves the slowest better."""
    fabric = FABRICS[name]
    pairs = 4 + seed if fabric.directions == 1 else 5 + seed
    instance = random_demand(fabric, pairs, seed, SIZES)
    assert _solved(instance, solver) == best_of_wavelengths(instance, fabric)


@pytest.mark.parametrize("solver", INTEGER_SOLVERS)
def test_loads_do_not_tell_the_wavelengths_needed(solver: str) -> None:
    """Three pairs load every span by two; two wavelengths do not do, three do."""
    for wavelengths, best in ((2, None), (3, Fraction(1, 5))):
        fabric = Ring(nodes=3, wavelengths=wavelengths)
        instance = Instance(fabric, THREE, "three")
        assert best_of_wavelengths(instance, fabric) == best
        assert _solved(instance, solver) == best


def test_the_way_back_helps() -> None:
    """Each of the three pairs has a span of its own on a second fibre."""
    for fabric, best in (
        (Ring(nodes=3, wavelengths=2, directions=2), Fraction(2, 5)),
        (Ring(nodes=3, wavelengths=2, directions=2, reach=1), Fraction(2, 5)),
        (
            Ring(nodes=3, wavelengths=2, directions=2, shared_transceivers=True),
            Fraction(2, 5),
        ),
    ):
        instance = Instance(fabric, THREE, "three")
        assert _solved(instance, "highs") == best
        assert best_of_wavelengths(instance, fabric) == best


@pytest.mark.parametrize("shared", [False, True])
def test_one_transceiver_for_both_ways_is_a_limit(*, shared: bool) -> None:
    """Two neighbours of one node get two wavelengths each, or share them."""
    fabric = Ring(nodes=4, wavelengths=2, directions=2, shared_transceivers=shared)
    instance = Instance(fabric, Demand((0, 0), (1, 3), (4, 4)), "t")
    assert _solved(instance, "highs") == Fraction(1 if shared else 2, 4)


@pytest.mark.parametrize("seed", range(6))
def test_statements_agree(seed: int) -> None:
    """As printed, with levels, and with wavelengths in order: one optimum."""
    instance = random_demand(Ring(nodes=6, wavelengths=6), 7, seed, SIZES)
    optimum = _solved(instance, "highs")
    assert _solved(instance, "highs", statement="ratio") == optimum
    assert _solved(instance, "highs", pinned=True) == optimum


@pytest.mark.parametrize(
    ("fabric", "demand", "words"),
    [
        (
            Ring(nodes=8, wavelengths=4, reach=3),
            Demand((0, 5), (2, 1), (1, 1)),
            "demand row 1: node 1 is out of reach of node 5; found '4 spans'",
        ),
        (
            Ring(nodes=8, wavelengths=4, directions=2, reach=3),
            Demand((0,), (4,), (1,)),
            "node 4 is out of reach of node 0; found '4 spans'; allowed: at most 3",
        ),
        (
            Ring(nodes=6, wavelengths=2),
            Demand((0, 0, 0), (1, 2, 3), (1, 1, 1)),
            "row 0: node 0 sends to 3 others",
        ),
        (
            Ring(nodes=6, wavelengths=2, directions=2, shared_transceivers=True),
            Demand((1, 2, 5), (0, 0, 0), (1, 1, 1)),
            "column 0: node 0 receives from 3 others",
        ),
        (
            Ring(nodes=6, wavelengths=2),
            Demand((0, 1, 2), (3, 4, 5), (1, 1, 1)),
            "span 2 in direction 0: 3 pairs must cross",
        ),
    ],
)
def test_what_cannot_be_is_named_before_solving(
    fabric: Ring, demand: Demand, words: str
) -> None:
    """The pair, node or span at fault is in the message; nothing is solved."""
    with pytest.raises(InfeasibleError) as caught:
        build(Instance(fabric, demand, "x"))
    assert words in str(caught.value)
    assert caught.value.exit_code == 4


def test_other_problems_are_refused() -> None:
    """A switch is no ring."""
    switch = Ocs(nodes=3, switches=1, bits_per_second_per_node=8)
    with pytest.raises(InputError, match=r"fabric\.kind"):
        build(Instance(switch, THREE, "x"))


@pytest.mark.parametrize("name", FABRICS)
def test_size_is_an_upper_estimate(name: str) -> None:
    """What is built is never larger than what was said before."""
    import pyomo.environ as pyo

    instance = random_demand(FABRICS[name], 5, 1, SIZES)
    try:
        model = build(instance)
    except InfeasibleError:
        pytest.skip("this one has no model")
    told = size(instance)
    assert len(list(model.component_data_objects(pyo.Var))) <= told.columns
    assert len(list(model.component_data_objects(pyo.Constraint))) <= told.rows


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", FABRICS)
def test_answers_enclose_the_exhaustive_search(name: str, seed: int) -> None:
    """Nothing lit beats the search of everything, which does not beat the bound."""
    fabric = FABRICS[name]
    instance = random_demand(fabric, 3 + seed % 4, seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    best = best_of_wavelengths(instance, fabric)
    try:
        ways = ring_ways(fabric, demand)
    except InfeasibleError:
        assert best is None
        return
    bound = ring_bound(fabric, ways)
    check_ring_witness(fabric, demand, bound.witness)
    assert bound.ratio >= (best or 0)
    for make in (ring_wavelengths, control_ring):
        try:
            plan = make(fabric, demand, seed=seed)
        except (InfeasibleError, NoAnswerError):
            continue
        assert best is not None
        assert plan.ratio is not None
        assert 0 < plan.ratio <= best
        assert verify(ring_schedule(fabric, plan)).violations == ()
