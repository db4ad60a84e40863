"""Outlines never promise more than plans take."""

import pytest

from lightloom.core.task import Collective
from lightloom.front_door import load_instance
from lightloom.plans.algorithms import make_algorithm, proposed
from lightloom.plans.box import base_radices
from lightloom.plans.plan import Outlined
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.fabrics import realiser_of
from lightloom.synth.traffic import plan_traffic


@pytest.mark.parametrize(
    "name",
    [
        "lightpath-8/all-reduce-1KiB",
        "lightpath-48/all-reduce-1MiB",
        "lightpath-64/all-gather-64MiB",
        "lightpath-64/reduce-scatter-1MiB",
        "ramp-16/all-reduce-4MiB",
    ],
)
def test_no_plan_is_faster_than_its_outline(name: str) -> None:
    """A bound by streams and idle ports is at most what the rounds take."""
    instance = load_instance(name)
    task = instance.task
    assert isinstance(task, Collective)
    realiser = realiser_of(instance.fabric, 0, "minimum-congestion")
    seen = 0
    setting = realiser.setting(task, realiser.arrange(task))
    ranks = task.rank_count
    halving: list[tuple[str, dict[str, object]]] = [
        ("lumorph-2", {}),
        ("lumorph-4", {}),
        *(("radices", {"radices": base_radices(ranks, base)[::-1]}) for base in (2, 4)),
    ]
    for algorithm, parameters in (*proposed(setting), *halving):
        made = make_algorithm(algorithm, parameters, op=task.op)
        if not isinstance(made, Outlined):
            continue
        outline = made.outline(task.rank_count, realiser.ports, task.op)
        least_ps = realiser.outlined_ps(outline, task.buffer_bytes)
        wanted = made.granularity(task.rank_count, realiser.ports)
        plan = made.plan(choose_chunks(task, wanted), realiser.ports)
        rounds = plan_traffic(plan, plan.collective.nodes)
        assert 0 < least_ps <= realiser.least_ps(rounds, cuts=False), algorithm
        seen += 1
    assert seen > 5


def test_relays_and_digraphs_for_many_ranks_are_outlined() -> None:
    """Hub relays exist for few numbers of ranks; the outline needs no plan."""
    realiser = realiser_of(
        load_instance("lightpath-512/all-reduce-1MiB").fabric, 0, "minimum-congestion"
    )
    for algorithm in ("hub-relays", "fixed-digraph"):
        made = make_algorithm(algorithm, {"degree": 16})
        assert isinstance(made, Outlined)
        rounds = made.outline(512, 16, "all-reduce")
        assert realiser.outlined_ps(rounds, 2**20) > 10_000_000
