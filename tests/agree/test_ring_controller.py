"""Our scheduler of rings as the controller of a training iteration's circuits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.replay.workload import (
    RING_PERIOD_PS,
    ControlledCircuits,
    Launch,
    replay_iteration,
)
from lightloom.synth.ring.flow_heuristic import control_ring
from tests.examples.iterations import fluid_case, ring_of_the_fluid_case

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.task import Demand

FREE = Launch(0, 0)


def test_a_ring_is_set_anew_every_hundred_microseconds() -> None:
    """Our own scheduler is the controller: all is served, dark 25 us at each change."""
    fabric, circuits = ring_of_the_fluid_case()

    class Controlled:
        def circuits(self, demand: Demand) -> dict[int, Circuits]:
            return {0: control_ring(fabric, demand).circuits}

    network = ControlledCircuits(
        fabric, Controlled(), RING_PERIOD_PS, first={0: circuits}
    )
    timeline = replay_iteration(fluid_case(), network, FREE)
    assert timeline.reconfigurations
    for each in timeline.reconfigurations:
        assert each.start_ps % RING_PERIOD_PS == 0
        assert each.end_ps - each.start_ps == 25 * 10**6
    again = replay_iteration(fluid_case(), network, FREE)
    assert again.transfers.end_ps.tolist() == timeline.transfers.end_ps.tolist()
    # A node sends 348 MB, and has at most all 80 lasers for it.
    most = fabric.node_bits_per_s
    assert timeline.iteration_ps > 599_000_000 + 348 * 8 * 10**18 // most
