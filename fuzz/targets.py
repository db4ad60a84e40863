"""What is fuzzed: each kind of file that is read, and the function that reads it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.bench.results import read_results
from lightloom.bench.suite import load_suite
from lightloom.core.errors import FormatError, InputError
from lightloom.formats.chakra import read_chakra
from lightloom.formats.communication_log import read_communication_log
from lightloom.formats.csv_table import read_matrix, read_pairs
from lightloom.formats.flexflow import read_flexflow_profile, read_flexflow_tasks
from lightloom.formats.json_file import read_json
from lightloom.formats.msccl_xml import read_msccl
from lightloom.formats.mscclpp_plan import plan_of
from lightloom.formats.onnx_graph import read_onnx
from lightloom.formats.operation_graph import read_op_graph
from lightloom.formats.optimiser_solutions import (
    OverlapParameters,
    flows_of,
    read_overlap_parameters,
    solution_of,
)
from lightloom.formats.schedule_reader import read_schedule
from lightloom.formats.transfers_csv import read_transfers
from lightloom.instances.instance_file import read_instance
from lightloom.programs.import_schedule import lifted_program, overlap_schedule
from lightloom.validate import verify
from lightloom.validate.programs import verify_plan, verify_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.chunk_program import ChunkProgram
    from lightloom.formats.mscclpp_plan import ExecutionPlan

CORPUS = Path(__file__).parents[1] / "tests" / "formats" / "corpus"


@dataclass(frozen=True)
class Target:
    """A kind of file.

    Attributes
    ----------
    name
        Folder of its files in the corpus.
    suffix
        What names of such files end in.
    read
        Reads the file at a path; raises a `LightloomError` or nothing.
    """

    name: str
    suffix: str
    read: Callable[[Path], object]

    def files(self, kind: str) -> list[Path]:
        """Return the files of the corpus, ``valid`` or ``refused``, by name."""
        return sorted((CORPUS / self.name).glob(f"{kind}-*{self.suffix}"))


def _verified(path: Path) -> object:
    return verify(read_schedule(path))


def _judged(path: Path) -> object:
    program = read_msccl(path)
    verify_program(program)
    return _lifted(program, path)


def _judged_plan(path: Path) -> object:
    plan = plan_of(read_json(path))
    verify_plan(plan)
    return _lifted(plan, path)


def _lifted(program: ChunkProgram | ExecutionPlan, path: Path) -> object:
    try:
        return lifted_program(program, str(path))
    except FormatError:
        raise
    except InputError:
        return None  # what breaks a rule, or is not representable, is read all the same


def _followed(path: Path) -> object:
    made = overlap_schedule(solution_of(read_json(path)), _EIGHT_NODES, str(path))
    return verify(made)


_EIGHT_NODES = OverlapParameters("ar_having-doubling", 8, 2, 32.0, 50.0, 0.2, 0.02)
_TARGETS = (
    Target("schedule", ".jsonl", _verified),
    Target("schedule-gzip", ".jsonl.gz", read_schedule),
    Target("schedule-zstandard", ".jsonl.zst", read_schedule),
    Target("instance", ".toml", read_instance),
    Target("matrix", ".csv", read_matrix),
    Target("pairs", ".csv", read_pairs),
    Target("op-graph", ".json", read_op_graph),
    Target("communication-log", ".txt", read_communication_log),
    Target("flexflow-profile", ".json", read_flexflow_profile),
    Target("flexflow-tasks", ".json", read_flexflow_tasks),
    Target("suite", ".toml", lambda path: load_suite(str(path))),
    Target("results", ".jsonl", read_results),
    Target("msccl", ".xml", _judged),
    Target("mscclpp-plan", ".json", _judged_plan),
    Target("chakra", ".et", read_chakra),
    Target("transfers", ".csv", read_transfers),
    Target("flows", ".json", lambda path: flows_of(read_json(path))),
    Target("overlap-solution", ".json", _followed),
    Target("overlap-parameters", ".toml", read_overlap_parameters),
    Target("onnx", ".onnx", lambda path: read_onnx(path, batch_size=4)),
)


def targets() -> dict[str, Target]:
    """Return the targets by name; ONNX only where its package is."""
    absent = {"onnx"} if importlib.util.find_spec("onnx") is None else set()
    return {target.name: target for target in _TARGETS if target.name not in absent}
