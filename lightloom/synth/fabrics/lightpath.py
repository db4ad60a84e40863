"""The plug of LIGHTPATH racks, which routes lanes and places reconfigurations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lightloom.core.errors import NoAnswerError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.synth.demand_rounds import (
    CONFIGURATIONS,
    DECOMPOSITION,
    EDGE_COLOURING,
    GREEDY,
)
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Arrangement, Realiser
from lightloom.synth.lightpath.demand_configurations import realised_divisions
from lightloom.synth.lightpath.divided_all_to_all import (
    MOST_RANKS,
    divided_all_to_all,
)
from lightloom.synth.lightpath.realisation import (
    LightPaths,
    least_ps,
    outlined_ps,
    realise_lightpath,
)
from lightloom.synth.lightpath.training_circuits import CIRCUITS
from lightloom.synth.lightpath.uneven_lasers import uneven_network
from lightloom.synth.rank_mapping import mappings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Collective, Demand
    from lightloom.plans.network import RankNetwork
    from lightloom.plans.plan import RoundOutline
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound


class LightpathRealiser(Realiser[Lightpath]):
    """Puts rounds on a rack; all candidates share the routes of their lanes.

    Where waveguides are few, the order in which tiles play ranks decides how many
    wavelengths it takes: orders that follow the grid compete.
    """

    predicts = True
    demand_algorithms = (EDGE_COLOURING, GREEDY, DECOMPOSITION, CONFIGURATIONS)
    divided_demands = (CONFIGURATIONS,)

    def __init__(self, fabric: Lightpath, seed: int, router: str) -> None:
        super().__init__(fabric, seed, router)
        self._light_paths = LightPaths(fabric, router, seed)

    @property
    def parameters(self) -> dict[str, ParameterValue]:
        """The router."""
        return {"router": self.router}

    @property
    def ports(self) -> int:
        """A laser each."""
        return max(1, self.fabric.lasers)

    def arrange(self, task: Collective) -> Arrangement:
        """Return the order of the task, and orders that follow the grid."""
        return Arrangement(mappings(self.fabric, task.nodes))

    def network(self, task: Collective) -> RankNetwork | None:
        """Return all pairs of ranks joined, where peers do not divide the lasers."""
        return uneven_network(self.fabric, task)

    def outlined_ps(self, rounds: Sequence[RoundOutline], buffer_bytes: int) -> int:
        """Return a lower bound by the wavelengths that each stream can have."""
        return outlined_ps(self.fabric, rounds, buffer_bytes)

    def least_ps(self, rounds: Sequence[TrafficRound], *, cuts: bool) -> int:
        """Return a lower bound, by rectangle cuts of lanes with `cuts`."""
        light_paths = self._light_paths if cuts else None
        return least_ps(self.fabric, rounds, light_paths)

    def divided(
        self, algorithm: str, demand: Demand, limit_ps: float = math.inf
    ) -> Iterator[Realisation]:
        """Yield a demand divided among several configurations, ever faster.

        Raises `InfeasibleError`: there is something to send and no laser to send it;
        `NoAnswerError`: none fits the waveguides.
        """
        del algorithm, limit_ps
        found = False
        for realised in realised_divisions(self.fabric, demand, self.seed):
            found = True
            yield realised
        if not found:
            raise NoAnswerError(
                "no division among configurations found within the limits",
                where="demand",
                found=f"{len(demand.src)} pairs, {self.fabric.waveguides} waveguides",
                allowed="waveguides for the routes of all, or up to 64 lasers",
                fix="use --algorithm edge-colouring",
            )

    def divided_collective(
        self, task: Collective
    ) -> Iterator[tuple[Collective, Realisation]]:
        """Yield an all-to-all of few ranks divided among configurations."""
        if task.op == "all-to-all" and task.rank_count <= MOST_RANKS:
            yield from divided_all_to_all(self.fabric, task, self.seed)

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds."""
        return realise_lightpath(self.fabric, rounds, self._light_paths)


PLUG = FabricPlug("lightpath", realiser=LightpathRealiser, circuits=CIRCUITS)
