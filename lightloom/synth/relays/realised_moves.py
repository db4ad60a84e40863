"""Moves of bytes over relays on the circuits of any fabric."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.synth.realisation import Realisation
from lightloom.synth.relays.relay_moves import named_parts
from lightloom.synth.relays.stages import StageSearch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Demand
    from lightloom.synth.fabrics.realiser import Realiser
    from lightloom.synth.relays.relay_moves import RelayMoves

_MOST_REALISED = 4


def realised_moves(
    realiser: Realiser[Any], moves: RelayMoves, *, together: bool = True
) -> Realisation | None:
    """Return moves on circuits that are found for all rounds together.

    Returns ``None`` where no circuits are found.
    """
    try:
        made = realiser.realise_quickly(moves.traffic(together=together))
    except (InfeasibleError, NoAnswerError):
        return None
    steps = groupby(made.parts, lambda part: part.index)
    named = [
        named_parts([*parts], one)
        for (_, parts), one in zip(steps, moves.rounds, strict=True)
    ]
    return Realisation(made.segments, tuple(part for own in named for part in own))


def realised_stages(
    realiser: Realiser[Any], demand: Demand, limit_ps: float
) -> Iterator[tuple[Realisation, dict[str, ParameterValue]]]:
    """Yield a demand over configurations that lead everywhere in two circuits.

    `demand`: bytes of each pair, one pair or more; it allows relays.
    """
    search = StageSearch(realiser.fabric, realiser.ports, demand)
    best = [*search.answers(limit_ps)][-_MOST_REALISED:]
    for answer in reversed(best):
        made = realised_moves(realiser, search.moves(answer))
        if made is not None:
            yield made, {"steps": [*answer.stages.turns]}
