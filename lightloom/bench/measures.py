"""What is measured besides answers: work in stages, one of which is timed.

In a suite the problem is then ``measure``, and its entrants are measures by name. Each
is a function ``measure(instance, seed, **parameters)`` that yields a number after each
stage; it is deterministic, and raises `LightloomError` where something is not as it
should be.
"""

from __future__ import annotations

import inspect
import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError, NoAnswerError, nearest
from lightloom.core.iteration import Collectives, Dependencies, Iteration, Operations
from lightloom.core.schedule import (
    Algorithm,
    Footer,
    Op,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.task import Collective
from lightloom.core.training import Training
from lightloom.formats.schedule_reader import read_schedule
from lightloom.formats.schedule_writer import write_schedule
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.problems.fewest_rounds.slots import (
    all_to_all_slots as slots_of_all_pairs,
)
from lightloom.programs.ramp_nic import check_operation, operation
from lightloom.replay import completion_time_ps, replay
from lightloom.replay.workload import (
    HeldCircuits,
    PlaneConfiguration,
    SharedLinks,
    replay_iteration,
)
from lightloom.replay.workload.flow_network import FairShares
from lightloom.routing.graph import Graph
from lightloom.routing.minimum_congestion import certified_routing
from lightloom.training.fabric_networks import network_for, ports_of
from lightloom.training.iteration import traffic, training_iteration
from lightloom.training.node_layout import layout
from lightloom.training.replica import place_replica
from lightloom.training.strategy import Strategy
from lightloom.validate import verify
from lightloom.validate.certificates.congestion import check_edge_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lightloom.bench.results import Parameter
    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import AnyFabric, Instance

    Step = tuple[IntArray, IntArray, IntArray, Op]

STAGE = "stage"
"""Parameter that says which stage is timed."""
_CLOSED = 0.05
"""Share of the edges that are closed: some, and all nodes are still connected."""
_DEGREES = {"regular-3": 3, "regular-4": 4}
_GROUP = 8
"""Devices among which the collectives of the synthetic iteration run, as in one
server."""


@dataclass(frozen=True)
class Measure:
    """Work in stages, one of which is timed.

    `unit` is what the numbers count, `stages` are names in order. Those before the
    timed one are done before the clock starts, within the minute that a run has to
    start up.
    """

    name: str
    summary: str
    unit: str
    stages: tuple[str, ...]
    run: Callable[..., Iterator[int]]


MEASURES: dict[str, Measure] = {}
"""Every measure, by name."""


def check_parameters(
    measure: Measure, parameters: Mapping[str, Parameter], where: str
) -> None:
    """Refuse parameters that neither the measure's function nor `STAGE` takes.

    Raises
    ------
    InputError
        Unknown stage or parameter, or one of another type.
    """
    taken = list(inspect.signature(measure.run).parameters.values())[2:]
    kinds = {one.name: str(one.annotation) for one in taken} | {STAGE: "str"}
    for key, value in parameters.items():
        if key not in kinds:
            what, allowed = f"{measure.name} takes no {key!r}", ", ".join(kinds)
            raise InputError(
                what, where=where, allowed=allowed, fix=nearest(key, kinds)
            )
        if type(value).__name__ != kinds[key]:
            what = f"parameter {key} of {measure.name} has the wrong type"
            raise InputError(what, where=where, found=value, allowed=kinds[key])
    stage = parameters.get(STAGE, measure.stages[-1])
    if stage not in measure.stages:
        what, allowed = f"unknown stage of {measure.name}", ", ".join(measure.stages)
        raise InputError(what, where=where, found=stage, allowed=allowed)


def _measure(
    summary: str, unit: str, stages: tuple[str, ...]
) -> Callable[[Callable[..., Iterator[int]]], Callable[..., Iterator[int]]]:
    """Offer a function as the measure of its name."""

    def offer(run: Callable[..., Iterator[int]]) -> Callable[..., Iterator[int]]:
        name = run.__name__.replace("_", "-")
        MEASURES[name] = Measure(name, summary, unit, stages, run)
        return run

    return offer


@_measure(
    "slots in which every pair of tiles has a circuit of its own",
    "slots above the bound",
    ("fill",),
)
def all_to_all_slots(instance: Instance, seed: int) -> Iterator[int]:
    """Fill slots with the circuits of all pairs of a grid; `seed` is not used."""
    del seed
    if not isinstance(instance.fabric, Lightpath):
        raise InputError("invalid fabric", where=instance.name, allowed="lightpath")
    slots = slots_of_all_pairs(instance.fabric)
    yield slots.slot_count - slots.bound


@_measure(
    "check every circuit of an operation on RAMP",
    "circuits",
    ("check",),
)
def ramp_check(instance: Instance, seed: int, op: str) -> Iterator[int]:
    """Check an operation over all nodes, as ``lightloom ramp check`` does."""
    del seed
    fabric = instance.fabric
    if not isinstance(fabric, Ramp):
        raise InputError("not a RAMP", where=instance.name, found=fabric.kind)
    report = check_operation(operation(fabric, op, range(fabric.node_count)))
    if not report.valid:
        raise NoAnswerError(f"{op} breaks {len(report.violations)} rules")
    yield report.circuits


@_measure(
    "route permutations on a grid with closed edges, or on a random regular graph",
    "requests, congestion above the bound",
    ("make", "route"),
)
def graph_routing(
    instance: Instance, seed: int, graph: str, copies: int = 1, widest: int = 1
) -> Iterator[int]:
    """Route `copies` random permutations and prove the bound again.

    Graphs: ``closed-edges``, the grid with 5 % of its edges closed; ``regular-3`` and
    ``regular-4``, a random regular graph of this degree and of as many nodes as the
    fabric, edges both ways. Capacities are drawn uniformly from 1 to `widest`.
    """
    import networkx as nx

    nodes = instance.fabric.node_count
    rng = np.random.default_rng([seed, copies, widest, nodes])
    if graph in _DEGREES:
        network = nx.random_regular_graph(_DEGREES[graph], nodes, seed=seed)
        edges = sorted(network.to_directed().edges)
        tail, head = np.array(edges, dtype=np.int64).T
        made = Graph(nodes, tail, head, rng.integers(1, widest + 1, len(tail)))
    elif graph == "closed-edges" and isinstance(instance.fabric, Lightpath):
        capacity = rng.integers(1, widest + 1, len(instance.fabric.edges()[0]))
        capacity[rng.random(len(capacity)) < _CLOSED] = 0
        made = Graph.of_grid(instance.fabric, capacity)
    else:
        what, allowed = "unknown graph", ", ".join(["closed-edges", *_DEGREES])
        raise InputError(what, found=graph, allowed=allowed)
    src = np.tile(np.arange(nodes), copies)
    dst = np.concatenate([rng.permutation(nodes) for _ in range(copies)])
    src, dst = src[src != dst], dst[src != dst]
    yield len(src)
    found = certified_routing(made, src, dst)
    if found.witness is None:
        raise NoAnswerError("the bound has no witness", found=graph)
    proven = check_edge_lengths(nodes, made.edges, src, dst, found.witness)
    if proven != found.bound:
        what = "the witness proves another bound"
        raise NoAnswerError(what, found=proven, allowed=str(found.bound))
    yield found.congestion - found.bound


@_measure(
    "replace flows among many that share links max-min fairly",
    "flows, shares changed",
    ("share", "replace"),
)
def fair_shares(
    instance: Instance, seed: int, flows: int, changes: int = 200
) -> Iterator[int]:
    """Share all links among flows between random pairs, then replace some of these.

    Each node of the fabric has a link up and a link down.
    """
    devices = instance.fabric.node_count
    rng = np.random.default_rng(seed)
    ends = rng.integers(devices, size=(flows, 2)).tolist()
    gone = rng.permutation(flows)[:changes].tolist()
    ends += rng.integers(devices, size=(changes, 2)).tolist()
    held = FairShares([((src, 1), (devices + dst, 1)) for src, dst in ends])
    for link in range(2 * devices):
        held.set_capacity(link, instance.fabric.node_bits_per_s)
    held.update(dict.fromkeys(range(flows), 1))
    yield flows
    moved = 0
    for fresh in range(flows, flows + changes):
        moved += len(held.update({fresh: 1, gone[fresh - flows]: 0}))
    yield moved


@_measure(
    "cut and place a model, set up its circuits, replay an iteration",
    "parts, operations, ps",
    ("place", "set-up", "replay"),
)
def training_replay(
    instance: Instance,
    seed: int,
    model: str = "transformer-350m",
    model_parallel: int = 1,
    *,
    whole: bool = False,
) -> Iterator[int]:
    """Cut and place a model, set up the network, and replay an iteration.

    All nodes of the fabric train, `model_parallel` a replica, on V100s in fp16, a
    sample a replica. `whole`: all replicas are replayed, not a few that stand for
    them. `seed` is not used.
    """
    del seed
    fabric = instance.fabric
    replicas = fabric.node_count // model_parallel
    training = Training(
        batch_size=replicas,
        gpu="v100",
        precision="fp16",
        optimiser="adam",
        model=model,
    )
    strategy = Strategy(model_parallel, replicas, replicas)
    ports = ports_of(fabric)
    replica = place_replica(training, strategy.local_batch, model_parallel, ports=ports)
    yield len(replica.device)
    laid = layout(fabric, strategy, whole=whole)
    iteration = training_iteration(replica, laid.nodes, laid.fabric.node_count)
    collectives = laid.collectives()
    demand = traffic(iteration, collectives)
    network = network_for(laid.fabric, demand, collectives, "one-shot")
    yield len(iteration.operations)
    yield replay_iteration(iteration, network).iteration_ps


@_measure(
    "replay an iteration of random layers",
    "operations, ps",
    ("make", "replay"),
)
def layers_replay(
    instance: Instance,
    seed: int,
    layers: int = 20,
    *,
    scattered: bool = False,
) -> Iterator[int]:
    """Replay an iteration of many layers, in which hardly two events coincide.

    Groups of eight devices run layer after layer, forward and backward; every device
    hears from two others of its group, with sizes and durations drawn at random. Behind
    each backward layer the groups all-reduce their gradients, one ring for each place
    in a group. `scattered`: devices hear from any others, on an eighth of the rate: a
    change of one share is then felt far away.
    """
    devices = instance.fabric.node_count
    made = _iteration(devices, layers, seed, scattered=scattered)
    network = _network(instance.fabric, scattered=scattered)
    yield len(made.operations)
    yield replay_iteration(made, network).iteration_ps


def _iteration(devices: int, layers: int, seed: int, *, scattered: bool) -> Iteration:
    """Return layers of one sub-operation a device, half of them backward."""
    rng = np.random.default_rng(seed)
    here = np.arange(devices, dtype=np.int64)
    group, place = here - here % _GROUP, here % _GROUP
    src, dst, size = [], [], []
    for layer in range(1, layers):
        for step, most in ((0, 0), (1, 4 * 10**6), (2, 10**6)):
            peer = group + (place - step) % _GROUP
            if scattered and step:
                peer = rng.permutation(devices)
            src.append((layer - 1) * devices + peer)
            dst.append(layer * devices + here)
            size.append(rng.integers(most // 4, most + 1, devices))
    operations = layers * devices
    sync = list(range(layers // 2, layers))
    for number, layer in enumerate(sync):
        src.append(layer * devices + here)
        dst.append(operations + number * _GROUP + place)
        size.append(np.zeros(devices, dtype=np.int64))
    rings = [here[place == at].tolist() for at in range(_GROUP)] * len(sync)
    return Iteration(
        devices,
        Operations(
            tuple(f"layer {row // devices}" for row in range(operations)),
            np.tile(here, layers),
            rng.integers(10 * 10**6, 20 * 10**6, operations),
            np.repeat(np.arange(layers, dtype=np.int64), devices),
        ),
        Dependencies.plain(*(np.concatenate(rows) for rows in (src, dst, size))),
        Collectives(
            ("all-reduce",) * len(rings),
            np.full(len(rings), 10**6, dtype=np.int64),
            Ragged.from_lists(rings),
        ),
    )


def _network(fabric: AnyFabric, *, scattered: bool) -> SharedLinks | HeldCircuits:
    """Return a network that carries the iteration."""
    if isinstance(fabric, IdealSwitch):
        rate = fabric.bits_per_second_per_node // (8 if scattered else 1)
        return SharedLinks(
            msgspec.structs.replace(fabric, bits_per_second_per_node=rate)
        )
    if not isinstance(fabric, Ocs) or fabric.switches != 16:
        allowed = "an ideal switch, or 16 optical switches"
        raise InputError("invalid fabric", found=fabric.kind, allowed=allowed)
    here = np.arange(fabric.nodes, dtype=np.int64)
    within = [here - here % _GROUP + (here + step) % _GROUP for step in (1, 2)]
    across = (here + _GROUP) % fabric.nodes
    peers = [within[0]] * 8 + [within[1]] * 4 + [across] * 4
    held = [PlaneConfiguration(k, Circuits(here, dst)) for k, dst in enumerate(peers)]
    return HeldCircuits(fabric, tuple(held))


@_measure(
    "make, write, read, replay and verify a schedule of many transfers",
    "transfers, bytes, ps",
    ("make", "write", "read", "replay", "verify"),
)
def schedule_file(
    instance: Instance, seed: int, shape: str, transfers: int
) -> Iterator[int]:
    """Take a schedule of about `transfers` transfers through its life.

    Shapes: ``ring``, an all-reduce in many steps, one chunk a transfer; ``direct``, an
    all-to-all in one step; ``doubling``, an all-gather in few steps, every chunk a
    transfer of its own; ``shifts``, an all-to-all on an optical switch, as many
    circuits as transfers. Fabric and `seed` are not used.
    """
    del instance, seed
    if shape not in _SHAPES:
        what, allowed = "unknown shape", ", ".join(_SHAPES)
        raise InputError(what, found=shape, allowed=allowed)
    schedule = _signed(_SHAPES[shape](transfers))
    yield schedule.transfer_count
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schedule.jsonl"
        write_schedule(schedule, path)
        yield path.stat().st_size
        del schedule
        schedule = read_schedule(path)
    yield schedule.transfer_count
    yield replay(schedule).completion_time_ps
    if not verify(schedule).valid:
        raise NoAnswerError("the schedule breaks a rule", found=shape)
    yield schedule.transfer_count


def _ring(transfers: int) -> Schedule:
    """Return an all-reduce round a ring, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers / 2)))
    rank = np.arange(ranks)
    rounds = [
        (rank, (rank + 1) % ranks, (rank - step) % ranks, op)
        for op in (Op.REDUCE, Op.COPY)
        for step in range(ranks - 1)
    ]
    # What a rank has completed in the first half it hands on in the second.
    shifted = [
        (src, dst, (chunk + 1) % ranks if op is Op.COPY else chunk, op)
        for src, dst, chunk, op in rounds
    ]
    return _on_ideal_switch("all-reduce", ranks, ranks, shifted)


def _direct(transfers: int) -> Schedule:
    """Return an all-to-all in one step, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers)))
    src, dst = np.nonzero(~np.eye(ranks, dtype=bool))
    step = (src, dst, src * ranks + dst, Op.COPY)
    return _on_ideal_switch("all-to-all", ranks, ranks, [step])


def _doubling(transfers: int) -> Schedule:
    """Return an all-gather chunk by chunk, of about as many transfers."""
    ranks = 1 << max(1, round(math.log2(transfers) / 2))
    chunks = max(1, transfers // (ranks * (ranks - 1)))
    steps = []
    for bit in range(ranks.bit_length() - 1):
        size = 1 << bit
        held = np.arange(size * chunks)
        base = np.repeat(np.arange(ranks) >> bit << bit, len(held))
        src = np.repeat(np.arange(ranks), len(held))
        steps.append((src, src ^ size, base * chunks + np.tile(held, ranks), Op.COPY))
    return _on_ideal_switch("all-gather", ranks, ranks * chunks, steps)


def _shifts(transfers: int) -> Schedule:
    """Return an all-to-all on a circuit switch, of about as many transfers."""
    ranks = max(2, round(math.sqrt(transfers)))
    rank = np.arange(ranks)
    steps = [
        (rank, (rank + hop) % ranks, rank * ranks + (rank + hop) % ranks, Op.COPY)
        for hop in range(1, ranks)
    ]
    plain = _on_ideal_switch("all-to-all", ranks, ranks, steps)
    fabric = Ocs(nodes=ranks, switches=1, bits_per_second_per_node=10**12).table()
    segments = tuple(
        Segment(0, index, Circuits(part.transfers.src, part.transfers.dst))
        for index, part in enumerate(plain.parts)
    )
    parts = tuple(replace(part, plane=0, segment=part.index) for part in plain.parts)
    return replace(plain, fabric=fabric, segments=segments, parts=parts)


def _on_ideal_switch(op: str, ranks: int, chunks: int, steps: list[Step]) -> Schedule:
    """Return the schedule of (src, dst, chunk, op) steps."""
    parts = tuple(
        StepPart(
            index,
            None,
            None,
            Transfers(src, dst, chunk, chunk + 1, np.full(len(src), int(kind))),
        )
        for index, (src, dst, chunk, kind) in enumerate(steps)
    )
    task = Collective(op, tuple(range(ranks)), 1024 * chunks, chunks)
    fabric = IdealSwitch(nodes=ranks).table()
    return Schedule(fabric, task, Algorithm("benchmark"), (), parts)


def _signed(schedule: Schedule) -> Schedule:
    """Return the schedule with a footer that is true."""
    footer = Footer(
        segments=len(schedule.segments),
        steps=schedule.step_count,
        circuits=schedule.circuit_count,
        transfers=schedule.transfer_count,
        completion_time_ps=completion_time_ps(schedule),
    )
    return replace(schedule, footer=footer)


_SHAPES = {"ring": _ring, "direct": _direct, "doubling": _doubling, "shifts": _shifts}
