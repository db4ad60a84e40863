"""The verdict on a schedule: every check, in an order in which each has a meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.certificate import COMPLETION_TIME, CertificateStatus
from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.outcome import Summarised
from lightloom.core.task import Collective
from lightloom.core.violation import MOST_PER_RULE, Unlisted, Violation
from lightloom.instances.fabrics import load_fabric
from lightloom.validate import certificates
from lightloom.validate.certificates import CertificateReport
from lightloom.validate.checks import circuits, demand, order, task, transfers
from lightloom.validate.data import contributions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lightloom.core.schedule import Footer, Schedule
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True, repr=False)
class Verdict(Summarised):
    """What `verify` found.

    Attributes
    ----------
    valid
        Whether no rule is broken.
    violations
        Sorted by rule, step (those of no step first), resource and message; of a rule
        that is broken more than 1,000 times, the first 1,000 and how many more.
    counts
        How often each rule is broken, the left out violations included.
    certificates
        What the certificates of the footer are worth, in its order; those of a broken
        schedule are refused.
    """

    valid: bool
    violations: tuple[Violation, ...]
    counts: Mapping[str, int]
    certificates: tuple[CertificateReport, ...]

    @property
    def violation_count(self) -> int:
        """How many violations there are, the left out ones included."""
        return sum(self.counts.values())

    def facts(self) -> Mapping[str, object]:
        """Return whether it is valid, and what is wrong or proven."""
        first = self.violations[0] if self.violations else None
        return {
            "valid": self.valid,
            "violations": self.violation_count or None,
            "first": None if first is None else f"{first.rule}: {first.message}",
            "certificate": str(self.certificate.status),
        }

    @property
    def certificate(self) -> CertificateReport:
        """What the certificate of the completion time is worth."""
        return self.certificate_of(COMPLETION_TIME)

    def certificate_of(self, objective: str) -> CertificateReport:
        """Return what the certificate of an objective is worth.

        Returns
        -------
        A report of status *no bound* where the footer has no such certificate.
        """
        for one in self.certificates:
            if one.objective == objective:
                return one
        return CertificateReport(objective, CertificateStatus.NO_BOUND)


def verify(schedule: Schedule) -> Verdict:
    """Check every rule of the ledger, and recompute what the footer claims.

    A check whose subject an earlier one has found to be malformed is left out: data
    are followed only where every transfer is sound and steps are in order, the time
    recomputed only where every reference is. All other faults are reported at once. A
    schedule without footer claims nothing, and is checked all the same. Exact;
    deterministic.

    Parameters
    ----------
    schedule
        Of any fabric and task, right or wrong, with or without footer.
    """
    by_rule = _ByRule()
    if schedule.footer is not None:
        by_rule.add(_check_counts(schedule, schedule.footer))
    try:
        fabric = load_fabric(schedule.fabric)
    except InputError as problem:
        by_rule.add([Violation("fabric", None, "fabric", str(problem))])
    else:
        by_rule.add(_missing_keys(fabric, schedule))
        _check(fabric, schedule, by_rule)
    claimed = () if schedule.footer is None else schedule.footer.certificates
    refused = bool(by_rule.count)
    worth = tuple(certificates.report(one, refused=refused) for one in claimed)
    return Verdict(not refused, by_rule.kept(), by_rule.count, worth)


def _missing_keys(fabric: AnyFabric, schedule: Schedule) -> Iterator[Violation]:
    """Yield the keys that a fabric's table leaves to our defaults: rule ``fabric``."""
    for key in fabric.table():
        if key not in schedule.fabric:
            message = f"missing key {key!r}; allowed: every key of the fabric"
            yield Violation("fabric", None, f"fabric.{key}", message)


class _ByRule:
    """Violations by rule, no more than `MOST_PER_RULE` of each."""

    def __init__(self) -> None:
        self.count: dict[str, int] = {}
        self._rules: dict[str, list[Violation]] = {}

    def add(self, violations: Iterable[Violation | Unlisted]) -> bool:
        """Take violations; return whether there were none."""
        clean = True
        for violation in violations:
            clean = False
            rule = violation.rule
            if isinstance(violation, Unlisted):
                self.count[rule] = self.count.get(rule, 0) + violation.count
                continue
            self.count[rule] = self.count.get(rule, 0) + 1
            if self.count[rule] <= MOST_PER_RULE:
                self._rules.setdefault(rule, []).append(violation)
        return clean

    def kept(self) -> tuple[Violation, ...]:
        """Return the violations, sorted, the left out ones counted at the end."""
        kept: list[Violation] = []
        for rule in sorted(self._rules):
            kept += sorted(self._rules[rule], key=_place)
            more = self.count[rule] - MOST_PER_RULE
            if more > 0:
                kept.append(Violation(rule, None, "", f"and {more} more", more))
        return tuple(kept)


def _place(violation: Violation) -> tuple[int, str, str]:
    step = -1 if violation.step is None else violation.step
    return step, violation.resource, violation.message


def _check(fabric: AnyFabric, schedule: Schedule, by_rule: _ByRule) -> None:
    count = fabric.node_count
    task_sound = by_rule.add(task.check(schedule.task, count))
    ordered = by_rule.add(order.check(fabric, schedule))
    numbered = "step-order" not in by_rule.count
    built = True
    if isinstance(fabric, CircuitFabric):
        built = _check_segments(fabric, schedule, by_rule)
        connected = by_rule.add(transfers.check_held(count, schedule))
        built = built and connected
    rows = transfers.check(count, schedule, task_is_sound=task_sound)
    moved = by_rule.add(rows)
    if moved and isinstance(fabric, CircuitFabric):
        by_rule.add(circuits.check_multicast(fabric, schedule))
    if moved and task_sound:
        moved = by_rule.add(transfers.check_total(schedule))
        if not isinstance(schedule.task, Collective):
            by_rule.add(demand.check(count, schedule, schedule.task))
        elif numbered:
            by_rule.add(contributions.check(schedule, schedule.task))
    if schedule.footer is None:
        return
    sound = ordered and built and moved and task_sound
    time_ps = _check_time(schedule, schedule.footer, by_rule) if sound else None
    by_rule.add(
        certificates.check(
            fabric,
            schedule,
            schedule.footer.certificates,
            task_sound=task_sound,
            sound=sound,
            valid=not by_rule.count,
            completion_time_ps=time_ps,
        )
    )


def _check_segments(
    fabric: CircuitFabric, schedule: Schedule, by_rule: _ByRule
) -> bool:
    """Check circuits and resources; return whether all circuits are well-formed."""
    built = True
    for segment in schedule.segments:
        inspection = circuits.inspect(fabric, segment)
        built &= by_rule.add(inspection.violations)
        if inspection.sound is not None:
            by_rule.add(circuits.overused(fabric, segment, inspection.sound))
    return built


def _check_time(schedule: Schedule, claimed: Footer, by_rule: _ByRule) -> int | None:
    """Return replay's completion time, compared with the footer's: ``footer-time``."""
    from lightloom.replay import completion_time_ps

    try:
        time_ps = completion_time_ps(schedule)
    except (InputError, OverflowError) as problem:
        message = f"replay refuses the schedule: {problem}"
        by_rule.add([Violation("footer-time", None, "schedule", message)])
        return None
    said_ps = claimed.completion_time_ps
    if said_ps != time_ps:
        message = f"the footer says {said_ps} ps, replay {time_ps} ps"
        where, excess = "footer.completion_time_ps", said_ps - time_ps
        by_rule.add([Violation("footer-time", None, where, message, excess)])
    return time_ps


def _check_counts(schedule: Schedule, footer: Footer) -> Iterator[Violation]:
    """Yield counts that are not those of the schedule: rule ``footer-counts``."""
    counts = (
        ("segments", footer.segments, len(schedule.segments)),
        ("steps", footer.steps, schedule.step_count),
        ("circuits", footer.circuits, schedule.circuit_count),
        ("transfers", footer.transfers, schedule.transfer_count),
    )
    for name, claimed, true in counts:
        if claimed != true:
            message = f"the footer says {claimed} {name}, the file has {true}"
            yield Violation(
                "footer-counts", None, f"footer.{name}", message, claimed - true
            )
