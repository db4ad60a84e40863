"""The placed replicas of a training, each made once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.training.iteration_estimate import replica_profile
from lightloom.training.placement.graph_split import QUANTUM_PS
from lightloom.training.replica import place_replica

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.training import Training
    from lightloom.training.iteration_estimate import ReplicaProfile
    from lightloom.training.replica import Replica
    from lightloom.training.strategy import Strategy


@dataclass(eq=False)
class PlacedReplicas:
    """Replicas by devices, samples and ports; they do not depend on rates.

    `training`: the model, batch and GPU. `quantum_ps`: time that parts aim at (SiP-ML,
    section 3.2). `tell`: told in words what is being done.
    """

    training: Training
    quantum_ps: int = QUANTUM_PS
    seed: int = 0
    tell: Callable[[str], None] = field(default=lambda _: None)
    _placed: dict[tuple[int, int, int | None], Replica | str] = field(
        default_factory=dict
    )
    _profiles: dict[int, ReplicaProfile] = field(default_factory=dict)

    def replica(self, strategy: Strategy, ports: int | None) -> Replica:
        """Return the placed replica of a strategy.

        `strategy`: devices of a replica and samples on each. `ports`: how many others a
        device can reach at once, ``None`` for all.

        Raises `InfeasibleError`: it does not fit the memory, or the ports.
        """
        k, local = strategy.model_parallel, strategy.local_batch
        # Up to as many devices as there are ports, ports make no difference.
        binding = ports if ports is not None and k > ports else None
        key = k, local, binding
        if key not in self._placed:
            self.tell(f"placing {k} devices, {local} samples a replica")
            try:
                self._placed[key] = place_replica(
                    self.training,
                    local,
                    k,
                    ports=binding,
                    quantum_ps=self.quantum_ps,
                    seed=self.seed,
                )
            except (InfeasibleError, NoAnswerError) as problem:
                self._placed[key] = str(problem)
        placed = self._placed[key]
        if isinstance(placed, str):
            raise InfeasibleError(placed)
        return placed

    def parts(self, devices: int, local_batch: int) -> int:
        """Return how many parts replicas have that were placed, 0 for none."""
        key = devices, local_batch
        placed = [one for kept, one in self._placed.items() if kept[:2] == key]
        parts = [len(one.device) for one in placed if not isinstance(one, str)]
        return max(parts, default=0)

    def profile(self, replica: Replica) -> ReplicaProfile:
        """Return what a replica that was placed here does on each level."""
        key = id(replica)
        if key not in self._profiles:
            self._profiles[key] = replica_profile(replica)
        return self._profiles[key]
