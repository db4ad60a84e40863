"""``lightloom train``: how long an iteration of a training takes on a fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lightloom.cli.console import say, write_json, write_table, write_text
from lightloom.cli.error_locations import as_given
from lightloom.cli.formatting import counted
from lightloom.cli.instance_argument import asked_instance, instance_argument
from lightloom.cli.main import SUMMARIES
from lightloom.cli.progress import progress
from lightloom.core.errors import InputError, LightloomError
from lightloom.core.seed import MOST_SEED
from lightloom.core.units import PS_PER_S, PS_PER_US, format_ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric, Instance
    from lightloom.instances.jobs import Fragmentation
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import TrainingPlan, TrainingRequest


@click.command(
    "train",
    help=SUMMARIES["train"]
    + "\n\nINSTANCE is a name of `lightloom instances`, for example"
    " ocs-16/bert-large-batch64, or a TOML file with [computation]. Every way to share"
    " the model among k devices, in l replicas, is cut, placed and estimated; those of"
    " the best estimates are replayed.",
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
    type=click.Choice(["one-shot", "controlled"]),
    default="one-shot",
    show_default=True,
    help="Circuits stay for an iteration, or follow measured traffic.",
)
@click.option(
    "--period",
    type=int,
    metavar="US",
    help="Microseconds from one setting of circuits to the next.  [default: 100 on"
    " rings, six reconfigurations elsewhere]",
)
@click.option("--gpus", type=int, metavar="N", help="Use so many nodes of the fabric.")
@click.option(
    "--jobs",
    metavar="LIST",
    help="Jobs that came and went before: a=4,b=8,-a gives 4 nodes to a, 8 to b, and"
    " takes those of a back.",
)
@click.option(
    "--replayed",
    type=int,
    default=2,
    show_default=True,
    metavar="N",
    help="Replay so many strategies, those of the best estimates.",
)
@click.option("--whole", is_flag=True, help="Replay every replica, alike or not.")
@click.option("--compare", is_flag=True, help="Compare fabrics of the same rate.")
@click.option("--strategies", "table", is_flag=True, help="List what was tried.")
@click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    default=0,
    show_default=True,
    help="Of placements.",
)
@click.option("--trace", metavar="FILE", help="Write a trace that Perfetto opens.")
@click.option("--traffic", metavar="FILE", help="Write src,dst,bytes of an iteration.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    instance: str,
    model_parallel: int | None,
    replicas: int | None,
    batch: int | None,
    curve: str | None,
    circuits: str,
    period: int | None,
    gpus: int | None,
    jobs: str | None,
    replayed: int,
    seed: int,
    trace: str | None,
    traffic: str | None,
    *,
    whole: bool,
    compare: bool,
    table: bool,
    as_json: bool,
) -> None:
    """Share a model out, replay an iteration, and say how long it takes."""
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import TrainingRequest

    if curve is not None and batch is not None:
        what = "a batch, or a curve of batches"
        raise InputError(what, where="--batch, --curve", fix="give one of them")
    if replayed < 1:
        what = "nothing would be replayed"
        raise InputError(what, where="--replayed", found=replayed, allowed=">= 1")
    asked = asked_instance(instance)
    training = _training(asked, batch)
    nodes, broken = _nodes(asked.fabric, gpus, jobs)
    request = TrainingRequest(
        iterations=_curve(curve),
        model_parallel=model_parallel,
        replicas=replicas,
        circuits="one-shot" if circuits == "one-shot" else "controlled",
        period_ps=None if period is None else period * PS_PER_US,
        nodes=nodes,
        whole=whole,
        replayed=replayed,
    )
    options = {"model_parallel": "--model-parallel", "replicas": "--replicas"}
    if batch is not None:
        options["batch_size"] = "--batch"
    with progress("train") as tell, as_given(asked.name, **options):
        planner = Planner(training, seed=seed, tell=tell)
        plan = planner.plan(asked.fabric, request)
        others = _others(planner, asked.fabric, request, tell) if compare else {}
    _write_files(plan, trace, traffic)
    if as_json:
        record = _record(instance, plan, broken)
        record["compare"] = {name: _short(other) for name, other in others.items()}
        write_json(record)
        return
    _print(instance, plan, broken, others, table=table)


def _training(asked: Instance, batch: int | None) -> Training:
    """Return what an instance trains, with another batch if one is given."""
    import msgspec

    from lightloom.core.training import Training

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
    if batch < 1:
        raise InputError("too few", where="--batch", found=batch, allowed=">= 1")
    return msgspec.structs.replace(asked.task, batch_size=batch)


def _told(asked: Instance) -> str:
    """Return the table of an instance's task, and what it is."""
    from lightloom.instances.instance import task_table

    [(name, table)] = task_table(asked.task).items()
    return f"[{name}] {table.get('op', '')}".strip()


def _curve(path: str | None) -> dict[int, int] | None:
    if path is None:
        return None
    from lightloom.formats.iteration_curve import read_iteration_curve

    return read_iteration_curve(path)


def _nodes(
    fabric: AnyFabric, gpus: int | None, jobs: str | None
) -> tuple[tuple[int, ...] | None, Fragmentation | None]:
    """Return the nodes of the training, and how broken up the rest is left."""
    from lightloom.instances.jobs import JobMap
    from lightloom.synth.fabrics import plug_of

    if gpus is None and jobs is None:
        return None, None
    placed = plug_of(fabric).layout
    places = JobMap(fabric.node_count, ring=placed.ring)
    for entry in (jobs or "").split(",") if jobs else ():
        name, equals, count = entry.strip().partition("=")
        if name.startswith("-") and not equals:
            places.release(name[1:])
        elif name and count.isdecimal():
            _require_rows(fabric, int(count), "--jobs")
            places.allocate(name, int(count), placed.blocks)
        else:
            allowed = "NAME=NODES, or -NAME"
            raise InputError(
                "invalid job", where="--jobs", found=entry, allowed=allowed
            )
    free = places.fragmentation()
    wanted = gpus if gpus is not None else free.largest if placed.ring else free.free
    _require_rows(fabric, wanted, "--gpus")
    return places.allocate("", wanted, placed.blocks), places.fragmentation()


def _require_rows(fabric: AnyFabric, nodes: int, option: str) -> None:
    """Raise if so many nodes are no whole rows, where jobs have some of the rows."""
    from lightloom.synth.fabrics import plug_of

    rows_of = plug_of(fabric).layout.rows
    grid = None if rows_of is None else rows_of(fabric)
    if grid is not None and grid.any_rows and nodes % grid.cols:
        what = f"a job has whole rows of a fabric of kind {fabric.kind}"
        allowed = f"multiples of {grid.cols} nodes"
        raise InputError(what, where=option, found=nodes, allowed=allowed)


def _others(
    planner: Planner,
    fabric: AnyFabric,
    request: TrainingRequest,
    tell: Callable[[str], None],
) -> dict[str, TrainingPlan | str]:
    """Return the same training on other fabrics, or why it does not run there."""
    from dataclasses import replace

    from lightloom.training.baselines import baselines, grid_baselines

    count = fabric.node_count if request.nodes is None else len(request.nodes)
    rate, alpha_ps = fabric.node_bits_per_s, fabric.alpha_ps
    named = baselines(count, rate, alpha_ps=alpha_ps)
    named |= grid_baselines(count, rate, alpha_ps=alpha_ps)
    found: dict[str, TrainingPlan | str] = {}
    for name, other in named.items():
        tell(f"comparing with {name}")
        try:
            found[name] = planner.plan(other, replace(request, nodes=None))
        except LightloomError as problem:
            found[name] = str(problem)
    return found


def _write_files(plan: TrainingPlan, trace: str | None, traffic: str | None) -> None:
    if trace is not None:
        from lightloom.formats.perfetto import write_trace
        from lightloom.replay.workload.trace import iteration_trace

        write_trace(iteration_trace(plan.iteration, plan.timeline), Path(trace))
        say(f"trace written to {trace}")
    if traffic is not None:
        from lightloom.report.csv_file import save_csv

        demand = plan.demand
        rows = list(zip(demand.src, demand.dst, demand.bytes, strict=True))
        save_csv(("src", "dst", "bytes"), rows, Path(traffic))
        say(f"traffic written to {traffic}")


def _short(plan: TrainingPlan | str) -> dict[str, object]:
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
        "reconfigurations": len(plan.timeline.reconfigurations),
    }


def _record(
    name: str, plan: TrainingPlan, broken: Fragmentation | None
) -> dict[str, object]:
    """Return a plan as its documented JSON object."""
    return {
        "instance": name,
        **_short(plan),
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
        "fragmentation": None
        if broken is None
        else {
            "free": broken.free,
            "blocks": list(broken.blocks),
            "share_outside_longest": float(broken.share),
        },
    }


def _print(
    name: str,
    plan: TrainingPlan,
    broken: Fragmentation | None,
    others: dict[str, TrainingPlan | str],
    *,
    table: bool,
) -> None:
    from lightloom.report.training_table import comparison_table, strategy_table

    if table:
        write_table(strategy_table(plan))
    if others:
        write_table(comparison_table({name: plan, **others}))
    write_text(_text(name, plan))
    if broken is not None:
        stay = "stays" if broken.free == 1 else "stay"
        write_text(
            f"  {counted(broken.free, 'node')} {stay} free, in blocks of"
            f" {', '.join(map(str, broken.blocks)) or 'none'};"
            f" {100 * float(broken.share):.0f} % of them outside the longest"
        )


def _text(name: str, plan: TrainingPlan) -> str:
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
            f"  {strategy.replicas} x {strategy.model_parallel} devices{alike}, batch"
            f" {strategy.batch_size}; at most {counted(plan.partners, 'partner')}"
            " a node"
        ),
        (
            f"  {100 * float(plan.communication_share):.1f} % of the devices' time is"
            " communication that nothing hides"
        ),
    ]
    needed = plan.time_to_accuracy_ps
    if needed is not None:
        hours = needed / PS_PER_S / 3600
        lines.append(
            f"  {plan.iterations:,} iterations to the accuracy: {hours:,.2f} hours"
        )
    return "\n".join(lines)
