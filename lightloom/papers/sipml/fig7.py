"""SiP-ML Fig. 7: who sends how much to whom in an iteration of the Transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.papers.claims import holds
from lightloom.papers.reproduction import Reproduction
from lightloom.papers.sipml.setup import ROOFLINE, TRANSFORMER
from lightloom.report.plots import Panel, Series
from lightloom.synth.demand_subsets import most_partners
from lightloom.training.iteration import training_iteration
from lightloom.training.iteration_traffic import traffic
from lightloom.training.node_layout import AlikeReplicas
from lightloom.training.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from lightloom.papers.reproduction import Comparison
    from lightloom.papers.sipml.setup import Trained

_PORTS = 16
_MB = 10**6

Matrices = dict[int, "npt.NDArray[np.int64]"]
"""By devices of a replica: bytes from each GPU to each other one."""


@dataclass(frozen=True)
class Fig7Sip:
    """The figure, for some degrees of model parallelism."""

    gpus: int = 1024
    shown: int = 32
    degrees: tuple[int, ...] = (4, 8, 16)
    trained: Trained = TRANSFORMER
    batch: int = 256
    name: str = "sipml-fig7"
    title: str = "traffic of an iteration, Transformer on 1024 GPUs, the first 32"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Cut, place and add up the traffic."""
        matrices: Matrices = {}
        partners: dict[int, int] = {}
        for k in self.degrees:
            progress(f"{k} devices a replica")
            matrices[k], partners[k] = self._matrix(k, progress)
        rows = tuple(
            (k, src, dst, int(matrix[src, dst]))
            for k, matrix in matrices.items()
            for src, dst in np.argwhere(matrix[:k] > 0).tolist()
        )
        return Reproduction(
            self.name,
            self.title,
            ("model_parallel", "src", "dst", "bytes"),
            rows,
            tuple(self._claims(matrices, partners)),
            (
                f"Batch {self.batch}. {_COMPARES}",
                _SHOWN,
                ROOFLINE,
            ),
            tuple(_panel(k, matrix) for k, matrix in matrices.items()),
        )

    def _matrix(
        self, k: int, progress: Callable[[str], None]
    ) -> tuple[npt.NDArray[np.int64], int]:
        """Return the bytes between the first GPUs, and a GPU's partners."""
        strategy = Strategy(k, self.gpus // k, self.batch)
        replica = self.trained.planner(progress).replica(strategy, _PORTS)
        # One replica more than is shown: the ring of replicas closes there.
        copies = self.shown // k + 1
        nodes = [range(first * k, (first + 1) * k) for first in range(copies)]
        iteration = training_iteration(replica, nodes, copies * k)
        demand = traffic(iteration, AlikeReplicas(0, strategy.replicas))
        matrix = np.zeros((copies * k, copies * k), dtype=np.int64)
        matrix[list(demand.src), list(demand.dst)] = demand.bytes
        return matrix[: self.shown, : self.shown], most_partners(demand)

    def _claims(
        self, matrices: Matrices, partners: dict[int, int]
    ) -> Iterator[Comparison]:
        alike = all(_blocks_alike(k, matrix) for k, matrix in matrices.items())
        yield holds(
            "identical k x k blocks on the diagonal",
            "identical",
            "identical" if alike else "different",
            holds=alike,
            why="replicas are not placed alike",
        )
        lonely = all(_only_twins(k, matrix) for k, matrix in matrices.items())
        yield holds(
            "beside them only the rings over replicas, each GPU to its twin",
            "an off-diagonal line at distance k",
            "so in all matrices" if lonely else "other pairs talk",
            holds=lonely,
            why="collectives of a replica leave it",
        )
        ratios = {
            k: matrix.diagonal(k).max(initial=0) / _block(k, matrix).max()
            for k, matrix in matrices.items()
        }
        yield holds(
            "rings carry less than the largest entry of a block, and still much",
            "smaller but significant",
            ", ".join(f"k={k}: {ratio:.2f} of it" for k, ratio in ratios.items()),
            holds=all(0.1 <= ratio < 1 for ratio in ratios.values()),
            why="where few devices share a model each has many gradients to sum",
        )
        near = {k: _nearness(_block(k, matrix)) for k, matrix in matrices.items()}
        yield holds(
            "in a block entries near the diagonal are larger",
            "neighbours talk most",
            ", ".join(f"k={k}: {ratio:.2f} of the mean" for k, ratio in near.items()),
            holds=all(ratio > 1.05 for ratio in near.values()),
            why="parts that need all of an input hear from all parts alike, so nobody"
            " is nearer; what stands out are rings, which sum gradients of copies",
        )
        yield holds(
            "no GPU has more partners than the degree",
            f"at most {_PORTS}",
            ", ".join(f"k={k}: {count}" for k, count in partners.items()),
            holds=max(partners.values()) <= _PORTS,
            why="placement breaks the degree",
        )


def _block(k: int, matrix: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return matrix[:k, :k]


def _blocks_alike(k: int, matrix: npt.NDArray[np.int64]) -> bool:
    first = _block(k, matrix)
    starts = range(0, len(matrix), k)
    return all((matrix[s : s + k, s : s + k] == first).all() for s in starts)


def _only_twins(k: int, matrix: npt.NDArray[np.int64]) -> bool:
    src, dst = np.nonzero(matrix)
    return bool(((src // k == dst // k) | (dst - src == k)).all())


def _nearness(block: npt.NDArray[np.int64]) -> float:
    """Return the mean entry beside the diagonal over that of all pairs."""
    k = len(block)
    beside = [block[i, j] for i in range(k) for j in range(k) if abs(i - j) == 1]
    others = [block[i, j] for i in range(k) for j in range(k) if i != j]
    return float(np.mean(beside) / np.mean(others))


def _panel(k: int, matrix: npt.NDArray[np.int64]) -> Panel:
    places = range(len(matrix))
    return Panel(
        f"k = {k} (MB)",
        "destination GPU",
        "source GPU",
        [
            Series(str(src), places, (matrix[src] / _MB).tolist())
            for src in range(len(matrix))
        ],
        kind="matrix",
    )


_COMPARES = (
    "The paper gives neither the batch of its figure nor the model's shapes: who talks"
    " to whom compares with it, and which entries are larger; bytes do not."
)
_SHOWN = (
    "Rows are those of the first replica; the others are alike. What the last replica"
    " shown sends to the next one is not drawn."
)

FIGURE = Fig7Sip()
