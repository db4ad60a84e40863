"""What other optimisers found, as JSON: TE-CCL's flows and overlap4ocs's solutions.

TE-CCL solves multi-commodity flows. A file has a few figures and, under ``7-Flows`` (in
older files ``6-Flows``), a sentence for every chunk that crosses a link: ``Chunk 2 from
0 traveled over 0->3 with volume 1.0 in epoch 4 via switches 9->8``. The volume and the
switches may be absent.

overlap4ocs hides reconfigurations of optical switches behind data. A solution is the
value of every variable of the model, either as an object
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
from lightloom.core.schedule import Op, transfer_parts
from lightloom.formats.json_file import read_toml

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import StepPart
    from lightloom.formats.json_file import JsonFile


FLOW_OPERATIONS = ("all-gather", "all-to-all")
"""What the synthesiser makes schedules for."""

_FLOW = re.compile(
    r"Chunk (\d{1,9}) from (\d{1,9}) traveled over (\d{1,9})->(\d{1,9})"
    r"(?: with volume ([0-9.eE+-]{1,30}))? in epoch (\d{1,9})"
    r"(?: via switches \d+(?: ?-> ?\d+)*)?",
    re.ASCII,
)
_KEYS = ("6-Flows", "7-Flows")
_FORM = "Chunk C from S traveled over U->V [with volume X] in epoch E [via switches W]"
_MOST_CHUNKS = 2**31 - 1
"""Chunks of all ranks together, whose numbers are 32 bits wide."""
_DIGITS = 5
"""Decimal places of a volume that its writer takes for exact."""


@dataclass(frozen=True, eq=False)
class ChunkFlows:
    """What such a file says.

    `gpus`: numbers of the GPUs in the file, ascending; rank i is ``gpus[i]``. `chunks`:
    chunks of the whole buffer (of all-to-all, of one rank's). `parts`: the flows,
    between ranks; a step for each epoch in which a flow begins. `finish_s`: time that
    the file claims, in seconds; ``None`` where it claims none.
    """

    operation: str
    gpus: tuple[int, ...]
    chunks: int
    parts: tuple[StepPart, ...]
    finish_s: float | None


def flows_of(
    file: JsonFile, operation: str | None = None, *, earliest: bool = False
) -> ChunkFlows:
    """Return the flows of a decoded file.

    `operation`: ``all-gather`` or ``all-to-all``; ``None`` for what the file is plainly
    about. `earliest`: whether a flow is put in the earliest step at which its chunk is
    there; else every epoch in which a flow begins is a step.

    Raises `FormatError`: a sentence of another form, a part of a chunk on the move, a
    flow that ends at a switch, an operation of another name.

    Chunk c of the s-th GPU is chunk ``s k + c`` of an all-gather of k chunks each, and
    goes to GPU ``c mod n`` in an all-to-all of n.
    """
    table = file.table if isinstance(file.table, dict) else {}
    keys = [key for key in _KEYS if key in table]
    if len(keys) != 1:
        what = "not a file of flows"
        raise FormatError(what, where=file.path, found=keys, allowed="one key 7-Flows")
    rows, volumes = _rows(file, keys[0], table[keys[0]])
    op = operation or _operation(table, rows, volumes=volumes)
    if op not in FLOW_OPERATIONS:
        allowed = ", ".join(FLOW_OPERATIONS)
        what = "flows are not of this operation"
        raise FormatError(what, where=file.path, found=op, allowed=allowed)
    chunk, source, src, dst, epoch = np.array(rows, dtype=np.int64).T
    gpus = np.unique(source)
    ends = np.concatenate([src, dst])
    for end in ends[~np.isin(ends, gpus)][:1].tolist():
        what = "not representable: a flow ends at what sends no chunk, a switch"
        raise FormatError(what, where=file.path, found=end)
    n, most = len(gpus), int(chunk.max()) + 1
    rank, a, b = (np.searchsorted(gpus, each) for each in (source, src, dst))
    if op == "all-gather":
        chunks, number = n * most, rank * most + chunk
    else:
        block = -(-most // n)
        chunks = n * block
        number = rank * chunks + chunk % n * block + chunk // n
    if n * chunks > _MOST_CHUNKS:
        what, allowed = "too many chunks", f"{_MOST_CHUNKS} at most"
        raise FormatError(what, where=file.path, found=n * chunks, allowed=allowed)
    op_code = np.full(len(rows), int(Op.COPY))
    step = _earliest(epoch, a, b, number) if earliest else epoch
    moves = np.stack([step, a, b, op_code, number], axis=1).tolist()
    finish = table.get("4-Collective_Finish_Time")
    finish_s = float(finish) if isinstance(finish, int | float) else None
    return ChunkFlows(
        op,
        tuple(gpus.tolist()),
        chunks,
        transfer_parts(tuple(move) for move in moves),
        finish_s,
    )


def _earliest(
    epoch: IntArray, src: IntArray, dst: IntArray, chunk: IntArray
) -> IntArray:
    """Return the earliest step of each flow: after the one that brings its chunk."""
    step = np.zeros(len(epoch), dtype=np.int64)
    there: dict[tuple[int, int], int] = {}
    rows = zip(src.tolist(), dst.tolist(), chunk.tolist(), strict=True)
    moves = list(rows)
    for row in np.argsort(epoch, kind="stable").tolist():
        a, b, moved = moves[row]
        step[row] = there.get((a, moved), -1) + 1
        before = there.get((b, moved), step[row])
        there[b, moved] = min(int(before), int(step[row]))
    return step


def _rows(
    file: JsonFile, key: str, sentences: object
) -> tuple[list[tuple[int, ...]], bool]:
    """Return (chunk, source, src, dst, epoch) of all flows, and if volumes are told."""
    if not isinstance(sentences, list) or not sentences:
        what, allowed = "there are no flows", "a list of sentences"
        raise FormatError(what, where=file.place(key), allowed=allowed)
    rows: list[tuple[int, ...]] = []
    fractions: list[int] = []
    volumes = False
    for place, sentence in enumerate(sentences):
        found = _FLOW.fullmatch(sentence) if isinstance(sentence, str) else None
        volume = None if found is None else _volume(found[5])
        if found is None or volume is None:
            where = file.place(f"{key}[{place}]")
            what = "invalid flow"
            raise FormatError(what, where=where, found=sentence, allowed=_FORM)
        volumes = volumes or found[5] is not None
        if round(volume, _DIGITS) != 1:
            fractions.append(place)
        rows.append(tuple(int(found[number]) for number in (1, 2, 3, 4, 6)))
    if fractions:
        raise FormatError(
            f"not representable: {len(fractions)} of {len(rows)} flows move other than"
            " one whole chunk",
            where=file.place(f"{key}[{fractions[0]}]"),
            found=sentences[fractions[0]],
            fix="solve for whole chunks",
        )
    return rows, volumes


def _volume(text: str | None) -> float | None:
    """Return a volume in chunks, ``None`` if it is no number."""
    try:
        return 1.0 if text is None else float(text)
    except ValueError:
        return None


def _operation(
    table: dict[str, object], rows: list[tuple[int, ...]], *, volumes: bool
) -> str:
    """Return what the file is about.

    Volumes are those of the all-to-all problem; of the other one, it is all-gather if
    some GPU is told to receive as many chunks of another as there are.
    """
    if volumes:
        return "all-to-all"
    met = next((table[key] for key in table if key.endswith("-Demand_Met")), None)
    if not isinstance(met, dict):
        return "all-gather"
    chunks = max(row[0] for row in rows) + 1
    received = [
        len(chunks_of)
        for sources in met.values()
        if isinstance(sources, dict)
        for chunks_of in sources.values()
        if isinstance(chunks_of, dict)
    ]
    return "all-gather" if max(received, default=chunks) == chunks else "all-to-all"


_VARIABLE = re.compile(r"([dur])(?:_(\d{1,9})_(\d{1,9})|\[(\d{1,9}),(\d{1,9})\])")
_COMPLETION = "CCT"
_MOST_CELLS = 2**20
"""Steps times planes of a dense table, 8 MB."""


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
