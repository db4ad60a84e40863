"""The papers' optimisation problems as Pyomo models: one file each.

A module has ``build(instance, **variant)``, which returns a Pyomo model, and what reads
its solution: ``decode``, ``objective`` and, where answers are schedules, ``schedule``;
``size`` estimates a model before it is built. `lightloom.problems` says which problem
each belongs to. Pyomo is imported when a module of this folder is, but not by this
package itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelSize:
    """How large a model would be, before it is built.

    `rows`, `columns`, `nonzeros`: upper estimates of constraints, variables and their
    entries. `instead`: what to use where that is too large: an algorithm, or another
    instance.
    """

    rows: int
    columns: int
    nonzeros: int
    instead: str = ""
