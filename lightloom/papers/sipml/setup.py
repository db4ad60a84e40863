"""The trainings and fabrics of the SiP-ML paper, with inputs that are public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.training import Training
from lightloom.core.units import PS_PER_S, PS_PER_US
from lightloom.papers.reproduction import Plot
from lightloom.training.baselines import baselines
from lightloom.training.planner import Planner
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lightloom.instances.instance import AnyFabric
    from lightloom.papers.reproduction import Row, Tell
    from lightloom.report.panel import LineStyle
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.training_plan import TrainingPlan

GBIT = 10**9
"""Bits."""
PS_PER_MINUTE = 60 * PS_PER_S
LATENCY_PS = PS_PER_US
"""Fabric latency, the least of the paper's Table 1."""

FLAT, OCS, RING, DATA_PARALLEL = "Elect-Flat", "SiP-OCS", "SiP-Ring", "DP on Elect-Flat"
UPLINKS_GBIT = (200, 400)
"""Rates of an uplink of the electrical clusters, in Gb/s."""
_NAMES = {"ideal-switch": FLAT, "ocs": OCS, "ring": RING}


@dataclass(frozen=True)
class Trained:
    """A model of the paper, and how many iterations a batch needs.

    A batch of B needs ``fewest (1 + critical / B)`` iterations: the curve between
    perfect scaling and none. Synthetic, both numbers chosen by us: the measured curves
    of the paper's source are not among our inputs. With `fixed_samples` iterations are
    instead so many that so many samples are seen.
    """

    model: str
    batches: tuple[int, ...]
    fewest_iterations: int = 0
    critical_batch: int = 0
    fixed_samples: int = 0

    def curve(self) -> dict[int, int]:
        """Return the iterations of every batch size."""
        if self.fixed_samples:
            return {batch: self.fixed_samples // batch for batch in self.batches}
        fewest, critical = self.fewest_iterations, self.critical_batch
        return {
            batch: fewest + -(-fewest * critical // batch) for batch in self.batches
        }

    def planner(self, tell: Callable[[str], None]) -> Planner:
        """Return a planner for the paper's GPU, a V100."""
        training = Training(
            batch_size=self.batches[0],
            gpu="v100",
            precision="fp16",
            optimiser="adam",
            model=self.model,
        )
        return Planner(training, tell=tell)


RESNET = Trained("resnet-50", (1024, 4096, 16_384), 4_000, 8_192)
TRANSFORMER = Trained("transformer-350m", (64, 256, 1024, 4096), 50_000, 512)
MEGATRON = Trained("megatron-18b", (64,), fixed_samples=240_000 * 1024)
"""Left out of the figures' defaults: its batch is not the paper's, and clusters take
long to replay."""


def fabrics(
    gpus: int, gbit: int, *, latency_ps: int = LATENCY_PS
) -> dict[str, AnyFabric]:
    """Return the paper's fabrics by its names, for a rate of a GPU in Gb/s."""
    by_name = baselines(
        gpus, gbit * GBIT, alpha_ps=latency_ps, uplinks_gbit=UPLINKS_GBIT
    )
    return {
        _NAMES.get(name, name.replace("electrical-cluster", "Elect-Cluster")): fabric
        for name, fabric in by_name.items()
    }


def best_plan(
    planner: Planner,
    fabric: AnyFabric,
    curve: Mapping[int, int],
    most: int,
    circuits: CircuitMode = "one-shot",
) -> TrainingPlan | None:
    """Return the fastest training to the accuracy, ``None`` where none can be run."""
    try:
        return planner.plan(
            fabric,
            TrainingRequest(
                iterations=curve,
                most_model_parallel=most,
                circuits=circuits,
                replayed=2,
                powers_of_two=True,
            ),
        )
    except (InfeasibleError, NoAnswerError):
        return None


def minutes(plan: TrainingPlan) -> float:
    """Return the time to accuracy in minutes."""
    needed = plan.time_to_accuracy_ps
    assert needed is not None
    return needed / PS_PER_MINUTE


MOST_MODEL_PARALLEL = 16
"""The paper's degree: no replica of its figures has more devices."""


def sweep(
    trained: Trained,
    gpus: int,
    rates: Iterable[int],
    tell: Tell,
    *,
    planner: Planner | None = None,
    only: tuple[str, ...] | None = None,
    data_parallel: bool = False,
) -> Iterator[Row]:
    """Yield the best training on each fabric at each rate, as a row of data."""
    planner, curve = planner or trained.planner(tell), trained.curve()
    for rate in rates:
        named = fabrics(gpus, rate)
        for name, fabric in named.items():
            if only is None or name in only:
                tell(f"{trained.model}, {gpus} GPUs, {rate} Gb/s, {name}")
                plan = best_plan(planner, fabric, curve, MOST_MODEL_PARALLEL)
                yield trained.model, gpus, rate, name, *_found(plan)
        if data_parallel:
            plan = best_plan(planner, named[FLAT], curve, 1)
            yield trained.model, gpus, rate, DATA_PARALLEL, *_found(plan)


def _found(plan: TrainingPlan | None) -> Row:
    """Return what is to be said of a training, nothing where none can be run."""
    if plan is None:
        return (None,) * 6
    strategy = plan.strategy
    return (
        *(strategy.model_parallel, strategy.replicas, strategy.batch_size),
        *(plan.iteration_ps / 1e6, minutes(plan), float(plan.communication_share)),
    )


CLUSTERS = tuple(f"Elect-Cluster {rate}G" for rate in UPLINKS_GBIT)
_ORDER = (*CLUSTERS, OCS, RING, DATA_PARALLEL, FLAT)
_STYLES: dict[str, LineStyle] = {DATA_PARALLEL: ":", FLAT: "--", RING: "--"}
"""Broken lines are drawn over whole ones: curves that coincide are both seen."""


def curve_plot(x: str, x_label: str) -> Plot:
    """Return a plot of the times to accuracy on each fabric, a panel for each model."""
    return Plot(
        x=x,
        y="minutes",
        series="fabric",
        panel="model",
        x_label=x_label,
        y_label="time to accuracy (minutes)",
        only=_ORDER,
        colours=_ORDER,
        styles=_STYLES,
        x_log=2,
        y_log=10,
    )
