"""Models in instance files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.core.training import Training
from lightloom.instances.catalogue import load_instance, named_instances
from lightloom.instances.computation_table import computation_graph
from lightloom.instances.instance_file import instance_toml

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.instances.instance import Instance

PROFILE = """{"batch_size": 64, "ngpus": 1, "measurements": [
{"name": "Dense_16_8", "pc_str": "2-1-1",
 "fw_time": 1.0, "bw_time": 2.0, "mem_req": 3}]}"""


def load(folder: Path, table: str) -> Instance:
    """Return an instance of four nodes with this table."""
    path = folder / "instance.toml"
    path.write_text(
        f'[fabric]\nkind = "ideal-switch"\nnodes = 4\n[computation]\n{table}'
    )
    return load_instance(str(path))


def test_defaults_are_filled_in(tmp_path: Path) -> None:
    """The model's own batch and shapes, an A100 at half precision, Adam."""
    text = 'model = "bert-large"\nparameters = { layers = 2 }'
    task = load(tmp_path, text).task
    assert isinstance(task, Training)
    assert (task.batch_size, task.gpu, task.precision) == (64, "a100", "fp16")
    assert task.optimiser == "adam"
    assert (task.parameters["layers"], task.parameters["hidden"]) == (2, 1024)
    graph = computation_graph(task)
    # 22 blocks of 12 h^2 + 13 h parameters less than BERT-large, at 2 bytes.
    left_out = 22 * (12 * 1024**2 + 13 * 1024)
    assert graph.parameter_bytes == 2 * (336_226_108 - left_out)


@pytest.mark.parametrize(
    "text",
    [
        'model = "ncf"',
        (
            'model = "resnet-50"\nbatch_size = 8\ngpu = "v100"\nprecision = "fp32"\n'
            'optimiser = "momentum"\nparameters = { image_side = 64 }'
        ),
    ],
)
def test_what_show_prints_is_read_back(tmp_path: Path, text: str) -> None:
    """The same training, every default filled in."""
    instance = load(tmp_path, text)
    again = tmp_path / "again.toml"
    again.write_text(instance_toml(instance))
    assert load_instance(str(again)).task == instance.task


def test_a_profile_is_relative_to_the_file(tmp_path: Path) -> None:
    """And lacks most of the operations, so the instance is refused."""
    (tmp_path / "profile.json").write_text(PROFILE)
    text = 'model = "dlrm-topoopt-16"\nprofile = "profile.json"'
    with pytest.raises(
        InputError, match=r"profile\.json: the profile does not measure"
    ):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "computation: a computation is given in one way"),
        ('model = "ncf"\nonnx = "net.onnx"', "given in one way"),
        ('model = "nfc"', "computation.model: unknown model; found 'nfc'"),
        ('model = "ncf"\ngpu = "a1000"', "computation.gpu: unknown GPU"),
        ('model = "ncf"\nprecision = "int8"', "a100 has no rate at this precision"),
        ('model = "ncf"\noptimiser = "lamb"', "computation.optimiser: unknown"),
        ('model = "ncf"\nbatch_size = 0', "computation.batch_size"),
        ('model = "ncf"\nbatchsize = 1', "did you mean batch_size"),
        ('model = "ncf"\nparameters = { users = "x" }', "computation.parameters"),
        ('model = "ncf"\nparameters = { user = 1 }', "did you mean users"),
        ('model = "bert-large"\nparameters = { heads = 3 }', "divisors of 1024"),
        ('model = "ncf"\nprofile = "none.json"', "none.json: cannot read"),
        ('onnx = "net.onnx"', "an ONNX file does not say the batch"),
        (
            'onnx = "net.onnx"\nbatch_size = 1\nparameters = { a = 1 }',
            "computation.parameters: an ONNX file has no shape parameters",
        ),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, words: str) -> None:
    """What does not fit is named with its place."""
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


def test_nothing_is_communicated_before_it_is_placed(tmp_path: Path) -> None:
    """A schedule serves collectives and demands."""
    with pytest.raises(InputError, match="a model is cut and placed before"):
        _ = load(tmp_path, 'model = "ncf"').communication


def test_named_models_are_computations() -> None:
    """Each of the catalogue's on one fabric, under its own name."""
    found = [
        instance
        for instance in named_instances()
        if isinstance(instance.task, Training) and instance.name.startswith("ocs-16/")
    ]
    assert "ocs-16/resnet-50-batch256" in {instance.name for instance in found}
    small = next(instance for instance in found if "/ncf-" in instance.name)
    assert isinstance(small.task, Training)
    assert computation_graph(small.task).batch_size == small.task.batch_size
