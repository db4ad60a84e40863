"""The three models of the LUMORPH paper's section 6, trained with data parallelism."""

from __future__ import annotations

from dataclasses import dataclass

from lightloom.core.training import Training


@dataclass(frozen=True)
class TrainedModel:
    """A model, and the samples that each GPU works on, which the paper does not give.

    `title` is its name in the paper, `model` that in the catalogue of workloads.
    """

    title: str
    model: str
    local_batch: int

    def training(self, gpus: int = 1) -> Training:
        """Return its training on A100s in tf32, as the paper's GPUs were A100s."""
        return Training(
            batch_size=self.local_batch * gpus,
            gpu="a100",
            precision="tf32",
            optimiser="adam",
            model=self.model,
        )


MODELS = (
    TrainedModel("BERT", "bert-large", 1),
    TrainedModel("Inception", "inception-v3", 8),
    TrainedModel("NCF", "ncf", 1024),
)

STRATEGIES = (
    "the strategies of the logs are those of FlexFlow's search; every model here is"
    " data parallel, one all-reduce for each layer with parameters, and there are no"
    " LAYERTOLAYER transfers."
)
