"""Algorithms for collectives by name, in families, found by walking this folder.

An algorithm knows ranks, chunks and ports; it never sees a fabric. What it proposes to
`auto` follows from a `Setting`.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError
from lightloom.core.record import convert
from lightloom.plans.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting

    Proposals: TypeAlias = Callable[[Setting], Iterable[Mapping[str, object]]]


class _AbstractRecord(ABCMeta, msgspec.StructMeta):
    """Records that say which methods a subclass must have."""


class CollectiveAlgorithm(
    msgspec.Struct,
    metaclass=_AbstractRecord,
    frozen=True,
    forbid_unknown_fields=True,
):
    """A way to do collectives: a frozen record whose fields are its parameters.

    An algorithm defines `ops` and `_rounds`, and `_chunks` where one chunk per block is
    not what it wants.
    """

    @property
    @abstractmethod
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do with these parameters, sorted."""

    def granularity(self, ranks: int, ports: int) -> int:
        """Return how many equal chunks it would like the buffer to have.

        For all-to-all the buffer is that of one rank. Any number that the
        collective admits will do: parts then differ by a chunk or are empty.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers a rank can drive at once, at least 1.

        Raises
        ------
        InputError
            If the parameters do not fit so many ranks.
        """
        return self._chunks(ranks, ports)

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds of a collective whose chunk count is chosen.

        Parameters
        ----------
        collective
            What is to be done, with its root if it has one.
        ports
            Peers a rank can drive at once, at least 1.

        Raises
        ------
        InputError
            If it cannot do the operation, or not with these parameters.
        """
        require_op(self, collective)
        if collective.rank_count == 1:
            return Plan(collective, ())
        return Plan(collective, tuple(self._rounds(collective, ports)))

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return what `granularity` does: one chunk per block."""
        del ports
        return ranks

    @abstractmethod
    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of two ranks or more, of one of `ops`."""


def proposed_once(setting: Setting) -> Iterable[Mapping[str, object]]:
    """Propose an algorithm as its entry presets it, wherever it serves."""
    del setting
    return ({},)


def never_proposed(setting: Setting) -> Iterable[Mapping[str, object]]:
    """Propose nothing: the algorithm is there to be asked for by name."""
    del setting
    return ()


@dataclass(frozen=True)
class AlgorithmEntry:
    """An algorithm as the catalogue lists it.

    Attributes
    ----------
    name
        Name, as in ``--algorithm``.
    summary
        One line that says what it is good for.
    ops
        Collectives it can do, sorted.
    make
        Record type whose fields are the parameters: a `CollectiveAlgorithm`. Each
        field has a description, ``Annotated[..., msgspec.Meta(description=...)]``.
    preset
        Parameters that differ from the record's defaults.
    proposals
        ``proposals(setting)`` yields the parameters that ``auto`` compares where its
        task and fabric are as `Setting` says, best guesses first; by default none but
        the preset ones. It is asked for collectives of `ops` only. What then cannot be
        done is passed over.
    along_lines
        Whether all messages of what it proposes go along the lines of the setting's
        box. Where nothing else can be sent, ``auto`` asks no others.
    always
        Whether ``auto`` realises what it proposes even after many others, where light
        is scarce and predictions say little: what is often best then.
    """

    name: str
    summary: str
    ops: tuple[str, ...]
    make: type[msgspec.Struct]
    preset: Mapping[str, object] = field(default_factory=dict)
    proposals: Proposals = proposed_once
    along_lines: bool = False
    always: bool = False


ALGORITHMS: Catalogue[AlgorithmEntry] = Catalogue(
    __name__, attribute="ALGORITHM", noun="algorithm", group="lightloom.algorithms"
)
"""Every algorithm for collectives, by name."""


def proposed(
    setting: Setting, say: Callable[[str], None] | None = None
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield names and parameters of all that the catalogue proposes, best first.

    First what is always realised, so that of several that are as fast a baseline is
    taken. An algorithm of another package that cannot be imported is passed over, and
    `say` is told why.
    """
    for entry in sorted(ALGORITHMS.usable(say), key=lambda entry: not entry.always):
        if setting.op in entry.ops and entry.along_lines >= setting.along_lines:
            for parameters in entry.proposals(setting):
                yield entry.name, dict(parameters)


def make_algorithm(
    name: str, parameters: Mapping[str, object], op: str | None = None
) -> CollectiveAlgorithm:
    """Return an algorithm with parameters.

    `op`: the collective it is wanted for, to be refused here if it cannot do it.

    Raises `InputError`: unknown algorithm or parameter (nearest names suggested), a
    value of the wrong type or out of its domain, or an algorithm that cannot do `op`.
    """
    entry = ALGORITHMS.get(name)
    if op is not None and op not in entry.ops:
        raise _unable(f"{name} does not do {op}", op, entry.ops)
    table = {**entry.preset, **parameters}
    where = f"algorithm.{name}"
    made = cast("CollectiveAlgorithm", convert(table, entry.make, where=where))
    if op is not None and op not in made.ops:
        raise _unable(f"{name} with these parameters does not do {op}", op, made.ops)
    return made


def require_op(algorithm: CollectiveAlgorithm, collective: Collective) -> None:
    """Raise if an algorithm cannot do the operation of a collective.

    Raises `InputError`: naming the algorithms that can.
    """
    if collective.op not in algorithm.ops:
        what = f"the algorithm does not do {collective.op}"
        raise _unable(what, collective.op, algorithm.ops)


def _unable(what: str, op: str, ops: tuple[str, ...]) -> InputError:
    able = [entry.name for entry in ALGORITHMS.values() if op in entry.ops]
    fix = f"auto takes the fastest that does {op} here, of {', '.join(able)}"
    fix = fix if able else ""
    return InputError(what, where="algorithm", allowed=", ".join(ops), fix=fix)
