"""Numbers of the LUMORPH paper that no figure computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.instances.instance import Instance
from lightloom.instances.workloads import default_training, model_named
from lightloom.papers.claims import TextClaim, fact, holds, near
from lightloom.papers.lumorph.rack import lightpath
from lightloom.training.job_times import JobTimes, PlacedJob
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Iterator


def claims() -> Iterator[TextClaim]:
    """Yield numbers of the text that can be computed."""
    yield _eight_gpus()
    yield _one_round()
    yield TextClaim(
        "section 5",
        near("16 lasers of 150 Gb/s give a GPU", 300, _gbyte_per_s(), "GB/s"),
        "lightloom instances lightpath-256/all-reduce-4MiB",
    )
    yield _scattered_tiles()


def _eight_gpus() -> TextClaim:
    """Return what Algorithm 1 is said to fail at."""
    from lightloom.problems.rounds import solve

    name = "lightpath-8/all-reduce-1MiB"
    instance = load_instance(name)
    answer = solve(instance, 0)
    proven = "proven optimal" if answer.proved else f"at least {answer.bound} proven"
    comparison = holds(
        "fewest rounds of an all-reduce on 8 GPUs (Algorithm 1)",
        "no answer after several days",
        f"{answer.value} rounds, {proven}",
        points=fact("no answer", so=False),
        why="ours are constructions beside certified bounds; solvers on Algorithm 1"
        " itself are slow here too (docs/benchmarks.md)",
        bound=f"{answer.bound} rounds",
    )
    return TextClaim(
        "sections 3.2, 5", comparison, f"lightloom solve {name} --problem rounds"
    )


def _one_round() -> TextClaim:
    """Return what eight lasers do on eight GPUs."""
    from lightloom.problems.rounds import solve

    fabric = msgspec.structs.replace(lightpath(8), lasers=8)
    task = Collective("all-to-all", tuple(range(8)), 8 * 1024)
    instance = Instance(fabric, task, "lightpath-8, 8 lasers")
    answer = solve(instance, 0)
    comparison = near(
        "all-to-all on 8 GPUs with 8 lasers",
        1,
        float(answer.value),
        "rounds",
        bound=f"{answer.bound} rounds",
    )
    command = (
        "lightloom solve lightpath-8/all-to-all-1MiB --set fabric.lasers=8"
        " --problem rounds"
    )
    return TextClaim("section 3", comparison, command)


def _scattered_tiles() -> TextClaim:
    """Return what it costs a training to have tiles that lie apart."""
    training = default_training(model_named("ncf"))
    fabric = msgspec.structs.replace(
        lightpath(64), dark_while_reconfiguring="changed-circuits"
    )
    times = JobTimes(fabric, TrainingRequest(circuits="per-call", replayed=1))
    block, apart = (
        PlacedJob(training, nodes, 2, 2) for nodes in ((0, 1, 8, 9), (0, 7, 56, 63))
    )
    near_ps, far_ps = (times.plan(job).iteration_ps for job in (block, apart))
    comparison = near(
        "training on the corners of a rack of 64 over one on four neighbours",
        1,
        far_ps / near_ps,
        "of the time",
    )
    return TextClaim("section 4: circuits of any length are alike", comparison)


def _gbyte_per_s() -> float:
    """Return the rate of a GPU of the catalogue's rack."""
    return lightpath(256).node_bits_per_s / 8e9
