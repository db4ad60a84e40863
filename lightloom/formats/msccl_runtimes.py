"""Runtimes of collectives: the words each accepts, and its limits.

Facts of three loaders of MSCCL XML: ``msccl`` is microsoft/msccl (2023), ``azure`` the
executor of Azure/msccl-executor-nccl, ``rccl`` the loader in ROCm's RCCL; and of the
executor of microsoft/mscclpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from lightloom.core.errors import InputError, nearest
from lightloom.core.units import MIB

_COMMON = {
    "all-reduce": "allreduce",
    "all-gather": "allgather",
    "reduce": "reduce",
    "broadcast": "broadcast",
    "all-to-all": "alltoall",
}
PROTOCOLS = ("Simple", "LL", "LL128")
"""Protocols that every loader knows, and no others."""
_KINDS = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")
_BASIC = ("name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll")
_MORE = ("inplace", "outofplace", "minBytes", "maxBytes")


@dataclass(frozen=True)
class MscclRuntime:
    """One loader of MSCCL XML.

    `name`: name on the command line. `operations`: the operations it knows: lightloom's
    name to its own. `required`: attributes that the element ``algo`` must have.
    `most_steps`: steps of a thread block at most. `most_thread_blocks`: thread blocks
    of a GPU at most. `zero_is_unlimited`: whether ``maxBytes="0"`` means that there is
    no limit. `most_peers_per_channel`, `most_channels`: thread blocks of a GPU that
    send in one channel, and as many that receive; and channels, at most. `most_count`:
    chunks that one step may move. `most_awaited_block`: greatest id of a thread block
    that others may wait for. `most_elements`: XML elements that a GPU keeps at most:
    the algorithm, all GPUs, its own thread blocks and their steps. `warp`: what the
    number of threads must be a multiple of; 0 where it is not read. `whole_buffers`:
    whether every buffer must have as many chunks as the operation has.
    `default_max_bytes`: what a missing ``maxBytes`` means; ``None`` for no limit.
    `bounded`: whether a connection holds a few messages only, and senders wait for
    room.
    """

    name: str
    operations: dict[str, str]
    kinds: tuple[str, ...]
    required: tuple[str, ...]
    most_steps: int
    most_thread_blocks: int
    zero_is_unlimited: bool
    most_peers_per_channel: int = 32
    most_channels: int = 32
    most_count: int = 71
    most_awaited_block: int = 127
    most_elements: int = 4095
    warp: int = 0
    whole_buffers: bool = False
    default_max_bytes: int | None = None
    bounded: bool = True


RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        MscclRuntime(
            "msccl",
            _COMMON | {"reduce-scatter": "reduce_scatter"},
            (*_KINDS, "ra"),
            _BASIC,
            most_steps=256,
            most_thread_blocks=216,
            zero_is_unlimited=False,
            warp=32,
            whole_buffers=True,
            default_max_bytes=128 * MIB,
        ),
        MscclRuntime(
            "azure",
            _COMMON | {"reduce-scatter": "reducescatter"},
            _KINDS,
            (*_BASIC, *_MORE),
            most_steps=64,
            most_thread_blocks=1024,
            zero_is_unlimited=True,
        ),
        MscclRuntime(
            "rccl",
            _COMMON | {"reduce-scatter": "reducescatter"},
            _KINDS,
            (*_BASIC, *_MORE),
            most_steps=64,
            most_thread_blocks=64,
            zero_is_unlimited=True,
            most_channels=128,
        ),
    )
}
"""The runtimes that load MSCCL XML, by name."""

_ANY = 2**31
"""No limit: more than fits memory."""
MSCCLPP = MscclRuntime(
    "mscclpp",
    _COMMON | {"reduce-scatter": "reducescatter"},
    ("s", "r", "rrc", "cpy", "re", "nop"),
    _BASIC,
    most_steps=_ANY,
    most_thread_blocks=108,
    zero_is_unlimited=True,
    most_peers_per_channel=_ANY,
    most_channels=_ANY,
    most_count=_ANY,
    most_awaited_block=_ANY,
    most_elements=_ANY,
    bounded=False,
)
"""The executor of MSCCL++. It loads no XML, but plans that are made of programs. Thread
blocks wait for one another, so all of a GPU must run at once: one on each
multiprocessor, of which an A100 has 108."""


def runtime_of(name: str) -> MscclRuntime:
    """Return the runtime ``msccl``, ``azure`` or ``rccl``.

    Raises `InputError` if there is no such runtime.
    """
    if name not in RUNTIMES:
        raise InputError(
            "unknown runtime",
            where="--runtime",
            found=name,
            allowed=", ".join(RUNTIMES),
            fix=nearest(name, RUNTIMES),
        )
    return RUNTIMES[name]
