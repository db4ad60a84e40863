"""The records of a plan of a training: what is asked, tried and found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.outcome import Summarised
from lightloom.core.units import PS_PER_S
from lightloom.replay.workload.call_queue import settings
from lightloom.synth.auto import AUTO
from lightloom.synth.demand_subsets import most_partners
from lightloom.training.fabric_networks import MAX_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.iteration import Iteration
    from lightloom.core.task import Demand
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload import IterationTimeline, Launch
    from lightloom.replay.workload.call_queue import ServedCall
    from lightloom.synth.fabrics.training_plug import PlaneCircuits
    from lightloom.training.fabric_networks import CircuitMode, ControllerTime
    from lightloom.training.node_layout import NodeLayout
    from lightloom.training.replica import Replica
    from lightloom.training.strategy import Strategy


@dataclass(frozen=True)
class TrainingRequest:
    """What is asked of a training's plan, beside the model and the fabric.

    Attributes
    ----------
    iterations
        Iterations that a batch size needs to the accuracy wanted, by batch size; where
        it is given all these batches are tried, and the time to accuracy counts.
    model_parallel, replicas
        Kept where they are given.
    most_model_parallel
        Devices of a replica, at most, where their number is not given.
    circuits, period_ps, controlled_by
        See `modes` and `network_for`.
    collectives
        Where circuits are set for each call: the algorithm of collectives, ``auto`` or
        a name, for example ``ring`` or ``lumorph-2``.
    controller_ps
        What a controller adds to every reconfiguration of a circuit fabric.
    synchronisation_ps
        What the nodes of a circuit fabric take to meet before every step.
    nodes
        Nodes of the training; by default all.
    whole
        Whether every replica is replayed even where a few stand for all.
    replayed
        How many strategies are replayed at most, those of the best estimates first, 1
        or more. None is that is proven to be no faster than one that was. Where more
        than one is, and there are many strategies, one more is replayed early.
    powers_of_two
        Whether k, where it is not given, runs through powers of two alone, with as many
        replicas as there is room for, as in the figures of the SiP-ML paper.
    launch
        What operations cost beside their durations; see `replay_iteration`.
    """

    iterations: Mapping[int, int] | None = None
    model_parallel: int | None = None
    replicas: int | None = None
    most_model_parallel: int | None = None
    circuits: CircuitMode = "auto"
    period_ps: int | None = None
    controlled_by: str = MAX_MIN
    collectives: str = AUTO
    controller_ps: int = 0
    synchronisation_ps: int = 0
    nodes: tuple[int, ...] | None = None
    whole: bool = False
    replayed: int = 6
    powers_of_two: bool = False
    launch: Launch | None = None

    def cost(self, tried: Tried) -> int:
        """Return what counts: iterations, where they are known, times their time.

        The time is the replayed one where there is one, else the estimate.
        """
        needed = 1
        if self.iterations is not None:
            needed = self.iterations[tried.strategy.batch_size]
        return needed * (tried.iteration_ps or tried.estimate_ps or 0)

    def least_cost(self, tried: Tried) -> int:
        """Return what `cost` is at least.

        Parameters
        ----------
        tried
            A strategy with its bound.
        """
        return self.cost(replace(tried, iteration_ps=tried.bound_ps))


@dataclass(frozen=True)
class Tried:
    """A strategy that was looked at.

    `estimate_ps`: estimated time of an iteration; ``None`` where it cannot be run.
    `iteration_ps`: replayed time of an iteration; ``None`` where it was not replayed.
    `why`: why it cannot be run; empty where it can. `bound_ps`: what no iteration of it
    is below.
    """

    strategy: Strategy
    estimate_ps: int | None
    iteration_ps: int | None = None
    why: str = ""
    bound_ps: int = 0


@dataclass(frozen=True, eq=False)
class ReplayedIteration:
    """An iteration in time, its circuits set in one way.

    Attributes
    ----------
    fabric
        The fabric that was replayed on.
    iteration, timeline
        What was replayed, and when everything happens.
    circuits
        How circuits were set: one of `CircuitMode` but ``auto``.
    demand
        Bytes of each pair of nodes in an iteration.
    calls
        Where that is ``per-call``: every schedule that ran, and when.
    controller
        What the controller cost, where circuits followed the traffic.
    held
        Of each plane, where circuits stayed.
    """

    fabric: AnyFabric
    iteration: Iteration
    circuits: CircuitMode
    timeline: IterationTimeline
    demand: Demand
    calls: tuple[ServedCall, ...] = ()
    controller: ControllerTime | None = None
    held: PlaneCircuits | None = None

    @property
    def iteration_ps(self) -> int:
        """Time of an iteration."""
        return self.timeline.iteration_ps

    @property
    def reconfigurations(self) -> int:
        """How often a plane was set anew in the iteration."""
        if self.circuits != "per-call":
            return len(self.timeline.reconfigurations)
        return settings(self.calls)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TrainingPlan(ReplayedIteration, Summarised):
    """The best strategy found, and its iteration: also what `ReplayedIteration` has.

    Attributes
    ----------
    strategy
        How the training is shared out.
    replica, layout
        The model in parts, and where those of its replicas are that were replayed.
    iterations
        Iterations to the accuracy, where they are known.
    tried
        Every strategy that was looked at, sorted.
    """

    strategy: Strategy
    replica: Replica
    layout: NodeLayout
    iterations: int | None = None
    tried: tuple[Tried, ...] = ()

    def facts(self) -> Mapping[str, object]:
        """Return how the training is shared out, and how long an iteration takes."""
        return {
            "model_parallel": self.strategy.model_parallel,
            "replicas": self.strategy.replicas,
            "batch_size": self.strategy.batch_size,
            "iteration_ps": self.iteration_ps,
            "samples_per_s": f"{float(self.samples_per_s):,.0f}",
            "communication": f"{float(self.communication_share):.1%}",
        }

    @property
    def time_to_accuracy_ps(self) -> int | None:
        """Iterations times their time; ``None`` where they are not known."""
        if self.iterations is None:
            return None
        return self.iterations * self.iteration_ps

    @property
    def communication_share(self) -> Fraction:
        """Part of the devices' time that is communication not hidden by computing.

        Of the devices of the replicas that were replayed; idle ones do not count.
        """
        working = np.array(self.layout.nodes, dtype=np.int64).ravel()
        whole = self.iteration_ps * len(working)
        exposed = int(self.timeline.devices.exposed_ps[working].sum())
        return Fraction(exposed, whole) if whole else Fraction(0)

    @property
    def samples_per_s(self) -> Fraction:
        """Samples of all replicas a second."""
        return Fraction(self.strategy.batch_size * PS_PER_S, self.iteration_ps)

    @property
    def partners(self) -> int:
        """Most nodes that one node sends to, or receives from."""
        return most_partners(self.demand)
