"""All algorithms that serve demands, by name: what they do, and on which fabrics."""

from __future__ import annotations

from typing import NamedTuple

from lightloom.synth.demand_rounds import CONFIGURATIONS, DEMAND_ALGORITHMS, RELAYS
from lightloom.synth.ocs.switch_circuits import ALGORITHM as SATURATED_PORT
from lightloom.synth.ring.wavelengths import ALGORITHM as RING_LADDER


class DemandEntry(NamedTuple):
    """What an algorithm does in a line, and the fabrics it is for, ``""`` for all."""

    summary: str
    fabrics: str


ON_DEMANDS = {
    **{one.name: DemandEntry(one.summary, "") for one in DEMAND_ALGORITHMS.values()},
    CONFIGURATIONS: DemandEntry(
        "several configurations, each as long as the sizes of the pairs ask for",
        "lightpath, ramp, ring-2d, sipac",
    ),
    SATURATED_PORT: DemandEntry(
        "circuits of parallel switches that are best for the slowest pair", "ocs"
    ),
    RELAYS: DemandEntry(
        "bytes over one circuit or two, where the demand allows relays",
        "fabrics with circuits",
    ),
    RING_LADDER: DemandEntry(
        "circuits of a ring that are best for the slowest pair", "ring"
    ),
}
