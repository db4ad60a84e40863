"""Circuits of switches: exhaustive search = counting = every solver = our algorithm."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.outcome import Reason
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import Instance
from lightloom.models.ocs import build, decode, objective, schedule, size
from lightloom.problems.ocs import PROBLEM
from lightloom.replay import replay
from lightloom.solvers import run
from lightloom.synth.ocs.switch_circuits import ocs_schedule, switch_circuits
from lightloom.validate import verify
from lightloom.validate.certificates.circuits_per_byte import check_saturated_port
from tests.examples.small_demands import best_of_switches, random_demand, threshold
from tests.models.available import INTEGER_SOLVERS

if TYPE_CHECKING:
    from collections.abc import Callable


SIZES = (1, 2, 3, 5, 8, 13)


def _switches(nodes: int, switches: int, *, both: bool = False) -> Ocs:
    return Ocs(
        nodes=nodes,
        switches=switches,
        bits_per_second_per_node=switches * 10**10,
        bidirectional=both,
    )


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


@pytest.mark.parametrize("solver", INTEGER_SOLVERS)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    ("nodes", "switches", "pairs", "seed"),
    [
        (3, 2, 3, 0),
        (3, 3, 4, 1),
        (3, 4, 6, 2),
        (4, 3, 5, 3),
        (4, 3, 6, 4),
        (4, 4, 5, 5),
    ],
)
def test_model_meets_the_exhaustive_search(
    nodes: int, switches: int, pairs: int, seed: int, solver: str, *, both: bool
) -> None:
    """Over every state of every switch nothing serves the slowest pair better."""
    fabric = _switches(nodes, switches, both=both)
    instance = random_demand(fabric, pairs, seed, SIZES)
    assert _solved(instance, solver) == best_of_switches(instance, fabric)


def _counted(seed: int) -> tuple[Instance, Fraction | None]:
    """Return a random instance and its optimum by counting."""
    nodes, switches, pairs = 4 + seed % 3, 4 + seed % 4, 5 + seed // 2
    instance = random_demand(_switches(nodes, switches), pairs, seed, SIZES)
    return instance, threshold(instance, switches)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("solver", ["cp-sat", "scip"])
def test_model_meets_the_counting_argument(seed: int, solver: str) -> None:
    """Row and column sums alone decide where circuits are directed."""
    instance, best = _counted(seed)
    assert best is not None
    assert _solved(instance, solver) == best


@pytest.mark.parametrize("seed", range(12))
def test_highs_meets_the_counting_argument(seed: int) -> None:
    """The same by the default solver, whose presolve once failed on seed 1."""
    instance, best = _counted(seed)
    assert _solved(instance, "highs") == best


@pytest.mark.parametrize("seed", range(6))
def test_statements_agree(seed: int) -> None:
    """As printed, with levels, and with switches in order: one optimum."""
    instance = random_demand(_switches(5, 4), 8, seed, SIZES)
    optimum = _solved(instance, "highs")
    assert _solved(instance, "highs", statement="ratio") == optimum
    assert _solved(instance, "highs", pinned=True) == optimum


def test_a_matching_may_need_a_switch_more() -> None:
    """Three nodes that all exchange fit two switches directed, three bidirectional."""
    rows = [(a, b, 7) for a in range(3) for b in range(3) if a != b]
    for both, switches, best in (
        (False, 2, Fraction(1, 7)),
        (True, 2, None),
        (True, 3, Fraction(1, 7)),
    ):
        fabric = _switches(3, switches, both=both)
        instance = Instance(fabric, Demand.from_rows(rows), "triangle")
        assert _solved(instance, "highs") == best


def test_published_traffic_takes_eight_circuits_a_pair() -> None:
    """64 nodes on 16 switches of 1 Tb/s: the proven optimum takes 2784 us."""
    rows = [(i, (i + 1) % 8, 174 * 10**6) for i in range(8)]
    rows += [(i, i + 9, 174 * 10**6) for i in range(8)]
    fabric = Ocs(
        nodes=64,
        switches=16,
        bits_per_second_per_node=10**12,
        alpha_ps=0,
        initial_configuration_charged=False,
    )
    instance = Instance(fabric, Demand.from_rows(rows), "published")
    model = build(instance)
    outcome = run(model, "cp-sat")
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    answer = decode(model)
    assert objective(answer) == Fraction(8, 174 * 10**6)
    assert replay(schedule(instance, answer)).completion_time_ps == 2784 * 10**6


def test_bytes_are_dealt_out_to_the_byte() -> None:
    """Seven bytes on three circuits are 2, 2 and 3; one byte needs one circuit."""
    fabric = _switches(2, 3)
    instance = Instance(fabric, Demand.from_rows([(0, 1, 7), (1, 0, 1)]), "odd")
    model = build(instance)
    assert run(model, "highs").reason is Reason.PROVEN_OPTIMAL
    made = schedule(instance, decode(model))
    moved = [size for part in made.parts for size in part.transfers.bytes.tolist()]  # type: ignore[union-attr]
    assert sorted(moved) in ([1, 2, 2, 3], [2, 2, 3])
    assert verify(made).violations == ()


def _fan(*, both: bool) -> Instance:
    rows = [(0, dst, 1) for dst in (1, 2)] + [(3, 0, 1)]
    return Instance(_switches(4, 2, both=both), Demand.from_rows(rows), "fan")


REFUSED: list[tuple[str, Callable[[], Instance], type[Exception], str]] = [
    (
        "row",
        lambda: Instance(
            _switches(4, 2), Demand.from_rows([(0, d, 1) for d in (1, 2, 3)]), "x"
        ),
        InfeasibleError,
        "row 0: node 0 sends to 3 others",
    ),
    (
        "column",
        lambda: Instance(
            _switches(4, 2), Demand.from_rows([(s, 3, 1) for s in (0, 1, 2)]), "x"
        ),
        InfeasibleError,
        "column 3: node 3 receives from 3 others",
    ),
    (
        "both",
        lambda: _fan(both=True),
        InfeasibleError,
        "row and column 0: node 0 talks to 3 others",
    ),
    (
        "ring",
        lambda: Instance(Ring(nodes=3, wavelengths=1), Demand((0,), (1,), (1,)), "x"),
        InputError,
        "fabric.kind",
    ),
]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_what_cannot_be_is_named_before_solving(
    make: Callable[[], Instance], error: type[Exception], words: str
) -> None:
    """The row or column at fault is in the message; nothing is solved."""
    with pytest.raises(error) as caught:
        build(make())
    assert words in str(caught.value)


def test_a_port_both_ways_counts_partners_once() -> None:
    """Directed, the node with two destinations and one source fits two switches."""
    assert _solved(_fan(both=False), "highs") == 1


def test_size_is_an_upper_estimate() -> None:
    """What is built is never larger than what was said before."""
    import pyomo.environ as pyo

    for both in (False, True):
        instance = random_demand(_switches(5, 4, both=both), 7, 1, SIZES)
        told, model = size(instance), build(instance)
        assert len(list(model.component_data_objects(pyo.Var))) <= told.columns
        assert len(list(model.component_data_objects(pyo.Constraint))) <= told.rows


def test_unknown_statement_is_refused() -> None:
    """The allowed ones are named; the catalogue entry offers them."""
    with pytest.raises(InputError, match="levels, ratio"):
        build(_fan(both=False), statement="rate")
    assert dict(PROBLEM.variants).keys() == {"statement", "pinned"}


@pytest.mark.parametrize("seed", range(40))
def test_counting_meets_the_exhaustive_search(seed: int) -> None:
    """Over every state of every switch nothing serves the slowest pair better."""
    nodes, switches = 3 + seed % 2, 2 + seed % 3
    fabric = _switches(nodes, switches)
    instance = random_demand(fabric, 3 + seed % 4, seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    plan = switch_circuits(fabric, demand)
    assert plan.witness is not None
    check_saturated_port(fabric, demand, plan.witness)
    assert (plan.ratio or None) == best_of_switches(instance, fabric)
    assert (plan.ratio or None) == threshold(instance, switches)
    if plan.ratio:
        assert verify(ocs_schedule(fabric, plan)).violations == ()


@pytest.mark.parametrize("seed", range(12))
def test_counting_meets_the_model(seed: int) -> None:
    """The solver's optimum is the certified one, infeasible where that is 0."""
    fabric = _switches(5 + seed % 3, 4 + seed % 3)
    instance = random_demand(fabric, 9 + seed, 100 + seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    plan = switch_circuits(fabric, demand)
    try:
        model = build(instance)
    except InfeasibleError:
        assert plan.ratio == 0
        return
    assert run(model, "cp-sat").reason is Reason.PROVEN_OPTIMAL
    assert objective(decode(model)) == plan.ratio
