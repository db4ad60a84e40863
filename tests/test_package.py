"""The package as a stranger meets it: import, wheel, documents."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import lightloom
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.instances.instance_file import parse_instance
from lightloom.validate import verify

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "changelog.d").glob("*.md"),
    ]
)


def run(*command: str, **environment: str) -> str:
    """Return the stdout of a child process that must succeed."""
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=environment.pop("cwd", None),
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fenced(document: Path, language: str) -> list[str]:
    """Return the code blocks of a language in a document."""
    text = document.read_text(encoding="utf-8")
    return re.findall(
        rf"^ *```{language}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE
    )


def test_public_classes_have_distinct_names() -> None:
    """A reader who meets the name of a class knows which one is meant."""
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "lightloom").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel out of the source distribution, as a release does."""
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build", "--no-isolation")
    run(*build, "--outdir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


def test_version_has_one_source() -> None:
    """The metadata take the version from the package, and nothing else states it."""
    assert importlib.metadata.version("lightloom") == lightloom.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"] == {"path": "lightloom/__init__.py"}


def test_import_loads_nothing_else() -> None:
    """Importing the package loads no other package and none of its own rooms."""
    code = (
        "import sys; before = set(sys.modules); import lightloom;"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = run(sys.executable, "-c", code).split()
    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert foreign == {"lightloom"}
    assert [name for name in loaded if name.startswith("lightloom.")] == []


def test_every_command_line_start_is_light() -> None:
    """The command line shows its help without numpy or anything that needs it."""
    code = (
        "import sys\nfrom lightloom.cli.main import main\nsys.argv[1:] = ['--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sorted(sys.modules))"
    )
    loaded = set(run(sys.executable, "-c", code).split())
    heavy = {"matplotlib", "msgspec", "networkx", "numpy", "rich", "scipy", "zstandard"}
    assert heavy & loaded == set()


@pytest.mark.parametrize(
    ("work", "without"),
    [
        (
            (
                "from lightloom.synth.synthesise import synthesise\n"
                "synthesise(load_instance('lightpath-16/all-reduce-1MiB'), 'lumorph-4')"
            ),
            {"pyomo", "scipy", "networkx", "highspy", "ortools"},
        ),
        (
            (
                "from lightloom.training.planner import Planner\n"
                "from lightloom.training.training_plan import TrainingRequest\n"
                "instance = load_instance('ocs-16/ncf-batch65536')\n"
                "request = TrainingRequest(model_parallel=1, replicas=16)\n"
                "Planner(instance.task).plan(instance.fabric, request)"
            ),
            {"pyomo", "networkx", "highspy", "ortools"},
        ),
    ],
    ids=["synthesis", "training"],
)
def test_work_without_solvers_loads_none(work: str, without: set[str]) -> None:
    """Imports take longer than such work does."""
    code = (
        f"import sys\nfrom lightloom.instances.catalogue import load_instance\n{work}\n"
        "print(*sorted(sys.modules))"
    )
    loaded = set(run(sys.executable, "-c", code).split())
    assert without & loaded == set()


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """Every file of the package is in the wheel, and no test or document."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {
            name
            for name in archive.namelist()
            if not name.partition("/")[0].endswith(".dist-info")
        }
        licenses = [name for name in archive.namelist() if name.endswith("/LICENSE")]
    present = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "lightloom").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert packed == present
    assert {"lightloom/py.typed", "lightloom/formats/schedule.schema.json"} <= packed
    assert len(licenses) == 1


def test_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Installed elsewhere, the program answers with the version of the package."""
    site = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--target", str(site), str(wheel))
    elsewhere = {"PYTHONPATH": str(site), "cwd": str(tmp_path)}
    where = run(
        sys.executable, "-c", "import lightloom; print(lightloom.__file__)", **elsewhere
    )
    assert Path(where.strip()).is_relative_to(site)
    program = next(site.glob("bin/lightloom*"))
    assert lightloom.__version__ in run(str(program), "--version", **elsewhere)
    assert json.loads(run(str(program), "schema", **elsewhere))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    """Every relative link of a document leads to a file, and to a heading in it."""
    text = re.sub(
        r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        path = document.parent / name if name else document
        assert path.exists(), target
        if path.suffix != ".md":
            continue
        headings = re.findall(
            r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE
        )
        anchors = {
            re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings
        }
        assert not heading or heading in anchors, target


def test_readme_is_short() -> None:
    """A newcomer reads all of it."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_readme_shows_every_key() -> None:
    """The instance of the README has every key of its fabric and its task."""
    (block,) = fenced(ROOT / "README.md", "toml")
    tables = tomllib.loads(block)
    whole = parse_instance(tables, name="README.md").table()
    assert tables["fabric"].keys() == whole["fabric"].keys()
    assert tables["collective"].keys() == whole["collective"].keys()


def test_schedule_in_the_specification_verifies() -> None:
    """The file that the specification shows is sound, hash and all."""
    block = fenced(ROOT / "docs/spec/schedule-file.md", "json")[0]
    lines = block.splitlines(keepends=True)
    digest = hashlib.sha256("".join(lines[:-1]).encode()).hexdigest()
    assert json.loads(lines[-1])["sha256"] == digest
    verdict = verify(read_schedule_stream(io.BytesIO(block.encode()), "specification"))
    assert verdict.valid, verdict.violations


def test_rooms_keep_their_walls() -> None:
    """The contract on imports between rooms holds."""
    lint = Path(sys.executable).with_name("lint-imports")
    run(
        str(lint),
        "--no-logo",
        "--no-cache",
        "--config",
        "pyproject.toml",
        cwd=str(ROOT),
    )
