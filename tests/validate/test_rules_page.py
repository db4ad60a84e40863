"""The page of rules says what the ledger says."""

from lightloom.validate.rules_page import PAGE, rules_page


def test_the_page_is_current() -> None:
    """Renewed by ``python -m lightloom.validate.rules_page``."""
    assert PAGE.read_text(encoding="utf-8") == rules_page()
