"""JSON Schema of the schedule file, generated from the records.

``python -m lightloom.formats.json_schema`` writes it beside this module.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import msgspec

from lightloom.formats.atomic import atomic_write
from lightloom.formats.schedule_records import COLLECTIVE_KEYS, RECORDS, VERSION

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
