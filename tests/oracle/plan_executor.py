"""Runs execution plans of MSCCL++ on numbers, thread blocks interleaved at random.

It knows the format alone. A turn is one operation of a thread block. Threads of a block
may run ahead of one another between barriers (``nop``), so what one thread waited for
is there for all only after the next barrier, and what was written is to be announced
only after one; the executor demands both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lightloom.core.seed import seeded_random

if TYPE_CHECKING:
    import random

_WAITS = ("wait", "sem_acquire")
_TELLS = ("signal", "sem_release")
_MOVES = ("put", "copy", "re")
MOST_OPERATIONS, MOST_CHANNELS, MOST_IDS = 64, 16, 16


class StuckError(AssertionError):
    """No thread block can go on, and some have not ended."""


@dataclass
class Node:
    """One GPU of a plan: its memory, what it was told, and its semaphores."""

    plan: dict[str, Any]
    memory: dict[tuple[str, int], int] = field(default_factory=dict)
    signals: Counter[int] = field(default_factory=Counter)
    semaphores: Counter[int] = field(default_factory=Counter)


class PlanMachine:
    """All GPUs while a plan runs."""

    def __init__(self, plan: dict[str, Any], *, in_place: bool) -> None:
        self.plan, self.in_place = plan, in_place
        self.nodes = [Node(gpu) for gpu in plan["gpus"]]
        self.ends = self._ends()
        self.unsynced: dict[tuple[int, int], str] = defaultdict(str)

    def _ends(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return the other end of each (rank, channel): the k-th both ways are one."""
        keys: dict[tuple[int, int], tuple[int, int, int]] = {}
        for rank, node in enumerate(self.nodes):
            count: Counter[int] = Counter()
            peers = [p for each in node.plan["channels"] for p in each["connected_to"]]
            for channel, peer in enumerate(peers):
                keys[rank, channel] = (rank, peer, count[peer])
                count[peer] += 1
        place = {key: end for end, key in keys.items()}
        return {end: place[peer, rank, k] for end, (rank, peer, k) in keys.items()}

    def cell(self, rank: int, buffer: str, index: int) -> tuple[str, int]:
        """Return where a chunk is, which in place has two names."""
        block = (
            self.plan["gpus"][0]["input_chunks"],
            self.plan["gpus"][0]["output_chunks"],
        )
        assert index >= 0
        sizes = {"i": "input", "o": "output", "s": "scratch"}
        assert index < self.nodes[rank].plan[f"{sizes[buffer]}_chunks"]
        if buffer == "s" or not self.in_place:
            return buffer, index
        least = min(block)
        if buffer == "i" and block[0] < block[1]:
            return "io", rank * least + index
        if buffer == "o" and block[1] < block[0]:
            return "io", rank * least + index
        return "io", index

    def turn(self, rank: int, number: int, place: int) -> bool:
        """Run an operation of a thread block; False if it has to wait."""
        node = self.nodes[rank]
        block = node.plan["threadblocks"][number]
        op = block["ops"][place]
        name = op["name"]
        state = self.unsynced[rank, number]
        if name == "nop":
            self.unsynced[rank, number] = ""
            return True
        if name in _MOVES:
            assert not state, f"{name} without a barrier after {state}"
            self._move(rank, block, op)
            self.unsynced[rank, number] = name
            return True
        assert name in (*_WAITS, *_TELLS), name
        wrong = (*_MOVES, *_WAITS) if name in _TELLS else _MOVES
        assert state not in wrong, f"{name} right after {state}"
        if not self._meet(rank, block, op):
            return False
        if name in _WAITS:
            self.unsynced[rank, number] = name
        return True

    def _meet(self, rank: int, block: dict[str, Any], op: dict[str, Any]) -> bool:
        """Tell another thread block, or hear of one; False if there is nothing yet."""
        node = self.nodes[rank]
        if op["name"] in ("signal", "wait"):
            (own,) = op["channel_ids"]
            channel = block["channels"][0]["channel_ids"][own]
            if op["name"] == "signal":
                other, theirs = self.ends[rank, channel]
                self.nodes[other].signals[theirs] += 1
                return True
            there = node.signals[channel] > 0
            node.signals[channel] -= there
            return there
        ids = op["semaphore_ids"]
        assert len(set(ids)) == len(ids) <= MOST_IDS
        if op["name"] == "sem_release":
            node.semaphores.update(ids)
            return True
        there = all(node.semaphores[each] for each in ids)
        if there:
            node.semaphores.subtract(ids)
        return there

    def _move(self, rank: int, block: dict[str, Any], op: dict[str, Any]) -> None:
        (target,) = op["dst_buff"]
        sources = op["src_buff"]
        assert all(each["size"] == target["size"] > 0 for each in sources)
        where, to = rank, target.get("type")
        if op["name"] == "put":
            (refs,) = block["remote_buffer_refs"]
            remote = self.nodes[rank].plan["remote_buffers"][
                refs["remote_buffer_ids"][target["buffer_id"]]
            ]
            where, to = remote["rank"], remote["type"]
        for turn in range(target["size"]):
            values = [
                self.nodes[rank].memory[
                    self.cell(rank, each["type"], each["index"] + turn)
                ]
                for each in sources
            ]
            assert op["name"] == "re" or len(values) == 1
            cell = self.cell(where, str(to), target["index"] + turn)
            self.nodes[where].memory[cell] = sum(values)


def check_limits(plan: dict[str, Any]) -> None:
    """Raise unless the executor has room for every thread block."""
    for gpu in plan["gpus"]:
        for number, block in enumerate(gpu["threadblocks"]):
            assert block["id"] == number
            assert len(block["ops"]) <= MOST_OPERATIONS
            for kind, ids in (
                ("channels", "channel_ids"),
                ("remote_buffer_refs", "remote_buffer_ids"),
            ):
                assert sum(len(each[ids]) for each in block[kind]) <= MOST_CHANNELS


def plan_outputs(
    plan: dict[str, Any], inputs: list[list[int]], seed: int, *, in_place: bool
) -> list[list[int | None]]:
    """Return what the outputs hold after a run; ``None`` where nothing was written.

    Signals and semaphores must be back at nothing in the end, for the next run.
    """
    chance = seeded_random(seed)
    machine = PlanMachine(plan, in_place=in_place)
    for rank, data in enumerate(inputs):
        for index, value in enumerate(data):
            machine.nodes[rank].memory[machine.cell(rank, "i", index)] = value
    _run(machine, chance)
    for node in machine.nodes:
        assert not any(node.signals.values()), "signals that nobody waited for"
        assert not any(node.semaphores.values()), "semaphores that nobody acquired"
    return [
        [
            machine.nodes[rank].memory.get(machine.cell(rank, "o", chunk))
            for chunk in range(gpu["output_chunks"])
        ]
        for rank, gpu in enumerate(plan["gpus"])
    ]


def _run(machine: PlanMachine, chance: random.Random) -> None:
    """Give thread blocks turns until all have ended."""
    blocks = {
        (rank, number): len(block["ops"])
        for rank, gpu in enumerate(machine.plan["gpus"])
        for number, block in enumerate(gpu["threadblocks"])
    }
    at = dict.fromkeys(blocks, 0)
    running = list(at)
    while running:
        chance.shuffle(running)
        moved = False
        for key in running:
            for _ in range(chance.randint(1, 6)):
                if at[key] == blocks[key] or not machine.turn(*key, at[key]):
                    break
                at[key] += 1
                moved = True
        running = [key for key in running if at[key] < blocks[key]]
        if running and not moved:
            raise StuckError(sorted(running)[:3])
