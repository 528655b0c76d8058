"""Writes tests/golden/devices/answers.json.gz: what ggml's own GPU backends say about ops, without such a GPU.

    python scripts/record_device_answers.py PATH/TO/llama.cpp

The functions supports_op and get_alloc_size of ggml-metal, ggml-vulkan, ggml-cuda and ggml-blas are cut out of a source
tree of ggml 0.25.3 (the source distribution of llama-cpp-python has one in ``vendor/llama.cpp``), compiled with g++
around stubs (`device_answers.cpp`) and asked about the ops of the rule tables in tests/core/devices, changed at random.
The library of the extra `test` gives ggml's base functions. A test compares the profiles with the answers; it needs
none of this. The same tree and the same rule tables give the same file.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import importlib.util
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from galloscope.core.devices.known import device
from galloscope.core.devices.profile import anything, unknown
from galloscope.core.devices.seen import Seen
from galloscope.core.dtypes import DTYPES, contiguous
from galloscope.core.llama.options import DeviceSpec
from galloscope.core.op import Op
from galloscope.tests.core.devices import test_blas, test_cpu, test_cuda, test_metal, test_vulkan
from galloscope.tests.core.devices.answers import PATH, Answered, op_json

HERE = Path(__file__).resolve().parent
EXTRACTED = {
    "ggml-vulkan/ggml-vulkan.cpp": (
        "static bool ggml_vk_matmul_shmem_support",
        "bool ggml_vk_lightning_indexer_k_type_supported",
        "bool ggml_vk_concat_supported",
        "bool ggml_vk_dim01_contiguous",
        "static bool ggml_backend_vk_device_supports_op",
    ),
    "ggml-blas/ggml-blas.cpp": ("static bool ggml_backend_blas_device_supports_op",),
    "ggml-metal/ggml-metal-common.cpp": (
        "static bool ggml_metal_fwht_supported_size",
        "bool ggml_metal_op_mul_mat_use_fwht",
        "bool ggml_metal_op_mul_mat_use_mm",
        "bool ggml_metal_op_mul_mat_id_use_mm",
    ),
    "ggml-metal/ggml-metal-device.m": (
        "static bool ggml_metal_supports_mul_mat_op",
        "bool ggml_metal_device_supports_op",
    ),
    "ggml-metal/ggml-metal-ops.cpp": (
        "size_t ggml_metal_op_mul_mat_id_extra_tpe",
        "size_t ggml_metal_op_mul_mat_id_extra_ids",
        "size_t ggml_metal_op_mul_mat_id_extra_amax",
        "bool ggml_metal_op_flash_attn_ext_use_vec",
        "static bool ggml_metal_op_flash_attn_ext_use_kv_f16",
        "static int ggml_metal_op_flash_attn_ext_n_kv_max_sparse",
        "static bool ggml_metal_op_flash_attn_ext_v_is_view_of_k",
        "static size_t ggml_metal_op_flash_attn_ext_kv_f16_k_size",
        "size_t ggml_metal_op_flash_attn_ext_extra_pad",
        "size_t ggml_metal_op_flash_attn_ext_extra_blk",
        "size_t ggml_metal_op_flash_attn_ext_extra_tmp",
        "size_t ggml_metal_op_flash_attn_ext_extra_kv_f16",
        "size_t ggml_metal_op_flash_attn_ext_extra_idx",
    ),
    "ggml-metal/ggml-metal.cpp": ("static size_t ggml_backend_metal_buffer_type_get_alloc_size",),
    "ggml-cuda/fattn-mma-f16.cuh": (
        "static constexpr __host__ __device__ bool ggml_cuda_flash_attn_ext_mma_f16_may_use_sparse",
    ),
    "ggml-cuda/fattn-common.cuh": (
        "static inline ggml_cuda_flash_attn_ext_f16_extra_data ggml_cuda_flash_attn_ext_get_f16_extra_data",
    ),
    "ggml-cuda/fattn.cu": (
        "bool ggml_cuda_flash_attn_ext_mma_f16_shall_use_sparse",
        "static bool ggml_cuda_fattn_kv_type_supported",
        "static best_fattn_kernel ggml_cuda_get_best_fattn_kernel",
        "size_t ggml_cuda_flash_attn_ext_get_alloc_size",
        "bool ggml_cuda_flash_attn_ext_supported",
    ),
    "ggml-cuda/lightning-indexer.cu": ("bool ggml_cuda_lightning_indexer_supported",),
    "ggml-cuda/fwht.cu": ("bool ggml_cuda_op_mul_mat_use_fwht",),
    "ggml-cuda/ggml-cuda.cu": (
        "static bool ggml_backend_cuda_device_supports_op",
        "static size_t ggml_backend_cuda_buffer_type_get_alloc_size",
    ),
}
"""File below ggml/src -> how the functions begin, in an order in which each finds what it calls."""

TYPES = {
    "ggml-vulkan/ggml-vulkan-types.h": ("static constexpr std::array<ggml_type, 9> lightning_indexer_k_types",),
    "ggml-cuda/fattn-common.cuh": ("struct ggml_cuda_flash_attn_ext_f16_extra_data",),
    "ggml-cuda/fattn.cu": ("enum best_fattn_kernel",),
}
"""The types and tables that those need."""

INSTEAD = {
    # Two assertions about graphs that nobody can build.
    "GGML_ASSERT(Q->ne[2] % K->ne[2] == 0);": "if (Q->ne[2] % K->ne[2]) { return BEST_FATTN_KERNEL_NONE; }",
    "GGML_ASSERT(tensor->nb[0] == ggml_element_size(tensor));": "",
}
"""What is changed in the extracted text."""

ASKED = {"metal": 0, "vulkan": 1, "blas": 2, "cuda": 3}
SIZED = {"metal": 4, "cuda": 5}
LIMITS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("metal", "simdgroup_mm", (1, 0)),
    ("metal", "simdgroup_reduction", (1, 0)),
    ("metal", "bfloat", (1, 0)),
    ("metal", "threadgroup_memory", (32768, 16384)),
    ("cuda", "cc", (890, 610, 700, 750, 860, 1200)),
    ("vulkan", "align", (16, 4, 64)),
    ("vulkan", "max_buffer_size", (1 << 32, 1 << 14)),
    ("vulkan", "max_storage_range", ((1 << 32) - 1, 1 << 14)),
    ("vulkan", "shader_64bit_indexing", (0, 1)),
    ("vulkan", "buffer_device_address", (1, 0)),
    ("vulkan", "shared_memory", (49152, 8192, 512)),
    ("vulkan", "workgroup_size", (1024, 256, 1000)),
    ("vulkan", "subgroup_size", (32, 8, 64)),
    *(("vulkan", f"subgroup_{one}", (1, 0)) for one in ("basic", "arithmetic", "shuffle", "vote", "full")),
    ("vulkan", "vulkan_memory_model", (1, 0)),
    ("vulkan", "fp16", (1, 0)),
    ("vulkan", "coopmat2", (0, 1)),
)
"""Device, limit and its values, the usual one first; in the order of `limits` in device_answers.cpp."""

DIMENSIONS = (1, 2, 3, 4, 7, 8, 9, 16, 20, 24, 31, 32, 33, 64, 72, 96, 100, 128, 192, 256, 320, 512, 576, 1024, 4096)
TRIALS = 40_000
MOST = 3
"""Cases kept per device, op, answer and kind of reason."""


def extract(source: str, start: str) -> str:
    """A definition by how it begins, to its closing brace; comments are dropped, they may hold lone braces."""
    text = re.sub(r"//[^\n]*", "", source)
    begin = text.index(start)
    depth = 0
    for at in range(text.index("{", begin), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[begin : at + 1]
    raise ValueError(f"{start} has no end")


def compiled(tree: Path, folder: Path) -> ctypes.CDLL:
    """The stubs with ggml's functions in them, as a loaded library."""
    root = tree / "ggml"
    parts = [
        extract((root / "src" / path).read_text(encoding="utf-8"), start) + tail
        for table, tail in ((TYPES, ";\n"), (EXTRACTED, "\n"))
        for path, starts in table.items()
        for start in starts
    ]
    text = "\n".join(parts)
    # The device's context is the stub's only one.
    text = re.sub(r"(ggml_backend_\w+_context) \* (\w+) = \([^;]*->context;", r"\1 only{0}; \1 * \2 = &only;", text)
    for old, new in INSTEAD.items():
        text = text.replace(old, new)
    # `new` is no name in C++ for a macro to declare, and nothing reads those locals.
    text = re.sub(r"GGML_TENSOR_LOCALS\(\w+,\s*(?:new|nb[wm]|nem|n[eb]|nek|nb[qk]),[^\n]*", "", text)
    (folder / "extracted.inc").write_text(text, encoding="utf-8")
    made = folder / "answers.so"
    include = [f"-I{folder}", f"-I{root / 'include'}", f"-I{root / 'src'}"]
    line = ["g++", "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-DNDEBUG", *include]
    subprocess.run([*line, str(HERE / "device_answers.cpp"), "-o", str(made)], check=True)
    found = importlib.util.find_spec("xllamacpp")
    if found is None or found.origin is None:
        raise ValueError("the xllamacpp wheel of the extra 'test' is not installed")
    ctypes.CDLL(str(next(Path(found.origin).parent.glob("*.so"))), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(made))
    library.ask.restype = ctypes.c_int64
    return library


def op_numbers(tree: Path) -> dict[str, int]:
    """enum ggml_op of the source tree, which is older than the library's."""
    header = (tree / "ggml" / "include" / "ggml.h").read_text(encoding="utf-8")
    return {name: number for number, name in enumerate(re.findall(r"GGML_OP_(\w+)", extract(header, "enum ggml_op {")))}


def seeds() -> dict[str, list[tuple[Seen, str]]]:
    """The ops of the rule tables by device, each with words of its refusal, "" for none."""
    tables = {"metal": test_metal, "vulkan": test_vulkan, "blas": test_blas}
    found = {name: [(row.op, row.words) for row in table.ROWS] for name, table in tables.items()}
    found |= {name: list(table.CASES.values()) for name, table in (("cuda", test_cuda), ("cpu", test_cpu))}
    return found


def with_owners(op: Seen) -> Seen:
    """The op with a storage of its own for each source, numbered from 1."""
    return replace(op, src=tuple(one and replace(one, owner=at + 1) for at, one in enumerate(op.src)))


def slots(op: Seen) -> frozenset[int]:
    """The source slots that are filled."""
    return frozenset(slot for slot, one in enumerate(op.src) if one is not None)


def changed(op: Seen, dice: random.Random) -> Seen:
    """The op with a part of it changed, or a word of its parameters."""
    if dice.random() < 0.15:
        params = [*op.op_params, *[0] * 5][:5]
        params[dice.randrange(5)] = dice.choice((0, 1, 2, 10, 100, 512, 4097, 1 << 30))
        return replace(op, op_params=tuple(params))
    slot = dice.choice([-1, *sorted(slots(op))])
    if slot < 0:
        return _part(op, dice)
    source = op.need(slot)
    if dice.random() < 0.1:  # a view of source 1, such as V of K, or of something else
        other = replace(
            source, is_view=True, owner=-1 if slot == 1 else dice.choice((-1, 2)), offset=dice.choice((0, 8, 64))
        )
    else:
        other = _part(source, dice)
    return replace(op, src=(*op.src[:slot], other, *op.src[slot + 1 :]))


def _part(one: Seen, dice: random.Random) -> Seen:
    roll = dice.random()
    if roll < 0.35:
        dtype = DTYPES[dice.choice(list(DTYPES))]
        ne = (max(one.ne[0] // dtype.block, 1) * dtype.block, *one.ne[1:])
        return replace(one, dtype=dtype, ne=ne, nb=contiguous(dtype, ne))
    if roll < 0.65:
        sizes = list(one.ne)
        sizes[dice.randrange(4)] = dice.choice(DIMENSIONS)
        sizes[0] = max(sizes[0] // one.dtype.block, 1) * one.dtype.block
        n0, n1, n2, n3 = sizes
        return replace(one, ne=(n0, n1, n2, n3), nb=contiguous(one.dtype, (n0, n1, n2, n3)))
    steps = list(one.nb)
    for at in range(dice.randrange(4), 4):
        steps[at] *= 2
    if dice.random() < 0.3:
        dice.shuffle(steps)
    b0, b1, b2, b3 = steps
    return replace(one, nb=(b0, b1, b2, b3))


class Asker:
    """ggml's answers about an op."""

    def __init__(self, tree: Path, folder: Path) -> None:
        """Compile and load."""
        self.library, self.numbers = compiled(tree, folder), op_numbers(tree)

    def __call__(self, what: int, op: Seen, limits: list[int]) -> int:
        """One answer of `ask` in device_answers.cpp."""
        words: list[int] = []
        for number, one in enumerate((op, *(op.source(slot) for slot in range(10)))):
            words += self._tensor(number, one)
        return int(self.library.ask(what, (ctypes.c_int64 * len(words))(*words), (ctypes.c_int64 * 32)(*limits)))

    def _tensor(self, number: int, one: Seen | None) -> list[int]:
        if one is None:
            return [0] * 29
        storage = (2 if one.owner == 2 and number != 2 else 11) if one.is_view else -1  # source 1 is tensor 2
        params = [*one.op_params, *[0] * 16][:16]
        return [1, one.dtype.id, self.numbers[one.op.value], *one.ne, *one.nb, storage, one.offset, *params]


def cases(asker: Asker) -> Iterator[Answered]:
    """Ops with ggml's answers, so many of each kind that every rule is met often from both sides."""
    dice = random.Random(20260925)
    kept: Counter[tuple[str, ...]] = Counter()
    tables = seeds()
    known = sorted((with_owners(op) for table in tables.values() for op, _ in table), key=repr)  # tables hold sets
    enough: dict[tuple[str, Op], set[frozenset[int]]] = {}
    for name, table in tables.items():
        for op, words in table:
            if not words:
                enough.setdefault((name, op.op), set()).add(slots(op))
    for trial in range(TRIALS):
        op = known[trial % len(known)]
        for _ in range(min(trial // len(known), 3)):
            op = changed(op, dice)
        limits = [dice.choice(values) if dice.random() < 0.05 else values[0] for _, _, values in LIMITS]
        answered = Answered(op, {}, {}, {})
        for (name, limit, values), value in zip(LIMITS, limits, strict=True):
            if value != values[0]:
                answered.limits.setdefault(name, {})[limit] = value
        wanted = False
        for name, what in ASKED.items():
            profile = device(DeviceSpec(name, None, answered.limits.get(name, {})))
            whole = any(filled <= slots(op) for filled in enough.get((name, op.op), ()))
            if not whole and profile.rules.get(op.op, unknown) not in (anything, unknown):
                continue  # ggml would follow a null pointer
            reason = profile.supports(op)
            answered.supports[name] = bool(asker(what, op, limits) & 1)
            kind = (name, op.op.value, str(answered.supports[name]), re.sub(r"[\d,.]+|[a-z0-9]+_\w+", "", reason))
            kept[kind] += 1
            wanted = wanted or kept[kind] <= MOST
            if name in SIZED and op.op in profile.extra and whole and answered.supports[name]:
                answered.sizes[name] = asker(SIZED[name], op, limits)
        if wanted:
            yield answered


def main() -> int:
    """Record; 2 with a sentence when that is not possible."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a llama.cpp source tree with ggml 0.25.3")
    tree = parser.parse_args().tree
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = list(cases(Asker(tree, Path(folder))))
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"record_device_answers: {error}", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = [op_json(one) for one in found]
    PATH.write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{len(rows)} ops in {PATH.name}, {PATH.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
