"""A model's header without its vocabulary, in a file that exists in memory only and is as long as the model.

llama.cpp builds the same graph from it: the number of tokens stands in `<architecture>.vocab_size`, and a vocabulary of
type `no_vocab` is not read. A vocabulary of 262,000 tokens costs llama.cpp two seconds otherwise. A split model becomes
one file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..gguf.header import Header
from ..gguf.read import parse_header
from ..gguf.values import ARR, U32, VALUE_TYPES, LazyArray, Value
from ..gguf.write import Given, Typed, header_bytes

KEPT_TOKENIZER_KEYS = ("tokenizer.ggml.token_type_count",)
"""The only ones that llama.cpp looks at when there is no vocabulary."""
TOKENS, TOKENIZER = "tokenizer.ggml.tokens", "tokenizer.ggml.model"
DROPPED = ("tokenizer.", "split.", "general.")
KEPT = ("general.architecture", "general.file_type", "general.name", "general.type", *KEPT_TOKENIZER_KEYS)


def slim(header: Header) -> bytes:
    """The bytes of such a header."""
    metadata: dict[str, Given] = {}
    for key, value in header.metadata.items():
        if key in KEPT or not key.startswith(DROPPED):
            given = _given(header.types[key], value)
            if given is not None:
                metadata[key] = given
    tokens = header.metadata.get(TOKENS)
    tokenizer = header.metadata.get(TOKENIZER)
    if isinstance(tokenizer, str):
        metadata[TOKENIZER] = "no_vocab"
    elif tokenizer is not None and (given := _given(header.types[TOKENIZER], tokenizer)) is not None:
        metadata[TOKENIZER] = given  # llama.cpp says what is wrong with it
    if isinstance(tokens, (tuple, LazyArray)):
        metadata[f"{header.architecture}.vocab_size"] = Typed(U32, len(tokens))
    rows = [(tensor.name, tensor.dtype, tensor.ne[: max(1, tensor.n_dims)]) for tensor in header.tensors]
    return header_bytes(metadata, rows)


@contextmanager
def model_in_memory(header: Header) -> Iterator[int]:
    """A file descriptor of the slim header, with a hole where the tensors would be; it leaves nothing behind."""
    data = slim(header)
    size = parse_header(data, "the header without its vocabulary").file_bytes
    descriptor = os.memfd_create("galloscope")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
        os.ftruncate(descriptor, size)
        yield descriptor
    finally:
        os.close(descriptor)


def _given(kind: str, value: Value) -> Given | None:
    """The value with the type it has in the file; None for an array of arrays, which llama.cpp does not read."""
    if isinstance(value, LazyArray):
        return None if value.type is ARR else Typed(value.type, value.read())
    if isinstance(value, tuple):
        element = VALUE_TYPES[kind.removeprefix("arr[").split("]")[0].split("[")[0]]
        return None if element is ARR else Typed(element, value)
    return Typed(VALUE_TYPES[kind], value)
