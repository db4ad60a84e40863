"""``export``, ``import`` and ``verify`` of XML as a stranger uses them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lightloom.formats.schedule_reader import read_schedule
from tests.cli.program import run, run_json

if TYPE_CHECKING:
    from click.testing import Result

MANY = " ".join(["<algo", *(f"a{n}='1'" for n in range(10**6)), ""])
"""An element of a million attributes."""
TABLE = """step,src,dst,chunk_lo,chunk_hi,op
0,0,1,0,1,reduce
0,1,0,1,2,reduce
1,1,0,0,1,copy
1,0,1,1,2,copy
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(instance: str, algorithm: str = "auto") -> str:
    """Write a schedule file and return its name."""
    result = run("synth", instance, "--algorithm", algorithm, "-o", "made.jsonl")
    assert result.exit_code == 0, result.stderr
    return "made.jsonl"


def one_line(result: Result, exit_code: int = 2) -> str:
    """Return the one line of an error that left no file."""
    assert result.exit_code == exit_code
    assert result.stderr.count("lightloom: error:") == 1
    assert "Traceback" not in result.stderr
    assert not Path("x.xml").exists()
    assert not Path("x.jsonl").exists()
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize("runtime", ["msccl", "azure", "rccl"])
@pytest.mark.parametrize("op", ["all-reduce", "all-to-all", "reduce-scatter"])
def test_there_and_back(runtime: str, op: str) -> None:
    """Exported, verified as XML, imported on the same rack, verified and replayed."""
    name = f"lightpath-16/{op}-1MiB"
    arguments = ("--to", "msccl", "--runtime", runtime, "-o", "x.xml")
    result = run("export", made(name), *arguments)
    assert result.exit_code == 0, result.stderr
    assert "circuits and times are left out" in result.stderr
    record = run_json("verify", "x.xml", "--runtime", runtime)
    assert record["valid"]
    assert record["hangs_from_bytes"] is None
    size = ("--buffer-bytes", str(2**20))
    result = run("import", "x.xml", "-o", "x.jsonl", "--fabric", name, *size)
    assert result.exit_code == 0, result.stderr
    assert run("verify", "x.jsonl").exit_code == 0
    before = run_json("replay", "made.jsonl")["completion_time_ps"]
    after = run_json("replay", "x.jsonl")["completion_time_ps"]
    assert after <= before * 2


@pytest.mark.parametrize(
    "instance",
    [
        "lightpath-8/all-reduce-1MiB",
        "lightpath-8/all-to-all-1MiB",
        "lightpath-4/broadcast-16KiB",
        pytest.param("lightpath-8/broadcast-1MiB", marks=pytest.mark.slow),
    ],
)
def test_plans_there_and_back(instance: str) -> None:
    """A plan of MSCCL++ is verified and imported; it takes no more steps."""
    name = made(instance)
    result = run("export", name, "--to", "mscclpp", "-o", "x.json")
    assert result.exit_code == 0, result.stderr
    record = run_json("verify", "x.json")
    assert record["valid"]
    assert not record["unchecked"]
    result = run("import", "x.json", "-o", "x.jsonl")
    assert result.exit_code == 0, result.stderr
    assert run("verify", "x.jsonl").exit_code == 0
    made_again = read_schedule("x.jsonl")
    assert made_again.step_count <= read_schedule("made.jsonl").step_count


@pytest.mark.parametrize(
    ("change", "exit_code", "says"),
    [
        (
            ('"index": 1', '"index": -1'),
            2,
            "src_buff[0].index: value not allowed; found -1",
        ),
        (('"index": 1', '"index": 999'), 1, "program-offset"),
        (('"name": "put"', '"name": "pot"'), 1, "program-operation"),
        (('"id": 3', '"id": 4'), 1, "program-ranks"),
        (("\n]}\n", ""), 2, "not JSON"),
        (('"gpus"', '"cpus"'), 2, "it is a file of another program"),
        (('"inplace": true', '"inplace": 1'), 2, "inplace"),
        (('"channel_ids": [0]', '"channel_ids": [7]'), 1, "program-reference"),
    ],
)
def test_a_bad_plan(change: tuple[str, str], exit_code: int, says: str) -> None:
    """What is wrong is listed; what is damaged is refused; neither is imported."""
    run(
        "export", made("lightpath-4/all-reduce-1MiB"), "--to", "mscclpp", "-o", "x.json"
    )
    text = Path("x.json").read_text(encoding="utf-8")
    Path("bad.json").write_text(text.replace(*change, 1), encoding="utf-8")
    result = run("verify", "bad.json")
    assert result.exit_code == exit_code
    assert says in result.stdout + result.stderr
    if "cpus" not in change[1]:  # then it may be another format
        assert says in one_line(run("import", "bad.json", "-o", "x.jsonl"))


def test_traces_in_a_folder() -> None:
    """Two traces a rank, system and network; a file in the way is not overwritten."""
    name = made("lightpath-8/all-reduce-1MiB")
    result = run("export", name, "--to", "chakra", "-o", "traces")
    assert result.exit_code == 0, result.stderr
    assert len(list(Path("traces").iterdir())) == 18
    result = run("export", name, "--to", "chakra", "-o", name)
    assert result.exit_code == 2
    assert "is a file" in result.stderr


def test_a_table_of_transfers() -> None:
    """Four lines of CSV are an all-reduce of two ranks."""
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    arguments = ("t.csv", "--operation", "all-reduce", "-o", "x.jsonl")
    assert run("import", *arguments).exit_code == 0
    assert run("verify", "x.jsonl").exit_code == 0


def test_a_fault_of_xml_is_listed_with_its_place() -> None:
    """A step that reads too far: exit code 1, the rule, GPU, thread block and step."""
    run("export", made("lightpath-8/all-reduce-1MiB"), "--to", "msccl", "-o", "x.xml")
    text = Path("x.xml").read_text(encoding="utf-8")
    Path("y.xml").write_text(text.replace('srcoff="0"', 'srcoff="99"', 1), "utf-8")
    result = run("verify", "y.xml")
    assert result.exit_code == 1
    assert "[program-offset] gpu 0 tb 0 step 1: src o[99:100]" in result.stdout


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("", "transfers without rows"),
        ("step,src\n0,1\n", "a column is missing: dst, chunk_lo, chunk_hi, op"),
        ("step,from,to\n0,1,2\n", "the first line is not the heading of transfers"),
        (TABLE + "0,0,1,0,1,copy\n", "steps go back"),
        (TABLE.replace("copy", "move"), "op: invalid value"),
        (TABLE.replace("0,0,1,0,1", "0,0,-1,0,1"), "dst: not a count"),
        (TABLE.replace("1,1,0,0,1,copy\n", ""), "break post-condition-missing"),
        (TABLE + "2,0,1\n", "another number of values than columns"),
    ],
)
def test_bad_tables(table: str, says: str) -> None:
    """A bad table is refused in one line with exit code 2, and no file is written."""
    Path("t.csv").write_text(table, encoding="utf-8")
    result = run("import", "t.csv", "--operation", "all-reduce", "-o", "x.jsonl")
    assert says in one_line(result)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("export", "no.jsonl", "--to", "msccl", "-o", "x.xml"), "no.jsonl"),
        (("import", "t.csv", "-o", "x.jsonl"), "give --operation"),
        (("import", "t.txt", "-o", "x.jsonl"), "unknown kind of file"),
        (("import", "t.csv", "-o", "t.csv"), "overwrite what is read"),
        (
            ("import", "t.csv", "--operation", "all-sum", "-o", "x.jsonl"),
            "all-sum",
        ),
        (
            (
                *("import", "t.csv", "--operation", "all-reduce", "-o", "x.jsonl"),
                *("--buffer-bytes", "5"),
            ),
            "chunks do not divide",
        ),
        (("verify", "t.csv", "--runtime", "rccl"), "--runtime is about MSCCL XML"),
        (("replay", "t.csv"), "it is a table: `lightloom import` makes a schedule"),
        (("export", "t.xml", "--to", "csv", "-o", "x.csv"), "a program of GPUs"),
        (
            ("verify", "lightpath-8/all-reduce-1MiB"),
            "`lightloom synth lightpath-8/all-reduce-1MiB -o schedule.jsonl`",
        ),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], says: str) -> None:
    """Wrong arguments are refused in one line with exit code 2, without a file."""
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    Path("t.txt").write_text(TABLE, encoding="utf-8")
    Path("t.xml").write_text("<algo/>", encoding="utf-8")
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not Path("x.jsonl").exists()
    assert not Path("x.xml").exists()


@pytest.mark.slow
def test_a_schedule_that_is_too_long_names_what_fits() -> None:
    """A ring of 64 ranks has 126 steps in a thread block."""
    name = made("ideal-switch-64/all-reduce-1MiB", "ring")
    arguments = ("--to", "msccl", "--runtime", "rccl", "-o", "x.xml")
    line = one_line(run("export", name, *arguments))
    assert "found 126" in line
    assert "an algorithm that fits: lumorph-4" in line


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ('<gpu id="7"', '<gpu id="9"'),
            "program-ranks: GPU 7 of the file has the id 9",
        ),
        (('ngpus="8"', 'ngpus="7"'), "program-ranks: ngpus is 7, the file has 8"),
        (('send="1"', 'send="99"'), "program-peer: send is 99"),
        (('srcoff="0"', 'srcoff="-7"'), "srcoff: invalid value; found '-7'"),
        (
            ('coll="allreduce"', 'coll="allsum"'),
            "operation is not known; found 'allsum'",
        ),
        (('type="s"', 'type="z"'), "type: invalid value; found 'z'"),
        (("</tb>", ""), "invalid XML"),
        (("<algo ", "<!DOCTYPE a><algo "), "document types and entities are refused"),
        (
            ("<algo ", MANY),
            "too many",
        ),
    ],
    ids=[
        "id",
        "ranks",
        "peer",
        "negative",
        "operation",
        "type",
        "cut",
        "dtd",
        "attributes",
    ],
)
def test_hostile_or_damaged_xml(change: tuple[str, str], says: str) -> None:
    """One line that names the file and the place, exit code 2, no file."""
    run(
        "export", made("lightpath-8/all-reduce-1MiB"), "--to", "msccl", "-o", "good.xml"
    )
    text = Path("good.xml").read_text(encoding="utf-8")
    Path("bad.xml").write_text(text.replace(*change, 1), encoding="utf-8")
    line = one_line(run("import", "bad.xml", "-o", "x.jsonl"))
    assert line.startswith("lightloom: error: bad.xml")
    assert says in line


@pytest.mark.parametrize("target", ["msccl", "mscclpp", "transfers", "chakra"])
def test_a_demand_leaves_nothing(target: str) -> None:
    """Only collectives have chunks; the file or folder is not created."""
    name = made("sipac-16/hybrid-parallel-100MB")
    assert "demand" in one_line(run("export", name, "--to", target, "-o", "x.out"))
    assert not Path("x.out").exists()
