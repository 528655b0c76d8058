"""Finding the wheel, and loading its shared object after the layouts have been checked.

The one module under core that knows where xllamacpp lies; it is never imported as a Python module.
"""

from __future__ import annotations

import ctypes as C
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..dtypes import DTYPES
from ..op import Op
from . import layouts as abi

WHEEL = "xllamacpp"
FILE = "xllamacpp.abi3.so"
INSTALL = "pip install xllamacpp==2026.10.11549"
HEAD = 4096
"""The notes of the shared object lie in its first page."""


class WrongBuild(Exception):
    """The wheel is not there or not the one whose layouts are written down; the message is a sentence."""


def find() -> Path:
    """The shared object of the pinned wheel.

    Raises:
        WrongBuild: another platform, no wheel, another version, or another build of that version.
    """
    import importlib.metadata  # slow to import, and the child process has no need of it
    import importlib.util

    here = f"{sys.platform} on {platform.machine()}, {platform.python_implementation()}"
    if (sys.platform, platform.machine(), sys.implementation.name) != ("linux", "x86_64", "cpython"):
        raise WrongBuild(f"the real llama.cpp is driven on Linux x86-64 with CPython only, this is {here}")
    try:
        version = importlib.metadata.version(WHEEL)
        spec = importlib.util.find_spec(WHEEL)
    except (importlib.metadata.PackageNotFoundError, ImportError, ValueError):
        version, spec = "", None
    folders = [Path(folder) for folder in (spec.submodule_search_locations if spec else None) or ()]
    found = next((folder / FILE for folder in folders if (folder / FILE).is_file()), None)
    if not version or found is None:
        raise WrongBuild(f"the wheel {WHEEL} {abi.WHEEL_VERSION} is not installed here: {INSTALL}")
    if version != abi.WHEEL_VERSION:
        raise WrongBuild(f"{WHEEL} {version} is installed, only {abi.WHEEL_VERSION} is understood: {INSTALL}")
    if build_id(found) != abi.BUILD_ID:
        raise WrongBuild(f"{found} is another build of {WHEEL} {version} than the one that is understood: {INSTALL}")
    return found


def build_id(path: Path) -> bytes:
    """NT_GNU_BUILD_ID of a shared object, empty when its first page has none."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    # a note: 4 bytes of name, 20 bytes of description, type 3, "GNU"
    start = head.find(b"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00")
    return head[start + 16 : start + 36] if start >= 0 else b""


def load(path: Path) -> C.CDLL:
    """The library with its prototypes set, checked and initialised.

    Raises:
        WrongBuild: something is not as `layouts` says.
    """
    try:
        library = C.CDLL(str(path))
        declare(library, abi.PROTOTYPES)
    except (OSError, AttributeError) as error:
        raise WrongBuild(f"the real llama.cpp cannot be loaded: {error}") from None
    wrong = differences(library)
    if wrong:
        raise WrongBuild(f"{WHEEL} {abi.WHEEL_VERSION} is not laid out as {abi.BUILD} is: {wrong[0]}")
    library.llama_backend_init()
    return library


def declare(library: C.CDLL, prototypes: Mapping[str, tuple[Any, ...]]) -> None:
    """Set result and arguments of functions.

    Raises:
        AttributeError: the library does not have one.
    """
    for name, (result, *arguments) in prototypes.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def differences(library: C.CDLL) -> list[str]:
    """What is not as expected, a sentence each: versions, struct sizes, default parameters, ops and types."""
    found = [
        f"{struct.__name__} has {C.sizeof(struct)} bytes instead of {size}"
        for struct, size in abi.SIZES.items()
        if C.sizeof(struct) != size
    ]
    for (struct, field), offset in abi.OFFSETS.items():
        if getattr(struct, field).offset != offset:
            found.append(f"{struct.__name__}.{field} is not at byte {offset}")
    version = library.ggml_version().decode()
    if version != abi.GGML_VERSION:
        found.append(f"ggml is {version} instead of {abi.GGML_VERSION}")
    if library.ggml_tensor_overhead() != abi.TENSOR_OVERHEAD:
        found.append(f"a tensor takes {library.ggml_tensor_overhead()} bytes instead of {abi.TENSOR_OVERHEAD}")
    for name, struct in (
        ("llama_model_default_params", abi.ModelParams),
        ("llama_context_default_params", abi.ContextParams),
    ):
        if written_bytes(library, name) != C.sizeof(struct):
            found.append(f"{name} writes {written_bytes(library, name)} bytes instead of {C.sizeof(struct)}")
    defaults = library.llama_context_default_params()
    model = library.llama_model_default_params()
    if (defaults.n_batch, defaults.n_ubatch, defaults.type_k, defaults.flash_attn_type) != (2048, 512, 1, -1):
        found.append("the defaults of a context are not where they were")
    if not defaults.offload_kqv or not defaults.op_offload or defaults.kv_unified or model.no_alloc:
        found.append("the switches of model or context are not where they were")
    ops = [library.ggml_op_name(i).decode() for i in range(len(Op))]
    if ops != [op.value for op in Op]:
        found.append("the ops have other numbers")
    for dtype in DTYPES.values():
        real = library.ggml_type_name(dtype.id), library.ggml_blck_size(dtype.id), library.ggml_type_size(dtype.id)
        if real != (dtype.name.encode(), dtype.block, dtype.size):
            found.append(f"type {dtype.name} is not number {dtype.id}")
    return found


def written_bytes(library: C.CDLL, name: str) -> int:
    """Bytes of the struct that a `*_default_params` function returns, rounded up to 8.

    The struct comes back in memory that the caller names in a hidden first argument: what two differently filled
    buffers agree on afterwards is the struct.
    """
    room = 1024
    function = C.CFUNCTYPE(abi.PTR, abi.PTR)(C.cast(getattr(library, name), abi.PTR).value or 0)
    seen = []
    for fill in (0xAA, 0x55):
        buffer = (C.c_ubyte * room)(*[fill] * room)
        function(C.addressof(buffer))
        seen.append(bytes(buffer))
    last = max(i for i in range(room) if seen[0][i] == seen[1][i])
    return (last + 8) // 8 * 8
