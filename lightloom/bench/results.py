"""Results files: JSON lines, one a run, appended and synced, never rewritten.

The first line says what the file is. A row is written in one call and synced before
the next, so a kill leaves whole lines; a line that is cut off all the same, by a full
disk or a copy that stopped half way, is refused with its number, as is a file of
another version. Two sweeps cannot append to one file at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import platform
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Self, TypeAlias

import msgspec
import numpy as np

import lightloom
from lightloom.core.errors import FormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


FORMAT = "lightloom-results"
VERSION = 1
"""Of the format of results."""
_MOST_LINE_BYTES = 2**24
"""No row is this long; whatever has such a line is another kind of file."""
Parameter: TypeAlias = bool | int | float | str | list[int]
Point: TypeAlias = tuple[float, float | None, float | None]
"""Seconds since the start, the best objective by then, the best bound by then."""


class Ending(StrEnum):
    """How a run ended."""

    OPTIMAL = "proven optimal"
    """The answer meets a bound: one whose witness was checked, or a solver's claim."""
    ANSWER = "stopped with an answer"
    """There is an answer; nothing proves that no better one exists."""
    NO_ANSWER = "stopped without an answer"
    """The solver reached its limits before it found an answer."""
    INFEASIBLE = "proven infeasible"
    """No answer exists."""
    FAILED = "failed"
    """The solver broke, or what was asked raised an error."""
    TIMED_OUT = "timed out"
    """The run did not stop within its time and was killed."""
    OUT_OF_MEMORY = "out of memory"
    """The run took more memory than it may, or than there was, and was killed."""
    CRASHED = "crashed"
    """The process of the run ended without an answer."""
    REFUSED = "refused"
    """The question is not for this solver, or the solver cannot be used here."""
    WRONG = "wrong"
    """The answer breaks a rule, or is not worth what it claims."""
    LOST = "lost"
    """Every worker that took the run was lost."""


HAS_ANSWER = (Ending.OPTIMAL, Ending.ANSWER)
"""Endings of runs whose objective counts."""


class Proof(StrEnum):
    """What an answer's bound rests on."""

    CHECKED = "checked"
    """A witness that was checked by arithmetic."""
    CLAIMED = "solver-claimed"
    """The word of whoever gave the answer."""
    NONE = "no bound"
    """There is no bound."""


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a run took place.

    `system`, `processor`: operating system and kind of processor. `cores`: cores that
    the run could use. `load`: processes that waited for a core in the minute before the
    run.
    """

    system: str
    processor: str
    cores: int
    memory_bytes: int
    python: str
    numpy: str
    load: float


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a run found; times in seconds, ``None`` where there is nothing to say.

    `answer`, `bound_exact`: objective and bound, exact, as an integer or a fraction.
    `gap`: ``|objective - bound| / |bound|``; ``None`` where only the bound is 0.
    `proof`, `witness`: what the bound rests on, and the kind of witness or ''.
    `algorithm`: name of the algorithm of a schedule; '' where there is none.
    `verified`: whether the answer was checked by rules of its own; ``None`` without
    answer. `first_answer_s`, `proof_s`: until the first answer, and until an answer was
    proven the best. `build_s`, `solve_s`: to state the model, and in all, without
    start-up and verification. `cpu_s`: processor time of the same span, in all
    processes of the run. `check_s`: to verify the answer, its schedule signed first
    where it is one. `trace`: how objective and bound went on. `detail`: what a person
    should know beyond that.
    """

    ending: Ending
    answer: str | None = None
    bound_exact: str | None = None
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    proof: Proof = Proof.NONE
    witness: str = ""
    algorithm: str = ""
    verified: bool | None = None
    first_answer_s: float | None = None
    proof_s: float | None = None
    build_s: float | None = None
    solve_s: float | None = None
    cpu_s: float | None = None
    check_s: float | None = None
    trace: tuple[Point, ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class Measured:
    """How a run went, whatever came of it."""

    peak_bytes: int | None
    wall_s: float
    started: str
    machine: Machine | None


class Row(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    tag_field="record",
    tag="run",
):
    """A run: what was asked, what came of it, where.

    `key`: hash of what decides the outcome: instance, problem, solver, its version and
    parameters, limits, seed. Rows of one key are repetitions. `problem`, `sense`,
    `unit`: the problem; whether its objective is minimised, and what it counts.
    `instance`, `instance_sha256`, `size`: name, hash of the content, and how large it
    is, in what the problem counts. `solver`, `parameters`, `version`: who was asked, in
    which variant, of which version. `peak_bytes`: most memory that all processes of the
    run held at a time. `wall_s`: from the request to the row, start-up and verification
    included. `lightloom`: version of the code that ran. `machine`: where; ``None``
    where no worker came back to say.
    """

    key: str
    suite: str
    problem: str
    sense: str
    unit: str
    instance: str
    instance_sha256: str
    size: int
    solver: str
    parameters: dict[str, Parameter]
    version: str | None
    time_limit_s: float
    memory_limit_bytes: int | None
    seed: int
    finding: Finding
    peak_bytes: int | None
    wall_s: float
    started: str
    lightloom: str
    machine: Machine | None

    @property
    def label(self) -> str:
        """The solver with its parameters, as tables and plots name it."""
        return label(self.solver, self.parameters)

    @property
    def solved(self) -> bool:
        """Whether there is an answer that counts."""
        return self.finding.ending in HAS_ANSWER


def label(solver: str, parameters: dict[str, Parameter]) -> str:
    """Return a solver with its parameters as one text."""
    words = [
        f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in sorted(parameters.items())
    ]
    return " ".join([solver, *words])


class _Header(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="record",
    tag="header",
):
    """The first line."""

    format: Literal["lightloom-results"]
    version: int
    written_by: str


_ROW = msgspec.json.Decoder(Row)
_HEADER = msgspec.json.Decoder(_Header)


def read_results(path: str | Path) -> tuple[Row, ...]:
    """Return the rows of a results file, in the order they were written.

    Raises `InputError` where it cannot be read; `FormatError`, with the line, where it
    is no results file, one of another version, or damaged.
    """
    if not str(path):
        raise InputError("the name of the results file is empty")
    try:
        with Path(path).open("rb") as file:
            return tuple(_rows(file, str(path)))
    except OSError as problem:
        what = f"cannot read the results: {(problem.strerror or str(problem)).lower()}"
        raise InputError(what, where=str(path)) from None


class ResultsFile:
    """A results file that is being appended to; others are kept from it meanwhile.

    An existing file is checked line by line and continued, a missing one is made;
    `rows` is what it held. Raises `InputError` where it cannot be read or written, or
    another sweep writes to it; `FormatError` where it is no results file, one of
    another version, or damaged. Nothing is changed then.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o666)
        except OSError as problem:
            raise self._refused("cannot open the results", problem) from None
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            self.rows = self._begin()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file, for others to append."""
        self._file.close()

    def append(self, row: Row) -> None:
        """Write a row, and return when it is on the disk, or take it back and raise."""
        self._write(msgspec.json.encode(row) + b"\n")

    def _begin(self) -> tuple[Row, ...]:
        """Lock the file; return its rows, or give an empty one its header."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            what, fix = "another sweep is writing here", "wait, or name another file"
            raise InputError(what, where=self.path, fix=fix) from None
        except OSError as problem:
            raise self._refused("cannot lock the results", problem) from None
        if os.fstat(self._file.fileno()).st_size:
            return read_results(self.path)
        header = _Header(
            "lightloom-results", VERSION, f"lightloom {lightloom.__version__}"
        )
        self._write(msgspec.json.encode(header) + b"\n")
        return ()

    def _write(self, line: bytes) -> None:
        before = os.fstat(self._file.fileno()).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file.fileno(), line[written:])
            os.fsync(self._file.fileno())
        except OSError as problem:
            with contextlib.suppress(OSError):  # a device has no end to cut
                os.ftruncate(self._file.fileno(), before)
            raise self._refused("cannot write the results", problem) from None

    def _refused(self, what: str, problem: OSError) -> InputError:
        reason = (problem.strerror or str(problem)).lower()
        return InputError(f"{what}: {reason}", where=self.path)


def _rows(file: BinaryIO, where: str) -> Iterator[Row]:
    """Yield the rows of an open file."""
    number = 0
    lines = iter(lambda: file.readline(_MOST_LINE_BYTES), b"")
    for number, line in enumerate(lines, start=1):
        place = f"{where} line {number}"
        if number == 1:
            _check_header(line, place)
            continue
        if not line.endswith(b"\n"):
            fix = f"keep the lines before it: head -n {number - 1} FILE > NEW"
            raise FormatError("the line is cut off", where=place, fix=fix)
        try:
            yield _ROW.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            what = f"not a row of results: {problem}"
            fix = "remove the line, or name another file"
            raise FormatError(what, where=place, fix=fix) from None
    if not number:
        raise FormatError("the file is empty", where=where)


def _check_header(line: bytes, place: str) -> None:
    """Refuse what does not begin like a results file of this version."""
    fix = "name another file; this one is left as it is"
    try:
        found = msgspec.json.decode(line)
        kind, version = found["format"], found["version"]
        if (kind, version) == (FORMAT, VERSION):
            _HEADER.decode(line)
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        LookupError,
        TypeError,
    ):
        raise FormatError("not a results file", where=place, fix=fix) from None
    if kind != FORMAT:
        what = "not a results file"
        raise FormatError(what, where=place, found=kind, allowed=FORMAT, fix=fix)
    if version != VERSION:
        what, allowed = "results of another version", f"{FORMAT} {VERSION}"
        raise FormatError(what, where=place, found=version, allowed=allowed, fix=fix)
    if not line.endswith(b"\n"):
        raise FormatError("the line is cut off", where=place, fix=fix)


def this_machine() -> Machine:
    """Return what distinguishes this machine, without its name."""
    system, processor, memory_bytes = _fixed()
    return Machine(
        system=system,
        processor=processor,
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory_bytes,
        python=platform.python_version(),
        numpy=np.__version__,
        load=round(os.getloadavg()[0], 2),
    )


@functools.cache
def _fixed() -> tuple[str, str, int]:
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return platform.system(), platform.machine(), pages * page_bytes


@functools.cache
def code_version(*, drawn: bool = False) -> str:
    """Return the version of lightloom with a hash of its code: ``0.1.0+3f2a9c41``.

    Two checkouts of one version number that differ in any module differ here; tests,
    documents, bytecode and the suites do not count. A few milliseconds, then none.
    """
    apart = ("bench/", "cli/") if drawn else ("bench/", "report/", "cli/")
    root = Path(lightloom.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.glob("papers/*/*.toml")]):
        name = path.relative_to(root).as_posix()
        if name.startswith(apart):
            continue  # who asks and who draws does not change the answer
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{lightloom.__version__}+{digest.hexdigest()[:8]}"


def worker_versions() -> dict[str, str | None]:
    """Return what has to be the same wherever runs of one sweep take place.

    Solvers that are not installed have no version.
    """
    from lightloom.solvers import SOLVERS

    solvers = {name: adapter.status().version for name, adapter in SOLVERS.items()}
    code, python = code_version(), platform.python_version()
    return {"lightloom": code, "python": python, **solvers}
