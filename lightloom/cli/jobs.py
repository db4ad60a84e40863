"""``lightloom jobs``: trainings that come to one fabric, wait, run together and go."""

from __future__ import annotations

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
from lightloom.cli.files import check_outputs
from lightloom.cli.options import (
    INSTANCE,
    JSON,
    argument,
    asked_instance,
    command,
    option,
    seed_option,
)
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from lightloom.training.job_run import ClusterRun, JobResult, Policy


@command
def jobs_command(
    *,
    instance: str = INSTANCE,
    trace: str = argument(),
    policy: Literal["fifo", "backfill"] = option(
        "Jobs begin in the order of their arrival, or also those that fit while one"
        " before them waits.",
        default="fifo",
    ),
    circuits: Literal["critical-path", "one-shot", "per-call"] = option(
        "Circuits of a job stay, and follow what its iterations wait for or their"
        " bytes, or are set for each call.",
        default="critical-path",
    ),
    replayed: int = option(
        "Replay so many strategies of a job on the empty fabric.",
        type=click.IntRange(1),
        default=6,
        metavar="N",
    ),
    seed: int = seed_option("Of placements."),
    csv_file: str | None = option("Write the jobs as CSV.", "--csv", metavar="FILE"),
    timeline: str | None = option(
        "Write who runs and waits, and what is free, over time as CSV.", metavar="FILE"
    ),
    as_json: bool = JSON,
) -> None:
    """Let trainings share a fabric: waiting, slow-down, fragmentation.

    INSTANCE says the fabric, and what jobs train that name no model. TRACE is a CSV
    file with the columns name, arrival_us, devices, and iterations or departure_us;
    model, batch_size, model_parallel and replicas as needed.
    """
    from lightloom.formats.training_tables import read_job_trace
    from lightloom.training.job_run import run_jobs, traced_training
    from lightloom.training.job_times import JobTimes
    from lightloom.training.training_plan import TrainingRequest

    asked = asked_instance(instance)
    check_outputs({"--csv": csv_file, "--timeline": timeline}, instance, trace)
    jobs = [(job, traced_training(job, asked)) for job in read_job_trace(trace)]
    request = TrainingRequest(circuits=circuits, replayed=replayed)
    with progress("jobs") as tell:
        times = JobTimes(asked.fabric, request, seed, tell)
        run = run_jobs(times, jobs, policy)
    _write_tables(run, csv_file, timeline)
    if as_json:
        write_json(_record(instance, policy, run))
        return
    _print(instance, policy, run)


def _write_tables(run: ClusterRun, csv_file: str | None, timeline: str | None) -> None:
    """Write the CSV files that are asked for."""
    from lightloom.report.result_tables import (
        JOB_COLUMNS,
        MOMENT_COLUMNS,
        job_rows,
        moment_rows,
    )
    from lightloom.report.tables import save_csv

    if csv_file is not None:
        save_csv(JOB_COLUMNS, job_rows(run), Path(csv_file))
        say(f"jobs written to {csv_file}")
    if timeline is not None:
        save_csv(MOMENT_COLUMNS, moment_rows(run), Path(timeline))
        say(f"timeline written to {timeline}")


def _print(instance: str, policy: Policy, run: ClusterRun) -> None:
    """Print the jobs, and what became of the fabric."""
    from lightloom.report.result_tables import job_table

    write_table(job_table(run))
    never = sum(each.start_ps is None for each in run.jobs)
    left = f"; {counted(never, 'job')} left before there was room" if never else ""
    write_text(
        f"{instance}: {counted(len(run.jobs), 'job')} in {format_ps(run.makespan_ps)}"
        f" ({policy}){left}\n"
        f"  {100 * float(run.utilisation):.1f} % of the nodes were in use;"
        f" {100 * float(run.fragmentation):.1f} % of the free ones were outside the"
        " longest block"
    )


def _record(instance: str, policy: Policy, run: ClusterRun) -> dict[str, object]:
    """Return a run as its documented JSON object."""
    return {
        "instance": instance,
        "policy": policy,
        "nodes": run.node_count,
        "makespan_ps": run.makespan_ps,
        "utilisation": round(float(run.utilisation), 6),
        "fragmentation": round(float(run.fragmentation), 6),
        "jobs": [_job_record(each) for each in run.jobs],
        "moments": [
            {
                "time_ps": each.time_ps,
                "running": list(each.running),
                "waiting": list(each.waiting),
                "free": each.free.free,
                "blocks": list(each.free.blocks),
                "share_outside_longest": round(float(each.free.share), 6),
            }
            for each in run.moments
        ],
    }


def _job_record(each: JobResult) -> dict[str, object]:
    """Return a job as a JSON object."""
    together, slow_down = each.together_ps, each.slow_down
    return {
        "name": each.job.name,
        "devices": each.job.devices,
        "nodes": list(each.nodes),
        "strategy": each.strategy or None,
        "arrival_ps": each.job.arrival_ps,
        "start_ps": each.start_ps,
        "waiting_ps": each.waiting_ps,
        "finish_ps": each.finish_ps,
        "iterations": round(float(each.iterations), 6),
        "alone_ps": each.alone_ps,
        "together_ps": None if together is None else round(float(together), 3),
        "slow_down": None if slow_down is None else round(float(slow_down), 6),
    }
