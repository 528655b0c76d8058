"""The house: what is installed equals what is on disk, imports point one way, files stay small, documents stay true."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

ROOT = Path(__file__).resolve().parent.parent
CODE = ("core", "app")
MOST_LINES = 400

# Where an import may point; the longest rule that fits the importer holds. A name stands for all below it.
STORY = ("events", "graph", "log", "replay", "tensor", "op", "dtypes", "errors", "columns")
ALLOWED = {
    "core": ("core",),
    "app.figures": ("core", "app.figures"),
    "app.report": ("core", "app.figures", "app.report"),
    "app": ("core", "app"),
}
# Who may not be imported by whom although the table above lets it.
FORBIDDEN = {
    **{f"core.{module}": ("core.scheduler", "core.allocator", "core.session", "core.files") for module in STORY},
    "core.allocator": ("core.scheduler", "core.session", "core.files"),
    "core.scheduler": ("core.session", "core.files"),
    "core.devices": ("core.scheduler", "core.allocator", "core.session", "core.files"),
    "app.figures": ("dash", "flask"),
    "app.report": ("dash", "flask", "app.views"),
}
CORE_NEVER = ("dash", "dash_ag_grid", "dash_mantine_components", "flask", "plotly", "galloscope.app")
ONE_MODULE_ONLY = ("cupy", "xllamacpp", "numba")


def python_files() -> list[Path]:
    return [path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py"))]


def module_name(path: Path) -> str:
    """``core.files.graph_json`` for the file, ``core.files`` for its ``__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Every name that a file imports, galloscope's own without the ``galloscope.`` in front."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{start}.{alias.name}" if start else alias.name for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("galloscope.") for name in names)


def is_below(name: str, above: str) -> bool:
    return name == above or name.startswith(above + ".")


def best_rule(name: str, rules: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    fitting = [rule for rule in rules if is_below(name, rule)]
    return rules[max(fitting, key=len)] if fitting else ()


def test_every_folder_with_code_is_packaged() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    on_disk = {"galloscope"} | {f"galloscope.{module_name(path.parent / '__init__.py')}" for path in python_files()}
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(on_disk)


def test_every_folder_with_code_has_an_init() -> None:
    without = {path.parent for path in python_files() if not (path.parent / "__init__.py").exists()}
    assert not without


def test_the_root_is_only_the_package() -> None:
    assert [path.name for path in ROOT.glob("*.py")] == ["__init__.py"]
    imported = [name for name in imports(ROOT / "__init__.py") if name.split(".")[0] in CODE]
    assert not imported, "the root must import nothing of its own: it is read before anything is installed"


@pytest.mark.parametrize("path", python_files(), ids=module_name)
def test_imports_point_one_way(path: Path) -> None:
    me = module_name(path)
    own = [name for name in imports(path) if name.split(".")[0] in CODE]
    astray = [name for name in own if not any(is_below(name, target) for target in best_rule(me, ALLOWED))]
    astray += [name for name in imports(path) if any(is_below(name, target) for target in best_rule(me, FORBIDDEN))]
    if me.startswith("core"):
        astray += [name for name in imports(path) if any(is_below(name, never) for never in CORE_NEVER)]
    assert not astray


@pytest.mark.parametrize("library", ONE_MODULE_ONLY)
def test_optional_libraries_have_one_door(library: str) -> None:
    users = [module_name(path) for path in python_files() if any(is_below(name, library) for name in imports(path))]
    assert len(users) <= 1


def test_files_stay_small() -> None:
    sources = [*python_files(), *(p for p in (ROOT / "assets").rglob("*") if p.suffix in (".js", ".css"))]
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in sources}
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def makefile_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_documented_make_commands_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`|\$ |&& )make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert named, f"{name} tells no make command"
    assert named <= makefile_targets()


def test_make_help_lists_every_target_a_person_calls() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make ([a-z-]+)", listed, re.MULTILINE)) == makefile_targets() - {"browser"}


def test_version_is_said_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    said = re.search(r'^__version__ = "(.+)"$', (ROOT / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert said is not None
    assert said[1] == project["project"]["version"]
