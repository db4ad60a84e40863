"""Replays iterations of growing size and prints what each costs.

Tensor-parallel groups of eight devices run layer after layer, forward and backward;
every device hears from two others of its group, with sizes and durations drawn at
random, so that hardly two events coincide; in the rows named ``scattered`` the two are
anywhere on the fabric, and the network is eight times slower: a change of one share is
then felt far away. Behind each backward layer the groups
all-reduce their gradients, one ring for each place in a group.

A second table replaces flows, one at a time, among many between random pairs.

Run ``python benchmarks/workload_replay.py``; every row is a process of its own, so that
its peak memory is its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.iteration import Collectives, Dependencies, Iteration, Operations
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay.workload import (
    Configuration,
    HeldCircuits,
    IterationTimeline,
    SharedLinks,
    replay_iteration,
)
from lightloom.replay.workload.fair_shares import FairShares

_GROUP = 8
_BITS_PER_S = 8 * 10**12
_ROWS = (
    ("ideal-switch", 256, 20),
    ("ideal-switch", 512, 20),
    ("ideal-switch", 1024, 20),
    ("ideal-switch", 1024, 40),
    ("ideal-switch", 1024, 80),
    ("scattered", 256, 20),
    ("scattered", 1024, 20),
    ("ocs", 1024, 20),
    ("ocs", 1024, 80),
)


def iteration(devices: int, layers: int, seed: int, *, scattered: bool) -> Iteration:
    """Return `layers` layers of one sub-operation a device, half of them backward."""
    rng = np.random.default_rng(seed)
    here = np.arange(devices, dtype=np.int64)
    group, place = here - here % _GROUP, here % _GROUP
    src, dst, size = [], [], []
    for layer in range(1, layers):
        for step, most in ((0, 0), (1, 4 * 10**6), (2, 10**6)):
            peer = group + (place - step) % _GROUP
            if scattered and step:
                peer = rng.permutation(devices)
            src.append((layer - 1) * devices + peer)
            dst.append(layer * devices + here)
            size.append(rng.integers(most // 4, most + 1, devices))
    operations = layers * devices
    sync = list(range(layers // 2, layers))
    for number, layer in enumerate(sync):
        src.append(layer * devices + here)
        dst.append(operations + number * _GROUP + place)
        size.append(np.zeros(devices, dtype=np.int64))
    rings = [here[place == at].tolist() for at in range(_GROUP)] * len(sync)
    return Iteration(
        devices,
        Operations(
            tuple(f"layer {row // devices}" for row in range(operations)),
            np.tile(here, layers),
            rng.integers(10 * 10**6, 20 * 10**6, operations),
            np.repeat(np.arange(layers, dtype=np.int64), devices),
        ),
        Dependencies.plain(*(np.concatenate(rows) for rows in (src, dst, size))),
        Collectives(
            ("all-reduce",) * len(rings),
            np.full(len(rings), 10**6, dtype=np.int64),
            Ragged.from_lists(rings),
        ),
    )


def network(kind: str, devices: int) -> SharedLinks | HeldCircuits:
    """Return a network that carries the iteration."""
    if kind != "ocs":
        rate = _BITS_PER_S // 8 if kind == "scattered" else _BITS_PER_S
        return SharedLinks(IdealSwitch(nodes=devices, bits_per_second_per_node=rate))
    here = np.arange(devices, dtype=np.int64)
    ocs = Ocs(nodes=devices, switches=16, bits_per_second_per_node=_BITS_PER_S)
    within = [here - here % _GROUP + (here + step) % _GROUP for step in (1, 2)]
    peers = [within[0]] * 8 + [within[1]] * 4 + [(here + _GROUP) % devices] * 4
    held = [Configuration(k, Circuits(here, dst)) for k, dst in enumerate(peers)]
    return HeldCircuits(ocs, tuple(held))


def measure(kind: str, devices: int, layers: int) -> str:
    """Replay once; return a row of the table."""
    made = iteration(devices, layers, seed=1, scattered=kind == "scattered")
    before = time.process_time()
    timeline: IterationTimeline = replay_iteration(made, network(kind, devices))
    seconds = time.process_time() - before
    transfers = int(made.is_transfer.sum())
    flows = transfers + len(made.collectives.devices.values)
    ends = (timeline.operations, timeline.transfers, timeline.collectives)
    instants = len(np.unique(np.concatenate([each.end_ps for each in ends])))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"| {kind} | {devices} | {len(made.operations)} | {flows} | {instants}"
        f" | {seconds:.1f} | {seconds / instants * 1e6:.0f} | {peak:.2f} |"
        f" {timeline.iteration_ps / 10**6:,.1f} |"
    )


def crowd(flows: int, devices: int = 1024, changes: int = 200) -> str:
    """Return what it costs to replace one of many flows between random pairs."""
    rng = np.random.default_rng(1)
    ends = rng.integers(devices, size=(flows, 2)).tolist()
    gone = rng.permutation(flows)[:changes].tolist()
    ends += rng.integers(devices, size=(changes, 2)).tolist()
    held = FairShares([((src, 1), (devices + dst, 1)) for src, dst in ends])
    for link in range(2 * devices):
        held.set_capacity(link, _BITS_PER_S)
    held.update(dict.fromkeys(range(flows), 1))
    moved = 0
    before = time.process_time()
    for fresh in range(flows, flows + changes):
        moved += len(held.update({fresh: 1, gone[fresh - flows]: 0}))
    each = (time.process_time() - before) / changes
    return f"| {flows} | {moved / changes:.1f} | {each * 1e6:.0f} |"


def main() -> None:
    """Print the table, or one row of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", type=int, help="this row only, in this process")
    row = parser.parse_args().row
    if row is not None:
        print(measure(*_ROWS[row]), flush=True)
        return
    print("| fabric | devices | sub-ops | flows | instants | CPU s", end="")
    print(" | us an instant | GiB | iteration, us |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for number in range(len(_ROWS)):
        command = [sys.executable, __file__, "--row", str(number)]
        subprocess.run(command, check=True)
    print("\n| flows at once | shares changed | us a change |\n|---|---|---|")
    for flows in (2000, 4000, 8000):
        print(crowd(flows), flush=True)


if __name__ == "__main__":
    main()
