"""Schedules of few rounds for LUMORPH's Algorithm 1, and bounds for them."""

from lightloom.problems.fewest_rounds.all_to_all_slots import Slots, all_to_all_slots
from lightloom.problems.fewest_rounds.few_rounds import METHODS, FewRounds, few_rounds

__all__ = ["METHODS", "FewRounds", "Slots", "all_to_all_slots", "few_rounds"]
