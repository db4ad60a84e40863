"""Every status a solver can report has a meaning, or raises."""

from __future__ import annotations

import pytest

from lightloom.core.outcome import Limit
from lightloom.solvers import SolveOptions, UnknownStatusError, gurobi, highs, math_opt
from lightloom.solvers.adapter import SolverClaim

PLAIN = SolveOptions()


def test_highs() -> None:
    """All of highspy's statuses are mapped, but two that nobody can bring about."""
    highspy = pytest.importorskip("highspy")
    known = set(highspy.HighsModelStatus.__members__)
    assert known - set(highs.CLAIMS) == {"kObjectiveBound", "kObjectiveTarget"}
    assert set(highs.CLAIMS) <= known
    with pytest.raises(UnknownStatusError, match="kObjectiveBound"):
        highs.claim_of("kObjectiveBound")


def test_math_opt() -> None:
    """All of MathOpt's reasons are mapped, and all limits that can be reached."""
    result_pb2 = pytest.importorskip("ortools.math_opt.result_pb2")
    reasons = {
        name.removeprefix("TERMINATION_REASON_")
        for name in result_pb2.TerminationReasonProto.keys()  # noqa: SIM118
    }
    assert reasons - set(math_opt.CLAIMS) == {"UNSPECIFIED"}
    limits = {
        name.removeprefix("LIMIT_")
        for name in result_pb2.LimitProto.keys()  # noqa: SIM118
    }
    unreachable = {"CUTOFF", "SOLUTION", "OBJECTIVE", "NORM", "OTHER", "UNSPECIFIED"}
    assert limits - set(math_opt.LIMITS) == unreachable | {"UNDETERMINED"}
    with pytest.raises(UnknownStatusError, match="CUTOFF"):
        math_opt.claim_of("FEASIBLE", "CUTOFF", PLAIN, 1.0)
    with pytest.raises(UnknownStatusError, match="NEW"):
        math_opt.claim_of("NEW", "TIME", PLAIN, 1.0)


def test_math_opt_judges_by_the_clock() -> None:
    """Where MathOpt cannot say which limit it was, there is one that it can be."""
    both = SolveOptions(time_limit_s=2.0, node_limit=5)
    stopped = SolverClaim.STOPPED
    undetermined = ("FEASIBLE", "UNDETERMINED")
    assert math_opt.claim_of(*undetermined, both, 2.0) == (stopped, Limit.TIME)
    assert math_opt.claim_of(*undetermined, both, 1.0) == (stopped, Limit.NODES)
    with pytest.raises(UnknownStatusError, match="UNDETERMINED"):
        math_opt.claim_of(*undetermined, PLAIN, 1.0)
    assert math_opt.claim_of("OPTIMAL", "UNSPECIFIED", both, 2.0)[1] is None


def test_gurobi() -> None:
    """All of Gurobi's statuses are mapped, but those that nobody can bring about."""
    grb = pytest.importorskip("gurobipy").GRB
    known = {name for name in dir(grb.Status) if name.isupper()}
    assert set(gurobi.CLAIMS) <= known
    assert known - set(gurobi.CLAIMS) <= {
        "CUTOFF",
        "INPROGRESS",
        "LOCALLY_INFEASIBLE",
        "LOCALLY_OPTIMAL",
        "SOLUTION_LIMIT",
        "USER_OBJ_LIMIT",
        "WORK_LIMIT",
    }
    assert gurobi.claim_of(grb.TIME_LIMIT) == (SolverClaim.STOPPED, Limit.TIME)
    with pytest.raises(UnknownStatusError, match="4711"):
        gurobi.claim_of(4711)


@pytest.mark.parametrize(
    "table", [highs.CLAIMS, gurobi.CLAIMS], ids=["highs", "gurobi"]
)
def test_limits_belong_to_stops(
    table: dict[str, tuple[SolverClaim, Limit | None]],
) -> None:
    """A status names a limit exactly if it means that a limit stopped the solver."""
    for claim, limit in table.values():
        assert (limit is not None) == (claim is SolverClaim.STOPPED)
