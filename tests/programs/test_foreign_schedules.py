"""Schedules of other synthesisers: flows of TE-CCL, solutions of overlap4ocs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import FormatError, InputError
from lightloom.formats.json_file import read_json
from lightloom.formats.optimiser_solutions import (
    OverlapParameters,
    OverlapSolution,
    flows_of,
    solution_of,
)
from lightloom.programs.import_schedule import judged_schedule, overlap_schedule
from lightloom.replay import replay
from lightloom.validate import verify
from tests.cli.program import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PARAMETERS = OverlapParameters("ar_having-doubling", 8, 2, 32.0, 50.0, 0.2, 0.02)
KINDS = {
    "ar_having-doubling": (6, [16, 8, 4, 4, 8, 16], [1, 2, 3, 3, 2, 1]),
    "rs_having-doubling": (3, [16, 8, 4], [1, 2, 3]),
    "ag_having-doubling": (3, [16, 8, 4], [1, 2, 3]),
    "a2a_pairwise": (7, [32 / 7] * 7, [1, 2, 3, 4, 5, 6, 7]),
    "a2a_bruck": (3, [32] * 3, [1, 2, 3]),
    "ar_recursive-doubling": (3, [32] * 3, [1, 2, 3]),
    "ar_ring": (7, [32 / 7] * 7, [1] * 7),
}
"""Steps, MB and configuration of each, as the model's own program counts them."""


def solution(
    algorithm: str, used: Callable[[int, int], bool], *, remembers: bool = True
) -> dict[str, float]:
    """Return the variables of a schedule that shares every step out evenly.

    A switch is reconfigured where it holds another configuration, or (`remembers` is
    false) where the step before had another one: the model's own constraint.
    """
    steps, volume_mb, asked = KINDS[algorithm]
    held: dict[int, int] = {}
    values: dict[str, float] = {}
    ends = dict.fromkeys((1, 2), 0.0)
    time_ms = 0.0
    for step in range(1, steps + 1):
        planes = [plane for plane in (1, 2) if used(step, plane)]
        before = asked[step - 2] if step > 1 else None
        end = time_ms
        for plane in planes:
            holds = held.get(plane) if remembers else before
            share = volume_mb[step - 1] / len(planes)
            start = time_ms
            values[f"d_{step}_{plane}"] = share
            values[f"u_{step}_{plane}"] = 1.0
            if holds != asked[step - 1]:
                values[f"r_{step}_{plane}"] = 1.0
                held[plane] = asked[step - 1]
                start = max(time_ms, ends[plane] + 0.2)
            ends[plane] = start + 0.02 + share / 50
            end = max(end, ends[plane])
        time_ms = end
    values["CCT"] = time_ms
    return values


def read(values: object, folder: Path) -> OverlapSolution:
    """Return the solution of variables, by way of a file."""
    path = folder / "solution.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return solution_of(read_json(path))


def parameters(algorithm: str) -> OverlapParameters:
    """Return those of a model with another algorithm."""
    numbers = (8, 2, 32.0, 50.0, 0.2, 0.02)
    return OverlapParameters(algorithm, *numbers)


def always(step: int, plane: int) -> bool:
    """Use every switch in every step."""
    return step > 0 < plane


def in_turn(step: int, plane: int) -> bool:
    """Use one switch after the other."""
    return step % 2 == plane % 2


@pytest.mark.parametrize("used", [always, in_turn])
@pytest.mark.parametrize(
    "algorithm",
    [
        "ar_having-doubling",
        "rs_having-doubling",
        "a2a_pairwise",
        "ar_recursive-doubling",
    ],
)
def test_replay_takes_what_the_model_claims(
    algorithm: str, used: Callable[[int, int], bool], tmp_path: Path
) -> None:
    """To the rounding of bytes and picoseconds, reconfigurations hidden or not."""
    solved = read(solution(algorithm, used), tmp_path)
    made = overlap_schedule(solved, parameters(algorithm), "s.json")
    sealed, faults = judged_schedule(made, solved)
    assert not faults
    assert sealed.footer.certificate is not None
    claimed_ps = solved.completion_ms * 10**9
    rounding_ps = 20 * solved.used.sum()  # a byte takes 20 ps
    assert abs(replay(made).completion_time_ps - claimed_ps) <= rounding_ps


@pytest.mark.parametrize("algorithm", ["a2a_bruck", "ag_having-doubling", "ar_ring"])
def test_volumes_that_are_not_the_collective_s(algorithm: str, tmp_path: Path) -> None:
    """Three of the model's step tables move other data than the collectives do."""
    solved = read(solution(algorithm, always), tmp_path)
    with pytest.raises(FormatError, match=r"moves another volume|not one of"):
        overlap_schedule(solved, parameters(algorithm), "s.json")


def test_a_switch_that_does_not_hold_what_it_is_used_for(tmp_path: Path) -> None:
    """The model compares a step with the one before it, not with what a switch holds.

    Switch 2 rests in step 3; step 4 has the configuration of step 3, so the model lets
    it carry data without being reconfigured, on the circuits of step 2.
    """

    def rests(step: int, plane: int) -> bool:
        return (step, plane) != (3, 2)

    values = solution("ar_having-doubling", rests, remembers=False)
    solved = read(values, tmp_path)
    made = overlap_schedule(solved, PARAMETERS, "s.json")
    faults = verify(made).violations
    assert {(fault.rule, fault.step) for fault in faults} == {("circuit-held", 3)}
    assert all("plane 1 does not hold" in fault.message for fault in faults)
    assert len(faults) == 8
    config = tmp_path / "c.toml"
    config.write_text(
        'algorithm="ar_having-doubling"\np=8\nk=2\nm=32\nB=50\nT_reconf=0.2\nT_lat=0.02',
        encoding="utf-8",
    )
    out = str(tmp_path / "s.jsonl")
    arguments = (str(tmp_path / "solution.json"), "--config", str(config), "-o", out)
    result = run("import", *arguments)
    assert result.exit_code == 1
    assert "8 violations" in result.stderr
    result = run("verify", out)
    assert result.exit_code == 1
    assert "[circuit-held] step 3" in result.stdout


def test_both_forms_of_a_solution_read_the_same(tmp_path: Path) -> None:
    """PuLP's object, and Gurobi's list without zeros."""
    values = solution("ar_having-doubling", in_turn)
    one = read(values, tmp_path)
    named = {
        name: name if name == "CCT" else f"{name[0]}[{name[2:].replace('_', ',')}]"
        for name in values
    }
    rows = [{"VarName": named[name], "X": x} for name, x in values.items() if x]
    other = read({"SolutionInfo": {"Status": 2}, "Vars": rows}, tmp_path)
    assert (one.volume_mb == other.volume_mb).all()
    assert (one.reconfigured == other.reconfigured).all()
    assert one.completion_ms == other.completion_ms


def test_used_before_it_was_ever_set(tmp_path: Path) -> None:
    """A switch without any configuration holds no circuit."""
    values = solution("ar_having-doubling", always)
    for step in range(1, 7):
        values.pop(f"r_{step}_2", None)
    made = overlap_schedule(read(values, tmp_path), PARAMETERS, "s.json")
    found = {(fault.rule, fault.step) for fault in verify(made).violations}
    assert found == {("circuit-held", step) for step in range(6)}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"d_7_1": 1.0}, "7 steps on 2 switches"),
        ({"d_1_3": 1.0}, "6 steps on 3 switches"),
        ({"d_1_1": 9.0}, "step 1 moves another volume"),
        ({"d_1_1": "8"}, "invalid value"),
        ({"d_0_1": 1.0}, "invalid index"),
        ({"d_999999999_999999999": 1.0}, "too many steps"),
    ],
)
def test_bad_solutions(changed: dict[str, object], says: str, tmp_path: Path) -> None:
    """They are refused, not guessed at."""
    values = solution("ar_having-doubling", always) | changed
    with pytest.raises(InputError, match=says):
        overlap_schedule(read(values, tmp_path), PARAMETERS, "s.json")


def flows_file(folder: Path, sentences: list[str], **more: object) -> Path:
    """Write a file of flows."""
    path = folder / "flows.json"
    path.write_text(json.dumps({**more, "7-Flows": sentences}), encoding="utf-8")
    return path


def exchange(volume: float = 1.0) -> list[str]:
    """Return an all-to-all of GPUs 1, 2 and 4; GPU 4's data to 1 go by way of 2."""
    link = "Chunk {} from {} traveled over {}->{} with volume {} in epoch {}"
    rows = [
        (1, 1, 1, 2, volume, 0),
        (2, 1, 1, 4, volume, 7),
        (0, 2, 2, 1, volume, 0),
        (2, 2, 2, 4, volume, 0),
        (0, 4, 4, 2, volume, 0),
        (0, 4, 2, 1, volume, 7),
        (1, 4, 4, 2, volume, 9),
    ]
    return [link.format(*row) for row in rows]


def test_flows_of_an_all_to_all(tmp_path: Path) -> None:
    """Chunk c of a GPU is for the c-th GPU; epochs are steps; valid on a fabric."""
    path = flows_file(tmp_path, exchange())
    found = flows_of(read_json(path))
    assert (found.operation, found.gpus, found.chunks) == ("all-to-all", (1, 2, 4), 3)
    assert [len(part.transfers) for part in found.parts] == [4, 2, 1]
    early = flows_of(read_json(path), earliest=True)
    assert [len(part.transfers) for part in early.parts] == [5, 1]
    out = str(tmp_path / "x.jsonl")
    assert run("import", str(path), "-o", out, "--earliest").exit_code == 0
    assert run("verify", out).exit_code == 0
    arguments = ("import", str(path), "-o", out, "--fabric", "lightpath-4x4.toml")
    assert run(*arguments).exit_code == 2  # no such file
    result = run("import", str(path), "-o", out)
    assert result.exit_code == 0, result.stderr
    assert "completion time: gap" in result.stderr
    assert run("verify", out).exit_code == 0


def test_fractions_are_said_not_rounded(tmp_path: Path) -> None:
    """The first of them is quoted, and no file is written."""
    path = flows_file(tmp_path, [*exchange(), exchange(0.25)[0]])
    out = tmp_path / "x.jsonl"
    result = run("import", str(path), "-o", str(out))
    assert result.exit_code == 2
    assert "1 of 8 flows move other than one whole chunk" in result.stderr
    assert "7-Flows[7]" in result.stderr
    assert not out.exists()


def test_what_a_file_tells_of_its_operation(tmp_path: Path) -> None:
    """An all-gather is one in which every chunk of a GPU is met at another."""
    sentences = ["Chunk 0 from 0 traveled over 0->1 in epoch 0 via switches 4 -> 5"]
    sentences += ["Chunk 1 from 1 traveled over 1->0 in epoch 0"]
    met = {"GPU 1": {"GPU 0": {"Chunk 0": 1e-6}}}
    path = flows_file(tmp_path, sentences, **{"6-Demand_Met": met})
    assert flows_of(read_json(path)).operation == "all-to-all"
    assert flows_of(read_json(path), "all-gather").chunks == 4
    assert (
        flows_of(read_json(flows_file(tmp_path, sentences))).operation == "all-gather"
    )
    with pytest.raises(FormatError, match="not of this operation"):
        flows_of(read_json(path), "all-reduce")
