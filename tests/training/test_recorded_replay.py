"""Iterations recorded elsewhere: logs of calls and traces, by hand and on fabrics."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import FormatError, InputError
from lightloom.core.task import Demand
from lightloom.core.units import PS_PER_US
from lightloom.formats.chakra import (
    CollectiveType,
    NodeType,
    TraceNode,
    chakra_bytes,
)
from lightloom.formats.communication_log import (
    AllReduceCall,
    LayerTransfer,
    read_calls_csv,
    read_communication_log,
)
from lightloom.instances.computation_table import GPUS
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.replay.workload import Launch
from lightloom.training.call_schedules import iteration_schedule
from lightloom.training.recorded_replay import (
    ComputeRate,
    chakra_iteration,
    log_iteration,
    relayed,
    replay_recorded,
)
from lightloom.training.training_plan import TrainingRequest
from lightloom.validate import verify
from tests.cli.program import run, run_json
from tests.examples.iterations import spans

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.iteration import Iteration

GBYTE_PER_S = 8 * 10**9
ALPHA_PS = 1000
SWITCH = IdealSwitch(nodes=4, bits_per_second_per_node=GBYTE_PER_S, alpha_ps=ALPHA_PS)
NEAR = (
    Ring(nodes=7, wavelengths=2, directions=2, reach=2),
    Ring2d(rows=3, cols=4, row_wavelengths=2, column_wavelengths=2),
    Sipac(radix=2, level=3),
)
CALLS = TrainingRequest(circuits="per-call", launch=Launch(0, 0))
US = PS_PER_US

LOG = (
    LayerTransfer(5000, 1, backward=False, src=0, dst=2),
    LayerTransfer(7000, 1, backward=False, src=1, dst=3),
    LayerTransfer(9000, 1, backward=False, src=2, dst=2),
    AllReduceCall(4000, (0, 1)),
    LayerTransfer(3000, 1, backward=True, src=2, dst=0),
)


def test_the_calls_of_a_log_wait_for_each_other() -> None:
    """A layer at once, then the next; an all-reduce delays none; itself is free."""
    made = log_iteration(LOG, 4)
    assert int(made.is_transfer.sum()) == 3
    timeline = replay_recorded(made, SWITCH, CALLS).timeline
    forward = ALPHA_PS + 7 * US
    backward = forward + ALPHA_PS + 3 * US
    moved = [
        span
        for span, moves in zip(
            spans(timeline.transfers), made.is_transfer.tolist(), strict=True
        )
        if moves
    ]
    assert moved == [(0, forward), (0, forward), (forward, backward)]
    exchange = ALPHA_PS + 4 * US
    assert spans(timeline.collectives) == [(backward, backward + exchange)]


def test_a_log_on_a_rack_is_a_valid_schedule() -> None:
    """Every transfer and circuit of it."""
    found = replay_recorded(log_iteration(LOG, 4), Lightpath(rows=2, cols=2), CALLS)
    schedule = iteration_schedule(found)
    assert verify(schedule).valid
    assert schedule.footer.completion_time_ps == found.timeline.iteration_ps


def test_devices_beyond_the_fabric_are_refused() -> None:
    """With what it has."""
    with pytest.raises(InputError, match="found 9; allowed: 0 to 3; use a larger"):
        log_iteration((AllReduceCall(1, (0, 9)),), 4)


def test_nodes_between_pass_on_what_no_circuit_joins() -> None:
    """Half round a ring whose light reaches the next node only."""
    rate = {"bits_per_second_per_wavelength": GBYTE_PER_S, "alpha_ps": ALPHA_PS}
    ring = Ring(nodes=4, wavelengths=2, directions=2, reach=1, **rate)
    opposite = LayerTransfer(6000, 1, backward=False, src=0, dst=2)
    held = TrainingRequest(circuits="one-shot", launch=Launch(0, 0))
    found = replay_recorded(log_iteration((opposite,), 4), ring, held)
    assert found.timeline.iteration_ps == 2 * (ALPHA_PS + 3 * US)
    assert found.demand == Demand((0, 1), (1, 2), (6000, 6000))
    both = replay_recorded(log_iteration((AllReduceCall(6000, (0, 2)),), 4), ring, held)
    assert both.timeline.iteration_ps == 2 * 2 * ALPHA_PS + 3 * US
    assert both.demand == Demand((0, 1, 1, 2), (1, 0, 2, 1), (6000,) * 4)


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_relays_need_one_circuit_at_a_time(data: st.DataObject) -> None:
    """What nodes receive beyond what they send stays the same."""
    fabric = data.draw(st.sampled_from(NEAR))
    node = st.integers(0, fabric.node_count - 1)
    calls = data.draw(
        st.lists(
            st.builds(
                LayerTransfer, st.integers(1, 99), st.integers(0, 2), st.booleans(),
                node, node,
            ),
            min_size=1,
            max_size=5,
        )
    )  # fmt: skip
    asked = log_iteration(calls, fabric.node_count)
    made = relayed(asked, fabric)
    kept: list[Counter[int]] = []
    for iteration in asked, made:
        moving = iteration.is_transfer
        links, device = iteration.dependencies, iteration.operations.device
        src, dst = device[links.src[moving]], device[links.dst[moving]]
        kept.append(Counter())
        for one, other, size in zip(src, dst, links.bytes[moving], strict=True):
            kept[-1][int(other)] += int(size)
            kept[-1][int(one)] -= int(size)
    assert (fabric.circuits_apart(src, dst) == 1).all()
    assert {at: size for at, size in kept[0].items() if size} == {
        at: size for at, size in kept[1].items() if size
    }
    found = replay_recorded(asked, fabric, CALLS)
    assert not found.calls or verify(iteration_schedule(found)).valid


def node(
    number: int, kind: int, *deps: int, micros: int = 0, **said: int | bool
) -> TraceNode:
    """Return a node of a trace."""
    return TraceNode(number, f"n{number}", kind, deps, micros, said)


def test_traces_of_two_ranks_meet() -> None:
    """Compute, send, receive, compute, all-reduce."""
    every = {"comm_type": int(CollectiveType.ALL_REDUCE), "comm_size": 4000}
    sent = {"comm_src": 0, "comm_dst": 1, "comm_tag": 7, "comm_size": 6000}
    traces = {
        0: [
            node(1, NodeType.COMPUTE, micros=5),
            node(2, NodeType.SEND, 1, **sent),
            node(3, NodeType.COLLECTIVE, 2, **every),
        ],
        1: [
            node(1, NodeType.RECEIVE, **sent),
            node(2, NodeType.COMPUTE, 1, micros=2),
            node(3, NodeType.COLLECTIVE, 2, **every),
        ],
    }
    timeline = replay_recorded(chakra_iteration(traces), SWITCH, CALLS).timeline
    begin = 5 * US + ALPHA_PS + 6 * US + 2 * US
    assert spans(timeline.collectives) == [(begin, begin + ALPHA_PS + 4 * US)]
    traces[1].pop()
    with pytest.raises(FormatError, match="different numbers of collectives"):
        chakra_iteration(traces)
    with pytest.raises(FormatError, match="a send without its receive"):
        chakra_iteration({0: traces[0][:2], 1: []})
    with pytest.raises(FormatError, match="waits for a missing one"):
        chakra_iteration({0: [node(1, NodeType.COMPUTE, 5)]})
    with pytest.raises(FormatError, match="not numbered from 0"):
        chakra_iteration({1: []})


def collectives_of(
    rank_count: int, kind: CollectiveType, size: int, names: list[str]
) -> dict[int, list[TraceNode]]:
    """Return traces in which rank i does one collective in the group `names` has."""
    said = {"comm_type": int(kind), "comm_size": size}
    groups = [{"pg_name": name} if name else {} for name in names]
    return {
        rank: [TraceNode(1, "c", NodeType.COLLECTIVE, (), 0, said | groups[rank])]
        for rank in range(rank_count)
    }


def members_of(iteration: Iteration) -> list[list[int]]:
    """Return the ranks of each collective."""
    devices = iteration.collectives.devices
    return [devices[row].tolist() for row in range(len(devices))]


PAIRS = ["1", "1", "2", "2", "3", "3", "4", "4"]


@pytest.mark.parametrize("listed", [None, "groups", "metadata"])
def test_process_groups(listed: str | None) -> None:
    """Four pairs do an all-reduce each: not one of eight ranks."""
    traces = collectives_of(8, CollectiveType.ALL_REDUCE, 4000, PAIRS)
    groups = {str(n): [2 * n - 1, 2 * n - 2] for n in range(1, 5)}
    if listed == "metadata":
        rows = [{"pg_name": name, "ranks": ranks} for name, ranks in groups.items()]
        text = f"['{json.dumps([*rows, {'pg_name': '0', 'ranks': []}])}']"
        for nodes in traces.values():
            nodes.append(TraceNode(9, "init", NodeType.METADATA, inputs=text))
    made = chakra_iteration(traces, groups if listed == "groups" else None)
    order = 1 if listed is None else -1
    assert members_of(made) == [[2 * n, 2 * n + 1][::order] for n in range(4)]
    assert made.collectives.bytes.tolist() == [4000] * 4
    eight = IdealSwitch(nodes=8, bits_per_second_per_node=GBYTE_PER_S, alpha_ps=0)
    timeline = replay_recorded(made, eight, CALLS).timeline
    assert spans(timeline.collectives) == [(0, 4 * US)] * 4


@pytest.mark.parametrize(
    ("kind", "full"),
    [
        (CollectiveType.ALL_GATHER, 8 * 4000),
        (CollectiveType.REDUCE_SCATTER, 4000),
        (CollectiveType.ALL_TO_ALL, 4000),
        (CollectiveType.ALL_REDUCE, 4000),
    ],
)
def test_sizes_of_collectives(kind: CollectiveType, full: int) -> None:
    """What a rank puts in, which of an all-gather is a block of the buffer."""
    made = chakra_iteration(collectives_of(8, kind, 4000, [""] * 8))
    assert made.collectives.bytes.tolist() == [full]
    assert members_of(made) == [list(range(8))]


def test_collectives_meet_in_the_order_of_issue() -> None:
    """Not in that of the file: the least id that may, then what waited for it."""
    said = {"comm_type": 0, "pg_name": "7"}
    small = said | {"comm_size": 10}
    large = said | {"comm_size": 20}
    traces = {
        0: [node(1, 7, 2, **large), node(2, 7, **small)],
        1: [node(1, 7, **small), node(2, 7, **large)],
    }
    assert chakra_iteration(traces).collectives.bytes.tolist() == [10, 20]
    tagged = {
        0: [node(1, 7, comm_tag=1, **large), node(2, 7, comm_tag=2, **small)],
        1: [node(1, 7, comm_tag=2, **small), node(2, 7, comm_tag=1, **large)],
    }
    assert sorted(chakra_iteration(tagged).collectives.bytes.tolist()) == [10, 20]


def test_barriers_and_collectives_of_nothing_wait_for_all() -> None:
    """The second rank goes on when the first has computed."""
    for said in (
        {"comm_type": int(CollectiveType.BARRIER)},
        {"comm_type": int(CollectiveType.ALL_REDUCE), "comm_size": 0},
    ):
        traces = {
            0: [node(1, NodeType.COMPUTE, micros=5), node(2, 7, 1, **said)],
            1: [node(1, 7, **said), node(2, NodeType.COMPUTE, 1, micros=2)],
        }
        made = chakra_iteration(traces)
        assert not len(made.collectives)
        timeline = replay_recorded(made, SWITCH, CALLS).timeline
        assert timeline.iteration_ps == 7 * US


@pytest.mark.parametrize(
    ("said", "lasts_ps"),
    [
        ({"num_ops": 312 * 10**6, "tensor_size": 1}, US),
        ({"num_ops": 1, "tensor_size": 2039 * 10**4}, 10 * US),
        ({"num_ops": 312e6}, US),
        ({}, 0),
    ],
)
def test_nodes_without_a_duration_take_the_roofline(
    said: dict[str, int | float], lasts_ps: int
) -> None:
    """Of an A100 at fp16: 312 TFLOP/s, 2,039 GB/s; a duration goes before."""
    traces = {0: [TraceNode(1, "mm", NodeType.COMPUTE, (), 0, dict(said))]}
    assert chakra_iteration(traces).operations.duration_ps.tolist() == [lasts_ps]
    traces = {0: [TraceNode(1, "mm", NodeType.COMPUTE, (), 3, dict(said))]}
    assert chakra_iteration(traces).operations.duration_ps.tolist() == [3 * US]
    compute = ComputeRate(GPUS["v100"], "fp16")
    traces = {0: [node(1, NodeType.COMPUTE, num_ops=125 * 10**6)]}
    made = chakra_iteration(traces, compute=compute)
    assert made.operations.duration_ps.tolist() == [US]


ALL = {"comm_type": 0, "comm_size": 8}
SENT = {"comm_src": 0, "comm_dst": 1, "comm_tag": 7, "comm_size": 6}


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ([node(1, 2)], [], "rank 0, node 1: nodes of type MEM_LOAD_NODE are not"),
        ([node(1, 0)], [], "nodes of type INVALID_NODE are not followed"),
        ([node(1, 99)], [], "unknown node type; found 99"),
        ([node(1, 4), node(1, 4)], [], "two nodes of one id; found 1"),
        ([node(1, 4, num_ops=-1)], [], "num_ops is missing or no count; found -1"),
        (
            [node(1, 7, **ALL | {"comm_type": 5})],
            [node(1, 7, **ALL | {"comm_type": 5})],
            "comm_type BROADCAST is not followed",
        ),
        ([node(1, 7, comm_size=8)], [node(1, 7, comm_size=8)], "comm_type None is"),
        ([node(1, 7, comm_type=0)], [node(1, 7, comm_type=0)], "comm_size is missing"),
        ([node(1, 7, **ALL)], [node(1, 7, **ALL | {"comm_size": 9})], "do not agree"),
        (
            [node(1, 7, comm_priority=1, **ALL)],
            [node(1, 7, **ALL)],
            "comm_priority is not followed",
        ),
        (
            [node(1, 7, comm_tag=1, **ALL)],
            [node(1, 7, comm_tag=2, **ALL)],
            "different numbers of collectives",
        ),
        (
            [TraceNode(1, "", 7, (), 0, {**ALL, "involved_dim": (True, False)})],
            [node(1, 7, **ALL)],
            "involved_dim is not followed",
        ),
        (
            [node(1, 5, **SENT)],
            [node(1, 6, **SENT | {"comm_tag": 8})],
            "a send without",
        ),
        ([], [node(1, 6, **SENT)], "rank 1, node 1: a receive without its send"),
        (
            [node(1, 5, **SENT)],
            [node(1, 6, **SENT | {"comm_size": 7})],
            "comm_size differs from that of rank 1, node 1",
        ),
        ([node(1, 5, comm_size=6)], [], "comm_dst is missing"),
        ([node(1, 5, **SENT | {"comm_src": 1})], [], "a send from another rank"),
        ([node(1, 4, 2), node(2, 4, 1)], [], "cycle"),
        (
            [TraceNode(1, "", 1, inputs='[{"pg_name": "1", "ranks": [0, 5]}]')],
            [],
            "process group '1' is not of distinct ranks",
        ),
        ([TraceNode(1, "", 1, inputs='["pg_name"]')], [], "groups that cannot be read"),
        (
            [TraceNode(1, "", 1, inputs='[{"pg_name": "1", "ranks": [0]}]')],
            [TraceNode(1, "", 1, inputs='[{"pg_name": "1", "ranks": [1]}]')],
            "process group '1' is of other ranks elsewhere",
        ),
    ],
)
def test_what_is_wrong_or_not_followed(
    first: list[TraceNode], second: list[TraceNode], says: str
) -> None:
    """Named, with rank and node."""
    with pytest.raises(InputError, match=says):
        chakra_iteration({0: first, 1: second})


def test_members_alone_do_the_collectives_of_a_group() -> None:
    """Rank 2 is not in the group of ranks 0 and 1."""
    traces = collectives_of(3, CollectiveType.ALL_REDUCE, 8, ["1"] * 3)
    with pytest.raises(FormatError, match="process group '1': ranks with different"):
        chakra_iteration(traces, {"1": [0, 1]})


def test_groups_beside_the_traces(tmp_path: Path) -> None:
    """By the command: in NAME.json or comm_group.json, not in both."""
    pairs = collectives_of(4, CollectiveType.ALL_GATHER, 4000, ["1", "1", "2", "2"])
    for rank, nodes in pairs.items():
        (tmp_path / f"work.{rank}.et").write_bytes(chakra_bytes(nodes))
    command = ("train", "ideal-switch-4/all-reduce-1KiB", "--chakra", str(tmp_path))
    alone = run_json(*command)
    (tmp_path / "system.json").write_text("{}")
    (tmp_path / "work.json").write_text('{"1": [0, 1], "2": [2, 3]}')
    assert run_json(*command) == alone
    (tmp_path / "work.json").write_text('{"1": [0, 1], "2": [2]}')
    refused = run(*command)
    assert refused.exit_code == 2
    assert "process group '2'" in refused.stderr
    (tmp_path / "work.json").write_text('{"1": 5}')
    assert "work.json: not a table of process groups" in run(*command).stderr
    (tmp_path / "comm_group.json").write_text("{}")
    assert "more than one file of process groups" in run(*command).stderr
    (tmp_path / "work.0.et").write_bytes(bytes(1000))
    refused = run(*command)
    assert refused.exit_code == 2
    assert "two nodes of one id" in refused.stderr


def test_a_log_by_the_command(tmp_path: Path) -> None:
    """On a rack, compared with others, written; options of planning are refused."""
    log, output = tmp_path / "calls.log", tmp_path / "out.jsonl"
    log.write_text("L2L;1000;1;0;0;1\nL2L;1000;1;0;2;2\nAR;4000;0,1,2,3\n")
    fabric = "lightpath-4/all-reduce-1KiB"
    record = run_json("train", fabric, "--log", str(log), "--compare")
    assert {"ideal-switch", "ring"} <= set(record["compare"])
    assert record["iteration_ps"] > 0
    result = run("train", fabric, "--log", str(log), "-o", str(output))
    assert result.exit_code == 0, result.stderr
    assert run("verify", str(output)).exit_code == 0
    for options in (("--replicas", "2"), ("--graph", str(log))):
        refused = run("train", fabric, "--log", str(log), *options)
        assert refused.exit_code == 2
        assert options[0] in refused.stderr
    assert run("train", fabric, "--chakra", str(tmp_path)).exit_code == 2


def test_a_table_of_calls_is_the_log_that_says_the_same(tmp_path: Path) -> None:
    """Column by column; and what is wrong is named with its line."""
    table, log = tmp_path / "calls.csv", tmp_path / "calls.log"
    head = "call,bytes,src,dst,nodes\n"
    table.write_text(head + "# forward\n0,64,0,1,\n0,64,2,3,\n1,8,,,0 1 2 3\n")
    log.write_text("L2L;64;0;0;0;1\nL2L;64;0;0;2;3\nAR;8;0,1,2,3\n")
    assert read_calls_csv(table) == read_communication_log(log)
    for row, words in (
        ("0,-1,0,1,", "3, bytes: not a count"),
        ("0,8,0,,", "3: neither a transfer nor"),
        ("0,8,0,1,2", "3: neither a transfer nor"),
        ("0,8,,,1 1", "3, nodes: a node twice"),
        ("x,8,0,1,", "3, call: not a count"),
        ("0,8,0", "3: another number of values"),
    ):
        table.write_text(head + f"0,64,0,1,\n{row}\n")
        with pytest.raises(FormatError, match=words):
            read_calls_csv(table)
    table.write_text(head)
    with pytest.raises(FormatError, match="without rows"):
        read_calls_csv(table)
    table.write_text("src,dst,bytes\n0,1,5\n")
    with pytest.raises(FormatError, match="a column is missing: call, nodes"):
        read_calls_csv(table)
