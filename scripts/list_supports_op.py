"""Lists the ops that each backend's supports_op names, from a llama.cpp or ggml source tree, as JSON.

    python scripts/list_supports_op.py PATH/TO/llama.cpp > tests/golden/devices/supports_op.json

The listing is committed: a test compares it with the device profiles and names every op that a profile neither rules
on nor leaves out with a reason. Run it again on a newer source tree to see what a new version adds. The source is in
the source distribution of llama-cpp-python (``vendor/llama.cpp``). Only the standard library is imported.
"""

import argparse
import json
import re
import sys
from pathlib import Path

FUNCTIONS = {
    "cpu": ("ggml-cpu/ggml-cpu.cpp", "ggml_backend_cpu_device_supports_op"),
    "cuda": ("ggml-cuda/ggml-cuda.cu", "ggml_backend_cuda_device_supports_op"),
    "metal": ("ggml-metal/ggml-metal-device.m", "ggml_metal_device_supports_op"),
    "vulkan": ("ggml-vulkan/ggml-vulkan.cpp", "ggml_backend_vk_device_supports_op"),
    "blas": ("ggml-blas/ggml-blas.cpp", "ggml_backend_blas_device_supports_op"),
}
"""Profile -> file below ggml/src and the function in it."""

_LABEL = re.compile(r"case\s+GGML_OP_([A-Z0-9_]+)\s*:|->op\s*==\s*GGML_OP_([A-Z0-9_]+)")
"""A case label, or a comparison of the op in front of the switch."""
_VERSION = re.compile(r"set\(GGML_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)\)")


def body_of(source: str, function: str) -> str:
    """The text of a function between its braces; comments and string literals may not hold a lone brace.

    Raises:
        ValueError: the source does not define it.
    """
    found = re.search(rf"\b{function}\s*\([^;{{]*\{{", source)
    if found is None:
        raise ValueError(f"{function} is not defined")
    depth, start = 1, found.end()
    for at in range(start, len(source)):
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        if not depth:
            return source[start:at]
    raise ValueError(f"{function} has no end")


def labels(body: str) -> list[str]:
    """The ops that the body names, sorted."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", body, flags=re.DOTALL)
    return sorted({first or second for first, second in _LABEL.findall(text)})


def listing(tree: Path) -> dict[str, object]:
    """The version of ggml and the ops by profile.

    Raises:
        ValueError: the tree is not one of llama.cpp or ggml, or lacks one of the functions.
        OSError: a file cannot be read.
    """
    root = tree / "ggml" if (tree / "ggml" / "CMakeLists.txt").is_file() else tree
    version = _VERSION.findall((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    if len(version) != 3:
        raise ValueError(f"{root / 'CMakeLists.txt'} does not set GGML_VERSION_MAJOR, MINOR and PATCH")
    ops = {
        name: labels(body_of((root / "src" / path).read_text(encoding="utf-8"), function))
        for name, (path, function) in FUNCTIONS.items()
    }
    functions = {name: f"{function} ({path})" for name, (path, function) in FUNCTIONS.items()}
    return {"ggml": ".".join(version), "functions": functions, "ops": ops}


def main() -> int:
    """Print the listing; 2 with a sentence when the tree cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a llama.cpp or ggml source tree")
    try:
        made = listing(parser.parse_args().tree)
    except (OSError, ValueError) as error:
        print(f"list_supports_op: {error}", file=sys.stderr)
        return 2
    print(json.dumps(made, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
