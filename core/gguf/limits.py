"""The largest header that is read. Checked before memory is taken; each is far above what any published model has."""

from __future__ import annotations

MAX_HEADER = 256 << 20
"""Bytes of metadata and tensor table, over all parts of a split file. A 262k-token Gemma 3 has 6 MiB."""
MAX_TENSORS = 100_000
"""Tensors over all parts. The largest published models have a few thousand."""
MAX_KEYS = 100_000
"""Metadata entries of one file. Published models have 20 to 100."""
MAX_ELEMENTS = 8 << 20
"""Elements of one array, and of all arrays of strings together. The largest vocabularies: 0.3 million
tokens and 0.5 million merges."""
MAX_INNER = 1 << 16
"""Arrays inside arrays of one file. No published model has any."""
MAX_TEXT = 64 << 20
"""Bytes of all names, keys and strings that are kept. A `tokenizer.huggingface.json` takes up to 33 MB."""
MAX_DEPTH = 8
"""Levels of arrays inside arrays."""
MAX_NAME = 63
"""Bytes of a tensor's name: GGML_MAX_NAME less the closing zero."""
MAX_PARTS = 1000
"""Files of one split model."""
MAX_BYTES = 1 << 53
"""Bytes of a model with its data (8 PiB): up to here a double, and so JavaScript, holds every byte position."""
MAX_INT64 = 2**63 - 1
"""Elements of a tensor; gguf.cpp has the same limit."""

SHORT_ARRAY = 1024
"""Elements up to which an array is turned into a tuple; LLAMA_MAX_LAYERS is 512."""
SHORT_ARRAYS = 1 << 18
"""Elements of all tuples together; arrays after that are kept as a LazyArray, however short."""

SMALLEST_ENTRY = 14
"""Bytes of the smallest metadata entry: length 8, key 1, type 4, value 1."""
SMALLEST_TENSOR = 24
"""Bytes of the smallest row of the tensor table: length 8, number of dimensions 4, type 4, offset 8."""
