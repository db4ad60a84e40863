"""What ``--json`` prints has the keys that docs/cli.md says, and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from lightloom.cli.main import lightloom
from tests.cli.program import run, run_json

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
GATHER = "lightpath-4/all-gather-64KiB"
FREE_FORM = {"settings", "measures", "families", "compare", "suites", "parameters"}
"""Keys of objects whose own keys are names of the user's things."""
RUN_ALONE = {"suite", "runs", "made"}


def documented() -> dict[str, dict[str, str]]:
    """Return per command the keys of its object, and what the page says of each."""
    text = PAGE.read_text(encoding="utf-8").split("# Commands")[0].split("## JSON")[1]
    found: dict[str, dict[str, str]] = {}
    names: list[str] = []
    for line in text.splitlines():
        if line.startswith("`") and "prints" not in line:
            names = re.findall(r"`([^`]+)`", line)
            if "of a program" in line:
                names = ["verify program"]
        elif row := re.match(r"\| (`.*?`) \| (.*) \|$", line):
            for name in names:
                keys = re.findall(r"`([^`]+)`", row[1])
                found.setdefault(name, {}).update(dict.fromkeys(keys, row[2]))
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a schedule, a program and results."""
    folder = tmp_path_factory.mktemp("json")
    made = str(folder / "a.jsonl")
    for arguments in (
        ("synth", GATHER, "--algorithm", "ring", "-o", made),
        ("export", made, "--to", "msccl", "-o", str(folder / "a.xml")),
        ("synth", GATHER, "--algorithm", "direct", "-o", str(folder / "b.jsonl")),
    ):
        result = run(*arguments)
        assert result.exit_code == 0, result.stderr
    return folder


COMMANDS: dict[str, tuple[str, ...]] = {
    "verify": ("verify", "{}/a.jsonl"),
    "verify program": ("verify", "{}/a.xml"),
    "replay": ("replay", "{}/a.jsonl"),
    "diff": ("diff", "{}/a.jsonl", "{}/b.jsonl"),
    "sweep": ("sweep", GATHER, "--algorithm", "ring", "--results", "{}/s.jsonl"),
    "synth": ("synth", GATHER, "-o", "{}/c.jsonl"),
    "bound": ("bound", GATHER, "--problem", "rounds"),
    "solve": ("solve", GATHER, "--problem", "rounds"),
    "model": ("model", GATHER, "--problem", "rounds", "--write", "{}/m.mps"),
    "train": ("train", "ocs-16/bert-large-batch64", "--gpus", "4", "--replicas", "4"),
    "jobs": ("jobs", "ocs-16/bert-large-batch64", "{}/jobs.csv", "--replayed", "1"),
    "bench list": ("bench", "list"),
    "bench run": ("bench", "run", "{}/mine.toml", "--results", "{}/r.jsonl"),
    "bench report": ("bench", "report", "{}/s.jsonl"),
    "bench compare": ("bench", "compare", "{}/s.jsonl", "{}/s.jsonl"),
    "ramp check": ("ramp", "check", "ramp-16/all-reduce-1MiB"),
    "ramp nic": ("ramp", "nic", "ramp-16/all-reduce-1MiB", "--node", "0,0,0"),
    "conform": (
        *("conform", "tests.examples.synthesisers:honest", "--examples", "1"),
        *("--fabric", "ideal-switch", "--task", "all-gather"),
    ),
    "solvers": ("solvers",),
    "formats": ("formats",),
    "instances": ("instances",),
    "algorithms": ("algorithms", "ring"),
}
JOBS = """name,arrival_us,devices,iterations,replicas
a,0,2,3,2
b,0,2,3,2
"""
SUITE = """
format = "lightloom-suite"
version = 1
summary = "one question"
[[study]]
problem = "routing"
by = ["lightloom"]
instances = [{ family = "permutations", rows = 2, cols = 2, copies = 1 }]
"""


def test_every_command_with_json_is_here() -> None:
    """Every command that has ``--json`` is documented, and asked below."""

    def walk(group: click.Group, path: str = "") -> Iterator[str]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from walk(command, f"{path}{name} ")
            if command and any("--json" in one.opts for one in command.params):
                yield f"{path}{name}"

    have = set(walk(lightloom))
    assert have <= set(documented())
    assert have | {"verify program"} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_keys_are_those_documented(name: str, files: Path) -> None:
    """Keys of the object, and of the objects in its lists, are those of the page."""
    (files / "mine.toml").write_text(SUITE, encoding="utf-8")
    (files / "jobs.csv").write_text(JOBS, encoding="utf-8")
    if name.startswith("bench") and not (files / "s.jsonl").exists():
        run(*(part.format(files) for part in COMMANDS["sweep"]))
    record = run_json(*(part.format(files) for part in COMMANDS[name]))
    known = documented()[name]
    left_out = {"bench report": RUN_ALONE}.get(name, set())
    assert set(record) == set(known) - left_out
    for key, value in record.items():
        inner = set(re.findall(r"\w+", " ".join(re.findall(r"\{[^}]*\}", known[key]))))
        for one in _objects(key, value):
            if name == "sweep":
                one.pop("collective.buffer_bytes", None)
                inner = set(re.findall(r"\w+", known[key]))
            assert set(one) <= inner, key


def _objects(key: str, value: object) -> list[dict[str, Any]]:
    """Return the objects directly inside a value whose keys are ours."""
    if key in FREE_FORM or key == "witness":
        return []
    if isinstance(value, dict):
        return [] if key == "nodes" else [value]
    return (
        [one for one in value if isinstance(one, dict)]
        if value and isinstance(value, list)
        else []
    )
