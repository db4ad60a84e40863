"""What a training of 1024 GPUs costs to cut, place and replay.

The Transformer of 350 million parameters, shared by k devices in 1024 / k replicas.
Each row is a process of its own, so that its peak memory is its own; seconds are of the
processor. *Whole* replays every replica, the others a few that stand for all.

Run ``python benchmarks/training.py``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

from lightloom.core.training import Training
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay.workload import replay_iteration
from lightloom.training.fabric_networks import network_for, ports_of
from lightloom.training.iteration import training_iteration
from lightloom.training.iteration_traffic import traffic
from lightloom.training.node_layout import layout
from lightloom.training.replica import place_replica
from lightloom.training.strategy import Strategy

_GPUS = 1024
_BITS_PER_S = 8 * 10**12
_ROWS = (
    ("ideal-switch", 1, 1024, False),
    ("ideal-switch", 4, 256, False),
    ("ideal-switch", 16, 64, False),
    ("ocs", 4, 256, False),
    ("ocs", 16, 64, False),
    ("ideal-switch", 4, 256, True),
    ("ocs", 4, 256, True),
)


def measure(kind: str, k: int, batch: int, *, whole: bool) -> str:
    """Cut, place and replay once; return a row of the table."""
    training = Training(
        batch_size=batch,
        gpu="v100",
        precision="fp16",
        optimiser="adam",
        model="transformer-350m",
    )
    strategy = Strategy(k, _GPUS // k, batch)
    fabric: IdealSwitch | Ocs = IdealSwitch(
        nodes=_GPUS, bits_per_second_per_node=_BITS_PER_S
    )
    if kind == "ocs":
        fabric = Ocs(nodes=_GPUS, switches=16, bits_per_second_per_node=_BITS_PER_S)
    start = time.process_time()
    replica = place_replica(training, strategy.local_batch, k, ports=ports_of(fabric))
    placed = time.process_time()
    laid = layout(fabric, strategy, whole=whole)
    iteration = training_iteration(replica, laid.nodes, laid.fabric.node_count)
    collectives = laid.collectives()
    demand = traffic(iteration, collectives)
    network = network_for(laid.fabric, demand, collectives, "one-shot")
    set_up = time.process_time()
    timeline = replay_iteration(iteration, network)
    done = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"| {kind}{', whole' if whole else ''} | {k} x {_GPUS // k} |"
        f" {len(replica.device):,} | {len(iteration.operations):,} |"
        f" {int(iteration.is_transfer.sum()):,} | {placed - start:.2f} |"
        f" {set_up - placed:.2f} | {done - set_up:.2f} | {peak:.2f} |"
        f" {timeline.iteration_ps / 10**6:,.1f} |"
    )


def main() -> None:
    """Print the table, or one row of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", type=int, help="this row only, in this process")
    row = parser.parse_args().row
    if row is not None:
        kind, k, batch, whole = _ROWS[row]
        print(measure(kind, k, batch, whole=whole), flush=True)
        return
    print(
        "| fabric | k x l | parts | operations | transfers | cut and placed, s", end=""
    )
    print(" | set up, s | replay, s | GiB | iteration, us |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for number in range(len(_ROWS)):
        command = [sys.executable, __file__, "--row", str(number)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
