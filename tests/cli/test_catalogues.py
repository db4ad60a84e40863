"""What the program lists: instances, algorithms, figures, the schema."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

from lightloom.core.units import MIB
from lightloom.instances.catalogue import load_instance, named_instances
from lightloom.instances.instance_file import parse_instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.synth.demand_rounds import DEMAND_ALGORITHMS
from lightloom.synth.ocs.baseline_schedules import BASELINES
from tests.cli.program import one_error, run, run_json

if TYPE_CHECKING:
    from pathlib import Path


def test_instances_lists_every_name() -> None:
    """``--names`` prints exactly the catalogue."""
    listed = run("instances", "--names").stdout.split()
    assert listed == [instance.name for instance in named_instances()]


def test_filters_keep_what_they_name() -> None:
    """``--fabric`` and ``--op`` leave the names of that fabric and operation."""
    found = run_json("instances", "--fabric", "lightpath-4", "--op", "scatter")
    assert found["instances"]
    for name in found["instances"]:
        assert name.startswith("lightpath-4/scatter-")


def test_the_table_of_instances_has_a_row_for_every_fabric() -> None:
    """The compact table names each fabric."""
    table = run("instances").stdout
    for instance in named_instances():
        assert instance.name.split("/")[0] in table


def test_show_prints_toml_that_synth_would_read() -> None:
    """Defaults filled in, but no list of the nodes where all take part."""
    name = "lightpath-4/scatter-1MiB"
    tables = tomllib.loads(run("instances", "show", name).stdout)
    assert tables["fabric"]["rows"] == 2
    assert tables["collective"] == {"op": "scatter", "buffer_bytes": MIB}
    assert parse_instance(tables, name=name) == load_instance(name)


def test_show_lists_the_nodes_where_only_some_take_part(tmp_path: Path) -> None:
    """In their order, which is that of the ranks."""
    path = tmp_path / "some.toml"
    path.write_text(
        '[fabric]\nkind = "ideal-switch"\nnodes = 3\n'
        '[collective]\nop = "scatter"\nbuffer_bytes = 6\nnodes = [2, 1, 0]\n'
    )
    tables = tomllib.loads(run("instances", "show", str(path)).stdout)
    assert tables["collective"]["nodes"] == [2, 1, 0]


def test_algorithms_lists_the_catalogue_with_parameters() -> None:
    """Every algorithm is there, with what it serves and takes."""
    listed = {entry["name"]: entry for entry in run_json("algorithms")["algorithms"]}
    own = {"configurations", "relays", "ring-ladder", "saturated-port"}
    assert set(listed) == {*ALGORITHMS, *DEMAND_ALGORITHMS, *own, *BASELINES}
    assert listed["one-shot"]["ops"] == ["collectives on ocs"]
    assert listed["ring-ladder"]["ops"] == ["demand on ring"]
    assert listed["ring"]["ops"] == list(ALGORITHMS["ring"].ops)
    assert listed["greedy"]["ops"] == ["demand"]
    assert listed["lumorph-4"]["parameters"][0]["default"] == 4
    table = run("algorithms").stdout
    assert "radices=..." in table
    assert "near_first=false" in table
    assert all(name in table for name in listed)


def test_every_parameter_is_explained() -> None:
    """Each has a type, a domain and a sentence that says what it does."""
    for entry in run_json("algorithms")["algorithms"]:
        for parameter in entry["parameters"]:
            assert set(parameter) == {"name", "type", "default", "allowed", "meaning"}
            assert "None" not in parameter["allowed"], parameter
            assert parameter["allowed"], parameter
            assert parameter["meaning"].endswith("."), parameter


def test_an_algorithm_prints_its_parameters() -> None:
    """By name: what it serves, and each parameter with type, default and domain."""
    text = run("algorithms", "disjoint-trees").stdout
    assert "serves broadcast, reduce" in text
    for word in ("root_children", "trees_per_last_piece", "integer", "1 to 1048576"):
        assert word in text
    assert "no parameters" in run("algorithms", "ring").stdout
    (entry,) = run_json("algorithms", "multiport")["algorithms"]
    assert [one["name"] for one in entry["parameters"]] == ["ports", "signed"]
    assert [one["type"] for one in entry["parameters"]] == ["integer", "boolean"]
    assert "did you mean multiport" in one_error(run("algorithms", "multi-port"))


def test_reproduce_without_a_name_lists_the_figures() -> None:
    """The six figures of the LUMORPH paper are on offer, and how long they take."""
    listed = run("reproduce").stdout
    assert "takes about" in listed
    for figure in ("fig3", "fig5", "fig6", "fig7", "fig8a", "fig8b"):
        assert f"lumorph-{figure}" in listed


def test_schema_is_a_json_schema() -> None:
    """``schema`` prints one JSON document."""
    schema = json.loads(run("schema").stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
