"""An algorithm of one's own, from outside the package: one record and its entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np
import pytest

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import ALGORITHMS, AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.plan import Partition
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.cli.program import run, run_json
from tests.oracle.rank_buffers import execute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import AnyFabric
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting

# -- the algorithm: all that its author writes ---------------------------------------


class Line(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Broadcast along a line: each rank passes pieces on to the next one."""

    ops: ClassVar[tuple[str, ...]] = ("broadcast",)

    pieces: Annotated[
        int,
        msgspec.Meta(ge=1, le=2**20, description="Pieces that follow one another."),
    ] = 1

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per piece."""
        del ranks, ports
        return self.pieces

    def _rounds(self, collective: Collective, ports: int) -> list[Round]:
        """Return the rounds; in round t rank i passes on piece t - i."""
        del ports
        ranks, root = collective.rank_count, collective.root_rank
        parts = Partition(self.pieces, collective.chunk_count)
        rounds = []
        for turn in range(self.pieces + ranks - 2):
            hop = np.arange(ranks - 1, dtype=np.int64)
            piece = turn - hop
            hop = hop[(piece >= 0) & (piece < self.pieces)]
            src, dst = (hop + root) % ranks, (hop + 1 + root) % ranks
            rounds.append(parts.round(src, dst, turn - hop, 1, port=0, op=Op.COPY))
        return [one for one in rounds if one is not None]


def _proposals(setting: Setting) -> Iterator[dict[str, object]]:
    """Propose the best number of pieces, and one that fits no range."""
    yield {"pieces": setting.best_pieces(setting.ranks - 2)}
    yield {"pieces": 0}


ALGORITHM = AlgorithmEntry(
    name="line",
    summary="broadcast along a line",
    ops=Line.ops,
    make=Line,
    proposals=_proposals,
)

# -- what is to be had for that ------------------------------------------------------


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the algorithm for one test."""
    monkeypatch.setattr(ALGORITHMS, "_registered", {})
    ALGORITHMS.register(ALGORITHM)


@pytest.mark.parametrize("ranks", [1, 2, 7])
@pytest.mark.parametrize("pieces", [1, 3])
def test_it_does_its_collective(ranks: int, pieces: int) -> None:
    """On real buffers, with fewer chunks than pieces too."""
    for chunks in (1, 5):
        task = Collective("broadcast", tuple(range(ranks)), 4 * chunks, chunks)
        execute(Line(pieces).plan(task, 1))


@pytest.mark.parametrize("fabric", [Lightpath(rows=2, cols=4), IdealSwitch(nodes=8)])
def test_it_makes_schedules_by_name(fabric: AnyFabric) -> None:
    """On circuits and on packets, verified; the header says how it was made."""
    task = Collective("broadcast", tuple(range(8)), 4096)
    made = synthesise(Instance(fabric, task, "a test"), "line", {"pieces": 4}).incumbent
    assert made is not None
    assert verify(made.schedule).violations == ()
    assert made.schedule.algorithm.name == "line"
    assert made.schedule.algorithm.parameters["pieces"] == 4
    assert made.schedule.step_count == 10


@pytest.mark.parametrize("fabric", [Lightpath(rows=2, cols=2), IdealSwitch(nodes=4)])
def test_auto_compares_what_it_proposes(fabric: AnyFabric) -> None:
    """With its own parameters; what cannot be done is passed over."""
    task = Collective("broadcast", tuple(range(4)), 2**20)
    made = synthesise(Instance(fabric, task, "a test")).incumbent
    assert made is not None
    lines = [one for one in made.compared if one.algorithm == "line"]
    assert len(lines) == 2
    assert {one.parameters["pieces"] > 1 for one in lines} == {True, False}


def test_it_is_listed_with_its_parameters() -> None:
    """It is listed as the algorithms of the package are."""
    assert "broadcast along a line" in run("algorithms").stdout
    (entry,) = run_json("algorithms", "line")["algorithms"]
    (parameter,) = entry["parameters"]
    assert parameter["meaning"] == "Pieces that follow one another."
    assert parameter["allowed"] == "1 to 1048576"


def test_bad_parameters_are_refused() -> None:
    """With the same messages."""
    task = Collective("broadcast", (0, 1), 64)
    instance = Instance(IdealSwitch(nodes=2), task, "a test")
    with pytest.raises(InputError, match=r"pieces.*>= 1"):
        synthesise(instance, "line", {"pieces": 0})
