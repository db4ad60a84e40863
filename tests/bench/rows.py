"""Rows made by hand."""

from __future__ import annotations

from lightloom.bench.results import Ending, Finding, Machine, Proof, Row

MACHINE = Machine("Linux", "x86_64", 2, 2**30, "3.11", "2.0", 0.0)


def row_of(
    instance: str = "a",
    solver: str = "highs",
    *,
    seconds: float | None = 1.0,
    answer: str | None = "5",
    bound: str | None = "5",
    ending: Ending = Ending.OPTIMAL,
    proof: Proof = Proof.CLAIMED,
    sense: str = "minimise",
    seed: int = 0,
    size: int = 4,
    trace: tuple[tuple[float, float | None, float | None], ...] = (),
) -> Row:
    """Return a row about one instance of routing."""
    optimal = ending is Ending.OPTIMAL
    return Row(
        key=f"{instance} {solver} {seed}",
        suite="test",
        problem="routing",
        sense=sense,
        unit="paths",
        instance=instance,
        instance_sha256=instance,
        size=size,
        solver=solver,
        parameters={},
        version="1",
        time_limit_s=10.0,
        memory_limit_bytes=None,
        seed=seed,
        finding=Finding(
            ending=ending,
            answer=answer,
            bound_exact=bound,
            proof=proof,
            proof_s=seconds if optimal else None,
            solve_s=seconds,
            cpu_s=seconds,
            trace=trace,
        ),
        peak_bytes=2**20,
        wall_s=1.0,
        started="2026-01-01T00:00:00+00:00",
        lightloom="0.1.0",
        machine=MACHINE,
    )
