"""``lightloom formats`` names commands and targets that there are."""

from __future__ import annotations

import re

from tests.cli.program import run, run_json


def test_every_command_exists() -> None:
    """And every target of export is listed, so are all three kinds of import."""
    known = run("--help").stdout
    listed = run_json("formats")["formats"]
    texts = [f"{each['read']}, {each['write']}" for each in listed]
    words = {place.split()[0] for text in texts for place in text.split(", ") if place}
    words -= {"every", "[demand]", "[computation]", "[workload]", "compare"}
    for word in words:
        assert re.search(rf"^  {word} ", known, re.MULTILINE), word
    targets = re.search(r"--to \[(.*?)\]", run("export", "--help").stdout, re.DOTALL)
    assert targets is not None
    for target in re.split(r"[|\s]+", targets[1]):
        assert any(f"export --to {target}" in text for text in texts), target
