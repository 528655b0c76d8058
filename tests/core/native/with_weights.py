"""The golden header-only models with made-up weights, so that llama.cpp and galloscope can compute with them."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf.constants import GGMLQuantizationType
from gguf.quants import quantize

from galloscope.core.dtypes import DType
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import read_header
from galloscope.core.llama.options import FlashAttn, Options
from galloscope.tests.core.native.support import MODELS

SCALE = 0.1
"""Standard deviation of the weights, as in models that nobody trained."""
BUILT = (
    "gemma3", "llama", "llama_4l", "llama_q4_tied", "llama_q8", "llama_ropefreqs", "mixtral", "phi3", "qwen2", "qwen3",
    "qwen3moe",
)  # fmt: skip
"""Models of architectures that galloscope builds itself."""
PROMPTS = ((7, 3, 99, 12, 200), (1, 2, 3, 4, 5, 6, 7, 8, 9), tuple(range(100, 116)))
"""Three prompts of 5, 9 and 16 tokens; the vocabularies have 256."""


def with_weights(name: str, folder: Path, seed: int = 0) -> Path:
    """A golden model with normal weights; the file is made anew in `folder`."""
    path = folder / f"{name}.gguf"
    path.write_bytes(filled(read_header(MODELS / f"{name}.gguf"), seed))
    return path


def filled(header: Header, seed: int = 0) -> bytes:
    """A header of one part with normal weights behind it."""
    part, random = header.parts[0], np.random.default_rng(seed)
    data = bytearray(part.source.read(0, part.header_bytes))
    for tensor in header.tensors:
        values = random.standard_normal(tensor.ne[::-1], dtype=np.float32) * SCALE
        if tensor.name.endswith("ssm_a"):
            values = -np.abs(values)  # a state that decays
        data += bytes(part.data_offset + tensor.offset - len(data))
        data += _encoded(values, tensor.dtype)
    return bytes(data)


def _encoded(values: npt.NDArray[np.float32], dtype: DType) -> bytes:
    made: bytes = quantize(values, GGMLQuantizationType(dtype.id)).tobytes()
    return made


def options(flash_attn: FlashAttn, **changed: object) -> Options:
    """A small context and micro-batch."""
    values: dict[str, object] = {"n_ctx": 256, "n_batch": 256, "n_ubatch": 32, "flash_attn": flash_attn, **changed}
    return Options(**values)  # type: ignore[arg-type]
