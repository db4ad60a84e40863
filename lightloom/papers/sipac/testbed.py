"""SiPAC Fig. 3: all-reduce of four GPUs on the testbed, its communication alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.fabrics.packet_tiers import FatTree
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.papers.claims import NEAR, above, holds, not_reproducible
from lightloom.papers.collectives import best_bound, bound_text
from lightloom.papers.reproduction import Figure, Plot
from lightloom.papers.sipac.clusters import NOT_MODELLED, measure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import AnyFabric
    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell

GRADIENT_BYTES = 14 * 10**6
"""MobileNetV2 has 3.5 million parameters of four bytes."""
ALGORITHMS = ("ring", "auto")
"""The paper's ring, and the best that is known."""
_NODES = 4
_BITS_PER_S = 2 * 10**10
_SIPAC, _TREE = "SiPAC(2, 1)", "leaf-spine"


def _compute(tell: Tell) -> Iterator[Row]:
    """Synthesise, verify and replay an all-reduce of the gradients."""
    for choice in ALGORITHMS:
        for name, fabric in _fabrics().items():
            tell(f"{choice} on {name}")
            algorithm, keys = choice, dict[str, object]()
            if choice == "ring" and name == _SIPAC:
                # Rings along both levels at once, each with half of the data.
                algorithm, keys = "torus-rings", {"parts": 2}
            point = measure(fabric, "all-reduce", GRADIENT_BYTES, algorithm, **keys)
            yield choice, name, point.algorithm, point.completion_time_us / 1000


def _fabrics() -> dict[str, AnyFabric]:
    """Return the two networks of the testbed."""
    return {
        _SIPAC: Sipac(radix=2, level=1, bits_per_second_per_node=_BITS_PER_S),
        _TREE: FatTree(
            nodes=_NODES, nodes_per_leaf=2, bits_per_second_per_node=_BITS_PER_S
        ),
    }


def _told(mine_ms: float, theirs_ms: float) -> str:
    """Return two times in words."""
    return f"{mine_ms:.2f} ms against {theirs_ms:.2f} ms"


def _claims(data: Data) -> Iterator[Comparison]:
    times_ms = {
        algorithm: [
            data.where(choice=algorithm).number("time_ms", network=name)
            for name in (_SIPAC, _TREE)
        ]
        for algorithm in ALGORITHMS
    }
    bounds = (
        f"{name} {bound_text(best_bound(fabric, 'all-reduce', GRADIENT_BYTES))}"
        for name, fabric in _fabrics().items()
    )
    bound = ", ".join(bounds)
    for algorithm, (mine, theirs) in times_ms.items():
        yield holds(
            f"all-reduce takes less time on SiPAC ({algorithm}, communication alone)",
            "less, by how much is not given",
            _told(mine, theirs),
            points=above({f"{_TREE} over {_SIPAC}": theirs / mine}, 1 + NEAR),
            why="both have the same rate a GPU and, without queues, the same data to"
            " move",
            best="" if algorithm == "auto" else _told(*times_ms["auto"]),
            bound=bound,
        )
    yield not_reproducible(
        "job completion time falls by 8 % (ring) and 22 % (NCCL)",
        "8 % and 22 %",
        "-",
        "times of MobileNetV2 on Tesla M40 GPUs and packet buffers of the testbed are"
        " not given; pairs of NCCL's tree share no switch of SiPAC, and how they are"
        " routed is not given either",
    )
    yield not_reproducible(
        "Fig. 2: crosstalk suppressed by 13.3 dB, all eyes open",
        "13.3 dB",
        "-",
        "a measurement of a switch in the laboratory; lightloom has no model of rings"
        " below whole wavelengths",
    )


FIGURE = Figure(
    name="sipac-fig3",
    title="all-reduce of the gradients of MobileNetV2 on four GPUs",
    columns=("choice", "network", "algorithm", "time_ms"),
    compute=_compute,
    claims=_claims,
    panels=Plot(
        x="choice",
        y="time_ms",
        series="network",
        title="14 MB, 20 Gb/s a GPU",
        x_label="",
        y_label="completion time (ms)",
        kind="dots",
    ),
    notes=(
        NOT_MODELLED,
        (
            "A GPU has two transceivers of 10 Gb/s. On SiPAC ring is rings along both"
            " levels; auto is the best that is known on each network."
        ),
    ),
)
