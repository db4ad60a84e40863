"""How long it takes to build, hand over and solve the declarative models.

Each row is a process of its own: ``python benchmarks/models.py [--slow]``. Building
makes the Pyomo model, handing over compiles it to arrays, solving is the rest of a
run with one thread, in a process that already had its solver loaded. Times are the
median of a few runs, on the machine named in the caption.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys

from rich.console import Console
from rich.table import Table

RUNS = 3
TIME_LIMIT_S = 120

# Problem, rows, columns, operation or number of requests, variant, solver.
ROWS = (
    ("rounds", 2, 4, "all-gather", {"horizon": 4}, "highs"),
    ("rounds", 2, 4, "all-gather", {"horizon": 4}, "cp-sat"),
    ("rounds", 3, 3, "all-gather", {"horizon": 4}, "highs"),
    ("rounds", 3, 3, "all-gather", {"horizon": 4}, "cp-sat"),
    ("rounds", 3, 3, "all-gather", {"horizon": 5, "objective": "rounds"}, "highs"),
    (
        "rounds",
        3,
        3,
        "all-gather",
        {"horizon": 4, "wavelengths": "aggregated"},
        "highs",
    ),
    ("rounds", 3, 3, "all-to-all", {"horizon": 4, "pinned": True}, "highs"),
    ("rounds", 4, 4, "all-gather", {"horizon": 8}, "highs"),
    ("routing", 4, 4, 64, {"form": "arcs"}, "highs"),
    ("routing", 4, 4, 64, {"form": "paths"}, "highs"),
    ("routing", 8, 8, 128, {"form": "arcs", "relaxed": True}, "pdlp"),
    ("routing", 8, 8, 128, {"form": "paths"}, "highs"),
)
SLOW_ROWS = (
    ("rounds", 4, 4, "all-gather", {"horizon": 8}, "cp-sat"),
    ("routing", 8, 8, 128, {"form": "arcs"}, "highs"),
    ("routing", 16, 16, 256, {"form": "arcs", "relaxed": True}, "pdlp"),
)

CHILD = """
import json, random, resource, sys, time
import pyomo.environ as pyo
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.problems import PROBLEMS
from lightloom.solvers import SolveOptions, run
from lightloom.solvers.standard_form import compile_model
problem, rows, cols, what, variant, solver, limit = json.loads(sys.argv[1])
nodes = rows * cols
fabric = Lightpath(rows=rows, cols=cols, lasers=2, waveguides=1)
if problem == "rounds":
    task = Collective(what, tuple(range(nodes)), nodes * 64)
    variant = {"objective": "feasibility", **variant}
else:
    task, rng = Demand((), (), ()), random.Random(1)
    variant["requests"] = [rng.sample(range(nodes), 2) for _ in range(what)]
    variant["requests"] = [tuple(pair) for pair in variant["requests"]]
build = PROBLEMS[problem].model().build
toy = pyo.ConcreteModel()
toy.x = pyo.Var(bounds=(0, 1), within=pyo.Reals if solver == "pdlp" else pyo.Binary)
toy.least = pyo.Constraint(expr=toy.x >= 1)
toy.objective = pyo.Objective(expr=toy.x)
run(toy, solver)
start = time.perf_counter()
model = build(Instance("benchmark", fabric, task), **variant)
built = time.perf_counter()
form = compile_model(model).form
compiled = time.perf_counter()
extra = {"linearization_level": 0} if solver == "cp-sat" and problem == "rounds" else {}
outcome = run(model, solver, SolveOptions(time_limit_s=limit, extra=extra))
end = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({
    "rows": form.rows, "columns": form.columns, "nonzeros": form.nonzeros,
    "build_s": built - start, "hand_over_s": compiled - built,
    "solve_s": max(0.0, end - compiled - (compiled - built)),
    "peak_mib": peak / 1024, "reason": str(outcome.reason),
    "objective": outcome.objective, "bound": outcome.bound,
}))
"""

Row = tuple[str, int, int, object, dict[str, object], str]


def machine() -> str:
    """Return the machine in a line."""
    python = platform.python_version()
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {python}"


def measure(row: Row) -> dict[str, object]:
    """Return the median of each figure over a few runs of one row."""
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", CHILD, json.dumps([*row, TIME_LIMIT_S])],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for _ in range(RUNS)
    ]
    timed = ("build_s", "hand_over_s", "solve_s", "peak_mib")
    medians = {key: statistics.median(run[key] for run in runs) for key in timed}
    return {**runs[0], **medians}


def main() -> None:
    """Measure every row and print the table."""
    table = Table(caption=f"median of {RUNS} runs; {machine()}")
    for heading in ("model", "variant", "solver"):
        table.add_column(heading)
    for heading in ("rows x columns", "build s", "hand over s", "solve s", "MiB"):
        table.add_column(heading, justify="right")
    table.add_column("outcome")
    for row in (*ROWS, *(SLOW_ROWS if "--slow" in sys.argv[1:] else ())):
        problem, rows, cols, what, variant, solver = row
        figures = measure(row)
        table.add_row(
            f"{problem} {rows}x{cols}, {what}",
            " ".join(f"{key}={value}" for key, value in variant.items()),
            solver,
            f"{figures['rows']:,} x {figures['columns']:,}",
            *(f"{figures[key]:.2f}" for key in ("build_s", "hand_over_s", "solve_s")),
            f"{figures['peak_mib']:.0f}",
            f"{figures['reason']}, {figures['objective']} (bound {figures['bound']})",
        )
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
