"""Answers of the rounds model: transfers and circuits of every round."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.schedule import (
    Algorithm,
    Op,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.models.rounds import Wavelengths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.task import Collective
    from lightloom.instances.instance import Instance
    from lightloom.models.candidate_routes import Route
    from lightloom.models.linear_expression import Model


@dataclass(frozen=True, eq=False)
class RoundAnswer:
    """One round.

    `transfers`: copies, in nodes, sorted by (src, dst, chunk); neighbouring chunks of a
    pair are one row. `circuits`: as many wavelengths between a pair as it moves chunks,
    rows sorted by (src, dst, route). Where the model aggregates wavelengths,
    ``wavelengths`` is ``None`` and a row stands for one circuit.
    """

    transfers: Transfers
    circuits: Circuits


@dataclass(frozen=True, eq=False)
class RoundsAnswer:
    """A collective in rounds.

    `collective`: the collective, its chunk count chosen. `rounds`: the rounds in which
    anything moves, in order.
    """

    collective: Collective
    rounds: tuple[RoundAnswer, ...]


def decode_rounds(model: Model) -> RoundsAnswer:
    """Return the rounds that the values of a model's variables stand for."""
    question = model.question
    sent: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for (r, *transfer), variable in model.send.items():
        if round(variable.value or 0):
            sent[r].append(tuple(transfer))
    lit: dict[int, list[tuple[int, int, Route, int]]] = defaultdict(list)
    for (r, src, dst, i, *colour), variable in model.lit.items():
        route = question.routes[src, dst][i]
        circuits = round(variable.value or 0)
        lit[r].extend([(src, dst, route, *(colour or [0]))] * circuits)
    explicit = question.wavelengths is Wavelengths.EXPLICIT
    return RoundsAnswer(
        question.deliveries.collective,
        tuple(
            RoundAnswer(
                copies(sent[r]),
                light_paths(lit[r])
                if explicit
                else unlit_paths(row[:3] for row in lit[r]),
            )
            for r in sorted(sent)
        ),
    )


def copies(rows: Iterable[tuple[int, ...]]) -> Transfers:
    """Return (src, dst, chunk) rows as transfers, neighbouring chunks as one row."""
    merged: list[list[int]] = []
    for src, dst, chunk in sorted(rows):
        if merged and merged[-1][:2] == [src, dst] and merged[-1][3] == chunk:
            merged[-1][3] = chunk + 1
        else:
            merged.append([src, dst, chunk, chunk + 1])
    table = np.array(merged, dtype=np.int64).reshape(-1, 4)
    src_, dst_, lo, hi = (np.ascontiguousarray(table[:, i]) for i in range(4))
    return Transfers(src_, dst_, lo, hi, np.full(len(table), int(Op.COPY)))


def unlit_paths(rows: Iterable[tuple[int, int, Route]]) -> Circuits:
    """Return (src, dst, route) rows as circuits that have no wavelength yet."""
    given = sorted(rows)
    return Circuits(
        column(row[0] for row in given),
        column(row[1] for row in given),
        None,
        Ragged.from_lists([row[2] for row in given]),
    )


def light_paths(rows: Iterable[tuple[int, int, Route, int]]) -> Circuits:
    """Return (src, dst, route, wavelength) rows as circuits, one row a route."""
    shared: dict[tuple[int, int, Route], list[int]] = {}
    for src, dst, route, wavelength in sorted(rows):
        shared.setdefault((src, dst, route), []).append(wavelength)
    unlit = unlit_paths(shared)
    wavelengths = Ragged.from_lists(list(shared.values()))
    return Circuits(unlit.src, unlit.dst, wavelengths, unlit.route)


def round_count(answer: RoundsAnswer) -> Fraction:
    """Return the objective of Algorithm 1: the number of rounds."""
    return Fraction(len(answer.rounds))


def rounds_schedule(instance: Instance, answer: RoundsAnswer) -> Schedule:
    """Return an answer as a schedule: one step a round, and one segment.

    A round that keeps the circuits of the one before keeps its segment too, as
    nothing has to be reconfigured.

    Raises `InputError` if the answer's circuits have no wavelengths yet.
    """
    segments: list[Segment] = []
    parts: list[StepPart] = []
    for step, one in enumerate(answer.rounds):
        if one.circuits.wavelengths is None:
            what = "the circuits of an aggregated answer have no wavelengths yet"
            fix = "use the variant wavelengths=explicit"
            raise InputError(what, where="wavelengths", fix=fix)
        if not segments or not segments[-1].circuits.same_as(one.circuits):
            segments.append(Segment(0, len(segments), one.circuits))
        parts.append(StepPart(step, 0, len(segments) - 1, one.transfers))
    return Schedule(
        instance.fabric.table(),
        answer.collective,
        Algorithm("exact"),
        tuple(segments),
        tuple(parts),
    )
