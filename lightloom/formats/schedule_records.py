"""Lines of the schedule file, version 2: header, segments, steps, footer.

``python -m lightloom.formats.schedule_records`` writes their JSON Schema beside this
module.
"""

from __future__ import annotations

import inspect
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType

from lightloom.core.certificate import COMPLETION_TIME, Certificate, stored
from lightloom.core.circuit import COLUMNS
from lightloom.core.errors import FormatError, InputError
from lightloom.core.fabric import FabricTable
from lightloom.core.task import Collective, Demand
from lightloom.formats.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.certificate import Number


# msgspec reads the annotations when the classes are made.

FORMAT_NAME = "lightloom-schedule"
VERSION = 2
"""Of the format that is written."""
SUPPORTED_VERSIONS = (1, 2)
"""Versions that are read."""

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Column: TypeAlias = Int64 | list[Int64]
_PLAIN = list[Int64] | UnsetType
_LISTS = list[list[Int64]] | UnsetType
OpName = Literal["copy", "reduce"]
Parameter: TypeAlias = int | str | bool | list[int | str]
StoredNumber: TypeAlias = int | tuple[int, int]
"""An exact value: a fraction by numerator and denominator, in lowest terms."""
TimeWitness: TypeAlias = dict[str, int | list[int]]
StoredWitness: TypeAlias = dict[str, int | str | list[int | list[int]]]


class TaskRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The task of a schedule: exactly one of its keys."""

    collective: Collective | UnsetType = UNSET
    demand: Demand | UnsetType = UNSET


class AlgorithmRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who made the schedule, with everything needed to make it again."""

    name: str
    parameters: dict[str, Parameter]
    seed: int


class HeaderRecord(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="record",
    tag="header",
):
    """The first line: what the file is, and what the schedule is for.

    ``fabric`` is the instance's table with every default filled in.
    """

    format: Literal["lightloom-schedule"]
    version: Literal[1, 2]
    written_by: str
    fabric: FabricTable
    task: TaskRecord
    algorithm: AlgorithmRecord


class SegmentRecord(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="record",
    tag="segment",
):
    """The circuits that one plane holds between two reconfigurations.

    Row i of every column is one circuit: the wavelengths that share one route from
    src to dst, whose nodes are listed in order, both ends included. Direction is
    the way round a ring, transceiver the one used at both ends. A fabric without one
    of them has no such column. Rows with the same multicast id, 0 or more, are one
    circuit with several destinations; -1, or no such column, means none.
    """

    plane: Count
    index: Count
    src: list[Int64]
    dst: list[Int64]


SegmentLine = cast(
    "type[SegmentRecord]",
    msgspec.defstruct(
        "SegmentRecord",
        [(each.name, _LISTS if each.ragged else _PLAIN, UNSET) for each in COLUMNS],
        bases=(SegmentRecord,),
        namespace={"__doc__": SegmentRecord.__doc__},
        frozen=True,
        forbid_unknown_fields=True,
        tag_field="record",
        tag="segment",
    ),
)
"""A segment with the columns of `lightloom.core.circuit`, any of them unset."""


class StepRecord(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    tag_field="record",
    tag="step",
):
    """The transfers of one step in one segment of one plane.

    Row i of every column is one transfer; a single value stands for all rows.
    Lines of equal index form one step. Transfers carry the chunks from chunk_lo up
    to, not including, chunk_hi, or, where the task is a demand, bytes; where some of
    these are relayed, also the origin they come from and the final node they are for.
    On packet fabrics there is no plane and no segment.
    """

    index: Count
    plane: Count | UnsetType = UNSET
    segment: Count | UnsetType = UNSET
    src: Column
    dst: Column
    chunk_lo: Column | UnsetType = UNSET
    chunk_hi: Column | UnsetType = UNSET
    op: OpName | list[OpName] | UnsetType = UNSET
    bytes: Column | UnsetType = UNSET
    origin: Column | UnsetType = UNSET
    final: Column | UnsetType = UNSET


class CertificateRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lower bound on the completion time in picoseconds, with its witness."""

    kind: str
    bound: int
    value: int | None = None
    witness: TimeWitness = msgspec.field(default_factory=dict)


class ObjectiveRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bound on something other than the completion time, with its witness."""

    objective: str
    kind: str
    bound: StoredNumber
    value: StoredNumber | None = None
    witness: StoredWitness = msgspec.field(default_factory=dict)


class FooterRecord(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    tag_field="record",
    tag="footer",
):
    """The last line: what the schedule claims of itself, and the file's hash.

    ``certificate`` bounds the completion time, ``objectives`` other things.

    ``sha256`` is over the bytes of all earlier lines, newlines included, of the
    uncompressed file.
    """

    segments: Count
    steps: Count
    circuits: Count
    transfers: Count
    completion_time_ps: Count
    certificate: CertificateRecord | None
    objectives: list[ObjectiveRecord] | UnsetType = UNSET
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


Record: TypeAlias = HeaderRecord | SegmentRecord | StepRecord | FooterRecord
RECORDS: dict[str, type[Record]] = {
    "header": HeaderRecord,
    "segment": SegmentLine,
    "step": StepRecord,
    "footer": FooterRecord,
}
COLLECTIVE_KEYS = ("op", "nodes", "buffer_bytes")
"""Keys of a collective that a file always has; in Python two have defaults."""
NEW_KEYS: dict[type[Record], tuple[str, ...]] = {
    SegmentLine: tuple(each.name for each in COLUMNS if each.since > 1),
    StepRecord: ("origin", "final"),
    FooterRecord: ("objectives",),
}
"""Keys that version 1 does not know."""
REQUIRED_KEYS: dict[type[Record], tuple[str, ...]] = {FooterRecord: ("objectives",)}
"""Those of them that later versions always have."""


SCHEMA_PATH = Path(__file__).with_name("schedule.schema.json")

_CHUNKED = ["chunk_lo", "chunk_hi", "op"]
_FLUID = ["bytes", "origin", "final"]


def schedule_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that every line of a schedule file meets.

    What the types alone cannot say is added: a step carries chunks or bytes, and
    has a plane and a segment or neither; a header has one task. Equal lengths of
    columns, the order of lines and the hash are beyond a schema.
    """
    references, definitions = msgspec.json.schema_components(
        list(RECORDS.values()), ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        # Python 3.13 takes the indentation out of docstrings; earlier ones do not.
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    definitions["StepRecord"] |= {
        "oneOf": [
            {"required": _CHUNKED, "properties": dict.fromkeys(_FLUID, False)},
            {"required": ["bytes"], "properties": dict.fromkeys(_CHUNKED, False)},
        ],
        "dependentRequired": {
            "plane": ["segment"],
            "segment": ["plane"],
            "origin": ["final"],
            "final": ["origin"],
        },
    }
    collective = definitions["Collective"]
    collective["required"] = list(COLLECTIVE_KEYS)
    for key in COLLECTIVE_KEYS:
        collective["properties"][key].pop("default", None)
    definitions["TaskRecord"] |= {"minProperties": 1, "maxProperties": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"lightloom schedule, version {VERSION}: one line",
        "oneOf": list(references),
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """Return the schema as it is shipped."""
    return json.dumps(schedule_schema(), indent=2) + "\n"


if __name__ == "__main__":
    with atomic_write(SCHEMA_PATH) as file:
        file.write(schema_text().encode())


def exact(value: StoredNumber, where: str) -> Number:
    """Return an exact value from what a file holds.

    Raises `FormatError` if it is no fraction in lowest terms.
    """
    if isinstance(value, int):
        return value
    top, bottom = value
    if bottom < 1 or math.gcd(top, bottom) != 1:
        what, allowed = "invalid fraction", "numerator, denominator in lowest terms"
        raise FormatError(what, where=where, found=[top, bottom], allowed=allowed)
    return Fraction(top, bottom)


def read_certificates(
    certificate: CertificateRecord | None,
    objectives: Sequence[ObjectiveRecord],
    where: str,
) -> tuple[Certificate, ...]:
    """Return the certificates of a footer, that of the completion time first.

    Raises `FormatError`: a fraction that is not in lowest terms; a bound on the
    completion time among those of other objectives.
    """
    found = []
    if certificate is not None:
        one = certificate
        found.append(
            Certificate(COMPLETION_TIME, one.kind, one.bound, one.value, one.witness)
        )
    for row, other in enumerate(objectives):
        place, name = f"{where}: objectives[{row}]", other.objective
        if name == COMPLETION_TIME:
            what, fix = "invalid objective", "state its bound under certificate"
            raise FormatError(what, where=f"{place}.objective", found=name, fix=fix)
        bound = exact(other.bound, f"{place}.bound")
        value = other.value
        told = None if value is None else exact(value, f"{place}.value")
        found.append(Certificate(name, other.kind, bound, told, other.witness))
    return tuple(found)


def stored_certificates(
    certificates: Sequence[Certificate],
) -> tuple[CertificateRecord | None, list[ObjectiveRecord]]:
    """Return that of the completion time, and the others, as files hold them.

    Raises `InputError` if several are of the completion time, for which files have one
    place.
    """
    certificate, objectives = None, []
    for one in certificates:
        bound = stored(one.bound)
        value = None if one.value is None else stored(one.value)
        if one.objective == COMPLETION_TIME:
            if certificate is not None:
                what, allowed = "a second certificate of the completion time", "one"
                raise InputError(what, where="footer.certificates", allowed=allowed)
            # Readers refuse what is no whole number, and words in its witness.
            certificate = CertificateRecord(
                one.kind,
                cast("int", bound),
                cast("int | None", value),
                cast("TimeWitness", one.witness),
            )
        else:
            witness = cast("StoredWitness", one.witness)
            record = ObjectiveRecord(one.objective, one.kind, bound, value, witness)
            objectives.append(record)
    return certificate, objectives
