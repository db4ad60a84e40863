"""Suites: what they ask, and how they are refused."""

from __future__ import annotations

import inspect
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import tomli_w

from lightloom.bench.families import FAMILIES as KNOWN_FAMILIES
from lightloom.bench.families import member
from lightloom.bench.job import entrant, instance_hash
from lightloom.bench.suite import built_in_suites, load_suite
from lightloom.core.errors import FormatError, InputError
from lightloom.front_door import load_instance
from lightloom.synth.demand_algorithms import ON_DEMANDS
from lightloom.synth.synthesise import synthesise
from tests.bench.suites import TEXT, suite_of, write_suite

FAMILIES = {
    "catalogue": {"fabric": "lightpath-4", "op": "all-gather", "size": "1KiB"},
    "collective": {"rows": 2, "cols": 2, "op": "all-gather"},
    "graph": {
        "shape": "layers",
        "depth": 2,
        "breadth": 2,
        "devices": 2,
        "distance": 1,
    },
    "layered": {"layers": 2, "width": 2, "devices": 2, "distance": 1},
    "matrices": {"rows": 2, "cols": 2, "percent": 60},
    "network": {"kind": "ocs", "nodes": 4},
    "permutations": {"rows": 2, "cols": 2},
    "requests": {"rows": 2, "cols": 2, "pattern": "random", "count": 3},
    "ring": {"nodes": 4, "wavelengths": 4, "partners": 2},
    "split-model": {"model": "ncf", "devices": 4, "distance": 1},
    "subset": {
        "fabric": "torus-16",
        "op": "gather",
        "nodes": "0 3 5",
        "buffer_bytes": 12,
    },
    "switches": {"nodes": 4, "switches": 4, "partners": 2},
    "traffic": {"fabric": "ring-8", "partners": 2},
}


@pytest.mark.parametrize("name", built_in_suites())
def test_built_in_suites_are_sound(name: str) -> None:
    """Each asks something, by solvers and families that there are."""
    suite = load_suite(name)
    assert suite.summary == built_in_suites()[name]
    assert suite.jobs
    assert {job.memory_limit_bytes is not None for job in suite.jobs} == {True}


def test_every_problem_has_a_suite_and_is_smoked() -> None:
    """A new problem must join the suites."""
    from lightloom.problems import PROBLEMS

    assert set(PROBLEMS) <= {job.problem for job in load_suite("smoke").jobs}
    assert set(PROBLEMS) <= {job.problem for job in load_suite("problems").jobs}
    assert set(PROBLEMS) <= set(built_in_suites())


def test_every_family_is_tried() -> None:
    """A new family must join the tests here."""
    assert set(FAMILIES) == set(KNOWN_FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_functions_of_their_parameters(name: str) -> None:
    """Same parameters, same instance; another draw, another one."""
    first, second = (member(name, FAMILIES[name], "test") for _ in range(2))
    assert instance_hash(first) == instance_hash(second)
    assert first.name == second.name
    if "draw" in inspect.signature(KNOWN_FAMILIES[name].make).parameters:
        other = member(name, {**FAMILIES[name], "draw": 7}, "test")
        assert instance_hash(other) != instance_hash(first)


def test_lists_stand_for_each_of_their_values(tmp_path: Path) -> None:
    """Instances, solvers and seeds multiply; what is asked twice is one job."""
    suite = suite_of(
        tmp_path,
        by=["lightloom", "highs", {"solver": "highs", "form": "paths"}],
        seeds=[0, 1],
        instances=[
            {"family": "permutations", "rows": [2, 3], "cols": 2},
            {"family": "permutations", "rows": 2, "cols": 2},
        ],
    )
    assert len(suite.jobs) == 2 * 3 * 2
    assert len({job.key for job in suite.jobs}) == len(suite.jobs)


def test_instances_come_from_files_beside_the_suite(tmp_path: Path) -> None:
    """A path in a suite is relative to the suite."""
    question = {
        "fabric": {"kind": "lightpath", "rows": 2, "cols": 2},
        "demand": {"src": [0], "dst": [1], "bytes": [8]},
    }
    (tmp_path / "mine.toml").write_text(tomli_w.dumps(question), encoding="utf-8")
    suite = suite_of(tmp_path, instances=[{"file": "mine.toml"}])
    assert suite.jobs[0].instance.fabric.node_count == 4


@pytest.mark.parametrize(
    ("study", "words"),
    [
        ({"problem": "rooting"}, "unknown problem; found 'rooting'"),
        ({"by": ["hihgs"]}, "unknown solver; found 'hihgs'"),
        ({"by": ["hihgs"]}, "did you mean highs?"),
        ({"by": [{"solver": "highs", "roads": 2}]}, "no parameter of this name"),
        ({"by": [{"solver": "lightloom", "paths": 2}]}, "takes no parameters"),
        ({"by": [{"form": "arcs"}]}, "no solver is named"),
        ({"problem": "completion-time", "by": ["rign"]}, "unknown algorithm"),
        ({"instances": [{"name": "lightpath-4/all-redcue-1KiB"}]}, "unknown instance"),
        ({"instances": [{"file": "missing.toml"}]}, "missing.toml"),
        ({"instances": [{"family": "permutation"}]}, "unknown family"),
        ({"instances": [{"family": "permutations", "rows": 2}]}, "needs the parameter"),
        (
            {
                "instances": [
                    {"family": "permutations", "rows": 2, "cols": 2, "seed": 1}
                ]
            },
            "no parameter 'seed'",
        ),
        (
            {"instances": [{"family": "permutations", "rows": 2, "cols": "2"}]},
            "wrong type",
        ),
        (
            {"instances": [{"family": "permutations", "rows": 2, "cols": 0}]},
            "permutations",
        ),
        ({"instances": [{"family": "permutations", "name": "x"}]}, "one place"),
        ({"instances": [{"name": "x", "rows": 2}]}, "stands alone"),
        ({"instances": [{"rows": 2}]}, "one place"),
        ({"sedes": [1]}, "unknown key 'sedes'"),
        ({"seeds": [-1]}, "seeds[0]"),
        ({"time_limit_s": 0}, "time_limit_s"),
        ({"memory_limit_mib": 0}, "memory_limit_mib"),
        ({"by": "highs"}, "by"),
    ],
)
def test_suites_are_refused_in_one_line(
    study: dict[str, object], words: str, tmp_path: Path
) -> None:
    """What there is not is named, with its place in the file."""
    path = write_suite(tmp_path, **study)
    with pytest.raises(InputError) as error:
        load_suite(path)
    line = error.value.line()
    assert words in line
    assert "suite.toml" in line or "missing.toml" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("format = ", "not a TOML file"),
        (TEXT.replace("version = 1", "version = 2"), "another version"),
        (TEXT.replace("lightloom-suite", "a-suite"), "format"),
        (TEXT.replace("version = 1", "edition = 1"), "edition"),
    ],
)
def test_files_that_are_no_suites_are_refused(
    text: str, words: str, tmp_path: Path
) -> None:
    """Another version and another format are told apart."""
    path = tmp_path / "suite.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words) as error:
        load_suite(str(path))
    assert isinstance(error.value, FormatError) == ("another version" in words)


@pytest.mark.parametrize("name", [*ON_DEMANDS])
def test_algorithms_for_demands_take_part(name: str) -> None:
    """Each may be named in a suite; asked for a collective, it says what it is for."""
    assert entrant("completion-time", name, "study[0].by[0]").solver == name
    with pytest.raises(InputError, match="serves demands, not collectives"):
        synthesise(load_instance("ocs-16/all-reduce-1KiB"), name)


def test_an_unknown_suite_suggests_the_nearest() -> None:
    """The message suggests a near name; a missing file is refused, too."""
    with pytest.raises(InputError, match="did you mean smoke"):
        load_suite("smokey")
    with pytest.raises(InputError, match="cannot read"):
        load_suite("missing.toml")


def test_keys_tell_apart_what_decides_the_outcome(tmp_path: Path) -> None:
    """Seeds, limits, solvers, parameters and instances; not the suite's name."""
    (base,) = suite_of(tmp_path).jobs
    others = [
        {"seeds": [1]},
        {"time_limit_s": 31.0},
        {"memory_limit_mib": 1},
        {"by": ["highs"]},
        {"by": [{"solver": "highs", "form": "paths"}]},
        {"instances": [{"family": "permutations", "rows": 2, "cols": 3}]},
    ]
    keys = {job.key for study in others for job in suite_of(tmp_path, **study).jobs}
    assert len(keys) == len(others)
    assert base.key not in keys
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (same,) = suite_of(elsewhere).jobs
    assert same.key == base.key


def test_the_suite_of_the_documentation_is_one(tmp_path: Path) -> None:
    """The page's suite and the study added to it are accepted as they stand."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "benchmark.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    shutil.copy(Path(__file__).parent / "mine.toml", tmp_path)
    (tmp_path / "suite.toml").write_text("\n".join(blocks), encoding="utf-8")
    suite = load_suite(str(tmp_path / "suite.toml"))
    assert {job.entrant.solver for job in suite.jobs} == {
        "lightloom",
        "highs",
        "mymodule:route",
        "schedule-file",
    }


def test_the_text_of_the_tests_is_a_suite() -> None:
    """The other tests start from something sound."""
    assert tomllib.loads(TEXT)["format"] == "lightloom-suite"
