"""What is measured besides answers to problems: one file each, found by walking.

A module offers its measure as ``MEASURE``. In a suite the problem is then
``measure``, and its entrants are measures by name.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lightloom.bench.results import Parameter

STAGE = "stage"
"""Parameter that says which stage is timed."""


@dataclass(frozen=True)
class Measure:
    """Work in stages, one of which is timed.

    Attributes
    ----------
    name
        Name in the catalogue.
    summary
        What is done, in a line.
    unit
        What the number counts that a stage comes to.
    stages
        Names of the stages, in order. Those before the timed one are done before the
        clock starts, within the minute that a run has to start up.
    run
        ``run(instance, seed, **parameters)`` yields a number after each stage.
        Deterministic. Raises `LightloomError` where something is not as it should be.
    """

    name: str
    summary: str
    unit: str
    stages: tuple[str, ...]
    run: Callable[..., Iterator[int]]


MEASURES: Catalogue[Measure] = Catalogue(__name__, attribute="MEASURE", noun="measure")
"""Every measure, by name."""


def check_parameters(
    measure: Measure, parameters: Mapping[str, Parameter], where: str
) -> None:
    """Refuse parameters that a measure does not take.

    Parameters
    ----------
    measure
        What is to be done.
    parameters
        Of its function, and ``stage``: by default the last one is timed.
    where
        For messages.

    Raises
    ------
    InputError
        Unknown stage or parameter, or one of another type.
    """
    taken = list(inspect.signature(measure.run).parameters.values())[2:]
    kinds = {one.name: str(one.annotation) for one in taken} | {STAGE: "str"}
    for key, value in parameters.items():
        if key not in kinds:
            what, allowed = f"{measure.name} takes no {key!r}", ", ".join(kinds)
            raise InputError(
                what, where=where, allowed=allowed, fix=nearest(key, kinds)
            )
        if type(value).__name__ != kinds[key]:
            what = f"parameter {key} of {measure.name} has the wrong type"
            raise InputError(what, where=where, found=value, allowed=kinds[key])
    stage = parameters.get(STAGE, measure.stages[-1])
    if stage not in measure.stages:
        what, allowed = f"unknown stage of {measure.name}", ", ".join(measure.stages)
        raise InputError(what, where=where, found=stage, allowed=allowed)
