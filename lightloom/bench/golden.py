"""Golden cells: stored answers of many questions, which no change may make worse.

A cell is a run of a suite by our own code. Its stored answer is the objective, the
bound, the bound's kind and the algorithm. Runs that are made again are judged against
these: the answer may be worse by a thousandth, the bound weaker by a hundredth.
"""

from __future__ import annotations

import csv
import io
from dataclasses import astuple, dataclass, fields, replace
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lightloom.bench.results import code_version, label
from lightloom.bench.suite import load_suite
from lightloom.core.errors import FormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightloom.bench.job import BenchJob
    from lightloom.bench.results import Row

SUITES = (
    *("golden", "demands", "ocs", "ring", "rounds", "routing", "placement"),
    "golden-large",
)
"""Suites whose runs by our own code are cells."""
STORED = Path(str(resources.files("lightloom.bench") / "golden.csv"))
"""The stored answers."""
SLOW_S = 20.0
"""A cell of more processor seconds is asked only where slow ones are wanted."""
_QUICK_S = 2.0
"""A quick look leaves out cells of more processor seconds."""
_QUICK_CELLS = 150
"""About so many cells make a quick look."""
_TIME_LIMIT_S = 3600.0
"""Of each cell, whatever its suite says: a busy machine does not change an answer."""
_SLOWER = Fraction(1, 1000)
_WEAKER = Fraction(1, 100)
CellKey: TypeAlias = tuple[str, str, str, int]
"""Problem, instance, solver with its parameters, seed."""


@dataclass(frozen=True)
class GoldenAnswer:
    """What a cell is known to come to; a line of the stored answers.

    `answer` is the objective, or how the run ended where there is none; `bound` and
    `kind` are '' where nothing is proven, `algorithm` where no schedule was made.
    """

    problem: str
    instance: str
    solver: str
    seed: int
    answer: str
    bound: str
    kind: str
    algorithm: str
    cpu_s: float

    @property
    def key(self) -> CellKey:
        """What the answer belongs to."""
        return self.problem, self.instance, self.solver, self.seed


@dataclass(frozen=True)
class GoldenChange:
    """Where a cell differs from its stored answer; `worse` beyond what is allowed."""

    cell: str
    what: str
    before: str
    after: str
    worse: bool


_COLUMNS = [field.name for field in fields(GoldenAnswer)]


def cell_key(run: BenchJob | Row) -> CellKey:
    """Return the cell that a run, made or to be made, belongs to."""
    if isinstance(run.instance, str):
        solver = label(run.solver, run.parameters)
        return run.problem, run.instance, solver, run.seed
    solver = label(run.entrant.solver, run.entrant.parameters)
    return run.problem, run.instance.name, solver, run.seed


def golden_jobs() -> tuple[BenchJob, ...]:
    """Return a run for every cell, in the order of the suites."""
    ours = code_version()
    return tuple(
        replace(job, time_limit_s=_TIME_LIMIT_S)
        for suite in SUITES
        for job in load_suite(suite).jobs
        if job.entrant.version == ours
    )


def read_answers(path: Path) -> dict[CellKey, GoldenAnswer]:
    """Return stored answers by cell; none where there is no file.

    Raises `FormatError`, with the line, where it is not one of stored answers.
    """
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        if next(lines, None) != _COLUMNS:
            allowed = ",".join(_COLUMNS)
            raise FormatError("not stored answers", where=str(path), allowed=allowed)
        answers = {}
        for number, line in enumerate(lines, start=2):
            try:
                problem, instance, solver, seed, value, bound, kind, by, cpu_s = line
                seeded, seconds = int(seed), float(cpu_s)
            except ValueError:
                what, where = "not a stored answer", f"{path} line {number}"
                raise FormatError(what, where=where, found=",".join(line)) from None
            key = problem, instance, solver, seeded
            answers[key] = GoldenAnswer(*key, value, bound, kind, by, seconds)
    return answers


def answers_text(answers: Iterable[GoldenAnswer]) -> str:
    """Return stored answers as the text of their file."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(_COLUMNS)
    lines.writerows(map(astuple, answers))
    return text.getvalue()


def answer_of(row: Row) -> GoldenAnswer:
    """Return what a run came to."""
    finding = row.finding
    return GoldenAnswer(
        *cell_key(row),
        finding.answer if row.solved and finding.answer else str(finding.ending),
        finding.bound_exact or "",
        finding.witness,
        finding.algorithm,
        round(finding.cpu_s or 0.0, 1),
    )


def chosen(
    jobs: Sequence[BenchJob],
    answers: Mapping[CellKey, GoldenAnswer],
    *,
    only: Sequence[str] = (),
    every: int = 1,
    quick: bool = False,
    slow: bool = False,
) -> tuple[BenchJob, ...]:
    """Return the runs of some cells, in the order of the suites.

    Those whose problem, instance and solver, with blanks between them, contain one of
    `only`; without those that take long, unless `slow`, which asks for these alone;
    if `quick`, an even sample of about 150 whose answers are stored and came soon; of
    all that, one in `every`. Raises `InputError` where no cell is left.
    """
    known = {job.key: answers.get(cell_key(job)) for job in jobs}
    seconds = {key: answer.cpu_s for key, answer in known.items() if answer}
    left = [job for job in jobs if (seconds.get(job.key, 0.0) > SLOW_S) is slow]
    if only:
        left = [job for job in left if any(text in _words(job) for text in only)]
    if quick:
        left = [job for job in left if seconds.get(job.key, SLOW_S) <= _QUICK_S]
        left = left[:: max(1, round(len(left) / _QUICK_CELLS))]
    if not left[::every]:
        what, fix = "no cell is left", "`--slow` asks those that take long"
        raise InputError(what, where="--only", found=" ".join(only) or None, fix=fix)
    return tuple(left[::every])


def changes(row: Row, before: GoldenAnswer) -> list[GoldenChange]:
    """Return how a run differs from the stored answer of its cell."""
    after = answer_of(row)
    cell = " ".join([*after.key[:3], f"seed {row.seed}" if row.seed else ""]).strip()
    found = []
    value = _number(after.answer)
    if after.answer != before.answer:
        what, worse = "ending", True
        if (stored := _number(before.answer)) is not None and value is not None:
            drop = value - stored if row.sense == "minimise" else stored - value
            what = "slower" if drop > 0 else "faster"
            worse = drop > _SLOWER * abs(stored)
        elif stored is None and value is not None:
            worse = False
        found.append(GoldenChange(cell, what, before.answer, after.answer, worse))
    drop, stored = Fraction(0), _number(before.bound)
    if after.bound != before.bound:
        bound = _number(after.bound)
        if stored is None or bound is None:
            what, worse = "bound", bound is None
        else:
            drop = stored - bound if row.sense == "minimise" else bound - stored
            what = "weaker bound" if drop > 0 else "stronger bound"
            worse = drop > _WEAKER * abs(stored)
        found.append(GoldenChange(cell, what, before.bound, after.bound, worse))
    if after.kind != before.kind:
        # The same bound by another kind is no loss; one that fell with it is.
        fell = drop > 0 or not after.kind
        found.append(GoldenChange(cell, "kind", before.kind, after.kind, fell))
    if after.algorithm != before.algorithm:
        told = before.algorithm, after.algorithm
        found.append(GoldenChange(cell, "algorithm", *told, worse=False))
    return found


def _words(job: BenchJob) -> str:
    return " ".join(cell_key(job)[:3])


def _number(text: str) -> Fraction | None:
    """Return an exact number, ``None`` for how a run ended without one."""
    try:
        return Fraction(text)
    except ValueError:
        return None
