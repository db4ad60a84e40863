"""The whole path on small instances: synth, verify, replay, bound."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.program import child, one_error, run, run_json

SMALL = "lightpath-4/all-reduce-64KiB"


@pytest.fixture
def schedule(tmp_path: Path) -> str:
    """Return the file of a small schedule."""
    path = str(tmp_path / "small.jsonl")
    result = run("synth", SMALL, "--algorithm", "lumorph-2", "-o", path)
    assert result.exit_code == 0, result.stderr
    return path


def test_synth_json_has_its_documented_keys(tmp_path: Path) -> None:
    """One object, with what was compared and what is proven."""
    path = str(tmp_path / "auto.jsonl.gz")
    record = run_json("synth", SMALL, "-o", path)
    assert list(record) == [
        *("file", "algorithm", "parameters", "seed", "completion_time_ps", "steps"),
        *("reconfigurations", "certificate", "compared"),
    ]
    assert record["file"] == path
    assert list(record["certificate"]) == ["status", "kind", "bound", "value"]
    best = record["compared"][0]
    assert list(best) == [
        *("algorithm", "parameters", "mapping", "predicted_ps"),
        *("completion_time_ps", "reconfigurations"),
    ]
    assert best["completion_time_ps"] == record["completion_time_ps"]
    replayed = run_json("replay", path)
    for key in ("completion_time_ps", "steps", "reconfigurations"):
        assert replayed[key] == record[key]


def test_synth_says_what_auto_compared_on_stderr(tmp_path: Path) -> None:
    """The table of candidates is talk, the summary is data."""
    result = run("synth", SMALL, "-o", str(tmp_path / "auto.jsonl"))
    assert "compared" in result.stderr
    chosen = result.stdout.split(": ")[1].split()[0]
    assert chosen in result.stderr
    assert "completion time" in result.stdout
    assert "verified" in result.stdout


def test_named_algorithms_take_parameters(tmp_path: Path) -> None:
    """A list parameter may have one element, and the file records it."""
    path = str(tmp_path / "radices.jsonl")
    options = ("--algorithm", "radices", "--param", "radices=4")
    record = run_json("synth", SMALL, *options, "-o", path)
    assert record["algorithm"] == "radices"
    assert record["parameters"]["radices"] == [4]
    assert record["steps"] == 2


def test_verify_accepts_what_synth_wrote(schedule: str) -> None:
    """A fresh schedule is valid, with the documented keys."""
    record = run_json("verify", schedule)
    assert list(record) == [
        *("file", "valid", "violation_count", "violations"),
        *("certificate", "objectives"),
    ]
    assert record["valid"] is True
    assert record["violations"] == []
    assert list(record["certificate"]) == ["status", "kind", "bound", "value"]
    assert record["objectives"] == []
    assert "valid" in run("verify", schedule).stdout


def test_verify_lists_every_violation_of_a_broken_schedule(
    schedule: str, tmp_path: Path
) -> None:
    """A schedule whose footer lies is refused with exit code 1."""
    broken = str(tmp_path / "broken.jsonl")
    resign(schedule, broken, completion_time_ps=1)
    record = run_json("verify", broken, exit_code=1)
    assert record["valid"] is False
    assert {"footer-time"} <= {one["rule"] for one in record["violations"]}
    for one in record["violations"]:
        assert list(one) == ["rule", "step", "resource", "message", "excess"]
    text = run("verify", broken)
    assert text.exit_code == 1
    assert "[footer-time]" in text.stdout


def resign(source: str, target: str, **claims: int) -> None:
    """Write a schedule with other claims in its footer, hash and all."""
    with open(source, encoding="utf-8") as file:  # noqa: PTH123
        *lines, last = file.read().splitlines()
    footer = json.loads(last)
    footer.update(claims)
    text = "\n".join([*lines, json.dumps(footer, separators=(",", ":"))]) + "\n"
    with open(target, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)


def test_replay_json_has_its_documented_keys(schedule: str) -> None:
    """Counts, rounds, nodes, and the paper's way of charging."""
    record = run_json("replay", schedule)
    assert list(record) == [
        *("file", "completion_time_ps", "every_round_charged_ps", "steps"),
        *("reconfigurations", "utilisation", "bandwidth", "rounds", "nodes"),
    ]
    assert len(record["rounds"]) == record["steps"]
    assert list(record["rounds"][0]) == [
        *("index", "release_ps", "end_ps", "transfers", "bytes", "segments"),
    ]
    assert record["rounds"][-1]["end_ps"] == record["completion_time_ps"]
    assert record["every_round_charged_ps"] >= record["completion_time_ps"]
    assert 0 < record["utilisation"] <= 1
    assert len(record["nodes"]["sent_bytes"]) == 4
    assert "completion time" in run("replay", schedule).stdout


def edited(source: str, target: str, record: str, **claims: object) -> None:
    """Write a schedule whose first such record says otherwise, hash and all."""
    lines = Path(source).read_text().splitlines()
    records = [json.loads(line) for line in lines]
    place = next(i for i, one in enumerate(records) if one["record"] == record)
    records[place].update(claims)
    *body, footer = records
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in body)
    footer["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    last = json.dumps(footer, separators=(",", ":")) + "\n"
    Path(target).write_text(text + last)


def test_verify_shows_the_first_violations_of_each_rule(tmp_path: Path) -> None:
    """People see twenty of a rule and how many more there are; --json has all."""
    source, broken = str(tmp_path / "whole.jsonl"), str(tmp_path / "broken.jsonl")
    assert run("synth", "lightpath-8/all-reduce-1MiB", "-o", source).exit_code == 0
    fabric = json.loads(Path(source).read_text().splitlines()[0])["fabric"]
    edited(source, broken, "header", fabric={**fabric, "lasers": 1})
    record = run_json("verify", broken, exit_code=1)
    counts = Counter(one["rule"] for one in record["violations"])
    assert max(counts.values()) > 20
    text = run("verify", broken).stdout
    for rule, count in counts.items():
        assert text.count(f"[{rule}]") == min(count, 20) + (count > 20)
        assert (f"[{rule}] and {count - 20:,} more" in text) == (count > 20)


def test_replay_names_the_file_that_it_cannot_execute(
    schedule: str, tmp_path: Path
) -> None:
    """A transfer without a circuit is refused with the name of its file."""
    broken = str(tmp_path / "dark.jsonl")
    edited(schedule, broken, "step", src=[0, 1, 2, 3], dst=[0, 1, 2, 3])
    result = run("replay", broken)
    assert result.exit_code == 2
    assert one_error(result).startswith(f"{broken}: step 0: ")


def test_replay_writes_a_trace(schedule: str, tmp_path: Path) -> None:
    """``--trace`` leaves a file of trace events and says so on stderr."""
    trace = tmp_path / "trace.json"
    result = run("replay", schedule, "--trace", str(trace))
    assert str(trace) in result.stderr
    assert json.loads(trace.read_text())["traceEvents"]


def test_bound_json_has_its_documented_keys() -> None:
    """The best bound comes first, and no schedule beats it."""
    record = run_json("bound", SMALL)
    assert list(record) == ["instance", "bound", "kind", "witness", "bounds"]
    assert record["bounds"][0]["bound"] == record["bound"]
    bounds = [one["bound"] for one in record["bounds"]]
    assert bounds == sorted(bounds, reverse=True)
    assert "no schedule ends before" in run("bound", SMALL).stdout


def test_schedules_travel_through_pipes() -> None:
    """``-`` is stdout for synth and stdin for verify and replay."""
    options = ("--algorithm", "ring", "-o", "-")
    made = child("synth", SMALL, *options)
    assert made.returncode == 0
    assert made.stdout.startswith(b'{"record":"header"')
    verified = child("verify", "-", "--json", stdin=made.stdout)
    assert json.loads(verified.stdout)["valid"] is True
    replayed = child("replay", "-", "--json", stdin=made.stdout)
    assert json.loads(replayed.stdout)["steps"] == 6


def test_the_same_question_gives_the_same_bytes() -> None:
    """Two values of PYTHONHASHSEED give the same schedule."""
    options = ("synth", SMALL, "-o", "-")
    first = child(*options, PYTHONHASHSEED="1")
    second = child(*options, PYTHONHASHSEED="2")
    assert first.returncode == 0
    assert first.stdout == second.stdout


def test_json_and_a_schedule_do_not_share_stdout() -> None:
    """Two kinds of data on one stream are refused."""
    result = run("synth", SMALL, "-o", "-", "--json")
    assert result.exit_code == 2
    assert "stdout" in one_error(result)
