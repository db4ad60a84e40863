"""Schedules of few rounds for LUMORPH's Algorithm 1, and bounds for them."""

from lightloom.problems.fewest_rounds.few_rounds import METHODS, FewRounds, few_rounds
from lightloom.problems.fewest_rounds.slots import Slots, all_to_all_slots

__all__ = ["METHODS", "FewRounds", "Slots", "all_to_all_slots", "few_rounds"]
