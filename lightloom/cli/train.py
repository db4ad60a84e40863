"""``lightloom train``: how long an iteration of a training takes on a fabric."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from lightloom.cli.console import (
    counted,
    progress,
    say,
    write_json,
    write_table,
    write_text,
)
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
from lightloom.core.errors import FormatError, InputError, LightloomError
from lightloom.core.units import PS_PER_S, PS_PER_US, format_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.core.iteration import Iteration
    from lightloom.core.training import Training
    from lightloom.formats.chakra import TraceNode
    from lightloom.instances.instance import AnyFabric, Instance
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import (
        ReplayedIteration,
        TrainingPlan,
        TrainingRequest,
    )

_MOST_US = 10**9
"""Longest time of an option, 1000 s, as in `lightloom.core.units.MOST_PS`."""
_MOST_BATCH = 2**40
"""Samples of a batch; the times of their computation still fit 63 bits."""
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
            _run_recorded(
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
    _write_files(plan, trace, traffic)
    if output is not None:
        _write_schedule(plan, output, seed)
    if as_json:
        record = _plan_record(instance, plan)
        record["compare"] = {
            name: _short_record(other) for name, other in others.items()
        }
        write_json(record)
        return
    _print_plan(instance, plan, others, table=table)


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


def _run_recorded(
    asked: Instance,
    recorded: Mapping[str, str | None],
    request: TrainingRequest,
    seed: int,
    outputs: Mapping[str, str | None],
    *,
    compare: bool,
    as_json: bool,
) -> None:
    """Replay a recorded iteration on a fabric, write and print what came out."""
    from lightloom.training.baselines import compared_fabrics
    from lightloom.training.fabric_networks import MAX_MIN
    from lightloom.training.recorded_replay import replay_recorded

    given = {option: path for option, path in recorded.items() if path is not None}
    if len(given) > 1:
        what = "more than one recorded iteration"
        raise InputError(what, where=", ".join(given), fix="give one of them")
    [(option, path)] = given.items()
    iteration = _read(option, path, asked)
    others: dict[str, ReplayedIteration | str] = {}
    with progress("train") as tell:
        tell(f"replaying {path}")
        found = replay_recorded(iteration, asked.fabric, request, seed)
        named = compared_fabrics(asked.fabric, asked.fabric.node_count)
        elsewhere = replace(request, controlled_by=MAX_MIN)
        for name, fabric in named.items() if compare else ():
            tell(f"comparing with {name}")
            try:
                others[name] = replay_recorded(iteration, fabric, elsewhere, seed)
            except LightloomError as problem:
                others[name] = str(problem)
    _write_files(found, outputs["--trace"], outputs["--traffic"])
    if outputs["--output"] is not None:
        _write_schedule(found, outputs["--output"], seed)
    if as_json:
        write_json(
            {
                "instance": asked.name,
                "recorded": path,
                **_recorded_record(found),
                "compare": {
                    name: _recorded_record(other) for name, other in others.items()
                },
            }
        )
        return
    _print_recorded(asked.name, path, iteration, found, others)


def _read(option: str, path: str, asked: Instance) -> Iteration:
    """Return the iteration of a file, or of a folder of traces."""
    from lightloom.core.training import Training
    from lightloom.instances.computation_table import gpu_named
    from lightloom.training.recorded_replay import (
        ComputeRate,
        chakra_iteration,
        log_iteration,
    )

    nodes = asked.fabric.node_count
    if option == "--log":
        from lightloom.formats.communication_log import (
            read_calls_csv,
            read_communication_log,
        )

        if Path(path).suffix == ".csv":
            return log_iteration(read_calls_csv(path), nodes)
        return log_iteration(read_communication_log(path), nodes)
    if option == "--graph":
        from lightloom.formats.flexflow import read_flexflow_tasks

        return read_flexflow_tasks(path)
    compute, task = ComputeRate(), asked.task
    if isinstance(task, Training):
        compute = ComputeRate(gpu_named(task.gpu), task.precision)
    return chakra_iteration(*_traces(path), compute)


def _traces(folder: str) -> tuple[dict[int, list[TraceNode]], dict[str, list[int]]]:
    """Return the nodes of every trace in a folder, and the process groups beside it.

    The groups are in ``NAME.json`` beside ``NAME.RANK.et``, or in ``comm_group.json``.
    """
    from lightloom.formats.chakra import read_chakra

    found: dict[int, list[TraceNode]] = {}
    names = {"comm_group"}
    for file in sorted(Path(folder).glob("*.et")):
        name, dot, rank = file.stem.rpartition(".")
        names.add(name)
        if not dot or not rank.isdecimal() or int(rank) in found:
            what, allowed = "not the trace of one rank", "NAME.RANK.et, each rank once"
            raise FormatError(what, where=str(file), allowed=allowed)
        found[int(rank)] = read_chakra(file)
    if not found:
        what, allowed = "no Chakra traces", "a folder of files NAME.RANK.et"
        raise InputError(what, where="--chakra", found=folder, allowed=allowed)
    listed = [
        file
        for name in sorted(names)
        if (file := Path(folder, f"{name}.json")).exists()
    ]
    if len(listed) > 1:
        what, fix = "more than one file of process groups", "keep one of them"
        raise InputError(what, where="--chakra", found=[*map(str, listed)], fix=fix)
    return found, _groups(listed[0]) if listed else {}


def _groups(path: Path) -> dict[str, list[int]]:
    """Return the ranks of each process group in a file; which ranks is asked later."""
    from lightloom.formats.json_file import read_json

    table = read_json(path).table
    if not isinstance(table, dict) or not all(
        isinstance(ranks, list) for ranks in table.values()
    ):
        what, allowed = "not a table of process groups", '{"NAME": [RANK, ...], ...}'
        raise FormatError(what, where=str(path), allowed=allowed)
    return table


def _recorded_record(found: ReplayedIteration | str) -> dict[str, object]:
    if isinstance(found, str):
        return {"error": found}
    return {
        "iteration_ps": found.timeline.iteration_ps,
        "circuits": found.circuits,
        "calls": len(found.calls),
        "reconfigurations": found.reconfigurations,
        "communication_share": round(float(found.timeline.communication_share), 6),
        **_controller_record(found),
    }


def _print_recorded(
    name: str,
    path: str,
    iteration: Iteration,
    found: ReplayedIteration,
    others: Mapping[str, ReplayedIteration | str],
) -> None:
    from lightloom.report.tables import terminal_table

    if others:
        columns = ("fabric", "circuits", "iteration, us#")
        rows = [
            (fabric, "not served", None)
            if isinstance(one, str)
            else (fabric, one.circuits, f"{one.timeline.iteration_ps / PS_PER_US:,.1f}")
            for fabric, one in {name: found, **others}.items()
        ]
        write_table(terminal_table(columns, rows))
        _write_reasons(others)
    moved = int(iteration.is_transfer.sum())
    relays = len(found.iteration.operations) - len(iteration.operations)
    way = f" (passed on {counted(relays, 'time')} on the way)" if relays else ""
    write_text(
        f"{path} on {name}: iteration {format_ps(found.timeline.iteration_ps)}\n"
        f"  {len(iteration.operations):,} operations, {moved:,} transfers{way},"
        f" {len(iteration.collectives):,} collectives\n  {_circuits_text(found)}"
    )


def _write_files(
    plan: ReplayedIteration,
    trace: str | None,
    traffic: str | None,
) -> None:
    """Write the trace and the traffic of an iteration where they are asked for."""
    if trace is not None:
        from lightloom.formats.json_file import write_trace
        from lightloom.replay.trace import iteration_trace

        write_trace(iteration_trace(plan.iteration, plan.timeline), Path(trace))
        say(f"trace written to {trace}")
    if traffic is not None:
        from lightloom.report.tables import save_csv

        demand = plan.demand
        rows = list(zip(demand.src, demand.dst, demand.bytes, strict=True))
        save_csv(("src", "dst", "bytes"), rows, Path(traffic))
        say(f"traffic written to {traffic}")


def _write_schedule(plan: ReplayedIteration, output: str, seed: int) -> None:
    """Write what an iteration sends, and say how long it would take by itself."""
    from lightloom.synth.publish import publish
    from lightloom.training.call_schedules import iteration_schedule

    schedule = iteration_schedule(plan, seed)
    publish(schedule, output)
    time = format_ps(schedule.footer.completion_time_ps)
    say(f"schedule written to {output}: {len(plan.calls)} calls, {time} without pauses")


def _short_record(plan: TrainingPlan | str) -> dict[str, object]:
    """Return the figures of a plan as a JSON object."""
    if isinstance(plan, str):
        return {"error": plan}
    needed = plan.time_to_accuracy_ps
    return {
        "model_parallel": plan.strategy.model_parallel,
        "replicas": plan.strategy.replicas,
        "batch_size": plan.strategy.batch_size,
        "iteration_ps": plan.iteration_ps,
        "iterations": plan.iterations,
        "time_to_accuracy_s": None if needed is None else needed / PS_PER_S,
        "samples_per_s": round(float(plan.samples_per_s), 3),
        "communication_share": round(float(plan.communication_share), 6),
        "partners": plan.partners,
        "reconfigurations": plan.reconfigurations,
        "circuits": plan.circuits,
        **_controller_record(plan),
    }


def _plan_record(name: str, plan: TrainingPlan) -> dict[str, object]:
    """Return a plan as its documented JSON object."""
    return {
        "instance": name,
        **_short_record(plan),
        "replicas_replayed": len(plan.layout.nodes),
        "tried": [
            {
                "model_parallel": each.strategy.model_parallel,
                "replicas": each.strategy.replicas,
                "batch_size": each.strategy.batch_size,
                "estimate_ps": each.estimate_ps,
                "iteration_ps": each.iteration_ps,
                "why": each.why or None,
            }
            for each in plan.tried
        ],
    }


def _print_plan(
    name: str,
    plan: TrainingPlan,
    others: dict[str, TrainingPlan | str],
    *,
    table: bool,
) -> None:
    """Print the tables that are asked for, and the result."""
    from lightloom.report.result_tables import comparison_table, strategy_table

    if table:
        write_table(strategy_table(plan))
    if others:
        write_table(comparison_table({name: plan, **others}))
        _write_reasons(others)
    write_text(_plan_text(name, plan))


def _write_reasons(others: Mapping[str, object]) -> None:
    """Say why fabrics of a comparison have no result, a line each."""
    for name, other in others.items():
        if isinstance(other, str):
            write_text(f"{name}: {other}")


def _plan_text(name: str, plan: TrainingPlan) -> str:
    strategy = plan.strategy
    alike = (
        "" if plan.layout.is_whole else f" ({len(plan.layout.nodes)} alike replayed)"
    )
    lines = [
        (
            f"{name}: iteration {format_ps(plan.iteration_ps)},"
            f" {float(plan.samples_per_s):,.0f} samples/s"
        ),
        (
            f"  {strategy.model_parallel} x {strategy.replicas} devices{alike}, batch"
            f" {strategy.batch_size}; at most {counted(plan.partners, 'partner')}"
            " a node"
        ),
        (
            f"  {100 * float(plan.communication_share):.1f} % of the devices' time is"
            " communication that nothing hides"
        ),
        f"  {_circuits_text(plan)}",
    ]
    needed = plan.time_to_accuracy_ps
    if needed is not None:
        hours = needed / PS_PER_S / 3600
        lines.append(
            f"  {plan.iterations:,} iterations to the accuracy: {hours:,.2f} hours"
        )
    return "\n".join(lines)


def _circuits_text(plan: ReplayedIteration) -> str:
    """Return how circuits are set, in words."""
    changes = counted(plan.reconfigurations, "reconfiguration")
    if plan.circuits == "per-call":
        names = sorted({call.schedule.algorithm.name for call in plan.calls})
        by = f" ({', '.join(names)})" if names else ""
        return f"{counted(len(plan.calls), 'call')} one by one{by}; {changes}"
    stays = {
        "one-shot": "what joins nodes stays for the iteration",
        "critical-path": "circuits stay, and follow what the iteration waits for",
    }
    if plan.controller is None:
        return stays.get(plan.circuits, "what joins nodes follows traffic")
    cost = plan.controller
    return (
        f"circuits follow traffic ({cost.name}); {changes}\n"
        f"  {counted(cost.decisions, 'decision')} in {1000 * cost.mean_s:,.1f} ms each,"
        f" {1000 * cost.longest_s:,.1f} ms at most; the replay counts them as no time"
    )


def _controller_record(plan: ReplayedIteration) -> dict[str, object]:
    """Return what a controller cost as a JSON object, empty without one."""
    cost = plan.controller
    if cost is None:
        return {}
    return {
        "controller": {
            "name": cost.name,
            "decisions": cost.decisions,
            "mean_s": round(cost.mean_s, 6),
            "longest_s": round(cost.longest_s, 6),
        }
    }
