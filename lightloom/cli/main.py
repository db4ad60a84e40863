"""The program ``lightloom``: the table of its commands."""

from __future__ import annotations

import click

from lightloom import __version__
from lightloom.cli.failure import leaving
from lightloom.cli.lazy_group import LazyGroup, run

SUMMARIES = {
    "instances": "List the catalogue of instances, or print one as TOML.",
    "algorithms": "List the algorithms, what they serve and their parameters.",
    "synth": "Synthesise a schedule, verify it and write it to a file.",
    "verify": "Check a schedule file: every rule, and its lower bound.",
    "export": "Write a schedule in a format of collective libraries.",
    "import": "Read a program of a collective library as a schedule.",
    "formats": "List the formats that are read and written, with versions.",
    "conform": "Check a synthesiser of your own on generated tasks.",
    "replay": "Execute a schedule in time and say how long it takes.",
    "plot": "Draw a schedule: circuits, time line, traffic, time and bound.",
    "diff": "Compare two schedules: what differs, and where the time goes.",
    "show": "Write a schedule as a page: fabric, steps, time, verdict.",
    "bound": "Print the lower bounds on the completion time of an instance.",
    "solve": "Solve an optimisation problem, by our algorithm or a solver.",
    "model": "Write an optimisation problem as a file that any solver reads.",
    "train": "Share a model out on a fabric and replay a training iteration.",
    "jobs": "Let trainings share a fabric: waiting, slow-down, fragmentation.",
    "solvers": "List the solvers: which are here, and what they can do.",
    "reproduce": "Compute a figure of a paper and compare it with the paper.",
    "ramp": "RAMP: check networks of any size, print a node's program.",
    "sweep": "Synthesise over sizes, keys and algorithms: table, CSV, picture.",
    "bench": "Benchmark solvers and algorithms: run suites, report, compare.",
    "demo": "All-reduce on 256 GPUs: synthesise, verify, replay, compare.",
    "schema": "Print the JSON Schema of the schedule file.",
    "help": "Print the help of a command.",
}

lightloom = LazyGroup(
    name="lightloom",
    package="lightloom.cli",
    summaries=SUMMARIES,
    help=(
        "Verified circuit schedules for optical interconnects.\n\n"
        "Data go to stdout and talk to stderr. Exit codes: 0 done; 1 the schedule "
        "breaks a rule (verify), or the synthesiser does (conform); 2 the question or "
        "a file is wrong; 3 no answer within the limits; 4 proven: no answer exists; "
        "70 a defect of the program; 130 interrupted. LIGHTLOOM_DEBUG=1 adds "
        "tracebacks of defects."
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    no_args_is_help=True,
)
click.version_option(__version__, "-V", "--version", prog_name="lightloom")(lightloom)


def main() -> None:
    """Run the program on the arguments of the process, and exit."""
    with leaving():
        run(lightloom)
