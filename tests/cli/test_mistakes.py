"""Mistakes of newcomers in an instance file: exit code 2, the cause and the mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import one_error, run

RIGHT = """
[fabric]
kind = "lightpath"
rows = 2
cols = 2
[collective]
op = "all-gather"
buffer_bytes = 4096
"""
FABRIC = RIGHT.split("[collective]", maxsplit=1)[0]
TASK = "[collective]" + RIGHT.split("[collective]")[1]

EDITS = [
    ('"lightpath"', '"lightpth"', "unknown kind of fabric", "lightpath"),
    ('kind = "lightpath"\n', "", "missing kind of fabric", "lightpath"),
    ('kind = "lightpath"', "kind = lightpath", "not a TOML file", "line 3"),
    ("rows = 2", 'rows = "2"', "fabric.rows", "allowed: integer"),
    ("rows = 2", "rows = 0", "fabric.rows", "integer >= 1"),
    ("rows = 2", "rows = 2.0", "found 2.0", "allowed: integer"),
    ("rows = 2\n", "", "missing key 'rows'", "add it"),
    ("rows", "row", "unknown key 'row'", "did you mean rows"),
    ("cols", "columns", "unknown key 'columns'", "cols"),
    ("rows = 2", "rows = 2\nlasers = -1", "fabric.lasers", "integer >= 0"),
    ("rows = 2", "rows = 2\nwavelengths = 4", "'wavelengths'", "lasers"),
    ("rows = 2", "rows = 2\nalpha = 4", "unknown key 'alpha'", "alpha_ps"),
    ("rows = 2", "rows = 2\nalpha_ps = -4", "fabric.alpha_ps", "integer >= 0"),
    ("rows = 2", "rows = 2\nrows = 3", "not a TOML file", "line 5"),
    (
        "rows = 2",
        "rows = 2\nbits_per_second_per_wavelength = 0",
        "found 0",
        "integer >= 1",
    ),
    (
        "rows = 2",
        'rows = 2\ninitial_configuration_charged = "yes"',
        "found 'yes'",
        "true or false",
    ),
    (
        "rows = 2",
        'rows = 2\ndark_while_reconfiguring = "all"',
        "found 'all'",
        "changed-circuits, plane",
    ),
    ("all-gather", "allgather", "unknown collective", "did you mean all-gather"),
    ("all-gather", "broadcst", "unknown collective", "did you mean broadcast"),
    ("all-gather", "", "unknown collective", "allowed: all-gather"),
    ('op = "all-gather"\n', "", "missing key 'op'", "add it"),
    ("4096", '"4096"', "buffer_bytes", "found '4096'"),
    ("4096", "4096.0", "found 4096.0", "allowed: integer"),
    ("4096", "4095", "a buffer that 4 divides", "use 4092 or 4096"),
    ("4096", "1", "a buffer that 4 divides", "found 1; use 4"),
    ("4096", "-1", "found -1", "1 to 2**60 - 1 bytes"),
    ("4096", "0", "found 0", "1 to 2**60 - 1 bytes"),
    ("4096", "1152921504606846976", "buffer size", "1 to 2**60 - 1 bytes"),
    ("buffer_bytes", "buffer", "'buffer'", "did you mean buffer_bytes"),
    ("4096", "4096\nnodes = [0, 4]", "found 4", "allowed: 0 to 3"),
    ("4096", "4096\nnodes = [0, -1]", "found -1", "allowed: 0 to 3"),
    ("4096", "4096\nnodes = [0, 0]", "node repeated", "found 0"),
    ("4096", "4096\nnodes = []", "no nodes", "at least one"),
    ("4096", "4096\nnodes = 4", "collective.nodes", "allowed: list"),
    ("4096", "4096\nroot = 0", "has no root", "remove the key"),
    ("4096", "4096\nchunks = 0", "found 0", "a divisor of 4096"),
    ("4096", "4096\nchunks = 7", "found 7", "a divisor of 4096"),
    ("4096", "4096\nchunks = 2", "its 4 nodes divide", "use a multiple of 4"),
    (FABRIC, "", "missing table [fabric]", "m.toml"),
    (TASK, "", "an instance has one task", "[collective]"),
    (TASK, TASK + "[demand]\nsrc = [0]\n", "[collective] and [demand]", "one task"),
    (TASK, TASK + "[collectives]\n", "'collectives'", "did you mean collective"),
    (FABRIC, FABRIC * 2, "not a TOML file", "twice"),
    (RIGHT, "hello", "not a TOML file", "key/value"),
    (RIGHT, '{"fabric": {}}', "not a TOML file", "line 1"),
    (RIGHT, "", "missing table [fabric]", "m.toml"),
    (TASK, "[demand]\n", "exactly one way", "matrix, or pairs"),
    (TASK, '[demand]\nmatrix = "none.csv"', "none.csv", "cannot read"),
    (TASK, "[demand]\nsrc = [0]\n", "demand", "length"),
    (TASK, "[demand]\nsrc = [0]\ndst = [7]\nbytes = [4]", "found 7", "0 to 3"),
    (TASK, "[demand]\nsrc = [0]\ndst = [1]\nbytes = [-4]", "found -4", "2**60"),
    (TASK, '[computation]\nmodel = "berd-large"', "unknown model", "bert-large"),
    (
        TASK,
        '[computation]\nmodel = "bert-large"\ngpu = "a1000"',
        "unknown GPU",
        "did you mean a100",
    ),
    (
        TASK,
        '[computation]\nmodel = "bert-large"\nparameters = {layer = 2}',
        "'layer' of bert-large",
        "did you mean layers",
    ),
    (TASK, '[computation]\nonnx = "net.onnx"', "the batch", "set batch_size"),
]


@pytest.mark.parametrize(("old", "new", "cause", "mend"), EDITS)
def test_an_instance_file_with_one_mistake(
    old: str,
    new: str,
    cause: str,
    mend: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A right file with one thing changed is refused in a line; nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert old in RIGHT
    Path("m.toml").write_text(RIGHT.replace(old, new), encoding="utf-8")
    result = run("synth", "m.toml", "-o", "x.jsonl")
    assert result.exit_code == 2
    message = one_error(result)
    assert cause in message
    assert mend in message
    assert [path.name for path in Path().iterdir()] == ["m.toml"]
