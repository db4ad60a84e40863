"""``lightloom train``: how long an iteration of a training takes on a fabric."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lightloom.cli.console import progress, write_json
from lightloom.cli.failure import as_given
from lightloom.cli.instance_argument import asked_instance, instance_argument
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import STDOUT, check_output
from lightloom.cli.parameters import seed_option
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


@click.command(
    "train",
    help=SUMMARIES["train"]
    + "\n\nINSTANCE is a name of `lightloom instances`, for example"
    " ocs-16/bert-large-batch64, or a TOML file with [computation]. Ways to share the"
    " model among k devices, in l replicas, are bounded, cut, placed and estimated;"
    " those of the best estimates are replayed. Written k x l everywhere.",
)
@instance_argument
@click.option("--model-parallel", type=int, metavar="K", help="Devices of a replica.")
@click.option("--replicas", type=int, metavar="L", help="Replicas of the model.")
@click.option("--batch", type=int, metavar="B", help="Samples of an iteration.")
@click.option(
    "--curve",
    metavar="FILE",
    help="CSV batch_size,iterations: iterations to the accuracy wanted. All its batch"
    " sizes are tried, and the time to accuracy counts.",
)
@click.option(
    "--circuits",
    type=click.Choice(["auto", "per-call", "one-shot", "critical-path", "controlled"]),
    default="auto",
    show_default=True,
    help="Circuits are set for each call by a schedule, stay for an iteration and"
    " follow its bytes (one-shot) or what it waits for (critical-path), or follow"
    " measured traffic; auto is the fastest of the first three.",
)
@click.option(
    "--collectives",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="Algorithm of collectives where circuits are set for each call, for example"
    " ring or lumorph-2.",
)
@click.option(
    "--controlled-by",
    metavar="NAME",
    help="Who sets circuits that follow traffic: max-min serves the slowest pair best;"
    " on rings also flow-heuristic, SiP-ML's steps 1 to 4.  [default: max-min]",
)
@click.option(
    "--controller",
    type=_TIME,
    default=0,
    metavar="US",
    help="Microseconds that a controller adds to each reconfiguration.",
)
@click.option(
    "--synchronisation",
    type=_TIME,
    default=0,
    metavar="US",
    help="Microseconds that nodes take to meet before each step.",
)
@click.option(
    "--period",
    type=click.IntRange(1, _MOST_US),
    metavar="US",
    help="Microseconds from one setting of circuits to the next.  [default: 100 on"
    " rings, six reconfigurations elsewhere]",
)
@click.option(
    "--gpus",
    type=click.IntRange(1),
    metavar="N",
    help="Use the first N nodes of the fabric.",
)
@click.option(
    "--replayed",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    metavar="N",
    help="Replay so many strategies, those of the best estimates.",
)
@click.option("--whole", is_flag=True, help="Replay every replica, alike or not.")
@click.option(
    "--log",
    metavar="FILE",
    help="Replay the calls of a LUMORPH communication log, or of a CSV file"
    " call,bytes,src,dst,nodes, on the instance's fabric instead of training its"
    " model.",
)
@click.option(
    "--graph", metavar="FILE", help="The same of a FlexFlow task graph (JSON)."
)
@click.option(
    "--chakra",
    metavar="FOLDER",
    help="The same of Chakra traces NAME.RANK.et, one a rank.",
)
@click.option("--compare", is_flag=True, help="Compare fabrics of the same rate.")
@click.option("--strategies", "table", is_flag=True, help="List what was tried.")
@seed_option("Of placements.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write all circuits and transfers of an iteration as a schedule, with circuits"
    " set for each call; .gz and .zst compress.",
)
@click.option("--trace", metavar="FILE", help="Write a trace that Perfetto opens.")
@click.option(
    "--traffic",
    metavar="FILE",
    help="Write src,dst,bytes of an iteration, of every replica.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    instance: str,
    model_parallel: int | None,
    replicas: int | None,
    batch: int | None,
    curve: str | None,
    circuits: CircuitMode,
    collectives: str,
    controlled_by: str | None,
    controller: int,
    synchronisation: int,
    period: int | None,
    gpus: int | None,
    replayed: int,
    seed: int,
    log: str | None,
    graph: str | None,
    chakra: str | None,
    output: str | None,
    trace: str | None,
    traffic: str | None,
    *,
    whole: bool,
    compare: bool,
    table: bool,
    as_json: bool,
) -> None:
    """Share a model out, replay an iteration, and say how long it takes."""
    from lightloom.training.fabric_networks import MAX_MIN
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import TrainingRequest

    if curve is not None and batch is not None:
        what = "a batch, or a curve of batches"
        raise InputError(what, where="--batch, --curve", fix="give one of them")
    outputs = {"--output": output, "--trace": trace, "--traffic": traffic}
    asked = asked_instance(instance)
    _check_outputs(outputs, instance, curve)
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


def _check_outputs(outputs: dict[str, str | None], *inputs: str | None) -> None:
    """Raise if a file cannot be written, or two of them are one."""
    given = [one for one in inputs if one is not None]
    for option, path in outputs.items():
        if path is not None:
            if path == STDOUT:
                raise InputError("stdout has the result", where=option, fix="a file")
            check_output(path, option, *given)
            given.append(path)


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
    from lightloom.formats.iteration_curve import read_iteration_curve

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
