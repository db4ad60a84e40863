"""Schedules of TE-CCL, a synthesiser that solves multi-commodity flows, as JSON.

A file has a few figures and, under ``7-Flows`` (in older files ``6-Flows``), a sentence
for every chunk that crosses a link: ``Chunk 2 from 0 traveled over 0->3 with volume 1.0
in epoch 4 via switches 9->8``. The volume and the switches may be absent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import FormatError
from lightloom.core.schedule import Op, transfer_parts

if TYPE_CHECKING:
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
