"""What the records of fabrics share: a table, checks, wavelengths used once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np

from lightloom.core.fabric import CircuitFault
from lightloom.core.record import CheckedRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray, Ragged
    from lightloom.core.fabric import FabricTable


MOST_NODES = 2**20
"""Nodes of any fabric: their pairs are 2**40, whose numbers, with those of what they
share, fit 63 bits."""
MOST_BITS_PER_S = 10**18
"""Rate of a node, an exabit a second: sums of a few of them still fit 63 bits."""


class _WithNodes(Protocol):
    @property
    def nodes(self) -> int: ...


class _WithNodeRate(Protocol):
    @property
    def bits_per_second_per_node(self) -> int: ...


class _WithWavelengths(Protocol):
    @property
    def bits_per_second_per_wavelength(self) -> int: ...


class FabricRecord(CheckedRecord, frozen=True):
    """A fabric as a record: its fields are the keys of ``[fabric]``, ``kind`` first."""

    @property
    def node_count(self: _WithNodes) -> int:
        """Number of nodes."""
        return self.nodes

    @property
    def node_bits_per_s(self: _WithNodeRate) -> int:
        """Rate of a node."""
        return self.bits_per_second_per_node

    def table(self) -> FabricTable:
        """Return the fabric as its instance table."""
        table: FabricTable = msgspec.to_builtins(self)
        return table


@dataclass(frozen=True, eq=False)
class Resources:
    """What circuits take, under one rule, numbered by coordinates, the last fastest.

    Attributes
    ----------
    rule
        Rule id that limits each of them, for example ``lasers``.
    sizes
        How many values each coordinate has.
    name
        ``name(*coordinates)`` returns one in words, ``laser 3 of node 7``.
    amount
        ``amount(numbers)`` returns how much there is of each, by its number among
        these, shape (resources,); ``None`` where there is one of each.
    """

    rule: str
    sizes: tuple[int, ...]
    name: Callable[..., str]
    amount: Callable[[IntArray], IntArray] | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return prod(self.sizes)


class CircuitFabricRecord(FabricRecord, frozen=True):
    """A fabric of circuits, of one plane unless it says so."""

    @property
    def plane_count(self) -> int:
        """One: the fabric is reconfigured as a whole."""
        return 1

    @abstractmethod
    def resources(self) -> tuple[Resources, ...]:
        """Return what circuits take, in the order in which `usage` numbers it."""

    def capacity(self, resources: IntArray) -> IntArray:
        """Return how much there is of each resource."""
        amounts = np.ones(len(resources), dtype=np.int64)
        first = 0
        for some in self.resources():
            if some.amount is not None:
                own = (resources >= first) & (resources < first + some.count)
                amounts[own] = some.amount(resources[own] - first)
            first += some.count
        return amounts

    def _found(self, resource: int) -> tuple[Resources, int]:
        """Return a resource among those of its rule, and its number there."""
        number = resource
        for some in self.resources():
            if number < some.count:
                return some, number
            number -= some.count
        message = f"there is no resource {resource}"
        raise ValueError(message)

    def resource_rule(self, resource: int) -> str:
        """Return the rule id that limits the resource."""
        return self._found(resource)[0].rule

    def resource_name(self, resource: int) -> str:
        """Return the resource in words."""
        some, number = self._found(resource)
        return some.name(*map(int, np.unravel_index(number, some.sizes)))


class WavelengthFabricRecord(CircuitFabricRecord, frozen=True):
    """A fabric whose circuits are made of wavelengths of equal rate."""

    def circuit_bits_per_s(self: _WithWavelengths, circuits: Circuits) -> IntArray:
        """Return the rate of each circuit: its wavelengths times the rate of one."""
        return (
            circuits.lists("wavelengths").lengths * self.bits_per_second_per_wavelength
        )


def wavelength_faults(wavelengths: Ragged, count: int) -> Iterator[CircuitFault]:
    """Yield circuits without wavelengths, with one out of range, or with one twice.

    Parameters
    ----------
    wavelengths
        Of each circuit.
    count
        How many wavelengths there are, numbered from 0.
    """
    for row in np.flatnonzero(wavelengths.lengths == 0).tolist():
        yield CircuitFault("wavelength-range", row, "the circuit has no wavelength")
    outside = (wavelengths.values < 0) | (wavelengths.values >= count)
    for row in np.unique(wavelengths.row_of_value[outside]).tolist():
        message = f"wavelengths {wavelengths[row].tolist()}, allowed 0 to {count - 1}"
        yield CircuitFault("wavelength-range", row, message)
    for row in rows_with_repeats(wavelengths):
        message = f"wavelengths {wavelengths[row].tolist()} repeat"
        yield CircuitFault("wavelength-range", row, message)


def rows_with_repeats(lists: Ragged) -> list[int]:
    """Return the rows whose list has a value twice, sorted."""
    order = np.lexsort((lists.values, lists.row_of_value))
    rows, values = lists.row_of_value[order], lists.values[order]
    same = (rows[1:] == rows[:-1]) & (values[1:] == values[:-1])
    repeated: list[int] = np.unique(rows[1:][same]).tolist()
    return repeated
