"""Answers: what they are worth once they were checked by the rules, not by us."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.bench.row import Proof

if TYPE_CHECKING:
    from lightloom.core.certificate import Number
    from lightloom.instances.instance import Instance
    from lightloom.problems import Problem, ProblemAnswer


@dataclass(frozen=True)
class Given:
    """An answer that was checked.

    Attributes
    ----------
    value, bound
        Exact; the bound ``None`` where there is none.
    proof, witness
        What the bound rests on, and the kind of witness.
    verified
        Whether rules of their own were applied to the answer; ``None`` where it
        cannot be looked into.
    fault
        What is wrong with it, '' for nothing.
    detail
        What a person should know beyond that.
    """

    value: Number
    bound: Number | None
    proof: Proof
    witness: str
    verified: bool | None
    fault: str
    detail: tuple[str, ...]


def checked(
    problem: Problem, instance: Instance, answer: ProblemAnswer, *, trusted: bool
) -> Given:
    """Return what an answer is worth.

    Parameters
    ----------
    problem, instance
        What is answered.
    answer
        With its exact value and bound.
    trusted
        Whether the bound was proven here when the answer was made. That of a solver or
        of a user's function is a claim, unless a witness that comes with it proves it.
    """
    from lightloom.problems.checked_answer import check_answer

    found = check_answer(problem, instance, answer)
    fault, bound, witness = found.fault, answer.bound, ""
    proof = Proof.NONE
    if bound is not None:
        proof = Proof.CHECKED if trusted else Proof.CLAIMED
        witness = answer.bound_kind if trusted else ""
    if found.bound is not None and not fault:
        if bound in (None, found.bound):
            bound, proof, witness = found.bound, Proof.CHECKED, found.kind
        elif answer.certificates:
            fault = f"claims the bound {bound}, proves {found.bound}"
    verified = False if fault else found.verified
    detail = (*answer.detail, *found.detail)
    return Given(answer.value, bound, proof, witness, verified, fault, detail)
