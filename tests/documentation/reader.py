"""Follows a page in a folder: runs its commands and scripts, keeps its files."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from lightloom.instances.instance_file import parse_instance
from tests.cli.program import run
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from tests.documentation.blocks import Block

ROOT = Path(__file__).parents[2]
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SHELL = re.compile(r"[|&;<>$`*?~()]|<<")


def _leaves_nothing(script: str) -> bool:
    """Whether a file is a script after which this process is as before.

    What registers an entry of a catalogue, or may import a neighbour that does, needs a
    process of its own.
    """
    path = Path(script)
    near = path.parent.glob("*.py")
    return path.suffix == ".py" and not any(
        ".register(" in file.read_text("utf-8") for file in near
    )


class Reader:
    """Does what a page says, block by block.

    Parameters
    ----------
    folder
        Where to: the current folder of the process, empty at first.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed = io.StringIO()
        self.names: dict[str, object] = {"__name__": "__main__"}

    def follow(self, block: Block) -> None:
        """Run a block, or raise `AssertionError` with its place."""
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        if block.language == "console":
            self._session(block)
        elif block.language == "sh":
            commands = commands_of(block.text)
            for command in commands[:-1]:
                self._shell(block, command, 0)
            self._shell(block, commands[-1], block.exit_code)
        elif block.language == "python" and not block.file:
            code = compile(block.text, block.where, "exec")
            with contextlib.redirect_stdout(self.printed):
                exec(code, self.names)
        elif block.language == "json":
            one = block.text.startswith("{\n") or "}\n{" not in block.text
            for text in [block.text] if one else block.text.splitlines():
                json.loads(text)
        elif block.language == "toml":
            self._tables(block)

    def _tables(self, block: Block) -> None:
        """Read a block of TOML; an instance is read as one."""
        tables = tomllib.loads(block.text)
        if "fabric" in tables:
            parse_instance(tables, name=block.where)

    def _session(self, block: Block) -> None:
        """Run the commands after ``$`` and compare what they print."""
        turns = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        assert not turns[0], f"{block.where}: output before the first command"
        for turn in turns[1:]:
            command, _, wanted = turn.partition("\n")
            while command.endswith("\\"):
                more, _, wanted = wanted.partition("\n")
                command = f"{command[:-1]} {more}"
            code = block.exit_code if turn is turns[-1] else 0
            printed = self._shell(block, command, code)
            same = doctest.OutputChecker().check_output(wanted, printed, ALIKE)
            assert same, f"{block.where}: {command} printed\n{printed}not\n{wanted}"

    def _script(self, path: str, *arguments: str) -> tuple[int, str]:
        """Run a script of the page in this process; return its exit code and output."""
        printed, code = io.StringIO(), 0
        with (
            patch.object(sys, "argv", [path, *arguments]),
            contextlib.redirect_stdout(printed),
        ):
            try:
                runpy.run_path(path, run_name="__main__")
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(bool(end.code))
                if isinstance(end.code, str):
                    printed.write(f"{end.code}\n")
        return code, printed.getvalue()

    def _shell(self, block: Block, command: str, exit_code: int) -> str:
        """Run a command and return what it prints; ours need no other process."""
        words = shlex.split(command, comments=True)
        plain = not _SHELL.search(command.partition("#")[0])
        if plain and words[:1] == ["lightloom"]:
            result = run(*words[1:])
            code, output, talk = result.exit_code, result.stdout, result.stderr
        elif plain and words[:1] == ["python"] and _leaves_nothing(words[1]):
            code, output = self._script(*words[1:])
            talk = ""
        else:
            programs = str(Path(sys.executable).parent)
            path = {"PATH": os.pathsep.join([programs, os.environ["PATH"]])}
            roots = [str(ROOT), os.environ.get("PYTHONPATH", "")]
            path["PYTHONPATH"] = os.pathsep.join(filter(None, roots))
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", command],
                cwd=self.folder,
                env={**os.environ, **path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=HUNG_S,
            )
            code, output, talk = done.returncode, done.stdout, ""
        assert code == exit_code, (
            f"{block.where}: {command}\nexit code {code}\n{output}{talk}"
        )
        return output


def commands_of(text: str) -> list[str]:
    """Return the commands of a block: its lines, unless a line goes on in the next."""
    if "<<" in text:
        return [text]
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]
