"""Figures of the SiPAC paper, at sizes that a test can afford."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.task import Collective
from lightloom.instances.catalogue import clusters
from lightloom.papers.claims import ClaimVerdict
from lightloom.papers.sipac.clusters import (
    AUTO,
    CLUSTERS,
    FIXED_PORT,
    OPS,
    USUAL,
    measure,
    replayed_on,
    usual,
)
from lightloom.validate import verify
from tests.papers.small_figures import small_run

if TYPE_CHECKING:
    from lightloom.papers.reproduction import Reproduction

MB = 10**6


def verdicts(found: Reproduction) -> dict[str, ClaimVerdict]:
    """Return the verdict on each claim."""
    return {entry.claim: entry.verdict for entry in found.comparisons}


def test_orderings_of_fig4a_at_sixteen_units() -> None:
    """What a fluid replay can show holds; what only queues explain does not."""
    found = small_run("sipac-fig4a")
    assert len(found.data.rows) == 2 * len(OPS) * len(CLUSTERS)
    said = verdicts(found)
    order = next(claim for claim in said if claim.startswith("order of all-to-all"))
    assert said[order] == ClaimVerdict.DIFFERS
    ordered = next(claim for claim in said if claim.startswith("SuperPod is slowest"))
    assert said[ordered] == ClaimVerdict.MATCHES
    for pattern in OPS:
        best = found.data.where(pattern=pattern, choice=AUTO)
        given = found.data.where(pattern=pattern, choice=USUAL)
        for cluster in CLUSTERS:
            mine = best.number("time_us", cluster=cluster)
            assert mine <= given.number("time_us", cluster=cluster)
            sipac = best.number("time_us", cluster="sipac")
            if cluster == "superpod":
                assert sipac < mine
            if cluster == "torus":  # one relay a rank is as fast there at incast
                assert sipac < mine * 1.000001


def test_forwarding_is_for_every_cluster() -> None:
    """With exchange level by level a BCube takes as long as SiPAC at incast."""
    found = small_run("sipac-fig4a").data.where(pattern="incast")
    assert found.number("times_sipac", cluster="bcube", choice=USUAL) > 1.5
    assert found.number("times_sipac", cluster="bcube", choice=AUTO) == pytest.approx(
        1.0, abs=1e-6
    )


def test_fig4b_ports_that_stay_slow_stop_superpod() -> None:
    """SiPAC gains with the rate; SuperPod does not where only NVLink grows."""
    found = small_run("sipac-fig4b")
    said = verdicts(found)
    assert said["SiPAC gets faster with every rate (16 units)"] == ClaimVerdict.MATCHES
    waits = "SuperPod ends up waiting for its inter-server links (16 units)"
    assert said[waits] == ClaimVerdict.MATCHES
    little = "the others gain little more at high rates (16 units)"
    assert said[little] == ClaimVerdict.DIFFERS
    fastest = found.data.where(gbit_per_s=4096)
    slow, fast = (
        fastest.number("both_us", cluster=name) for name in (FIXED_PORT, "superpod")
    )
    assert slow > fast


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_schedule_at_another_rate_is_still_one(cluster: str) -> None:
    """Replayed elsewhere it still verifies, and takes as long as one made there."""
    slow, fast = clusters(16, 128 * 10**9)[cluster], clusters(16)[cluster]
    for op in ("all-reduce", "all-to-all"):
        moved = replayed_on(usual(slow, op, 16 * MB), fast)
        there = usual(fast, op, 16 * MB)
        assert moved.completion_time_ps == there.completion_time_ps
        broken = {one.rule for one in verify(moved.schedule).violations}
        assert broken <= {"footer-time", "certificate-bound", "certificate-value"}


def test_buffers_are_rounded_up_to_whole_blocks() -> None:
    """16 nodes of an odd buffer: what the schedule moves is the next multiple."""
    found = measure(clusters(16)["bcube"], "all-to-all", 16 * MB + 1, "direct")
    task = found.schedule.task
    assert isinstance(task, Collective)
    assert task.buffer_bytes == 16 * MB + 16
    assert (found.algorithm, found.steps) == ("direct", 1)
