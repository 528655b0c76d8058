"""The script that lists what supports_op functions name: on a small source tree, and on trees that are none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "list_supports_op.py"
CMAKE = "set(GGML_VERSION_MAJOR 0)\nset(GGML_VERSION_MINOR 25)\nset(GGML_VERSION_PATCH 3)\n"
FUNCTIONS = {
    "ggml-cpu/ggml-cpu.cpp": "ggml_backend_cpu_device_supports_op",
    "ggml-cuda/ggml-cuda.cu": "ggml_backend_cuda_device_supports_op",
    "ggml-metal/ggml-metal-device.m": "ggml_metal_device_supports_op",
    "ggml-vulkan/ggml-vulkan.cpp": "ggml_backend_vk_device_supports_op",
    "ggml-blas/ggml-blas.cpp": "ggml_backend_blas_device_supports_op",
}
BODY = """
static bool other(int op) {{ switch (op) {{ case GGML_OP_SUB: return true; }} }}
static bool {0}(dev_t dev, const struct ggml_tensor * op) {{
    if (op->op == GGML_OP_NONE) {{ return true; }}
    switch (op->op) {{
        case GGML_OP_ADD: // not case GGML_OP_MUL:
        case GGML_OP_MUL_MAT: {{ return true; }}
        /* case GGML_OP_DIV: */
        default: return false;
    }}
}}
static int after = GGML_OP_CONT;
static const struct device_i i = {{ /* .supports_op = */ {0}, }};
"""


def tree(root: Path) -> Path:
    for path, function in FUNCTIONS.items():
        file = root / "ggml" / "src" / path
        file.parent.mkdir(parents=True)
        file.write_text(BODY.format(function))
    (root / "ggml" / "CMakeLists.txt").write_text(CMAKE)
    return root


def run(path: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True, timeout=60, check=False)


def test_labels_of_the_function_alone(tmp_path: Path) -> None:
    for path in (tree(tmp_path), tmp_path / "ggml"):
        done = run(path)
        assert done.returncode == 0, done.stderr
        made = json.loads(done.stdout)
        assert made["ggml"] == "0.25.3"
        assert list(made["ops"]) == ["cpu", "cuda", "metal", "vulkan", "blas"]
        assert all(ops == ["ADD", "MUL_MAT", "NONE"] for ops in made["ops"].values())


@pytest.mark.parametrize("broken", ["nothing", "version", "function", "brace"])
def test_a_tree_that_is_none(tmp_path: Path, broken: str) -> None:
    root = tree(tmp_path)
    cuda = root / "ggml" / "src" / "ggml-cuda" / "ggml-cuda.cu"
    if broken == "nothing":
        (root / "ggml" / "CMakeLists.txt").unlink()
    elif broken == "version":
        (root / "ggml" / "CMakeLists.txt").write_text("project(ggml)")
    elif broken == "function":
        cuda.write_text("int x;")
    else:
        cuda.write_text(BODY.format(FUNCTIONS["ggml-cuda/ggml-cuda.cu"]).split("default")[0])
    done = run(root)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("list_supports_op: ")
    assert len(done.stderr.splitlines()) == 1
