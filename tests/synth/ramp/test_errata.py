"""The RAMP paper as printed: each doubtful formula, alone, fails a check."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.synth.ramp.multicast import best_pipeline, grow
from lightloom.synth.ramp.team import Shape, team_in, team_of
from lightloom.synth.ramp.team_steps import TeamCollective, circuits, phases
from lightloom.validate.schedule_stream import check_stream
from tests.examples.ramp_networks import contentions, network
from tests.synth.ramp.printed import (
    PrintedShape,
    printed_circuits,
    printed_subgroup_3,
)

if TYPE_CHECKING:
    from lightloom.synth.ramp.team import Team
    from lightloom.synth.ramp.team_steps import Phase


def test_table_5_step_3_is_undefined_in_rack_0() -> None:
    """Its modulus, Lambda j, is zero there."""
    with pytest.raises(ZeroDivisionError):
        printed_subgroup_3(Shape(2, 2, 4), 0, 0, 0)


def test_table_6_step_4_names_one_member_too_many() -> None:
    """The last of its offsets, 0 to D, leads out of the subgroup."""
    shape = Shape(3, 1, 6)
    group, rack, lam = shape.places_of(np.array([0]))
    last = 6 // 3
    there = ((group + last) % 3, rack, lam % 3 + lam // 3 * 3)
    assert shape.subgroup(4, there) != shape.subgroup(4, (group, rack, lam))


def _correct_nodes(shape: Shape) -> int:
    """Return how many nodes end a reduce-scatter with their block, complete.

    Contributions are counted in full: for every node, of every block, by every node.
    """
    size = shape.size
    places = shape.places_of(np.arange(size))
    rank = np.zeros(size, dtype=np.int64)
    digits = {}
    for step in (1, 2, 3, 4):
        digits[step] = shape.portion(step, places)
        rank = rank * shape.members(step) + digits[step]
    digit_of_block = {step: digit[np.argsort(rank)] for step, digit in digits.items()}
    held = np.zeros((size, size, size), dtype=np.int64)
    held[np.arange(size), :, np.arange(size)] = 1
    for step in (1, 2, 3, 4):
        total = held.copy()
        for offset in range(1, shape.members(step)):
            other = shape.number_of(shape.peer(step, places, offset))
            total[other] += held
        kept = digit_of_block[step][None, :] == digits[step][:, None]
        held = np.where(kept[:, :, None], total, 0)
    complete = held == 1
    return int(complete[np.arange(size), rank].all(axis=1).sum())


@pytest.mark.parametrize("sizes", [(2, 2, 4), (3, 3, 6), (3, 2, 9)])
def test_table_7_leaves_no_node_with_its_block(sizes: tuple[int, int, int]) -> None:
    """With D > 1 not one node ends correct; by the corrected map every one does."""
    assert _correct_nodes(PrintedShape(*sizes)) == 0
    assert _correct_nodes(Shape(*sizes)) == Shape(*sizes).size


def test_table_7_fails_the_checks_of_the_product() -> None:
    """The same plans, in the printed order of information, are refused."""
    fabric = network((3, 3, 6))
    nodes = np.arange(fabric.node_count)
    printed = team_in(fabric, PrintedShape(3, 3, 6), fabric.coordinates(nodes), nodes)
    assert printed is not None
    for team, valid in ((printed, False), (team_of(fabric, range(54)), True)):
        task = Collective("reduce-scatter", tuple(team.nodes.tolist()), 54, 54)
        report = check_stream(fabric, task, TeamCollective(team, task).events())
        assert report.valid == valid
    assert {found.rule for found in report.violations} == set()


def _steps(team: Team) -> list[Phase]:
    return list(phases(team, "reduce-scatter", 0))


def _collisions(sizes: tuple[int, int, int]) -> list[set[str]]:
    """Return what equation (2) overuses in each step, and ours never does."""
    fabric = network(sizes)
    team = team_of(fabric, range(fabric.node_count))
    for phase in _steps(team):
        assert contentions(fabric, circuits(team, phase)) == set()
    return [
        contentions(fabric, printed_circuits(team, phase, several=False))
        for phase in _steps(team)
    ]


def test_equation_2_collides_in_step_3() -> None:
    """In three racks of four groups, two sources meet at one receiver."""
    assert _collisions((4, 3, 4)) == [set(), set(), {"receivers"}]
    assert _collisions((4, 4, 8)) == [set(), set(), {"receivers"}, set()]
    for clean in ((4, 2, 4), (6, 3, 6), (3, 3, 6), (5, 5, 10), (2, 2, 4)):
        assert not any(_collisions(clean))


def test_equation_2_at_the_size_of_the_paper() -> None:
    """Of 2,097,152 (receiver, transceiver) of step 3, 983,040 hear two sources."""
    fabric = network((32, 32, 64))
    team = team_of(fabric, range(fabric.node_count))
    third = _steps(team)[2]
    rows = printed_circuits(team, third, several=False)
    assert rows.transceiver is not None
    heard = np.bincount(rows.dst * 32 + rows.transceiver, minlength=65536 * 32)
    assert len(heard) == 2_097_152
    assert int((heard == 2).sum()) == 983_040
    assert heard.max() == 2
    ours = circuits(team, third)
    assert ours.transceiver is not None
    assert np.bincount(ours.dst * 32 + ours.transceiver).max() == 1


def test_equation_3_takes_too_many_transceivers() -> None:
    """Two members of a subgroup are given three of four transceivers, for each rack."""
    fabric = network((4, 4, 8))
    team = team_of(fabric, range(fabric.node_count))
    fourth = _steps(team)[3]
    assert team.shape.members(4) == 2
    rows = printed_circuits(team, fourth)
    assert len(rows) == 3 * len(fourth.src)
    assert "subnets" in contentions(fabric, rows)
    assert contentions(fabric, circuits(team, fourth)) == set()


def test_equation_1_has_beta_outside_the_root() -> None:
    """One piece, by the printed one, where eighteen are best of all numbers."""
    fabric = network((32, 32, 64))
    nodes = tuple(range(fabric.node_count))
    size, alpha_s = 10**9, fabric.alpha_ps / 1e12
    beta = 8 / fabric.node_bits_per_s
    depth = grow(fabric, nodes, 0, 1).depth
    assert depth == 2
    printed = sqrt(size * (depth - 1) / alpha_s) * beta
    assert printed < 1

    def lasts_ps(pieces: int) -> int:
        piece = transmission_ps(-(-size // pieces), fabric.node_bits_per_s)
        return (pieces + depth - 1) * (fabric.alpha_ps + piece)

    best = best_pipeline(fabric, nodes, 0, size)
    assert best.fanout == 1
    assert best.predicted_ps == min(map(lasts_ps, range(1, 200)))
    assert best.predicted_ps < 0.6 * lasts_ps(1)
    assert best.pieces == pytest.approx(sqrt(size * beta / alpha_s), abs=1)
