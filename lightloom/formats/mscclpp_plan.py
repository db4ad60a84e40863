"""Execution plans of MSCCL++ as they are read: what every thread block of a GPU does.

Keys that are not of the format are skipped, as the executor's loader does. What a plan
does wrong is for `lightloom.validate.programs` to say.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from lightloom.core.errors import FormatError
from lightloom.formats.json_file import JsonFile

_Number = Annotated[int, Meta(ge=0, le=2**32 - 1)]
_Bytes = Annotated[int, Meta(ge=0)]
_Buffer = Literal["i", "o", "s"]
_Channel = Literal["memory", "port", "switch", "none"]


_EARLIER_KEYS = {
    "gpu": ("inputChunks", "outputChunks", "scratchChunks", "chunkGroups"),
    "channels": ("connectedTo", "connectedToBufferId", "rankGroups"),
    "threadblocks": (),
    "ops": ("ctype", "i_cids", "o_cids", "srcbuff", "dstbuff", "cnt"),
}
"""Keys of earlier dialects that have other names today."""


class PlanBuffer(msgspec.Struct, frozen=True):
    """Chunks of a buffer.

    `index`, `size`: first chunk, and how many. `type`: buffer of the own GPU: ``i``,
    ``o`` or ``s``. `buffer_id`: of another GPU: place in the thread block's list of
    remote buffers.
    """

    index: _Number
    size: _Number
    type: _Buffer | None = None
    buffer_id: _Number | None = None


class PlanShare(msgspec.Struct, frozen=True):
    """Which equal part of its chunks an operation is about.

    `tb_id`, `tbg_size`: part, from 0, and number of parts.
    """

    tb_id: _Number
    tbg_size: Annotated[int, Meta(ge=1, le=1024)]


class PlanOperation(msgspec.Struct, frozen=True):
    """One operation of a thread block.

    `name`: ``put``, ``signal``, ``wait``, ``copy``, ``re``, ``nop`` and so on.
    `channel_type`, `channel_ids`: places in the thread block's list of channels of
    a type. `src_buff`, `dst_buff`: what is read, and written. `barrier_id`,
    `num_threadblocks`: of ``barrier``: its number, and how many thread blocks meet
    there. `tbg_info`: the part of the chunks, where several thread blocks share an
    operation.
    """

    name: str
    channel_type: _Channel = "none"
    channel_ids: tuple[_Number, ...] = ()
    src_buff: tuple[PlanBuffer, ...] = ()
    dst_buff: tuple[PlanBuffer, ...] = ()
    semaphore_ids: tuple[_Number, ...] = ()
    barrier_id: _Number = 0
    num_threadblocks: _Number = 1
    tbg_info: PlanShare | None = None


class PlanChannels(msgspec.Struct, frozen=True):
    """Channels of a thread block.

    `channel_ids`: places among the GPU's channels of the type.
    """

    channel_type: _Channel
    channel_ids: tuple[_Number, ...] = ()


class PlanReferences(msgspec.Struct, frozen=True):
    """Remote buffers of a thread block.

    `access_channel_type`: type of the channels through which they are reached.
    `remote_buffer_ids`: places in the GPU's list of remote buffers.
    """

    access_channel_type: _Channel
    remote_buffer_ids: tuple[_Number, ...] = ()


class PlanThreadBlock(msgspec.Struct, frozen=True):
    """Operations that one thread block runs one after another.

    `id`: number among those of its GPU. `channels`, `remote_buffer_refs`: what the
    operations name by their place here.
    """

    id: int
    ops: tuple[PlanOperation, ...]
    channels: tuple[PlanChannels, ...] = ()
    remote_buffer_refs: tuple[PlanReferences, ...] = ()

    def channel_ids(self, kind: str) -> list[int]:
        """Return its ``memory`` or ``port`` channels, as the GPU numbers them."""
        mine = (each for each in self.channels if each.channel_type == kind)
        return [number for each in mine for number in each.channel_ids]

    def remote_buffer_ids(self, kind: str) -> list[int]:
        """Return the remote buffers that it reaches by ``memory`` or ``port``."""
        refs = self.remote_buffer_refs
        mine = (each for each in refs if each.access_channel_type == kind)
        return [number for each in mine for number in each.remote_buffer_ids]


class PlanConnections(msgspec.Struct, frozen=True):
    """Channels of a GPU.

    `connected_to`: the GPU at the other end of each.
    """

    channel_type: _Channel
    connected_to: tuple[_Number, ...] = ()


class PlanRemoteBuffer(msgspec.Struct, frozen=True):
    """A buffer of another GPU."""

    rank: _Number
    type: _Buffer


class PlanSemaphore(msgspec.Struct, frozen=True):
    """A semaphore of a GPU.

    `init_value`: what can be acquired before anything is released.
    """

    init_value: _Number = 0


class PlanGpu(msgspec.Struct, frozen=True):
    """What one GPU does.

    `threadblocks`: run at the same time. `channels`, `remote_buffers`, `semaphores`:
    what thread blocks name by their place here.
    """

    id: int
    input_chunks: _Number
    output_chunks: _Number
    scratch_chunks: _Number
    threadblocks: tuple[PlanThreadBlock, ...]
    channels: tuple[PlanConnections, ...] = ()
    remote_buffers: tuple[PlanRemoteBuffer, ...] = ()
    semaphores: tuple[PlanSemaphore, ...] = ()

    def peers(self, kind: str) -> list[int]:
        """Return the GPU at the other end of each ``memory`` or ``port`` channel."""
        mine = (each for each in self.channels if each.channel_type == kind)
        return [peer for each in mine for peer in each.connected_to]

    def chunks(self, buffer: str) -> int:
        """Return the size of the buffer ``i``, ``o`` or ``s``."""
        sizes = {"i": self.input_chunks, "o": self.output_chunks}
        return sizes.get(buffer, self.scratch_chunks)


class ExecutionPlan(msgspec.Struct, frozen=True):
    """A collective as the executor of MSCCL++ runs it.

    `name`, `collective`: names of the plan and of the operation. `inplace`: whether
    input and output are the same memory. `protocol`: ``Simple``, or ``LL`` with
    packets. `min_message_size`, `max_message_size`: sizes for which it may be chosen.
    """

    name: str
    collective: str
    inplace: bool
    gpus: tuple[PlanGpu, ...]
    protocol: str = "Simple"
    min_message_size: _Bytes = 0
    max_message_size: _Bytes = 2**64 - 1

    @property
    def operation_count(self) -> int:
        """Number of operations of all thread blocks."""
        blocks = (block for gpu in self.gpus for block in gpu.threadblocks)
        return sum(len(block.ops) for block in blocks)


def is_plan(file: JsonFile) -> bool:
    """Return whether a decoded file is an execution plan, right or wrong."""
    return isinstance(file.table, dict) and "gpus" in file.table


def plan_of(file: JsonFile) -> ExecutionPlan:
    """Return the execution plan that a decoded file holds.

    Raises `FormatError`: a key is missing or has an invalid value; file, line and key
    are named.
    """
    if not isinstance(file.table, dict) or not is_plan(file):
        what = "not an execution plan of MSCCL++"
        raise FormatError(what, where=file.path, allowed="an object with the key gpus")
    for number, gpu in enumerate(_listed(file.table, "gpus")):
        if isinstance(gpu, dict) and (old := _earlier_keys(gpu)):
            raise FormatError(
                "a plan in an earlier dialect of MSCCL++",
                where=f"{file.path}: gpus[{number}]",
                found=", ".join(old),
                allowed="keys such as input_chunks and channel_type",
                fix="make the plan again with a present release of mscclpp",
            )
    fields = {info.encode_name for info in msgspec.structs.fields(ExecutionPlan)}
    known = {key: value for key, value in file.table.items() if key in fields}
    return JsonFile(file.path, file.text, known).convert(ExecutionPlan)


def _earlier_keys(gpu: dict[str, object]) -> list[str]:
    """Return keys of a GPU that only earlier releases of the executor knew."""
    old = [key for key in gpu if key in _EARLIER_KEYS["gpu"]]
    for what in ("channels", "threadblocks"):
        for part in _listed(gpu, what):
            if isinstance(part, dict):
                old += [key for key in part if key in _EARLIER_KEYS[what]]
                if what == "channels" and "type" in part and "channel_type" not in part:
                    old.append("type of a channel")
                ops = (op for op in _listed(part, "ops") if isinstance(op, dict))
                old += [key for op in ops for key in op if key in _EARLIER_KEYS["ops"]]
    return sorted(set(old))


def _listed(table: dict[str, object], key: str) -> list[object]:
    """Return the list under a key, an empty one where there is none."""
    found = table.get(key)
    return found if isinstance(found, list) else []
