"""What can be chosen, as tables: algorithms, parameters, candidates, instances."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import msgspec
import msgspec.inspect

from lightloom.core.task import Collective
from lightloom.core.training import Training
from lightloom.core.units import format_ps
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.report.tables import terminal_table
from lightloom.synth.demand_algorithms import ON_DEMANDS
from lightloom.synth.ocs.baseline_schedules import BASELINES
from lightloom.synth.ramp.schedules import most_ranks
from lightloom.synth.ring.span_time import NEVER_PS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table

    from lightloom.instances.instance import Instance
    from lightloom.plans.algorithms import AlgorithmEntry
    from lightloom.synth.auto import Candidate


DEMANDS = "demand"
"""What algorithms for demands serve, beside the operations of collectives."""
_COLUMNS = ("algorithm", "summary", "serves", "parameters")
_PARAMETER_COLUMNS = ("parameter", "type", "default", "allowed", "meaning")


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm.

    `name` is its key, as ``--param`` takes it. Where `default` is ``None``, the
    algorithm chooses, as `meaning` says; `allowed` is '' where `type` says it all.
    """

    name: str
    type: str
    default: object
    allowed: str
    meaning: str
    is_list: bool

    def text(self) -> str:
        """Return the parameter with its default, as ``--param`` takes it."""
        return f"{self.name}={value_text(self.default)}"


@dataclass(frozen=True)
class AlgorithmRow:
    """An algorithm as the table lists it; `ops` are what it serves."""

    name: str
    summary: str
    ops: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()

    def record(self) -> dict[str, object]:
        """Return the row as plain values, for JSON."""
        return {
            "name": self.name,
            "summary": self.summary,
            "ops": list(self.ops),
            "parameters": [
                {key: value for key, value in asdict(one).items() if key != "is_list"}
                for one in self.parameters
            ],
        }


def parameters_of(entry: AlgorithmEntry) -> tuple[Parameter, ...]:
    """Return the parameters of an algorithm with the defaults of its preset."""
    record = msgspec.inspect.type_info(entry.make)
    assert isinstance(record, msgspec.inspect.StructType)
    return tuple(
        _parameter(field, entry.preset.get(field.encode_name, field.default))
        for field in record.fields
    )


def algorithm_rows() -> list[AlgorithmRow]:
    """Return every algorithm, for collectives and for demands, by name."""
    rows = [
        AlgorithmRow(entry.name, entry.summary, entry.ops, parameters_of(entry))
        for entry in ALGORITHMS.values()
    ]
    rows += [
        AlgorithmRow(
            name,
            one.summary,
            (f"{DEMANDS} on {one.fabrics}" if one.fabrics else DEMANDS,),
        )
        for name, one in ON_DEMANDS.items()
    ]
    rows += [
        AlgorithmRow(one.name, one.summary, ("collectives on ocs",), parameters_of(one))
        for one in BASELINES.values()
    ]
    return sorted(rows, key=lambda row: row.name)


def algorithm_table(rows: Iterable[AlgorithmRow]) -> Table:
    """Return the algorithms as a terminal table."""
    cells = [
        (
            row.name,
            row.summary,
            " ".join(row.ops),
            " ".join(parameter.text() for parameter in row.parameters) or None,
        )
        for row in rows
    ]
    return terminal_table(_COLUMNS, cells)


def parameter_table(row: AlgorithmRow) -> Table:
    """Return the parameters of one algorithm as a terminal table."""
    cells = [
        (one.name, one.type, value_text(one.default), one.allowed or None, one.meaning)
        for one in row.parameters
    ]
    return terminal_table(_PARAMETER_COLUMNS, cells)


def _parameter(field: msgspec.inspect.Field, default: object) -> Parameter:
    """Return a field of an algorithm's record as a parameter."""
    kind, meaning = field.type, ""
    if isinstance(kind, msgspec.inspect.Metadata):
        meaning = str((kind.extra_json_schema or {}).get("description", ""))
        kind = kind.type
    if isinstance(kind, msgspec.inspect.UnionType):
        (kind,) = (
            one for one in kind.types if not isinstance(one, msgspec.inspect.NoneType)
        )
    name, allowed, is_list = _kind(kind)
    return Parameter(field.encode_name, name, default, allowed, meaning, is_list)


def _kind(kind: msgspec.inspect.Type) -> tuple[str, str, bool]:
    """Return the name of a type in words, its domain, and whether it is a list."""
    inspect = msgspec.inspect
    if isinstance(kind, inspect.Metadata):
        return _kind(kind.type)
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return "list of integers", _kind(kind.item_type)[1] + " each", True
    if isinstance(kind, inspect.TupleType):
        count, domain = len(kind.item_types), _kind(kind.item_types[0])[1]
        return f"list of {count} integers", domain + " each", True
    if isinstance(kind, inspect.IntType):
        return "integer", f"{kind.ge} to {kind.le}", False
    allowed = ""
    if isinstance(kind, inspect.BoolType):
        return "boolean", "true or false", False
    if isinstance(kind, inspect.StrType):
        allowed = "any"
    if isinstance(kind, inspect.LiteralType):
        allowed = " or ".join(map(str, kind.values))
    name = type(kind).__name__.removesuffix("Type").lower()
    return {"str": "text"}.get(name, name), allowed, False


def value_text(value: object) -> str:
    """Return a value as ``--param`` takes it, ``...`` where there is none."""
    if value in (None, msgspec.NODEFAULT, (), []):
        return "..."
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


_CANDIDATE_TABLE_COLUMNS = (
    "algorithm",
    "parameters",
    "mapping",
    "at least#",
    "replayed#",
    "reconfigurations#",
)


def candidate_table(compared: Sequence[Candidate], *, shown: int) -> Table:
    """Return the first candidates; the title says how many there were."""
    realised = sum(candidate.completion_time_ps is not None for candidate in compared)
    title = f"compared {len(compared)} candidates, {realised} of them by replay"
    if len(compared) > shown:
        title += f"; the best {shown}"
    rows = [
        (
            candidate.algorithm,
            parameters_text(candidate.parameters),
            candidate.mapping,
            _time(candidate.predicted_ps),
            _time(candidate.completion_time_ps),
            candidate.reconfigurations,
        )
        for candidate in compared[:shown]
    ]
    return terminal_table(_CANDIDATE_TABLE_COLUMNS, rows, title=title)


def parameters_text(parameters: Mapping[str, object]) -> str:
    """Return parameters as ``--param`` takes them."""
    return " ".join(f"{key}={value_text(value)}" for key, value in parameters.items())


def _time(time_ps: int | None) -> str | None:
    """Return a time in words, also one that stands for what cannot be served."""
    if time_ps is not None and time_ps >= NEVER_PS:
        return "not possible here"
    return None if time_ps is None else format_ps(time_ps)


_INSTANCE_TABLE_COLUMNS = ("fabric", "nodes#", "operations", "sizes", "schedules")
_MOST_SIZES = 4
"""Sizes of a family that a line lists in full."""


def instance_table(instances: Iterable[Instance]) -> Table:
    """Return named instances, those of a fabric with the same sizes in one row.

    A name is ``FABRIC/OPERATION-SIZE`` of one row. Of many sizes the first two and the
    last are shown; all collectives together are named so. What is too large for a
    schedule file says what streams it instead.
    """
    collectives = set(COLLECTIVES)
    nodes: dict[str, int] = {}
    sizes: dict[tuple[str, str, str], list[str]] = {}
    for instance in instances:
        fabric, task = instance.name.split("/")
        op, size = task.rsplit("-", 1)
        nodes[fabric] = instance.fabric.node_count
        sizes.setdefault((fabric, op, _made_by(instance)), []).append(size)
    ops: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for (fabric, op, made), names in sizes.items():
        ops.setdefault((fabric, tuple(names), made), []).append(op)
    rows = [
        (
            fabric,
            nodes[fabric],
            "every collective" if set(names) == collectives else " ".join(names),
            _sizes(of_size),
            made,
        )
        for (fabric, of_size, made), names in ops.items()
    ]
    return terminal_table(_INSTANCE_TABLE_COLUMNS, rows)


def _made_by(instance: Instance) -> str:
    """Return the command that takes an instance."""
    fabric, task = instance.fabric, instance.task
    if isinstance(fabric, Ramp) and isinstance(task, Collective):
        ranks = task.rank_count or fabric.node_count
        if ranks > most_ranks(fabric, task.op):
            return "too large: ramp check"
    return "train" if isinstance(task, Training) else "synth"


def _sizes(names: tuple[str, ...]) -> str:
    if len(names) <= _MOST_SIZES:
        return " ".join(names)
    first, second, *_, last = names
    return f"{first} {second} .. {last}"
