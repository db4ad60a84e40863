"""A schedule as one page of HTML: its fabric, step by step, and where the time goes."""

from __future__ import annotations

from lightloom.report.schedule_page.page import SchedulePage, schedule_page

__all__ = ["SchedulePage", "schedule_page"]
