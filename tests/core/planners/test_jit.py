"""The door to numba: the same columns and records in both worlds, and compiled loops that are never stale."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from galloscope.core.planners import jit

KERNELS = Path(jit.__file__).parent / "kernels"

SAME = """
import numpy as np
from galloscope.core.planners import jit
rows = jit.records(("start", "end"), 3)
jit.write(rows, "end", np.array([4, 5, 6]))
column = jit.column(np.array([1, 2, 3]))
column[0] = 9
print(jit.COMPILED, jit.read(rows, "start").tolist(), jit.array(column).tolist(), jit.array(jit.blank(2, 7)).tolist())
"""


@pytest.mark.parametrize("plain", [True, False])
def test_columns_and_records_behave_the_same(plain: bool) -> None:
    if not plain:
        pytest.importorskip("numba")
    env = {**os.environ, "GALLOSCOPE_NO_JIT": "1" if plain else ""}
    done = subprocess.run([sys.executable, "-c", SAME], capture_output=True, text=True, env=env, check=True)
    compiled, rest = done.stdout.split(" ", 1)
    assert compiled == str(not plain)
    assert rest.strip() == "[0, 0, 0] [9, 2, 3] [7, 7]"


def test_a_column_is_a_copy() -> None:
    values = np.array([1, 2])
    jit.column(values)[0] = 5
    assert values.tolist() == [1, 2]


def test_a_kernel_belongs_to_all_files_it_is_compiled_from() -> None:
    assert jit._with_imports(KERNELS / "valley_search.py") == {
        KERNELS / "valley_search.py",
        KERNELS / "valley_runs.py",
    }


def test_compiled_loops_lie_in_a_folder_of_their_sources_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(jit, "_NUMBA", numba)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    (tmp_path / "under.py").write_text("X = 1\n")
    (tmp_path / "loop.py").write_text("from .under import X\n")
    folders = []
    for text in ("X = 1\n", "X = 2\n"):
        (tmp_path / "under.py").write_text(text)
        jit._with_imports.cache_clear()
        jit._keep_apart(tmp_path / "loop.py")
        folders.append(numba.config.CACHE_DIR)
    assert folders[0] != folders[1]
    assert [str(one) for one in (tmp_path / "__pycache__" / "compiled").iterdir()] == [folders[1]]


def test_long_compiling_is_announced_and_short_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(jit, "COMPILED", True)
    with jit.first_use(said.append):
        pass
    assert said == []
    monkeypatch.setattr(jit, "SLOW_COMPILE", 0.0)
    with jit.first_use(said.append):
        for _ in range(200):
            if said:
                break
            time.sleep(0.01)
    assert len(said) == 1
    assert "compiling" in said[0]
