"""The tables of docs/planners.md are what the planners reach today; some rows are made again."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from galloscope.app.samples import buffer_samples, find_sample
from galloscope.core.planners.known import PLANNERS

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tables() -> Any:
    spec = importlib.util.spec_from_file_location("planner_table", ROOT / "scripts" / "planner_table.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(tables: Any) -> list[str]:
    lines: list[str] = tables.OUT.read_text(encoding="utf-8").split("\n")
    return lines


@pytest.mark.parametrize("name", ["llama-prefill-fa1-reserve", "llama_4l-g2full-prefill-fa1-reserve"])
def test_rows_of_samples(name: str, tables: Any, page: list[str]) -> None:
    rows = tables.sample_table(tables.rows_of(find_sample(name).path, name)).split("\n")
    assert [line for line in page if line.startswith((rows[0], f"| {name} |"))] == [rows[0], *rows[2:]]


@pytest.mark.parametrize(("model", "mode"), [("mixtral", "prefill"), ("phi3", "decode")])
def test_rows_of_captures(model: str, mode: str, tables: Any, page: list[str]) -> None:
    paths = {name: path for name, path in tables.golden_paths().items() if name.startswith(model) and mode in name}
    rows = tables.golden_table([row for name, path in paths.items() for row in tables.rows_of(path, name)]).split("\n")
    assert [line for line in page if line.startswith((rows[0], f"| {model} | {mode} |"))] == [rows[0], *rows[2:]]


def test_all_planners_are_told(tables: Any, page: list[str]) -> None:
    table = tables.planner_table().split("\n")
    assert len(table) == len(PLANNERS) + 2
    assert [line for line in page if line in table] == table


def test_every_number_in_the_tables_is_a_ratio_of_at_least_one(page: list[str]) -> None:
    """A plan below the bound would be wrong, and best above ggml no best."""
    rows = [line.split(" | ") for line in page if line.count(" | ") == 7 and "-reserve" in line]
    assert len(rows) > 40
    for row in rows:
        ggml, in_time, best = (float(cell.rstrip("?")) for cell in row[4:7])
        assert 1 <= best <= min(ggml, in_time)


def test_the_samples_it_names_exist(page: list[str]) -> None:
    text = "\n".join(page)
    assert all(f"{one.name}.csv" not in text or one.path.is_file() for one in buffer_samples())
    for word in text.split():
        if word.strip("`.").startswith("sample_"):
            assert (ROOT / word.strip("`.,;:")).exists()
