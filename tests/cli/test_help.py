"""Help: complete, cheap, and the same in the documentation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from lightloom import __version__
from lightloom.cli.main import SUMMARIES, lightloom
from lightloom.cli.manual import renewed
from tests.cli.program import run
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_help_lists_every_command_without_importing_it() -> None:
    """The help of the program shows the whole table of commands."""
    result = run("--help")
    assert result.exit_code == 0
    for name, summary in SUMMARIES.items():
        assert name in result.stdout
        assert summary in result.stdout


@pytest.mark.parametrize("name", SUMMARIES)
def test_help_of_a_command_starts_with_its_summary(name: str) -> None:
    """Each command says first what the table of commands says of it."""
    result = run(name, "--help")
    assert result.exit_code == 0
    assert SUMMARIES[name] in result.stdout


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below a group, groups too, by what a person types."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")


COMMANDS = dict(_commands(lightloom, "lightloom"))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_and_argument_is_explained(path: str) -> None:
    """Options have help of their own; the help of the command names its arguments."""
    command = COMMANDS[path]
    context = click.Context(command)
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.name}"
        else:
            name = parameter.make_metavar(context).strip("[]")
            assert re.search(rf"\b{name}\b", command.help), f"{path} {name}"


def test_the_page_of_the_commands_is_current() -> None:
    """docs/cli.md holds the present help; renew it with lightloom.cli.manual."""
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page) == page


def test_help_loads_nothing_heavy() -> None:
    """The help of the program imports no numerics, no plots and no other room."""
    heavy = ("numpy", "scipy", "rich", "matplotlib", "msgspec", "networkx")
    code = (
        "import sys\n"
        "from lightloom.cli.main import main\n"
        "sys.argv = ['lightloom', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"found = [name for name in {heavy} if name in sys.modules]\n"
        "rooms = [n for n in sys.modules if n.startswith('lightloom.')]\n"
        "found += [n for n in rooms if n.split('.')[1] not in ('cli', 'core')]\n"
        "assert not found, found\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=HUNG_S
    )
    assert done.returncode == 0, done.stderr.decode()


def test_version_is_that_of_the_package() -> None:
    """``--version`` names the package version."""
    assert run("--version").stdout.split() == ["lightloom,", "version", __version__]


def test_no_arguments_shows_help() -> None:
    """The bare program explains itself and is a usage error."""
    result = run()
    assert result.exit_code == 2
    assert "Commands:" in result.stderr


def test_help_of_a_command_in_two_ways() -> None:
    """``help COMMAND`` is ``COMMAND --help``, also for commands of commands."""
    for names in (["synth"], ["bench", "run"], []):
        assert run("help", *names).stdout == run(*names, "--help").stdout
    wrong = run("help", "synthh")
    assert wrong.exit_code == 2
    assert "did you mean synth" in wrong.stderr
    assert run("help", "synth", "more").exit_code == 2


def test_the_program_is_a_module_too() -> None:
    """``python -m lightloom -V`` says the version."""
    done = subprocess.run(
        [sys.executable, "-m", "lightloom", "-V"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert __version__ in done.stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("lightloom syn", "synth"),
        ("lightloom synth lightpath-25", "lightpath-256/all-reduce-64MiB"),
        ("lightloom synth x --algorithm lumor", "lumorph-4"),
        ("lightloom reproduce lumorph-fig", "lumorph-fig7"),
        ("lightloom solve x --solver hig", "highs"),
        ("lightloom solve x --problem ro", "routing"),
    ],
)
def test_shells_complete_names(words: str, found: str) -> None:
    """As click asks for them, of everything that has names."""
    done = subprocess.run(
        [sys.executable, "-m", "lightloom"],
        check=False,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "_LIGHTLOOM_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        },
    )
    assert f"plain,{found}" in done.stdout.splitlines()
