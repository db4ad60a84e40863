"""SiP-ML Fig. 7: who sends how much to whom in an iteration of the Transformer."""

from __future__ import annotations

import functools
from math import nextafter
from typing import TYPE_CHECKING

import numpy as np

from lightloom.papers.claims import above, between, fact, holds
from lightloom.papers.reproduction import figures
from lightloom.papers.sipml.setup import TRANSFORMER
from lightloom.report.panel import Panel, Series
from lightloom.synth.demand_subsets import most_partners
from lightloom.training.iteration import traffic, training_iteration
from lightloom.training.node_layout import AlikeReplicas
from lightloom.training.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell
    from lightloom.papers.sipml.setup import Trained

_PORTS = 16
_MB = 10**6
_BATCH = 256


def _compute(
    tell: Tell,
    *,
    gpus: int = 1024,
    shown: int = 32,
    degrees: tuple[int, ...] = (4, 8, 16),
    trained: Trained = TRANSFORMER,
) -> Iterator[Row]:
    """Cut, place and add up the traffic for some degrees of model parallelism."""
    for k in degrees:
        tell(f"{k} devices a replica")
        matrix, _ = _matrix(k, gpus, shown, trained)
        for src, dst in np.argwhere(matrix[:k] > 0).tolist():
            yield k, src, dst, int(matrix[src, dst])


@functools.lru_cache(maxsize=8)
def _matrix(
    k: int, gpus: int, shown: int, trained: Trained
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the bytes between the first GPUs, and a GPU's partners."""
    strategy = Strategy(k, gpus // k, _BATCH)
    replica = trained.planner(lambda _: None).replicas.replica(strategy, _PORTS)
    # One replica more than is shown: the ring of replicas closes there.
    copies = shown // k + 1
    nodes = [range(first * k, (first + 1) * k) for first in range(copies)]
    iteration = training_iteration(replica, nodes, copies * k)
    demand = traffic(iteration, AlikeReplicas(0, strategy.replicas))
    matrix = np.zeros((copies * k, copies * k), dtype=np.int64)
    matrix[list(demand.src), list(demand.dst)] = demand.bytes
    return matrix[:shown, :shown], most_partners(demand)


def _shown(data: Data, k: int) -> tuple[npt.NDArray[np.int64], int]:
    """Return what the rows of a degree were taken from."""
    given = data.given
    return _matrix(k, given["gpus"], given["shown"], given["trained"])


def _claims(data: Data) -> Iterator[Comparison]:
    shown = {k: _shown(data, k) for k in data.given["degrees"]}
    matrices = {k: matrix for k, (matrix, _) in shown.items()}
    partners = {k: count for k, (_, count) in shown.items()}
    alike = all(_blocks_alike(k, matrix) for k, matrix in matrices.items())
    yield holds(
        "identical k x k blocks on the diagonal",
        "identical",
        "identical" if alike else "different",
        points=fact("identical", so=alike),
        why="replicas are not placed alike",
    )
    lonely = all(_only_twins(k, matrix) for k, matrix in matrices.items())
    yield holds(
        "beside them only the rings over replicas, each GPU to its twin",
        "an off-diagonal line at distance k",
        "so in all matrices" if lonely else "other pairs talk",
        points=fact("in all matrices", so=lonely),
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
        points=between(ratios, least=0.1, most=nextafter(1, 0)),
        why="where few devices share a model each has many gradients to sum",
    )
    near = {k: _nearness(_block(k, matrix)) for k, matrix in matrices.items()}
    yield holds(
        "in a block entries near the diagonal are larger",
        "neighbours talk most",
        ", ".join(f"k={k}: {ratio:.2f} of the mean" for k, ratio in near.items()),
        points=above(near, 1.05),
        why="parts that need all of an input hear from all parts alike, so nobody"
        " is nearer; what stands out are rings, which sum gradients of copies",
    )
    yield holds(
        "no GPU has more partners than the degree",
        f"at most {_PORTS}",
        ", ".join(f"k={k}: {count}" for k, count in partners.items()),
        points=between(partners, most=_PORTS),
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


def _panels(data: Data) -> Iterator[Panel]:
    for k in data.given["degrees"]:
        matrix, _ = _shown(data, k)
        places = range(len(matrix))
        series = [
            Series(str(src), places, (matrix[src] / _MB).tolist()) for src in places
        ]
        title = f"k = {k} (MB)"
        yield Panel(title, "destination GPU", "source GPU", series, kind="matrix")


FIGURE = figures(
    __package__,
    ("sipml-fig7", _compute, _claims, _panels),
)
