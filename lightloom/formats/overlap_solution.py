"""Solutions of overlap4ocs: reconfigurations of optical switches hidden behind data.

A solution is JSON: the value of every variable of the model, either as an object
(``"d_1_2": 8.0``, as PuLP writes it) or as Gurobi's list (``"Vars": [{"VarName":
"d[1,2]", "X": 8.0}]``, zeros left out). Steps and switches count from 1; d is a volume
in MB (1,000,000 bytes), u whether a switch is used in a step, r whether it is
reconfigured before. The model's own TOML file has the parameters.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec import Meta

from lightloom.core.errors import FormatError
from lightloom.core.record import convert
from lightloom.formats.json_file import read_toml

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from lightloom.formats.json_file import JsonFile

_VARIABLE = re.compile(r"([dur])(?:_(\d{1,9})_(\d{1,9})|\[(\d{1,9}),(\d{1,9})\])")
_COMPLETION = "CCT"
_MOST_CELLS = 2**20


class OverlapParameters(msgspec.Struct, frozen=True):
    """The parameters of the model that lightloom needs, in the model's units.

    `algorithm`: name of the algorithm whose steps are served, for example
    ``ar_having-doubling``. `m`: size of the whole message in MB. `B`: rate of a circuit
    in GB/s. `T_reconf`: time of a reconfiguration in ms. `T_lat`: fixed cost of a
    transfer in ms.
    """

    algorithm: str
    p: Annotated[int, Meta(ge=2, le=2**16)]
    k: Annotated[int, Meta(ge=1, le=2**10)]
    m: Annotated[float, Meta(gt=0, le=1e9)]
    B: Annotated[float, Meta(gt=0, le=1e6)]
    T_reconf: Annotated[float, Meta(ge=0, le=1e6)]
    T_lat: Annotated[float, Meta(ge=0, le=1e6)] = 0.0


@dataclass(frozen=True, eq=False)
class OverlapSolution:
    """What a solution says, arrays of shape (steps, switches).

    `volume_mb`: what a node sends in a step over a switch. `used`: whether the switch
    is used in the step. `reconfigured`: whether it is reconfigured before the step.
    `completion_ms`: the communication completion time that the model claims.
    """

    volume_mb: NDArray[np.float64]
    used: NDArray[np.bool_]
    reconfigured: NDArray[np.bool_]
    completion_ms: float


def has_solution(table: object) -> bool:
    """Return whether a decoded JSON file is a solution."""
    return isinstance(table, dict) and (_COMPLETION in table or "Vars" in table)


def read_overlap_parameters(path: str | Path) -> OverlapParameters:
    """Return the parameters in the model's TOML file; keys of no use are skipped.

    Raises `InputError`: the file cannot be read, a key is missing or its value is out
    of range.
    """
    known = OverlapParameters.__struct_fields__
    table = {key: value for key, value in read_toml(path).items() if key in known}
    return convert(table, OverlapParameters, where=str(path))


def solution_of(file: JsonFile) -> OverlapSolution:
    """Return the solution of a decoded file.

    Raises `FormatError`: it has another form, a value is no number or negative, or
    there are too many.
    """
    values = _values(file)
    if _COMPLETION not in values:
        what, allowed = "not a solution of the overlap model", "a variable CCT"
        raise FormatError(what, where=file.path, allowed=allowed)
    cells: dict[str, list[tuple[int, int, float]]] = {"d": [], "u": [], "r": []}
    for name, value in values.items():
        found = _VARIABLE.fullmatch(name)
        if found is not None:
            step, plane = int(found[2] or found[4]), int(found[3] or found[5])
            if not (step and plane):
                what, allowed = "invalid index", "steps and switches from 1"
                raise FormatError(what, where=file.path, found=name, allowed=allowed)
            cells[found[1]].append((step - 1, plane - 1, value))
    everything = [cell for rows in cells.values() for cell in rows]
    steps = 1 + max((cell[0] for cell in everything), default=-1)
    planes = 1 + max((cell[1] for cell in everything), default=-1)
    if not cells["d"] or steps * planes > _MOST_CELLS:
        what = "there are no volumes" if not cells["d"] else "too many steps"
        allowed = f"variables d_1_1 and so on, {_MOST_CELLS} at most"
        raise FormatError(what, where=file.path, allowed=allowed)
    tables = {name: np.zeros((steps, planes)) for name in cells}
    for name, rows in cells.items():
        for step, plane, value in rows:
            tables[name][step, plane] = value
    return OverlapSolution(
        tables["d"], tables["u"] > 0.5, tables["r"] > 0.5, values[_COMPLETION]
    )


def _values(file: JsonFile) -> dict[str, float]:
    """Return the value of every variable."""
    table = file.table if isinstance(file.table, dict) else {}
    found: dict[str, object] = table
    if "Vars" in table:
        rows = table["Vars"]
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and isinstance(row.get("VarName"), str)
            for row in rows
        ):
            what, allowed = "invalid variables", 'a list of {"VarName": ..., "X": ...}'
            raise FormatError(what, where=file.place("Vars"), allowed=allowed)
        found = {row["VarName"]: row.get("X") for row in rows}
    values = {}
    for name, value in found.items():
        if name != _COMPLETION and _VARIABLE.fullmatch(name) is None:
            continue
        number = 0.0 if value is None else value
        if not isinstance(number, int | float) or not 0 <= _float(number) <= 1e12:
            where = f"{file.path}: {name}"
            allowed = "a number from 0 to 1e12"
            raise FormatError(
                "invalid value", where=where, found=value, allowed=allowed
            )
        values[name] = float(number)
    return values


def _float(value: float) -> float:
    """Return an integer or float as a float, infinity where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
