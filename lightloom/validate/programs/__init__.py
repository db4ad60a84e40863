"""Programs of GPUs judged: form, limits, values, deadlock, races, bounded FIFOs.

Nothing here knows how a program was made. The rules are `PROGRAM_RULES`.
"""

from __future__ import annotations

from lightloom.validate.programs.verdict import (
    PROGRAM_RULES,
    ProgramVerdict,
    verify_plan,
    verify_program,
)

__all__ = ["PROGRAM_RULES", "ProgramVerdict", "verify_plan", "verify_program"]
