"""Why no strategy of a training can be run, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError
from lightloom.training.replica import smallest_fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.training import Training
    from lightloom.training.strategy import Strategy
    from lightloom.training.training_plan import Tried

_REASONS = 3
"""Reasons told, at most."""


def nothing_fits(
    training: Training, ports: int | None, tried: Sequence[Tried]
) -> InfeasibleError:
    """Return the error that says why, and how many devices hold a replica.

    `ports`: how many others a device can reach at once, ``None`` for all.
    """
    name = training.model or training.onnx
    local = min(each.strategy.local_batch for each in tried)
    samples = f"{local} sample{'s' if local > 1 else ''}"
    fewest = smallest_fit(training, local, ports)
    most = max(each.strategy.model_parallel for each in tried)
    if fewest is not None and fewest > most:
        return InfeasibleError(
            f"{name} fits the memory of {training.gpu} at no split tried",
            where="model_parallel",
            found=f"at most {most} devices a replica",
            allowed=f"{fewest} devices or more, {samples} a replica",
            fix="let more devices share the model, or use a GPU with more memory",
        )
    first: dict[str, Strategy] = {}
    for each in sorted(tried, key=_devices):
        first.setdefault(each.why, each.strategy)
    shown = list(first.items())[:_REASONS]
    reasons = "; ".join(
        f"{shared.model_parallel} x {shared.replicas} devices: {why}"
        for why, shared in shown
    )
    what = f"no strategy tried can be run: {reasons}"
    fix = "ask for other numbers of devices and replicas, or another fabric"
    if fewest is not None and all("memory" in why for why in first):
        fix = f"{fewest} devices hold a replica of {samples}: use so many for each"
        fix += ", on a larger fabric, or a smaller batch"
    return InfeasibleError(what, where=str(name), fix=fix)


def _devices(tried: Tried) -> tuple[int, int, int]:
    shared = tried.strategy
    return shared.model_parallel, shared.replicas, shared.batch_size
