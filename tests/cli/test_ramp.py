"""``lightloom ramp``: checks at size, programs of nodes, and wrong questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.program import one_error, run, run_json

if TYPE_CHECKING:
    from pathlib import Path

FABRIC = """
[fabric]
kind = "ramp"
groups = {}
racks = {}
nodes_per_rack = {}
"""
COLLECTIVE = """
[collective]
op = "all-gather"
buffer_bytes = 9600
"""
OPERATIONS = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "barrier",
    "broadcast",
    "gather",
    "reduce",
    "reduce-scatter",
    "scatter",
)


def _instance(
    folder: Path, sizes: tuple[int, int, int] = (4, 3, 8), more: str = ""
) -> str:
    path = folder / "ramp.toml"
    path.write_text(FABRIC.format(*sizes) + COLLECTIVE + more)
    return str(path)


@pytest.mark.parametrize("op", OPERATIONS)
def test_check_of_every_operation(op: str, tmp_path: Path) -> None:
    """The report counts what was checked, and finds nothing wrong."""
    found = run_json("ramp", "check", _instance(tmp_path), "--op", op)
    assert found["valid"]
    assert found["violations"] == []
    assert (found["op"], found["nodes"]) == (op, 96)
    assert found["chunks_followed"] == found["chunks"] > 0
    assert found["circuits"] >= 95


def test_check_tells_the_time_of_an_all_to_all(tmp_path: Path) -> None:
    """That of the schedule that `synth` makes by the same strategy."""
    path = _instance(tmp_path)
    found = run_json("ramp", "check", path, "--op", "all-to-all")
    assert found["strategy"] == "relayed"
    file = tmp_path / "exchange.toml"
    file.write_text((tmp_path / "ramp.toml").read_text().replace("gather", "to-all"))
    closed = ("--algorithm", "ramp", "--param", "strategy=relayed")
    made = run_json("synth", str(file), *closed, "-o", str(tmp_path / "out.jsonl"))
    assert made["completion_time_ps"] - found["completion_time_ps"] in range(96)
    named = run_json("ramp", "check", str(file), "--strategy", "direct")
    assert named["segments"] == 24
    assert run_json("ramp", "check", path)["completion_time_ps"] is None


def test_check_in_words(tmp_path: Path) -> None:
    """By default the instance's own operation; what was followed is said."""
    text = run("ramp", "check", _instance(tmp_path)).stdout
    assert "all-gather on 96 nodes: valid" in text
    assert "data followed: all 96 chunks" in text


def test_program_of_a_node(tmp_path: Path) -> None:
    """JSON has the slots; the table names each peer."""
    arguments = ("ramp", "nic", _instance(tmp_path), "--node", "1,2,3")
    found = run_json(*arguments)
    assert found["node"] == [1, 2, 3]
    assert found["slot_bytes"] == 950
    assert [stage["ramp_step"] for stage in found["stages"]] == [4, 3, 2, 1]
    lines = found["instructions"]
    assert {line["direction"] for line in lines} == {"send", "receive"}
    text = run(*arguments).stdout
    for line in lines:
        assert ",".join(map(str, line["peers"][0])) in text


def test_a_program_too_long_for_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long program is refused as a table, and printed as JSON."""
    monkeypatch.setattr("lightloom.cli.ramp._MOST_PRINTED", 5)
    arguments = ("ramp", "nic", _instance(tmp_path), "--node", "1,2,3")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "use --json" in one_error(result)
    assert len(run_json(*arguments)["instructions"]) > 5


def test_a_schedule_goes_the_usual_way(tmp_path: Path) -> None:
    """Synthesised, written, verified and replayed like any other."""
    path = str(tmp_path / "made.jsonl")
    made = run_json("synth", _instance(tmp_path), "-o", path)
    assert run("verify", path).exit_code == 0
    replayed = run_json("replay", path)
    assert replayed["completion_time_ps"] == made["completion_time_ps"]


def test_named_networks() -> None:
    """The catalogue has networks up to that of the paper."""
    names = run("instances", "--fabric", "ramp-65536", "--names").stdout.split()
    assert "ramp-65536/all-reduce-1GiB" in names
    rows = run("instances", "--fabric", "ramp-65536").stdout.splitlines()
    large = {line.split()[2] for line in rows if "too large: ramp check" in line}
    assert large == {"all-gather", "all-reduce"}
    assert any("gather scatter" in line and "synth" in line for line in rows)
    assert run_json("ramp", "check", "ramp-16/all-reduce-1MiB")["valid"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nic", "X", "--node", "4,0,0"), "group 0 to 3, rack 0 to 2, number 0 to 7"),
        (("nic", "X", "--node", "0,0,-1"), "number outside the network"),
        (("nic", "X", "--node", "9,9,9"), "nearest node: 3,2,7"),
        (("nic", "X", "--node", "0,0,0", "--strategy", "tree"), "allowed: steps"),
        (("nic", "X", "--node", "0,0"), "three integers"),
        (("nic", "X", "--node", "a,b,c"), "three integers"),
        (("nic", "X", "--node", "0,0,0", "--op", "scater"), "did you mean scatter"),
        (("check", "X", "--op", "all-in"), "unknown operation"),
        (("check", "lightpath-4/all-reduce-64KiB"), "not a RAMP network"),
    ],
)
def test_wrong_questions(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    """One line that says what was found and what is allowed."""
    instance = _instance(tmp_path)
    given = [instance if part == "X" else part for part in arguments]
    result = run("ramp", *given)
    assert result.exit_code == 2
    assert says in one_error(result)


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ((14, 14, 64), "nearest (groups, racks, nodes_per_rack): (14, 14, 70)"),
        ((4, 5, 8), "racks may not exceed groups, and 5 > 4"),
        ((2, 2, 8), "nodes_per_rack / groups may not exceed groups, and 4 > 2"),
        ((0, 1, 1), "fabric.groups"),
        ((1024, 1024, 1024), "groups * racks * nodes_per_rack <= 1048576"),
    ],
)
def test_networks_that_cannot_be(
    sizes: tuple[int, int, int], says: str, tmp_path: Path
) -> None:
    """The condition that fails, and the nearest network that meets it."""
    path = _instance(tmp_path, sizes)
    for command in (
        ("ramp", "check", path),
        ("ramp", "nic", path, "--node", "0,0,0"),
        ("synth", path, "-o", str(tmp_path / "out.jsonl")),
    ):
        result = run(*command)
        assert result.exit_code == 2
        assert says in one_error(result)


def test_a_subset_that_no_steps_serve(tmp_path: Path) -> None:
    """What goes by steps refuses the nodes with the same message; synth does not."""
    path = _instance(tmp_path, more="nodes = [0, 1, 2]\n")
    for command in (
        ("ramp", "check", path),
        ("ramp", "nic", path, "--node", "0,0,0"),
        (
            *("synth", path, "--algorithm", "ramp", "--param", "strategy=steps"),
            *("-o", str(tmp_path / "out.jsonl")),
        ),
    ):
        result = run(*command)
        assert result.exit_code == 2
        assert "no steps of RAMP serve these 3 nodes" in result.stderr
        assert "(2, 1, 2), 4 nodes, for example 0, 1, 24, 25" in result.stderr
    made = run_json("synth", path, "-o", str(tmp_path / "out.jsonl"))
    assert made["algorithm"] != "ramp"
    assert run("verify", str(tmp_path / "out.jsonl")).exit_code == 0
