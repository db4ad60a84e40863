"""What a conformance check found, as data."""

from __future__ import annotations

from dataclasses import dataclass

PROPERTIES = {
    "answers": "returns a schedule or refuses, in time",
    "task": "its schedule is for the fabric and the task that were asked for",
    "valid": "its schedule obeys every rule",
    "footer": "its footer says the truth: counts, replay's time, certificates",
    "repeatable": "the same task and seed give the same bytes",
    "file": "its schedule is the same after it was written and read",
    "bound": "no schedule is faster than a lower bound (else lightloom is wrong)",
    "refuses": "a task that makes no sense is refused by a ValueError that says why",
}
"""What is checked, in the order of a report, each as a sentence about the subject."""


@dataclass(frozen=True)
class Example:
    """A failing example, made as small as could be.

    `instance`: tables of the instance, as an instance file has them. `seed`: the seed
    that went with it. `message`: what happened, as one line.
    """

    instance: dict[str, dict[str, object]]
    seed: int
    message: str


@dataclass(frozen=True)
class PropertyResult:
    """What became of one property.

    `passed`, `failed`: examples on which it held, and on which it did not. Neither
    counts those on which it could not be asked. `example`: the smallest failing one,
    ``None`` where none failed.
    """

    name: str
    statement: str
    passed: int
    failed: int
    example: Example | None


@dataclass(frozen=True)
class ConformanceReport:
    """What `check_synthesiser` found.

    Attributes
    ----------
    subject
        Name of what was checked.
    seed
        Of the examples.
    examples
        Different examples that were tried, those of shrinking not counted.
    refused
        How many of them it refused to answer.
    cut_short
        Whether fewer examples than asked for were tried, because too many timed out.
    properties
        One result for each of `PROPERTIES`, in that order.
    """

    subject: str
    seed: int
    examples: int
    refused: int
    cut_short: bool
    properties: tuple[PropertyResult, ...]

    @property
    def conforms(self) -> bool:
        """Whether no property failed, and something was answered."""
        failed = any(result.failed for result in self.properties)
        return not failed and self.of("answers").passed > 0

    def of(self, name: str) -> PropertyResult:
        """Return the result of a property."""
        return next(result for result in self.properties if result.name == name)
