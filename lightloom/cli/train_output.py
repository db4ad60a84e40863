"""What ``lightloom train`` writes and prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.cli.console import counted, say, write_table, write_text
from lightloom.core.units import PS_PER_S, format_ps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.training.training_plan import ReplayedIteration, TrainingPlan


def write_files(
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


def write_schedule(plan: ReplayedIteration, output: str, seed: int) -> None:
    """Write what an iteration sends, and say how long it would take by itself."""
    from lightloom.synth.publish import publish
    from lightloom.training.call_schedules import iteration_schedule

    schedule = iteration_schedule(plan, seed)
    publish(schedule, output)
    time = format_ps(schedule.footer.completion_time_ps)
    say(f"schedule written to {output}: {len(plan.calls)} calls, {time} without pauses")


def short_record(plan: TrainingPlan | str) -> dict[str, object]:
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
        **controller_record(plan),
    }


def plan_record(name: str, plan: TrainingPlan) -> dict[str, object]:
    """Return a plan as its documented JSON object."""
    return {
        "instance": name,
        **short_record(plan),
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


def print_plan(
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
        write_reasons(others)
    write_text(_text(name, plan))


def write_reasons(others: Mapping[str, object]) -> None:
    """Say why fabrics of a comparison have no result, a line each."""
    for name, other in others.items():
        if isinstance(other, str):
            write_text(f"{name}: {other}")


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
            f"  {strategy.model_parallel} x {strategy.replicas} devices{alike}, batch"
            f" {strategy.batch_size}; at most {counted(plan.partners, 'partner')}"
            " a node"
        ),
        (
            f"  {100 * float(plan.communication_share):.1f} % of the devices' time is"
            " communication that nothing hides"
        ),
        f"  {circuits_text(plan)}",
    ]
    needed = plan.time_to_accuracy_ps
    if needed is not None:
        hours = needed / PS_PER_S / 3600
        lines.append(
            f"  {plan.iterations:,} iterations to the accuracy: {hours:,.2f} hours"
        )
    return "\n".join(lines)


def circuits_text(plan: ReplayedIteration) -> str:
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


def controller_record(plan: ReplayedIteration) -> dict[str, object]:
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
