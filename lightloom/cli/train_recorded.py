"""``lightloom train`` of an iteration that was recorded elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.cli.console import counted, progress, write_json, write_table, write_text
from lightloom.cli.train_output import (
    circuits_text,
    controller_record,
    write_files,
    write_reasons,
    write_schedule,
)
from lightloom.core.errors import FormatError, InputError, LightloomError
from lightloom.core.units import PS_PER_US, format_ps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.iteration import Iteration
    from lightloom.formats.chakra import TraceNode
    from lightloom.instances.instance import Instance
    from lightloom.training.training_plan import ReplayedIteration, TrainingRequest


def run_recorded(
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
    write_files(found, outputs["--trace"], outputs["--traffic"])
    if outputs["--output"] is not None:
        write_schedule(found, outputs["--output"], seed)
    if as_json:
        write_json(
            {
                "instance": asked.name,
                "recorded": path,
                **_record(found),
                "compare": {name: _record(other) for name, other in others.items()},
            }
        )
        return
    _print(asked.name, path, iteration, found, others)


def _read(option: str, path: str, asked: Instance) -> Iteration:
    """Return the iteration of a file, or of a folder of traces."""
    from lightloom.core.training import Training
    from lightloom.instances.gpus import gpu_named
    from lightloom.training.recorded_iterations import (
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


def _record(found: ReplayedIteration | str) -> dict[str, object]:
    if isinstance(found, str):
        return {"error": found}
    return {
        "iteration_ps": found.timeline.iteration_ps,
        "circuits": found.circuits,
        "calls": len(found.calls),
        "reconfigurations": found.reconfigurations,
        "communication_share": round(float(found.timeline.communication_share), 6),
        **controller_record(found),
    }


def _print(
    name: str,
    path: str,
    iteration: Iteration,
    found: ReplayedIteration,
    others: Mapping[str, ReplayedIteration | str],
) -> None:
    from lightloom.report.tables import Column, terminal_table

    if others:
        columns = (
            Column("fabric"),
            Column("circuits"),
            Column("iteration, us", number=True),
        )
        rows = [
            (fabric, "not served", None)
            if isinstance(one, str)
            else (fabric, one.circuits, f"{one.timeline.iteration_ps / PS_PER_US:,.1f}")
            for fabric, one in {name: found, **others}.items()
        ]
        write_table(terminal_table(columns, rows))
        write_reasons(others)
    moved = int(iteration.is_transfer.sum())
    relays = len(found.iteration.operations) - len(iteration.operations)
    way = f" (passed on {counted(relays, 'time')} on the way)" if relays else ""
    write_text(
        f"{path} on {name}: iteration {format_ps(found.timeline.iteration_ps)}\n"
        f"  {len(iteration.operations):,} operations, {moved:,} transfers{way},"
        f" {len(iteration.collectives):,} collectives\n  {circuits_text(found)}"
    )
