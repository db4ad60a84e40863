"""What no iteration of a strategy can beat, whatever its placement."""

from __future__ import annotations

from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.units import transmission_ps
from lightloom.instances.computation_table import computation_graph
from lightloom.replay.workload.execute import Launch

if TYPE_CHECKING:
    from lightloom.core.computation import ComputationGraph, Split
    from lightloom.core.training import Training
    from lightloom.training.training_plan import Strategy


@dataclass(frozen=True, eq=False)
class _Model:
    """A computation graph, its operations by what they cost.

    `kinds` are the costs, `kind` those of each operation, and `order` the operations
    with those that they hear from, none before these.
    """

    kinds: tuple[tuple[Split, ...], ...]
    kind: tuple[int, ...]
    order: tuple[tuple[int, list[int]], ...]
    gradient_bytes: int


def _model(graph: ComputationGraph) -> _Model:
    kinds: dict[tuple[Split, ...], int] = {}
    kind = tuple(kinds.setdefault(one.splits, len(kinds)) for one in graph.ops)
    heard: list[list[int]] = [[] for _ in graph.ops]
    for src, dst in zip(graph.src, graph.dst, strict=True):
        heard[dst].append(src)
    rows = TopologicalSorter(dict(enumerate(heard))).static_order()
    order = tuple((row, heard[row]) for row in rows)
    return _Model(
        tuple(kinds), kind, order, sum(one.gradient_bytes for one in graph.ops)
    )


@dataclass(eq=False)
class StrategyBounds:
    """Lower bounds on the time of an iteration.

    Every path of operations takes the fastest part of each, forward and backward, and
    the launch of both. The devices of a replica together do at least the least work of
    any cut. And all of l replicas together receive 2 (l - 1) times the gradients: to
    sum a byte of l replicas takes l - 1 arrivals, and its sum arrives at l - 1; some
    node receives its share or more. The bound is the largest of the three.

    `training`: the model, batch and GPU. `launch`: what operations cost beside their
    durations.
    """

    training: Training
    launch: Launch = field(default_factory=Launch)
    _models: dict[int, _Model] = field(default_factory=dict)
    _computing_ps: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def iteration_ps(self, strategy: Strategy, node_bits_per_s: int) -> int:
        """Return a time that no iteration is below."""
        # Costs lie between those of the powers of two around the number of parts.
        power = 1 << (strategy.model_parallel - 1).bit_length()
        local = strategy.local_batch
        if (power, local) not in self._computing_ps:
            self._computing_ps[power, local] = self._computing(local, power)
        path, work = self._computing_ps[power, local]
        computing = max(path, -(-work // strategy.model_parallel))
        moved = 2 * (strategy.replicas - 1) * self._model(local).gradient_bytes
        share = -(-moved // strategy.devices)
        arriving = transmission_ps(share, node_bits_per_s) if moved else 0
        return max(computing, arriving)

    def _model(self, local: int) -> _Model:
        if local not in self._models:
            asked = msgspec.structs.replace(self.training, batch_size=local)
            self._models[local] = _model(computation_graph(asked))
        return self._models[local]

    def _computing(self, local: int, most: int) -> tuple[int, int]:
        """Return the longest path and the work, in at most so many parts each."""
        model = self._model(local)
        least = [self._least(splits, most) for splits in model.kinds]
        done = [0] * len(model.kind)
        for row, heard in model.order:
            before = max((done[src] for src in heard), default=0)
            done[row] = before + least[model.kind[row]][0]
        return max(done, default=0), sum(least[kind][1] for kind in model.kind)

    def _least(self, splits: tuple[Split, ...], most: int) -> tuple[int, int]:
        """Return the fastest part, and the least work of all parts together.

        Between two entries of a table a cost is linear in the share of a part, and
        the work linear in the number of parts: the least is at an end.
        """
        fastest, least = [], []
        for split in splits:
            last = min(most, split.most_parts)
            for parts in {*split.parts, last}:
                if not split.fewest_parts <= parts <= last:
                    continue
                times = split.forward_time_ps(parts), split.backward_time_ps(parts)
                lasts = [
                    self.launch.latency_ps + max(time, self.launch.minimum_ps)
                    for time in times
                    if time
                ]
                fastest.append(sum(lasts))
                launched = len(lasts) * self.launch.latency_ps
                least.append(parts * (launched + sum(times)))
        return min(fastest, default=0), min(least, default=0)
