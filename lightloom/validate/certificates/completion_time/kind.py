"""Kinds of bound: a search for a witness, and the arithmetic that checks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.certificate import Certificate

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

Witness: TypeAlias = dict[str, int | list[int]]


class WitnessError(ValueError):
    """A witness that does not have the form of its kind, or fits nothing here."""


@dataclass(frozen=True)
class BoundKind:
    """One kind of argument; each module of this folder offers one as ``BOUND``.

    Attributes
    ----------
    name
        `Certificate.kind`.
    find
        Returns the best witness it can find, or ``None`` where the argument has
        nothing to say. Nothing rests on how it searches.
    prove
        Returns the bound, in picoseconds, that a witness proves, by arithmetic
        alone; raises `WitnessError`.
    """

    name: str
    find: Callable[[AnyFabric, Task], Witness | None]
    prove: Callable[[AnyFabric, Task, Witness], int]

    def bound(self, fabric: AnyFabric, task: Task) -> Certificate | None:
        """Return the best certificate of this kind, without value."""
        witness = self.find(fabric, task)
        if witness is None:
            return None
        return Certificate(self.name, self.prove(fabric, task, witness), None, witness)

    def check(self, fabric: AnyFabric, task: Task, certificate: Certificate) -> int:
        """Return what the certificate's witness proves, whatever it claims.

        Raises
        ------
        WitnessError
            If the witness is not one.
        """
        return self.prove(fabric, task, certificate.witness)


def node_of(witness: Witness, node_count: int, *others: str) -> int:
    """Return ``witness["node"]``; `others` are the only other keys there may be."""
    keys = sorted(("node", *others))
    if sorted(witness) != keys:
        message = f"the witness has keys {sorted(witness)}, allowed: {keys}"
        raise WitnessError(message)
    node = witness["node"]
    if not isinstance(node, int) or not 0 <= node < node_count:
        message = f"node {node} is not among 0 to {node_count - 1}"
        raise WitnessError(message)
    return node


def no_keys(witness: Witness) -> None:
    """Raise unless the witness is empty."""
    if witness:
        message = f"the witness has keys {sorted(witness)}, allowed: none"
        raise WitnessError(message)
