"""Subgroups, peers and portions: what the corrected tables must give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from lightloom.synth.ramp.team import STEPS, Shape, team_of
from lightloom.synth.ramp.team_steps import circuits, phases
from tests.examples.ramp_networks import SHAPES, contentions, network, shapes


@pytest.mark.parametrize("sizes", [*SHAPES, (8, 8, 24), (6, 6, 18)])
def test_subgroups_and_portions(sizes: tuple[int, int, int]) -> None:
    """Peers share the subgroup, take its portions in turn, agree in earlier ones."""
    shape = Shape(*sizes)
    places = shape.places_of(np.arange(shape.size))
    assert shape.number_of(places).tolist() == list(range(shape.size))
    for step in STEPS:
        members = shape.members(step)
        own, ids = shape.portion(step, places), shape.subgroup(step, places)
        _, counts = np.unique(ids, return_counts=True)
        assert (counts == members).all()
        reached = [shape.number_of(shape.peer(step, places, c)) for c in range(members)]
        assert len(np.unique(np.stack(reached, axis=1), axis=0)) == shape.size
        for offset, number in enumerate(reached):
            there = shape.places_of(number)
            assert (shape.subgroup(step, there) == ids).all()
            assert (shape.portion(step, there) == (own + offset) % members).all()
            for before in STEPS[: step - 1]:
                kept = shape.portion(before, there) == shape.portion(before, places)
                assert kept.all()


def test_the_information_map_names_every_node_once() -> None:
    """At the full size of the paper too, the digits are those of a rank."""
    shape = Shape(32, 32, 64)
    places = shape.places_of(np.arange(shape.size))
    rank = np.zeros(shape.size, dtype=np.int64)
    for step in STEPS:
        rank = rank * shape.members(step) + shape.portion(step, places)
    assert np.sort(rank).tolist() == list(range(65536))


@settings(max_examples=60, deadline=None)
@given(shapes())
def test_no_step_contends(sizes: tuple[int, int, int]) -> None:
    """Every step of any network is free of contention, with all it can use a pair."""
    fabric = network(sizes)
    team = team_of(fabric, range(fabric.node_count))
    for phase in phases(team, "reduce-scatter", 0):
        assert contentions(fabric, circuits(team, phase)) == set()


@settings(max_examples=60, deadline=None)
@given(shapes(most_groups=4))
def test_no_step_of_a_part_of_a_network_contends(sizes: tuple[int, int, int]) -> None:
    """Nor is any of a smaller network within one of nine groups, with more a pair."""
    groups, racks, numbers = sizes
    fabric = network((9, 7, 18))
    nodes = [
        (g * 7 + j) * 18 + lam
        for g in range(8, 8 - groups, -1)
        for j in range(1, 1 + racks)
        for lam in range(0, numbers, 1)
    ]
    team = team_of(fabric, nodes)
    assert sorted(team.nodes.tolist()) == sorted(nodes)
    for phase in phases(team, "reduce-scatter", 0):
        rows = circuits(team, phase)
        assert contentions(fabric, rows) == set()
        assert len(rows) >= len(phase.src) * (9 // max(groups, 1) or 1)
