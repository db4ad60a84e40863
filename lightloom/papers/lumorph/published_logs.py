"""The communication logs that the authors of LUMORPH publish, from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.formats.communication_log import (
    AllReduceCall,
    LayerTransfer,
    read_communication_log,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.formats.communication_log import Call

WITHOUT_LOGS = (
    "The authors publish communication logs, which are not part of this program: with"
    " `--logs DIR` their calls are taken. Without, these stand in:"
)


def published_logs(folder: str) -> dict[str, tuple[Call, ...]]:
    """Return the calls of every log of a folder, by the name of its file."""
    where = Path(folder)
    if not where.is_dir():
        what = "no such folder"
        raise InputError(what, where="--logs", found=folder, allowed="a folder")
    files = sorted(
        path
        for path in where.iterdir()
        if path.is_file() and not path.name.startswith(".")
    )
    if not files:
        what, allowed = "a folder without logs", "files of communication logs"
        raise InputError(what, where="--logs", found=folder, allowed=allowed)
    return {path.stem: read_communication_log(path) for path in files}


def device_count(calls: Sequence[Call]) -> int:
    """Return how many devices the calls of a log are between."""
    most = 0
    for call in calls:
        ends = (call.src, call.dst) if isinstance(call, LayerTransfer) else call.gpus
        most = max(most, *ends)
    return most + 1


def reduced_bytes(calls: Sequence[Call]) -> list[int]:
    """Return the buffers of the all-reduces of a log, ascending."""
    return sorted(call.bytes for call in calls if isinstance(call, AllReduceCall))
