"""Components of networks: counts, cost, power, and what the printed totals omit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lightloom.papers.ramp.components import (
    DCN,
    HPC,
    LEAST_AT_RECEIVER_DBM,
    LEAST_ON_PATH_DBM,
    NODE_GBIT_PER_S,
    Budget,
    RampParts,
    usd_per_gbit,
)


def test_a_tree_has_ports_for_all_nodes_and_for_its_links() -> None:
    """Each tier faces as many ports down as there are nodes, the last copy too."""
    for tree in (HPC, DCN):
        half = tree.ports // 2
        leaves = -(-65_536 // half)
        cores = tree.switches_per_copy - 2 * leaves
        assert leaves * half >= 65_536
        assert cores * tree.ports >= 65_536 > (cores - 1) * tree.ports
        assert tree.switches(3) == 3 * tree.switches_per_copy


def test_printed_costs_pay_for_fewer_transceivers_than_printed() -> None:
    """Table 3: 25.2 and 50.3 million of 200 USD make 17.5 and 38.9, not 16.8, 35.5."""
    for tree, copies, counted, printed in (
        (HPC, 64, 25.2e6, 16.8),
        (DCN, 128, 50.3e6, 35.5),
    ):
        every, paid = tree.transceivers(copies), tree.paid_transceivers(copies)
        assert every == pytest.approx(counted, rel=0.002)
        assert tree.cost_usd(copies, every) > 1.03 * printed * 1e9
        assert tree.cost_usd(copies, paid) == pytest.approx(printed * 1e9, rel=0.011)


def test_printed_powers_count_five_transceivers_on_superpod() -> None:
    """Table 4: 306 MW, where six, as on the path of 383 pJ/bit, make 321 MW."""
    assert HPC.path_pj_per_bit == 383
    assert DCN.path_pj_per_bit == 400
    megawatts = {count: float(HPC.power_w(64, count)) / 1e6 for count in (5, 6)}
    assert megawatts[5] == pytest.approx(306, rel=0.01)
    assert megawatts[6] == pytest.approx(321, rel=0.01)
    # With all six the rate of power is the energy of a bit, but for rounded switches.
    per_gbit = 1000 * HPC.power_w(64, 6) / (65_536 * NODE_GBIT_PER_S)
    assert float(per_gbit) == pytest.approx(383, rel=0.001)


def test_ramp_has_a_coupler_for_each_subnet() -> None:
    """32 cubed of them, 2,097,152 transceivers, 12.8 Tb/s; twice all for b = 2."""
    one, two = RampParts(), RampParts(transceivers_per_group=2)
    assert (one.couplers, one.transceivers) == (32_768, 2_097_152)
    assert one.node_gbit_per_s == NODE_GBIT_PER_S
    assert two.couplers == 2 * one.couplers
    assert two.node_gbit_per_s == 2 * one.node_gbit_per_s
    assert one.cost_usd(600) == 2_097_152 * 600 + 32_768 * 3000
    assert one.power_w(Fraction("3.4")) == Fraction("7130316.8")
    rate = usd_per_gbit(one.cost_usd(600), one.node_gbit_per_s)
    assert float(rate) == pytest.approx(1.617, abs=0.001)


@pytest.mark.parametrize("groups", [2, 8, 32])
@pytest.mark.parametrize("launch_dbm", [0.0, 10.0, 80.0])
def test_least_gains_keep_to_both_limits(groups: int, launch_dbm: float) -> None:
    """A gate amplifies no more than it must, and nothing where light suffices."""
    budget = Budget(groups, groups, 64, launch_dbm)
    stages = {stage.name: stage for stage in budget.stages()}
    least = stages["coupler"].power_dbm
    received = stages["combiner"].power_dbm
    assert least >= LEAST_ON_PATH_DBM - 1e-9
    assert received >= LEAST_AT_RECEIVER_DBM - 1e-9
    first, second = budget.gains_db
    assert first == 0 or least == pytest.approx(LEAST_ON_PATH_DBM)
    assert second == 0 or received == pytest.approx(LEAST_AT_RECEIVER_DBM)
    unamplified = launch_dbm - budget.edge_loss_db - budget.core_loss_db
    assert (first == 0) == (unamplified >= LEAST_ON_PATH_DBM)


def test_splitting_loses_what_it_divides() -> None:
    """32 ways cost 15.05 dB, 2048 ways 33.1 dB, and excess comes on top."""
    plain, lossy = Budget(), Budget(excess_db=1.5)
    assert plain.edge_loss_db == pytest.approx(15.0515, abs=1e-4)
    assert plain.core_loss_db == pytest.approx(33.1133, abs=1e-4)
    assert sum(lossy.gains_db) - sum(plain.gains_db) == pytest.approx(4.5)
