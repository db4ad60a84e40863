"""Network transcoder: what one node's interface does, step by step.

RAMP paper, section 6.2: transceiver, wavelength, path and time slots of every circuit
of a node, and the operations on its buffer (Table 8, corrected). One node's program
takes closed forms for its own subgroups alone, never the whole schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.errors import InputError, nearest
from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective
from lightloom.core.units import GIB
from lightloom.instances.collectives import COLLECTIVES, check_collective
from lightloom.synth.ramp.exchange_routes import RoutedExchange
from lightloom.synth.ramp.multicast import PipelinedTree
from lightloom.synth.ramp.schedules import (
    BARRIER,
    OPS,
    ROUTED,
    STEPS,
    TREE,
    Way,
    fastest_phases,
    require_strategy,
    strategies,
    way_of,
)
from lightloom.synth.ramp.team import per_pair, team_of
from lightloom.synth.ramp.team_steps import (
    Blocks,
    Content,
    TeamCollective,
    circuits,
    rows_of,
)
from lightloom.validate.schedule_stream import check_stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.synth.ramp.exchange_routes import Routes
    from lightloom.synth.ramp.multicast import Tree
    from lightloom.synth.ramp.team_steps import Phase
    from lightloom.validate.schedule_stream import StreamReport


SEND, RECEIVE = "send", "receive"


class NicInstruction(msgspec.Struct, frozen=True):
    """One transceiver for one step, or for some steps in a row.

    `ramp_step`: step of RAMP, 1 to 4; 0 for the tree of a broadcast and for shifts.
    `path`: which gate of the transceiver to open: the group at the other end. `peers`:
    (group, rack, number) of the nodes at the other end. `bytes`: data in each of the
    steps.
    """

    first_step: int
    last_step: int
    ramp_step: int
    direction: str
    transceiver: int
    wavelength: int
    path: tuple[int, ...]
    peers: tuple[tuple[int, int, int], ...]
    bytes: int
    slots: int


class Stage(msgspec.Struct, frozen=True):
    """What happens to a node's buffer in one step, or in some steps in a row.

    `buffer_op`: before sending: ``reshape`` cuts the buffer into a portion for each
    member of the subgroup, ``copy`` makes room for theirs, ``identity`` leaves it.
    `local_op`: after receiving: ``reduce`` adds, ``and`` joins flags (of an exchange),
    ``reshape`` brings items in the order of their sources, ``identity`` leaves it.
    `members`: members of the subgroup; of a shift, nodes that a node sends to, and one.
    `portion`: which portion is this node's; 0 where there are none.
    """

    first_step: int
    last_step: int
    ramp_step: int
    buffer_op: str
    local_op: str
    members: int
    portion: int


@dataclass(frozen=True)
class Program:
    """All that one node does: stages, and the instructions in them."""

    stages: tuple[Stage, ...]
    instructions: tuple[NicInstruction, ...]


_BUFFER_OP = {
    Content.NARROW: "reshape",
    Content.WIDEN: "copy",
    Content.WHOLE: "identity",
    Content.ITEMS: "reshape",
}


def program(job: TeamCollective, node: int) -> Program:
    """Return the program of a node of the team.

    `job`: a collective by steps or by exchange.
    """
    team = job.team
    member = int(np.flatnonzero(team.nodes == node)[0])
    stages: list[Stage] = []
    instructions: list[NicInstruction] = []
    place = team.at(np.array([member], dtype=np.int64))
    for index, phase in enumerate(job.phases(member)):
        stages.append(
            Stage(
                first_step=index,
                last_step=index,
                ramp_step=phase.step,
                buffer_op=_BUFFER_OP[phase.content],
                local_op=_local_op(phase),
                members=team.shape.members(phase.step),
                portion=int(team.shape.portion(phase.step, place)[0]),
            )
        )
        instructions += _instructions(job, phase, index, node)
    return Program(tuple(stages), tuple(instructions))


def routed_program(routes: Routes, task: Collective, node: int) -> Program:
    """Return the program of a node in an all-to-all on routes."""
    box = routes.box
    fabric, place = box.fabric, int(np.searchsorted(box.nodes, node))
    # Blocks that stay on their way, or come together, change their order.
    local_op = "identity" if len(routes.shift) == 1 else "reshape"
    block_bytes = task.buffer_bytes // task.rank_count
    stages: list[Stage] = []
    instructions: list[NicInstruction] = []
    for index, (shift, loads) in enumerate(
        zip(routes.shifts, routes.loads, strict=True)
    ):
        members = len(shift.lit) + 1
        stages.append(Stage(index, index, 0, local_op, local_op, members, 0))
        count = shift.transceivers(box)
        sizes = loads[shift.pairs(box, place)[1]] * block_bytes
        rows = shift.circuits(box, place)
        each = -(-np.repeat(sizes, count) // count)
        instructions += _lines(fabric, rows, node, each, index)
    return Program(tuple(stages), tuple(instructions))


def program_of_events(
    fabric: Ramp, task: Collective, events: Iterable[Segment | StepPart], node: int
) -> Program:
    """Return the program of a node from the segments and steps of all nodes."""
    stages: list[Stage] = []
    instructions: list[NicInstruction] = []
    circuits = None
    for event in events:
        if isinstance(event, Segment):
            circuits = event.circuits
            continue
        rows = event.transfers
        assert circuits is not None
        assert isinstance(rows, Transfers)
        mine = (rows.src == node) | (rows.dst == node)
        key = rows.src[mine] * fabric.node_count + rows.dst[mine]
        pairs, pair = np.unique(key, return_inverse=True)
        sizes = np.zeros(len(pairs), dtype=np.int64)
        chunks = rows.chunk_hi[mine] - rows.chunk_lo[mine]
        np.add.at(sizes, pair, chunks * task.chunk_bytes)
        lit = circuits.src * fabric.node_count + circuits.dst
        used = np.flatnonzero(np.isin(lit, pairs))
        place = np.searchsorted(pairs, lit[used])
        each = -(-sizes // np.maximum(np.bincount(place, minlength=len(pairs)), 1))
        columns = circuits.src[used], circuits.dst[used]
        own = Circuits(*columns, transceiver=circuits.column("transceiver")[used])
        instructions += _merged(_lines(fabric, own, node, each[place], event.index))
        local_op = "identity"
        if (rows.op[mine] == int(Op.REDUCE)).any():
            local_op = "reduce"
        members = len(np.unique(np.concatenate([rows.src[mine], rows.dst[mine]])))
        index = event.index
        stages.append(Stage(index, index, 0, "identity", local_op, max(members, 1), 0))
    return Program(tuple(stages), tuple(instructions))


def _merged(lines: Iterable[NicInstruction]) -> Iterator[NicInstruction]:
    """Yield the instructions of a segment, one for all that hear a circuit."""
    found: dict[tuple[str, int], NicInstruction] = {}
    for line in lines:
        key = (line.direction, line.transceiver)
        if key in found:
            peers = found[key].peers + line.peers
            path = tuple(sorted({group for group, _, _ in peers}))
            found[key] = msgspec.structs.replace(found[key], path=path, peers=peers)
        else:
            found[key] = line
    yield from found.values()


def tree_program(tree: Tree, task: Collective, pieces: int, node: int) -> Program:
    """Return the program of a node in a broadcast by the tree.

    `pieces`: number of pieces that follow one another, 1 or more.
    """
    size = -(-task.buffer_bytes // pieces)
    instructions: list[NicInstruction] = []
    for number in np.flatnonzero(tree.feeder == node).tolist():
        members = tree.node[tree.of_class == number]
        instructions += _of_class(tree, number, size, pieces, SEND, members)
    own = np.flatnonzero(tree.node == node)
    for number in tree.of_class[own].tolist():
        feeder = tree.feeder[[number]]
        instructions += _of_class(tree, number, size, pieces, RECEIVE, feeder)
    stage = Stage(0, pieces + tree.depth - 2, 0, "identity", "identity", 1, 0)
    return Program((stage,), tuple(instructions))


def _of_class(
    tree: Tree, number: int, size: int, pieces: int, direction: str, ends: IntArray
) -> Iterator[NicInstruction]:
    """Yield what a node does for a class that it feeds or is in."""
    fabric = tree.fabric
    first = int(tree.level[number]) - 1
    src = tree.feeder[[number]]
    dst = tree.node[tree.of_class == number][:1]
    each = -(-size // tree.transceivers)
    groups = tuple(sorted(set(fabric.coordinates(ends)[0].tolist())))
    for used in range(tree.transceivers):
        yield NicInstruction(
            first_step=first,
            last_step=first + pieces - 1,
            ramp_step=0,
            direction=direction,
            transceiver=int(tree.slot[number]) * tree.transceivers + used,
            wavelength=int(fabric.wavelength(src, dst)[0]),
            path=groups,
            peers=_places(fabric, ends),
            bytes=each,
            slots=-(-each // fabric.slot_bytes),
        )


def _instructions(
    job: TeamCollective, phase: Phase, index: int, node: int
) -> Iterator[NicInstruction]:
    """Return the instructions of a node's pairs in one phase."""
    fabric, team = job.team.fabric, job.team
    count = per_pair(fabric.groups, team.shape, phase.step)
    rows = circuits(team, phase)
    sizes = -(-np.repeat(_pair_bytes(job, phase), count) // count)
    return _lines(fabric, rows, node, sizes, index, phase.step)


def _lines(
    fabric: Ramp,
    rows: Circuits,
    node: int,
    sizes: IntArray,
    index: int,
    ramp_step: int = 0,
) -> Iterator[NicInstruction]:
    """Yield an instruction for each circuit that begins or ends at a node."""
    sends = rows.src == node
    columns = (
        sends.tolist(),
        rows.column("transceiver").tolist(),
        fabric.wavelength(rows.src, rows.dst).tolist(),
        _places(fabric, np.where(sends, rows.dst, rows.src)),
        sizes.tolist(),
    )
    for sent, used, wavelength, peer, size in zip(*columns, strict=True):
        yield NicInstruction(
            first_step=index,
            last_step=index,
            ramp_step=ramp_step,
            direction=SEND if sent else RECEIVE,
            transceiver=used,
            wavelength=wavelength,
            path=(peer[0],),
            peers=(peer,),
            bytes=size,
            slots=-(-size // fabric.slot_bytes),
        )


def _pair_bytes(job: TeamCollective, phase: Phase) -> IntArray:
    """Return what each pair of a phase sends."""
    task, team = job.collective, job.team
    if phase.content is Content.ITEMS:
        # Each of the others passes a d-th of what there is for its portion.
        size = team.shape.members(phase.step)
        return np.full(len(phase.src), task.buffer_bytes // size, dtype=np.int64)
    src, dst, lo, hi = rows_of(Blocks.of(team, task), phase)
    sizes = np.zeros(len(phase.src), dtype=np.int64)
    # Rows come pair by pair, but pairs with nothing to send have none.
    key, wanted = src * len(team) + dst, phase.src * len(team) + phase.dst
    order = np.argsort(wanted, kind="stable")
    place = order[np.searchsorted(wanted[order], key)]
    np.add.at(sizes, place, (hi - lo) * task.chunk_bytes)
    return sizes


def _local_op(phase: Phase) -> str:
    if phase.content is Content.WHOLE:
        return "and"
    if phase.content is Content.ITEMS:
        return "reshape"
    return "reduce" if phase.op.name == "REDUCE" else "identity"


def _places(fabric: Ramp, nodes: IntArray) -> tuple[tuple[int, int, int], ...]:
    group, rack, number = (column.tolist() for column in fabric.coordinates(nodes))
    return tuple(zip(group, rack, number, strict=True))


OPERATIONS = tuple(sorted((*OPS, BARRIER)))

MOST_FOLLOWED_NODES = 4096
"""Most nodes for which the data of every chunk are followed."""
_MOST_CELLS = 2**24
"""Most chunks of all nodes that are followed where there are more nodes."""


@dataclass(frozen=True, eq=False)
class RampOperation:
    """One of the nine operations on some nodes.

    A barrier is an all-reduce of one byte, by exchange. Ranks are members of the team,
    in the order of the information map, so that blocks of a subgroup lie together.

    `way`: how it is done, a chunk for each block.
    """

    way: Way
    strategy: str

    def time_ps(self, buffer_bytes: int) -> int | None:
        """Return how long an all-to-all on routes takes, up to rounding, else ``None``.

        `buffer_bytes`: what each node has for all; one that the nodes do not divide is
        cut into blocks of the next larger size.
        """
        plan = self.way.plan
        if not isinstance(plan, RoutedExchange):
            return None
        return plan.routes.time_ps(-(-buffer_bytes // plan.collective.rank_count))


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
        task = Collective("all-reduce", order, 1, 1)
    elif strategy == TREE:
        task = Collective(name, order, 2**20, 16, _root_of(name, nodes, root))
    else:
        count = len(order)
        root = _root_of(name, nodes, root)
        task = Collective(name, order, 4 * count, count, root)
    block_bytes = (buffer_bytes or GIB) // len(order)
    return RampOperation(way_of(fabric, task, strategy, block_bytes), strategy)


def _root_of(name: str, nodes: Sequence[int], root: int | None) -> int | None:
    """Return the root of an operation, the first node where it has one unnamed."""
    if not COLLECTIVES[name].rooted:
        return None
    return nodes[0] if root is None else root


def check_operation(
    job: RampOperation, *, samples: int = 8, seed: int = 0
) -> StreamReport:
    """Return the report of `validate` on all segments and steps of an operation.

    All circuits and their resources are checked at every size. The data of all chunks
    are followed up to `MOST_FOLLOWED_NODES` nodes, or where chunks are few; above,
    those of `samples` chunks, the first and the last among them, the others random.
    An all-to-all of more nodes streams the transfers of the sampled items alone.
    """
    way = job.way
    fabric, task = way.fabric, way.collective
    ranks, random = task.rank_count, seeded_random(seed)
    cells = ranks * task.chunk_count
    if ranks <= MOST_FOLLOWED_NODES or cells <= _MOST_CELLS:
        return check_stream(fabric, task, way.events())
    if task.op != "all-to-all":
        drawn = _drawn(task.chunk_count, samples, random)
        return check_stream(fabric, task, way.events(), chunks=drawn)
    pairs = _drawn(ranks * ranks, samples * ranks, random)
    plan = way.plan
    assert isinstance(plan, RoutedExchange | TeamCollective)
    chunks, events = plan.followed(pairs // ranks, pairs % ranks)
    return check_stream(fabric, task, events, chunks=np.sort(chunks))


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
    sized = job.way.collective
    if op != BARRIER:
        sized = msgspec.structs.replace(
            sized, buffer_bytes=task.buffer_bytes, chunks=None
        )
        check_collective(sized, fabric.node_count)
    way = way_of(fabric, sized, job.strategy)
    match way.plan:
        case TeamCollective() as plan:
            return program(plan, node)
        case RoutedExchange() as plan:
            return routed_program(plan.routes, plan.collective, node)
        case PipelinedTree() as plan:
            return tree_program(plan.tree, plan.collective, plan.pieces, node)
    return program_of_events(fabric, way.collective, way.events(), node)
