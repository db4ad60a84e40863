"""What a job of a trace trains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.training import Training
from lightloom.instances.computation_table import read_computation

if TYPE_CHECKING:
    from lightloom.formats.job_trace import TracedJob
    from lightloom.instances.instance import Instance


def traced_training(job: TracedJob, instance: Instance) -> Training:
    """Return what a job trains.

    Parameters
    ----------
    job
        Its model and batch, where they are given.
    instance
        Its ``[computation]``, if it has one, says the rest: GPU, precision and
        optimiser, and where the job names no model all of it.

    Raises
    ------
    InputError
        No model in either; an unknown one; a batch that it cannot have; a file that
        cannot be read.
    """
    task = instance.task if isinstance(instance.task, Training) else None
    table: dict[str, object] = {}
    if task is not None:
        table = {key: getattr(task, key) for key in ("gpu", "precision", "optimiser")}
    if job.model is not None:
        kind = "onnx" if job.model.endswith(".onnx") else "model"
        table[kind] = job.model
    elif task is not None:
        more = ("model", "onnx", "batch_size", "parameters", "profile")
        table |= {key: getattr(task, key) for key in more if getattr(task, key)}
    else:
        what = "a job without a model, on an instance without one"
        fix = "give it a model, for example bert-large"
        raise InputError(what, where=job.where, found=job.name, fix=fix)
    if job.batch_size is not None:
        table["batch_size"] = job.batch_size
    return read_computation(table, f"{job.where}, {job.name}", Path())
