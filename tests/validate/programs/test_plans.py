"""Execution plans of MSCCL++: what is wrong is named, what is not named is right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from lightloom.core.errors import FormatError
from lightloom.core.seed import seeded_random
from lightloom.formats.json_file import JsonFile
from lightloom.formats.mscclpp_plan import plan_of
from lightloom.programs.export_program import export_plan
from lightloom.validate.programs import verify_plan
from tests.oracle.plan_executor import plan_outputs
from tests.programs.lowered import expected, inputs_of, schedule_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from lightloom.validate.programs import ProgramVerdict

Plan: TypeAlias = "dict[str, Any]"
Op: TypeAlias = "dict[str, Any]"
NOP: Op = {"name": "nop"}
MEMORY, PORT = "memory", "port"


def verdict_of(plan: Plan) -> ProgramVerdict:
    """Return what is wrong with a plan."""
    return verify_plan(plan_of(JsonFile("plan", json.dumps(plan), plan)))


def rules_of(plan: Plan) -> set[str]:
    """Return the rules that a plan breaks."""
    verdict = verdict_of(plan)
    assert not verdict.unchecked or verdict.violations
    return {violation.rule for violation in verdict.violations}


def own(buffer: str, index: int, size: int = 1) -> Op:
    """Return chunks of the own GPU."""
    return {"type": buffer, "index": index, "size": size}


def far(place: int, index: int, size: int = 1) -> Op:
    """Return chunks of the other GPU."""
    return {"buffer_id": place, "index": index, "size": size}


def move(name: str, src: list[Op], dst: list[Op], kind: str = MEMORY) -> Op:
    """Return an operation on data."""
    return {"name": name, "src_buff": src, "dst_buff": dst, "channel_type": kind}


def sync(name: str, kind: str = MEMORY) -> Op:
    """Return an operation on the only channel."""
    return {"name": name, "channel_ids": [0], "channel_type": kind}


def two(
    buffers: str, *blocks: Callable[[int], list[Op]], kind: str = MEMORY, **more: object
) -> Plan:
    """Return a plan of two GPUs that do alike, two chunks and four of scratch."""

    def block(rank: int, number: int) -> Plan:
        return {
            "id": number,
            "ops": blocks[number](rank),
            "channels": [{"channel_type": kind, "channel_ids": [0]}],
            "remote_buffer_refs": [
                {
                    "access_channel_type": kind,
                    "remote_buffer_ids": list(range(len(buffers))),
                }
            ],
        }

    def gpu(rank: int) -> Plan:
        return {
            "id": rank,
            "input_chunks": 2,
            "output_chunks": 2,
            "scratch_chunks": 4,
            "threadblocks": [block(rank, number) for number in range(len(blocks))],
            "channels": [{"channel_type": kind, "connected_to": [1 - rank]}],
            "remote_buffers": [{"rank": 1 - rank, "type": each} for each in buffers],
            "semaphores": [{"init_value": 0}],
        }

    gpus = [gpu(0), gpu(1)]
    head = {"name": "x", "collective": "allreduce", "inplace": True, "gpus": gpus}
    return head | more


MEET = [sync("signal"), sync("wait"), NOP]


def by_reading(rank: int) -> list[Op]:
    """Each adds a chunk of the other to its own and writes it there, in place."""
    mine = [own("i", rank), far(0, rank)]
    return [*MEET, move("rre", mine, [own("i", rank)]), NOP, *MEET, *[
        move("get", [far(0, 1 - rank)], [own("i", 1 - rank)]),
        NOP,
        *MEET,
    ]]  # fmt: skip


def by_writing(rank: int) -> list[Op]:
    """Each writes the sum at both."""
    both = [own("i", rank), far(0, rank)]
    return [*MEET, move("rres", both, both), NOP, *MEET]


def first_packets(rank: int) -> list[Op]:
    """Send the chunk that the other adds up."""
    return [move("ppkt", [own("i", 1 - rank)], [far(0, 1 - rank)])]


def sum_packets(rank: int) -> list[Op]:
    """Add what came, and send the sum."""
    sources = [own("i", rank), own("s", rank)]
    return [move("respkt", sources, [own("i", rank), far(0, 2 + rank)])]


def last_packets(rank: int) -> list[Op]:
    """Take the sum of the other."""
    return [move("upkt", [own("s", 3 - rank)], [own("i", 1 - rank)])]


def by_proxy(rank: int) -> list[Op]:
    """Put all into the other's scratch through a port, then add it."""
    del rank
    return [
        sync("signal", PORT),
        sync("wait", PORT),
        NOP,
        move("pws", [own("i", 0, 2)], [far(0, 0, 2)], PORT) | {"channel_ids": [0]},
        sync("wait", PORT),
        sync("flush", PORT),
        NOP,
        move("re", [own("i", 0, 2), own("s", 0, 2)], [own("i", 0, 2)]),
    ]


def sends(rank: int) -> list[Op]:
    """Put all into the other's scratch, and let another thread block know."""
    del rank
    return [
        *MEET,
        move("put", [own("i", 0, 2)], [far(0, 0, 2)]),
        NOP,
        *MEET,
        {"name": "sem_release", "semaphore_ids": [0]},
    ]


def adds(rank: int) -> list[Op]:
    """Add it when it is there."""
    del rank
    return [
        {"name": "sem_acquire", "semaphore_ids": [0]},
        NOP,
        move("re", [own("i", 0, 2), own("s", 0, 2)], [own("i", 0, 2)]),
    ]


def meets(rank: int) -> list[Op]:
    """Put all into the other's scratch, and meet others before and after."""
    return [*sends(rank)[:-1], BARRIER]


def adds_a_half(half: int) -> Callable[[int], list[Op]]:
    """Return a thread block that adds its half of both chunks after the barrier."""

    def block(rank: int) -> list[Op]:
        del rank
        move_it = move("re", [own("i", 0, 2), own("s", 0, 2)], [own("i", 0, 2)])
        return [BARRIER, move_it | {"tbg_info": {"tb_id": half, "tbg_size": 2}}]

    return block


def packets_by_proxy(rank: int) -> list[Op]:
    """Make packets, let the proxy copy them to the other, and add what comes."""
    del rank
    return [
        move("cpkt", [own("i", 0, 2)], [own("s", 0, 2)], "none"),
        NOP,
        move("ppkt", [own("s", 0, 2)], [far(0, 2, 2)], PORT) | {"channel_ids": [0]},
        move("repkt", [own("i", 0, 2), own("s", 2, 2)], [own("i", 0, 2)], "none"),
    ]


def two_nodes() -> Plan:
    """Return an all-reduce of two nodes of two GPUs, by packets alone.

    GPUs of a node exchange halves over memory, and sums with the GPU of the other node
    that has the same half through a port; thread block 0 has the port.
    """

    def blocks(node: int, local: int) -> list[list[Op]]:
        peer, half = 1 - local, 2 * local
        meet: Op = {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}

        def reduced(received: int, packets: int) -> Op:
            sources = [own("i", half, 2), own("s", received, 2)]
            return move("recpkt", sources, [own("i", half, 2), own("s", packets, 2)])

        sent = move("ppkt", [own("s", half, 2)], [far(0, 4 + 2 * node, 2)], PORT)
        exchange = [
            move("ppkt", [own("i", 2 * peer, 2)], [far(0, half, 2)]),
            reduced(2 * peer, half),
            meet,
            reduced(6 - 2 * node, 4 + 2 * node),
            move("rppkt", [own("s", 4 + 2 * node, 2)], [far(0, 8 + half, 2)]),
            move("upkt", [own("s", 8 + 2 * peer, 2)], [own("i", 2 * peer, 2)]),
        ]
        return [[meet, sent | {"channel_ids": [0]}], exchange]

    def gpu(rank: int) -> Plan:
        node, local = divmod(rank, 2)
        others = {PORT: 2 * (1 - node) + local, MEMORY: 2 * node + 1 - local}
        return {
            "id": rank,
            "input_chunks": 4,
            "output_chunks": 4,
            "scratch_chunks": 12,
            "threadblocks": [
                {
                    "id": number,
                    "ops": ops,
                    "channels": [{"channel_type": kind, "channel_ids": [0]}],
                    "remote_buffer_refs": [
                        {"access_channel_type": kind, "remote_buffer_ids": [number]}
                    ],
                }
                for number, (kind, ops) in enumerate(
                    zip(others, blocks(node, local), strict=True)
                )
            ],
            "channels": [
                {"channel_type": kind, "connected_to": [peer]}
                for kind, peer in others.items()
            ],
            "remote_buffers": [{"rank": peer, "type": "s"} for peer in others.values()],
        }

    gpus = [gpu(rank) for rank in range(4)]
    return {"name": "x", "collective": "allreduce", "inplace": True, "gpus": gpus}


BARRIER: Op = {"name": "barrier", "barrier_id": 3, "num_threadblocks": 3}
GOOD = {
    "reading": lambda: two("i", by_reading),
    "writing": lambda: two("i", by_writing),
    "packets": lambda: two("s", first_packets, sum_packets, last_packets),
    "proxy": lambda: two("s", by_proxy, kind=PORT),
    "packets by proxy": lambda: two("s", packets_by_proxy, kind=PORT),
    "two nodes": two_nodes,
    "semaphore": lambda: two("s", sends, adds),
    "halves": lambda: two("s", meets, adds_a_half(0), adds_a_half(1)),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_right_is_accepted(name: str) -> None:
    """Get and put, sums of remote data, packets, proxies, semaphores, barriers."""
    verdict = verdict_of(GOOD[name]())
    assert verdict.valid, verdict.violations
    assert not verdict.unchecked


@pytest.mark.parametrize(
    ("name", "block", "ops", "rules"),
    [
        # Without the barrier of the threads, or the handshake at either end.
        ("reading", 0, {2: None}, {"program-race"}),
        ("reading", 0, {0: None, 1: None}, {"program-race"}),
        ("reading", 0, {-2: None, -3: None}, {"program-race"}),
        ("reading", 0, {-1: None}, set()),  # the thread block ends there anyway
        ("writing", 0, {4: None}, {"program-race"}),
        ("writing", 0, {-2: None}, {"program-unread"}),
        ("writing", 0, {-3: None}, {"program-deadlock"}),
        ("writing", 0, {0: sync("rlxsignal"), 1: sync("rlxwait")}, set()),
        ("reading", 0, {5: sync("rlxsignal")}, {"program-race"}),
        ("packets", 0, {0: NOP}, {"program-deadlock"}),
        (
            "packets",
            2,
            {0: move("upkt", [own("s", 0)], [own("i", 1)])},
            {"program-deadlock"},
        ),
        ("packets", 1, {0: first_packets(0)[0]}, {"program-race"}),
        ("proxy", 0, {5: None}, {"program-race", "program-value"}),
        # A proxy copies what it finds: packets that are made already, of scratch.
        ("packets by proxy", 0, {1: None}, {"program-race"}),
        (
            "packets by proxy",
            0,
            {0: None},
            {"program-value", "program-result"},
        ),
        (
            "packets by proxy",
            0,
            {2: move("ppkt", [own("i", 0, 2)], [far(0, 2, 2)], PORT)},
            {"program-operation"},
        ),
        ("two nodes", 0, {0: NOP}, {"program-connection"}),
        ("semaphore", 0, {-1: None}, {"program-deadlock"}),
        ("semaphore", 1, {0: None}, {"program-unread"}),
        ("semaphore", 1, {1: None}, {"program-race"}),
        ("halves", 1, {0: None}, {"program-connection"}),
        # Form: beyond a buffer, references, sizes, what nobody knows.
        (
            "writing",
            0,
            {3: move("put", [own("i", 2)], [far(0, 0)])},
            {"program-offset"},
        ),
        (
            "writing",
            0,
            {3: move("put", [own("i", 0)], [far(0, 2)])},
            {"program-offset"},
        ),
        (
            "writing",
            0,
            {3: move("put", [own("i", 0)], [far(1, 0)])},
            {"program-reference"},
        ),
        (
            "writing",
            0,
            {0: sync("signal") | {"channel_ids": [1]}},
            {"program-reference"},
        ),
        (
            "writing",
            0,
            {3: move("copy", [own("i", 0, 2)], [own("s", 0)])},
            {"program-message"},
        ),
        ("writing", 0, {3: {"name": "jump"}}, {"program-operation"}),
        ("semaphore", 0, {3: sync("wait")}, {"program-deadlock"}),
        ("semaphore", 1, {0: sync("wait")}, {"program-connection"}),
    ],
)
def test_one_change_of_both_gpus_is_named(
    name: str, block: int, ops: dict[int, Op | None], rules: set[str]
) -> None:
    """An operation dropped, or another in its place."""
    plan = GOOD[name]()
    for gpu in plan["gpus"]:
        mine = gpu["threadblocks"][block]["ops"]
        places = {place % len(mine): op for place, op in ops.items()}
        kept = (places.get(place, op) for place, op in enumerate(mine))
        gpu["threadblocks"][block]["ops"] = [op for op in kept if op is not None]
    assert rules_of(plan) == rules


def test_what_the_executor_has_no_room_for() -> None:
    """More than 64 operations, sizes, a GPU without the other end of a channel."""
    plan = two("i", lambda rank: by_writing(rank) + [NOP] * 60)
    assert rules_of(plan) == {"program-limit"}
    assert rules_of(two("i", by_writing, min_message_size=9, max_message_size=8)) == {
        "program-limit"
    }
    plan = two("i", by_writing)
    plan["gpus"][0]["channels"][0]["connected_to"] *= 2
    assert rules_of(plan) == {"program-connection"}


@pytest.mark.parametrize("name", ["glres", "gstore", "gstorepkt", "pipeline"])
def test_what_is_not_followed_is_said(name: str) -> None:
    """Multicast by switches and pipelines are known, and not followed."""
    plan = two("i", lambda rank: [*by_writing(rank), {"name": name}])
    verdict = verdict_of(plan)
    assert verdict.valid
    assert verdict.unchecked == f"{name} of gpu 0 tb 0 step 8 is not followed"


def earlier_plan() -> Plan:
    """Return a plan in the words of the executor's first releases."""
    channels = {"srcbuff": "i", "dstbuff": "i", "type": "sm", "connectedTo": [1]}
    ops = [{"name": "signal", "o_buff": {}, "o_cids": [], "ctype": "sm", "cnt": 1}]
    gpu = {"id": 0, "inputChunks": 1, "outputChunks": 1, "scratchChunks": 0}
    gpu |= {"threadblocks": [{"id": 0, "ops": ops, "channels": []}]}
    return {
        "name": "x",
        "collective": "allreduce",
        "protocol": "Simple",
        "inplace": True,
        "gpus": [gpu | {"chunkGroups": 1, "channels": [channels]}],
    }


@pytest.mark.parametrize("drop", [(), ("channels", "inputChunks", "chunkGroups")])
def test_an_earlier_dialect_is_named(drop: tuple[str, ...]) -> None:
    """No key is missing: all are called otherwise."""
    plan = earlier_plan()
    for key in drop:
        del plan["gpus"][0][key]
    with pytest.raises(FormatError, match="earlier dialect") as caught:
        verdict_of(plan)
    assert "\n" not in str(caught.value)
    assert "input_chunks" in str(caught.value)


def test_a_channel_with_a_type_is_of_an_earlier_dialect() -> None:
    """Between the two there was one that differs in this key alone."""
    plan = two("i", by_writing)
    for gpu in plan["gpus"]:
        for channel in gpu["channels"]:
            channel["type"] = channel.pop("channel_type")
    with pytest.raises(FormatError, match=r"earlier dialect.*type of a channel"):
        verdict_of(plan)


CASES = (
    ("lightpath-8/all-reduce-1MiB", "auto"),
    ("lightpath-8/all-gather-1MiB", "ring"),
    ("lightpath-8/all-to-all-1MiB", "bruck"),
    ("lightpath-8/broadcast-1MiB", "tree"),
)


def mutant(plan: Plan, chance: random.Random) -> Plan:
    """Return a plan with one operation dropped, moved, shifted or made another."""
    made: Plan = json.loads(json.dumps(plan))
    blocks = [block["ops"] for gpu in made["gpus"] for block in gpu["threadblocks"]]
    ops = chance.choice([ops for ops in blocks if len(ops) > 1])
    place = chance.randrange(len(ops) - 1)
    with_data = [op for op in ops if "src_buff" in op]
    change = chance.choice(("drop", "swap", "shift", "size", "add", "semaphore"))
    waits = [op for op in ops if "semaphore_ids" in op]
    if change == "swap":
        ops[place : place + 2] = ops[place + 1], ops[place]
    elif change == "semaphore" and waits:
        chance.choice(waits)["semaphore_ids"].pop()
    elif change in ("shift", "size") and with_data:
        op = chance.choice(with_data)
        for each in (*op["src_buff"], *op["dst_buff"]):
            each["size"] += change == "size"
        chance.choice((op["src_buff"], op["dst_buff"]))[0]["index"] += change == "shift"
    elif change == "add" and with_data:
        op = chance.choice(with_data)
        op["name"] = "re" if op["name"] == "copy" else op["name"]
        op["src_buff"] = op["src_buff"][:1]
    else:
        del ops[place]
    return made


@pytest.mark.parametrize(
    ("mutants", "orders"),
    [
        pytest.param(40, 4, id="4-orders"),
        pytest.param(12, 1000, id="1000-orders", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("instance", "algorithm"), CASES)
def test_what_is_not_named_is_right(
    instance: str, algorithm: str, mutants: int, orders: int
) -> None:
    """A mutant that is accepted computes the same in every order tried."""
    program, text = export_plan(schedule_of(instance, algorithm))
    inputs = inputs_of(program)
    right = expected(program, instance.split("/")[1].rsplit("-", 1)[0], inputs)
    named = 0
    for seed in range(mutants):
        made = mutant(json.loads(text), seeded_random(seed))
        if verdict_of(made).violations:
            named += 1
            continue
        for order in range(orders):
            assert plan_outputs(made, inputs, order, in_place=made["inplace"]) == right
    assert named > mutants / 2
