"""All-to-all in slots: a circuit of its own for every pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.bench.measures import Measure
from lightloom.core.errors import InputError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems.fewest_rounds.all_to_all_slots import all_to_all_slots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import Instance


def run(instance: Instance, seed: int) -> Iterator[int]:
    """Fill slots with the circuits of all pairs.

    Parameters
    ----------
    instance
        Names a grid of light paths.
    seed
        Not used.
    """
    del seed
    if not isinstance(instance.fabric, Lightpath):
        raise InputError("invalid fabric", where=instance.name, allowed="lightpath")
    slots = all_to_all_slots(instance.fabric)
    yield slots.slot_count - slots.bound


MEASURE = Measure(
    "all-to-all-slots",
    "slots in which every pair of tiles has a circuit of its own",
    "slots above the bound",
    ("fill",),
    run,
)
