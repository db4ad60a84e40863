"""``lightloom train``: how long an iteration of a training takes on a fabric."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import click

from lightloom.cli.console import progress, write_json
from lightloom.cli.failure import as_given
from lightloom.cli.files import check_outputs
from lightloom.cli.options import (
    INSTANCE,
    JSON,
    asked_instance,
    command,
    option,
    output_option,
    seed_option,
)
from lightloom.cli.train_output import (
    plan_record,
    print_plan,
    short_record,
    write_files,
    write_schedule,
)
from lightloom.cli.train_recorded import run_recorded
from lightloom.core.errors import InputError, LightloomError
from lightloom.core.units import PS_PER_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric, Instance
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import TrainingPlan, TrainingRequest

_MOST_US = 10**9
_MOST_BATCH = 2**40
_TIME = click.IntRange(0, _MOST_US)


@command
def train_command(
    *,
    instance: str = INSTANCE,
    model_parallel: int | None = option("Devices of a replica.", metavar="K"),
    replicas: int | None = option("Replicas of the model.", metavar="L"),
    batch: int | None = option("Samples of an iteration.", metavar="B"),
    curve: str | None = option(
        "CSV batch_size,iterations: iterations to the accuracy wanted. All its batch"
        " sizes are tried, and the time to accuracy counts.",
        metavar="FILE",
    ),
    circuits: Literal[
        "auto", "per-call", "one-shot", "critical-path", "controlled"
    ] = option(
        "Circuits are set for each call by a schedule, stay for an iteration and"
        " follow its bytes (one-shot) or what it waits for (critical-path), or follow"
        " measured traffic; auto is the fastest of the first three.",
        default="auto",
    ),
    collectives: str = option(
        "Algorithm of collectives where circuits are set for each call, for example"
        " ring or lumorph-2.",
        metavar="NAME",
        default="auto",
    ),
    controlled_by: str | None = option(
        "Who sets circuits that follow traffic: max-min serves the slowest pair best;"
        " on rings also flow-heuristic, SiP-ML's steps 1 to 4.  [default: max-min]",
        metavar="NAME",
    ),
    controller: int = option(
        "Microseconds that a controller adds to each reconfiguration.",
        type=_TIME,
        default=0,
        show_default=False,
        metavar="US",
    ),
    synchronisation: int = option(
        "Microseconds that nodes take to meet before each step.",
        type=_TIME,
        default=0,
        show_default=False,
        metavar="US",
    ),
    period: int | None = option(
        "Microseconds from one setting of circuits to the next.  [default: 100 on"
        " rings, six reconfigurations elsewhere]",
        type=click.IntRange(1, _MOST_US),
        metavar="US",
    ),
    gpus: int | None = option(
        "Use the first N nodes of the fabric.", type=click.IntRange(1), metavar="N"
    ),
    replayed: int = option(
        "Replay so many strategies, those of the best estimates.",
        type=click.IntRange(1),
        default=6,
        metavar="N",
    ),
    whole: bool = option("Replay every replica, alike or not."),
    log: str | None = option(
        "Replay the calls of a LUMORPH communication log, or of a CSV file"
        " call,bytes,src,dst,nodes, on the instance's fabric instead of training its"
        " model.",
        metavar="FILE",
    ),
    graph: str | None = option(
        "The same of a FlexFlow task graph (JSON).", metavar="FILE"
    ),
    chakra: str | None = option(
        "The same of Chakra traces NAME.RANK.et, one a rank.", metavar="FOLDER"
    ),
    compare: bool = option("Compare fabrics of the same rate."),
    table: bool = option("List what was tried.", "--strategies"),
    seed: int = seed_option("Of placements."),
    output: str | None = output_option(
        "Write all circuits and transfers of an iteration as a schedule, with circuits"
        " set for each call; .gz and .zst compress."
    ),
    trace: str | None = option("Write a trace that Perfetto opens.", metavar="FILE"),
    traffic: str | None = option(
        "Write src,dst,bytes of an iteration, of every replica.", metavar="FILE"
    ),
    as_json: bool = JSON,
) -> None:
    """Share a model out on a fabric and replay a training iteration.

    INSTANCE is a name of `lightloom instances`, for example ocs-16/bert-large-batch64,
    or a TOML file with [computation]. Ways to share the model among k devices, in l
    replicas, are bounded, cut, placed and estimated; those of the best estimates are
    replayed. Written k x l everywhere.
    """
    from lightloom.training.fabric_networks import MAX_MIN
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import TrainingRequest

    if curve is not None and batch is not None:
        what = "a batch, or a curve of batches"
        raise InputError(what, where="--batch, --curve", fix="give one of them")
    outputs = {"--output": output, "--trace": trace, "--traffic": traffic}
    asked = asked_instance(instance)
    check_outputs(outputs, instance, *([] if curve is None else [curve]))
    if output is not None or collectives != "auto":
        circuits = _per_call(circuits, asked.fabric, collectives)
    if controlled_by is not None:
        circuits = _controlled(circuits)
    request = TrainingRequest(
        model_parallel=model_parallel,
        replicas=replicas,
        circuits=circuits,
        controlled_by=MAX_MIN if controlled_by is None else controlled_by,
        collectives=collectives,
        controller_ps=controller * PS_PER_US,
        synchronisation_ps=synchronisation * PS_PER_US,
        period_ps=None if period is None else period * PS_PER_US,
        whole=whole or traffic is not None,
        replayed=replayed,
    )
    recorded = {"--log": log, "--graph": graph, "--chakra": chakra}
    if any(path is not None for path in recorded.values()):
        _refuse_planning(model_parallel, replicas, batch, curve, gpus)
        with as_given(asked.name, controlled_by="--controlled-by"):
            run_recorded(
                *(asked, recorded, request, seed, outputs),
                compare=compare,
                as_json=as_json,
            )
        return
    training = _training(asked, batch)
    nodes = _nodes(asked.fabric, gpus)
    request = replace(request, iterations=_curve(curve), nodes=nodes)
    options = {
        "model_parallel": "--model-parallel",
        "replicas": "--replicas",
        "algorithm": "--collectives",
        "controlled_by": "--controlled-by",
    }
    if batch is not None:
        options["batch_size"] = "--batch"
    with progress("train") as tell, as_given(asked.name, **options):
        planner = Planner(training, seed=seed, tell=tell)
        plan = planner.plan(asked.fabric, request)
        others = _others(planner, asked.fabric, request, plan, tell) if compare else {}
    write_files(plan, trace, traffic)
    if output is not None:
        write_schedule(plan, output, seed)
    if as_json:
        record = plan_record(instance, plan)
        record["compare"] = {
            name: short_record(other) for name, other in others.items()
        }
        write_json(record)
        return
    print_plan(instance, plan, others, table=table)


def _refuse_planning(*options: int | str | None) -> None:
    """Raise if a recorded iteration is to be planned."""
    names = ("--model-parallel", "--replicas", "--batch", "--curve", "--gpus")
    for name, value in zip(names, options, strict=True):
        if value is not None:
            what = "a recorded iteration is cut and placed already"
            raise InputError(what, where=name, found=value, fix="leave it out")


def _per_call(
    circuits: CircuitMode, fabric: AnyFabric, collectives: str
) -> CircuitMode:
    """Return how circuits are set where a schedule is asked for, or an algorithm."""
    from lightloom.plans.algorithms import ALGORITHMS

    if circuits not in ("auto", "per-call"):
        what = "only circuits that are set for each call have a schedule"
        fix = "leave out --output and --collectives, or --circuits"
        raise InputError(what, where="--circuits", found=circuits, fix=fix)
    if collectives not in ("auto", fabric.kind):
        ALGORITHMS.get(collectives, "--collectives")
    return "per-call"


def _controlled(circuits: CircuitMode) -> CircuitMode:
    """Return how circuits are set where a controller is named."""
    if circuits not in ("auto", "controlled"):
        what = "only circuits that follow traffic have a controller"
        fix = "leave out --controlled-by, or --circuits, --output and --collectives"
        raise InputError(what, where="--controlled-by", found=circuits, fix=fix)
    return "controlled"


def _training(asked: Instance, batch: int | None) -> Training:
    """Return what an instance trains, with another batch if one is given."""
    import msgspec

    from lightloom.core.training import Training
    from lightloom.instances.computation_table import computation_graph

    if not isinstance(asked.task, Training):
        raise InputError(
            "an instance without a model to train",
            where=asked.name,
            found=_told(asked),
            allowed="a [computation]: model, batch_size, gpu",
            fix="`lightloom instances --op bert-large` lists some that have one",
        )
    if batch is None:
        return asked.task
    if not 1 <= batch <= _MOST_BATCH:
        what, allowed = "batch not allowed", f"1 to {_MOST_BATCH}"
        raise InputError(what, where="--batch", found=batch, allowed=allowed)
    changed = msgspec.structs.replace(asked.task, batch_size=batch)
    share = -(-batch // asked.fabric.node_count)
    try:
        computation_graph(msgspec.structs.replace(changed, batch_size=share))
    except InputError as problem:
        what = f"too many samples for {asked.fabric.node_count} nodes: {problem.what}"
        fix = "use a smaller batch"
        raise InputError(what, where="--batch", found=batch, fix=fix) from None
    return changed


def _told(asked: Instance) -> str:
    """Return the table of an instance's task, and what it is."""
    from lightloom.instances.instance import task_table

    [(name, table)] = task_table(asked.task).items()
    return f"[{name}] {table.get('op', '')}".strip()


def _nodes(fabric: AnyFabric, gpus: int | None) -> tuple[int, ...] | None:
    """Return the first nodes of a fabric, ``None`` for all."""
    from lightloom.training.node_layout import require_rows

    if gpus is None:
        return None
    if gpus > fabric.node_count:
        raise InputError(
            "more nodes than the fabric has",
            where="--gpus",
            found=gpus,
            allowed=f"1 to {fabric.node_count}",
        )
    require_rows(fabric, gpus, "--gpus")
    return tuple(range(gpus))


def _curve(path: str | None) -> dict[int, int] | None:
    if path is None:
        return None
    from lightloom.formats.training_tables import read_iteration_curve

    return read_iteration_curve(path)


def _others(
    planner: Planner,
    fabric: AnyFabric,
    request: TrainingRequest,
    plan: TrainingPlan,
    tell: Callable[[str], None],
) -> dict[str, TrainingPlan | str]:
    """Return the same training on other fabrics, or why it does not run there."""
    from lightloom.training.baselines import compared_fabrics
    from lightloom.training.fabric_networks import MAX_MIN

    count = fabric.node_count if request.nodes is None else len(request.nodes)
    named = compared_fabrics(fabric, count)
    elsewhere = replace(request, nodes=None, controlled_by=MAX_MIN)
    found: dict[str, TrainingPlan | str] = {}
    for name, other in named.items():
        tell(f"comparing with {name}")
        if other == fabric and elsewhere == request:
            found[name] = plan
            continue
        try:
            found[name] = planner.plan(other, elsewhere)
        except LightloomError as problem:
            found[name] = str(problem)
    return found
