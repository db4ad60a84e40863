"""RAMP at any size: its nine operations, streamed through the checks of `validate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.errors import InputError, nearest
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective
from lightloom.core.units import GIB
from lightloom.instances.collectives import COLLECTIVES, check_collective
from lightloom.programs.ramp_nic import (
    program,
    program_of_events,
    routed_program,
    tree_program,
)
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.ramp.broadcast_tree import grow
from lightloom.synth.ramp.exchange_routes import RoutedExchange
from lightloom.synth.ramp.held_blocks import Blocks
from lightloom.synth.ramp.participants import team_of
from lightloom.synth.ramp.schedules import (
    BARRIER,
    CLASSES,
    EXCHANGE,
    HUBS,
    OPS,
    RAREST,
    ROUTED,
    SPREAD,
    STEPS,
    TREE,
    WHOLE,
    fastest_phases,
    require_strategy,
    routes_of,
    strategies,
    ways,
)
from lightloom.synth.ramp.segment_stream import SomeItems, TeamCollective, stream
from lightloom.validate.schedule_stream import check_stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random
    from typing import TypeAlias

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Segment, StepPart
    from lightloom.core.task import Task
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.programs.ramp_nic import Program
    from lightloom.validate.schedule_stream import StreamReport

    _Followed: TypeAlias = tuple[IntArray, Iterator[Segment | StepPart]]

OPERATIONS = tuple(sorted((*OPS, BARRIER)))

MOST_FOLLOWED_NODES = 4096
"""Most nodes for which the data of every chunk are followed."""
_MOST_CELLS = 2**24
_MOST_ROWS = 2**22


@dataclass(frozen=True, eq=False)
class RampOperation:
    """One of the nine operations on some nodes.

    A barrier is an all-reduce of one byte, by exchange. Ranks are members of the team,
    in the order of the information map, so that blocks of a subgroup lie together.

    `collective`: what is done, a chunk for each block. `block_bytes`: size of the
    blocks of an all-to-all that routes are chosen for.
    """

    fabric: Ramp
    collective: Collective
    strategy: str
    block_bytes: int = 4

    @property
    def exchange(self) -> RoutedExchange | None:
        """The all-to-all on routes, ``None`` where it goes otherwise."""
        if self.strategy not in ROUTED:
            return None
        nodes, size_bytes = self.collective.nodes, self.block_bytes
        routes = routes_of(self.fabric, nodes, self.strategy, size_bytes)
        return RoutedExchange(self.collective, routes)

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield the segments and steps."""
        exchange = self.exchange
        if exchange is not None:
            yield from exchange.events(_MOST_ROWS)
        elif self.strategy in (CLASSES, HUBS, RAREST, SPREAD, TREE, WHOLE):
            (way,) = ways(self.fabric, self.collective, self.strategy)
            yield from way.events()
        else:
            yield from stream(self._by_steps, most_rows=_MOST_ROWS)

    def followed(self, sources: IntArray, targets: IntArray) -> _Followed:
        """Return the first chunks of some blocks of an all-to-all, and their events.

        `sources`, `targets`: ranks that the blocks go from and to, shape (blocks,)
        each.
        """
        exchange = self.exchange
        if exchange is not None:
            blocks = sources * self.collective.rank_count + targets
            return exchange.chunks(blocks), exchange.followed(blocks)
        job = self._by_steps
        placed = Blocks.of(job.team, self.collective)
        items = SomeItems.at_home(placed, sources, targets)
        return items.chunk, stream(job, items=items, most_rows=_MOST_ROWS)

    def time_ps(self, buffer_bytes: int) -> int | None:
        """Return how long an all-to-all on routes takes, up to rounding, else ``None``.

        `buffer_bytes`: what each node has for all; one that the nodes do not divide is
        cut into blocks of the next larger size.
        """
        exchange, ranks = self.exchange, self.collective.rank_count
        if exchange is None:
            return None
        return exchange.routes.time_ps(-(-buffer_bytes // ranks))

    @property
    def _by_steps(self) -> TeamCollective:
        team = team_of(self.fabric, self.collective.nodes)
        return TeamCollective(team, self.collective, self.strategy == EXCHANGE)


def operation(
    fabric: Ramp,
    name: str,
    nodes: Sequence[int],
    root: int | None = None,
    *,
    strategy: str | None = None,
    buffer_bytes: int | None = None,
) -> RampOperation:
    """Return an operation on some nodes; the root is `root`, or else the first node.

    `name`: a collective that RAMP serves, or ``barrier``. `strategy`: one of
    `lightloom.synth.ramp.schedules.strategies`; by default the first, of an all-to-all
    the one that `synth` would take. `buffer_bytes`: what is moved, for this choice
    alone; 1 GiB where ``None``.

    Raises `InputError`: no such operation or strategy; nodes that it does not serve; a
    root where there is none.
    """
    if name not in OPERATIONS:
        what, allowed = "unknown operation", ", ".join(OPERATIONS)
        fix = nearest(name, OPERATIONS)
        raise InputError(what, where="--op", found=name, allowed=allowed, fix=fix)
    if strategy is None:
        strategy = strategies(fabric, name)[0]
        if name == "all-to-all":
            asked = Collective(name, tuple(nodes), buffer_bytes or GIB)
            strategy = fastest_phases(fabric, asked) or STEPS
    require_strategy(fabric, name, strategy, "--strategy")
    order = tuple(sorted(nodes))
    if strategy not in ROUTED:
        order = tuple(team_of(fabric, nodes).nodes.tolist())
    if name == BARRIER:
        return RampOperation(fabric, Collective("all-reduce", order, 1, 1), EXCHANGE)
    if not COLLECTIVES[name].rooted:
        root = None
    elif root is None:
        root = nodes[0]
    task = Collective(name, order, 4 * len(order), len(order), root)
    if strategy == TREE and name == "broadcast":
        task = Collective(name, order, 2**20, 16, root)
    return RampOperation(fabric, task, strategy, (buffer_bytes or GIB) // len(order))


def check_operation(
    job: RampOperation, *, samples: int = 8, seed: int = 0
) -> StreamReport:
    """Return the report of `validate` on all segments and steps of an operation.

    All circuits and their resources are checked at every size. The data of all chunks
    are followed up to `MOST_FOLLOWED_NODES` nodes, or where chunks are few; above,
    those of `samples` chunks, the first and the last among them, the others random.
    An all-to-all of more nodes streams the transfers of the sampled items alone.
    """
    task = job.collective
    ranks, random = task.rank_count, seeded_random(seed)
    cells = ranks * task.chunk_count
    if ranks <= MOST_FOLLOWED_NODES or cells <= _MOST_CELLS:
        return check_stream(job.fabric, task, job.events())
    if task.op != "all-to-all":
        drawn = _drawn(task.chunk_count, samples, random)
        return check_stream(job.fabric, task, job.events(), chunks=drawn)
    pairs = _drawn(ranks * ranks, samples * ranks, random)
    chunks, events = job.followed(pairs // ranks, pairs % ranks)
    return check_stream(job.fabric, task, events, chunks=np.sort(chunks))


def _drawn(count: int, samples: int, random: Random) -> IntArray:
    """Return some of `count` numbers, sorted, the first and the last among them."""
    drawn = random.sample(range(count), min(max(samples, 2), count))
    return np.unique(np.array([0, count - 1, *drawn[2:]], dtype=np.int64))


def node_program(
    fabric: Ramp,
    task: Task,
    place: tuple[int, int, int],
    name: str | None = None,
    strategy: str | None = None,
) -> Program:
    """Return the network program of the node at a place.

    Raises `InputError`: a demand; a strategy that the operation does not have; a node
    that takes no part; nodes that the strategy does not serve; a buffer that the
    operation cannot cut into blocks.
    """
    if not isinstance(task, Collective):
        what = "a demand has no program: RAMP's operations are collectives"
        raise InputError(what, where="task")
    node = (place[0] * fabric.racks + place[1]) * fabric.nodes_per_rack + place[2]
    if node not in task.nodes:
        what = "the node takes no part in the collective"
        raise InputError(what, where="--node", found=",".join(map(str, place)))
    op = name or task.op
    job = operation(
        fabric,
        op,
        task.nodes,
        task.root,
        strategy=strategy,
        buffer_bytes=task.buffer_bytes,
    )
    how = job.strategy
    sized = job.collective
    if op != BARRIER:
        sized = msgspec.structs.replace(
            sized, buffer_bytes=task.buffer_bytes, chunks=None
        )
        check_collective(sized, fabric.node_count)
    if how == TREE:
        (way,) = ways(fabric, sized, TREE)
        fanout, pieces = way.parameters["fanout"], way.parameters["pieces"]
        assert isinstance(fanout, int)
        assert isinstance(pieces, int)
        start = sized.nodes[sized.root_rank]
        tree = grow(fabric, sized.nodes, start, fanout)
        return tree_program(tree, way.collective, pieces, node)
    ranks = sized.rank_count
    chunked = choose_chunks(sized, 1 if how in (EXCHANGE, WHOLE) else ranks)
    if how in (CLASSES, HUBS, RAREST, SPREAD, WHOLE):
        (way,) = ways(fabric, sized, how)
        return program_of_events(fabric, way.collective, way.events(), node)
    if how in ROUTED:
        routes = routes_of(fabric, task.nodes, how, sized.buffer_bytes // ranks)
        return routed_program(routes, chunked, node)
    return program(
        TeamCollective(team_of(fabric, task.nodes), chunked, how == EXCHANGE), node
    )
