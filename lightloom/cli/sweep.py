"""``lightloom sweep``: completion times over sizes, keys and algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lightloom.cli.console import counted, say, write_json, write_table
from lightloom.cli.files import check_output
from lightloom.cli.options import (
    JSON,
    argument,
    command,
    instance_names,
    option,
    parse_parameters,
    seed_option,
)
from lightloom.cli.run_jobs import SCHEDULER, run_jobs, workers_option
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from lightloom.bench.results import Row
    from lightloom.bench.suite import GridPoint
    from lightloom.core.schedule import ParameterValue
    from lightloom.report.result_tables import SweepRow


@command
def sweep_command(
    *,
    instance: str = argument(shell_complete=instance_names),
    sizes: str | None = option(
        "Buffers of the collective, for example 64KiB,1MiB,16MiB.",
        "--size",
        metavar="BYTES,...",
    ),
    keys: tuple[str, ...] = option(
        "Values of a key, for example fabric.lasers=4,8,16; repeatable.",
        "--set",
        metavar="TABLE.KEY=VALUE,...",
    ),
    algorithms: str = option(
        "Algorithms of `lightloom algorithms`, or auto.",
        "--algorithm",
        metavar="NAME,...",
        default="auto",
    ),
    seed: int = seed_option("Seed of random choices."),
    time_limit: float = option(
        "Seconds for each combination.",
        type=click.FloatRange(0, 10**6, min_open=True),
        default=600.0,
    ),
    results: str = option(
        "Results to continue.", metavar="FILE", default="sweep.jsonl"
    ),
    workers: int | None = workers_option(),
    scheduler: str | None = SCHEDULER,
    csv_file: str | None = option("Write the table as CSV.", "--csv", metavar="FILE"),
    plot: str | None = option("Draw it: .png, .svg or .pdf.", metavar="FILE"),
    as_json: bool = JSON,
) -> None:
    """Synthesise over sizes, keys and algorithms: table, CSV, picture.

    INSTANCE is a name of `lightloom instances` or a TOML file. Every combination of the
    values given is synthesised, verified and replayed in a process of its own. What the
    results file holds for this version is not computed again: an interrupted sweep goes
    on where it stopped.
    """
    from lightloom.bench.results import ResultsFile
    from lightloom.bench.suite import grid_points
    from lightloom.bench.sweep import pending

    for path, flag in ((results, "--results"), (csv_file, "--csv"), (plot, "--plot")):
        if path is not None:
            check_output(path, flag, instance, compressible=flag == "--csv")
    if plot is not None:
        from lightloom.report.plots import check_picture

        check_picture(Path(plot))
    points = grid_points(
        instance,
        _axes(sizes, keys),
        _listed(algorithms, "--algorithm"),
        seed=seed,
        time_limit_s=time_limit,
    )
    with ResultsFile(results) as file:
        todo = pending([point.job for point in points], file.rows)
        say(
            f"{instance}: {counted(len(points), 'point')}, {len(todo)} not in {results}"
        )
        made = run_jobs("sweep", todo, file, scheduler, workers) if todo else ()
        found = {row.key: row for row in (*file.rows, *made)}
    _show(instance, points, found, csv_file, plot, as_json=as_json)


def _axes(sizes: str | None, keys: tuple[str, ...]) -> dict[str, list[ParameterValue]]:
    """Return the values of each key."""
    from lightloom.instances.catalogue import BUFFER_BYTES, parse_size

    axes: dict[str, list[ParameterValue]] = {}
    if sizes is not None:
        listed = _listed(sizes, "--size")
        axes[BUFFER_BYTES] = [parse_size(size, "--size") for size in listed]
    for text in keys:
        key, _, values = text.partition("=")
        if key.strip() in axes:
            raise InputError("key given twice", where="--set", found=key)
        one_each = [
            parse_parameters([f"{key}={value}"], flag="--set")
            for value in _listed(values, "--set")
        ]
        axes[key.strip()] = [next(iter(one.values())) for one in one_each]
    return axes


def _listed(text: str, option: str) -> list[str]:
    """Return what is separated by commas, each once."""
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        allowed = "values separated by commas"
        raise InputError("a value is empty", where=option, found=text, allowed=allowed)
    return list(dict.fromkeys(values))


def _show(
    title: str,
    points: tuple[GridPoint, ...],
    found: dict[str, Row],
    csv_file: str | None,
    plot: str | None,
    *,
    as_json: bool,
) -> None:
    """Print the table, and write it as CSV and as a picture."""
    from lightloom.report.result_tables import SweepRow, sweep_panels, sweep_table

    rows = [_row(point, found[point.job.key], SweepRow) for point in points]
    if csv_file is not None:
        from lightloom.report.tables import save_csv

        records = [row.record() for row in rows]
        save_csv(
            list(records[0]), [list(one.values()) for one in records], Path(csv_file)
        )
    if plot is not None:
        from lightloom.report.plots import save_panels

        save_panels(sweep_panels(rows), Path(plot), title=title)
    if as_json:
        write_json({"rows": [row.record() for row in rows]})
    else:
        write_table(sweep_table(rows))


def _row(point: GridPoint, row: Row, record: type[SweepRow]) -> SweepRow:
    """Return a point of the grid with what was found there."""
    task = point.job.instance.task
    finding = row.finding
    exact = None if finding.answer is None else int(finding.answer)
    bound = None if finding.bound is None else int(finding.bound)
    return record(point.values, task, exact, bound, str(finding.ending), finding.detail)
