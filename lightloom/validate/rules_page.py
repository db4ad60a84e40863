"""The ledger as a page: ``python -m lightloom.validate.rules_page`` renews it."""

from __future__ import annotations

from pathlib import Path

from lightloom.validate.programs.verdict import PROGRAM_RULES
from lightloom.validate.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "spec" / "rules.md"

_HEAD = """# Rules

What `lightloom verify` reports, by rule id. This page is made from the ledger in the
code (`python -m lightloom.validate.rules_page`). *Checked by* names the module of
`lightloom.validate`; *modelled by* says where a declarative model states the rule in
its own words, or why none does.

| rule | what a schedule must obey | checked by | modelled by |
|---|---|---|---|
"""


_PROGRAMS = """
## Programs of GPUs

What `lightloom verify` reports of MSCCL XML and of execution plans of MSCCL++, whose
form is checked by `plan_form`. *Checked by* names the module of
`lightloom.validate.programs`.

| rule | what a program must obey | checked by |
|---|---|---|
"""


def rules_page() -> str:
    """Return both ledgers as Markdown."""
    rows = [
        f"| `{rule.id}` | {rule.summary} | `{rule.checked_by}` | {rule.modelled_by} |"
        for rule in RULES.values()
    ]
    programs = [
        f"| `{rule}` | {summary} | `{module}` |"
        for rule, (summary, module) in PROGRAM_RULES.items()
    ]
    return _HEAD + "\n".join(rows) + "\n" + _PROGRAMS + "\n".join(programs) + "\n"


if __name__ == "__main__":
    PAGE.write_text(rules_page(), encoding="utf-8")
