"""Outputs are looked at before the work is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.cli.files import check_output, output_folder
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder."""
    monkeypatch.chdir(tmp_path)


def test_what_is_read_is_not_written(tmp_path: Path) -> None:
    """A file that is read is not overwritten, also under another name for it."""
    (tmp_path / "in.toml").write_text("mine", encoding="utf-8")
    (tmp_path / "link.toml").symlink_to("in.toml")
    for name in ("in.toml", "./in.toml", "link.toml", str(tmp_path / "in.toml")):
        with pytest.raises(InputError, match=r"^--output: this would overwrite"):
            check_output(name, "--output", "in.toml")
    check_output("other.toml", "--output", "in.toml", "lightpath-4/all-gather-1KiB")
    check_output("-", "--output", "-")


@pytest.mark.parametrize(
    ("name", "says"),
    [("", "--output: the name of the file is empty"), (".", "folder"), ("no/x", "no")],
)
def test_what_cannot_be_written(name: str, says: str) -> None:
    """A path that cannot be written is refused, and nothing is created."""
    with pytest.raises(InputError, match=says):
        check_output(name, "--output")


def test_folders(tmp_path: Path) -> None:
    """One that is there or can be made; a file in its way is named."""
    assert not output_folder("new/one", "--out").exists()
    assert output_folder(str(tmp_path), "--out") == tmp_path
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for name in ("file", "file/below"):
        with pytest.raises(InputError, match=r"^--out: file is a file; .*a folder"):
            output_folder(name, "--out")
    with pytest.raises(InputError, match=r"^--out: the name of the folder is empty"):
        output_folder("", "--out")
