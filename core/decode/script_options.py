"""The context and the model parameters of a script as options of llama.cpp, and messages about them in its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..dtypes import DTYPES, DType
from ..errors import InputError, nearest
from ..llama.flags import CACHE_TYPES
from ..llama.options import DeviceSpec, FlashAttn, Options, Override, Pooling, SplitMode
from .script import Script

CPU = "CPU"
"""The buffer type of an override that names none."""

_KEYS = {
    "-c": "context.n_ctx",
    "-b": "context.n_batch",
    "-ub": "context.n_ubatch",
    "-np": "context.n_seq_max",
    "-fa": "context.flash_attn",
    "-ctk": "context.type_k",
    "-ctv": "context.type_v",
    "-ngl": "model_params.n_gpu_layers",
    "-ot": "model_params.tensor_override",
}
_FLAG = re.compile(r"(?<![\w-])-(?:ctk|ctv|ngl|ub|np|fa|ot|c|b)(?![\w-])")


def script_options(script: Script, devices: tuple[DeviceSpec, ...]) -> Options:
    """What llama.cpp is asked for, before it rounds and limits.

    Args:
        script: checked by `read.py`, or made by hand.
        devices: the profiles of its devices.

    Raises:
        InputError: a value that is not known, or one that llama.cpp refuses whatever the model.
    """
    given, model = script.context, script.model_params
    n_batch = given.n_ubatch if given.n_batch is None else given.n_batch
    if not n_batch:
        raise InputError("context.n_batch and context.n_ubatch are 0: a batch has at least one token")
    if given.pooling_type not in [one.value for one in Pooling]:
        raise InputError(f"context.pooling_type is {given.pooling_type}, enum llama_pooling_type goes from -1 to 4")
    return Options(
        devices=devices,
        n_ctx=given.n_ctx,
        n_batch=n_batch,
        n_ubatch=given.n_ubatch,
        n_seq_max=given.n_seq_max,
        n_outputs=given.n_outputs_max or None,
        flash_attn=FlashAttn(given.flash_attn),
        type_k=_cache_type("type_k", given.type_k),
        type_v=_cache_type("type_v", given.type_v),
        n_gpu_layers=model.n_gpu_layers,
        split_mode=SplitMode(model.split_mode),
        overrides=read_overrides(model.tensor_override),
        offload_kqv=given.offload_kqv,
        op_offload=given.op_offload,
        swa_full=given.swa_full,
        kv_unified=given.kv_unified,
        pooling=Pooling(given.pooling_type),
    )


def in_script_words(text: str) -> str:
    """A sentence about llama.cpp's flags as one about the keys of a script.

    >>> in_script_words("-ub 64 is limited to 32 by -b")
    'context.n_ubatch 64 is limited to 32 by context.n_batch'
    """
    return _FLAG.sub(lambda found: _KEYS[found[0]], text)


@contextmanager
def script_words() -> Iterator[None]:
    """Errors about flags become errors about keys of the script.

    Raises:
        InputError: the same, in those words.
    """
    try:
        yield
    except InputError as error:
        raise InputError(in_script_words(str(error))) from None


def _cache_type(key: str, name: str) -> DType:
    if name not in CACHE_TYPES:
        raise InputError(
            f"context.{key} is {name!r}, no type of a cache{nearest(name, CACHE_TYPES)}: {', '.join(CACHE_TYPES)}"
        )
    return DTYPES[name]


def read_overrides(text: str) -> tuple[Override, ...]:
    """`REGEX`, `REGEX -> BUFFER`, several with commas.

    Raises:
        InputError: a part has no pattern, or no buffer type behind its arrow.
    """
    found = []
    for part in text.split(",") if text.strip() else ():
        pattern, arrow, buft = (word.strip() for word in part.partition("->"))
        if not pattern or (arrow and not buft):
            raise InputError(
                f"model_params.tensor_override: {part.strip()!r} is not 'REGEX' or 'REGEX -> BUFFER', such as "
                "'ffn_up -> CPU'; a comma separates two, so that a pattern cannot hold one"
            )
        found.append(Override(pattern, buft or CPU))
    return tuple(found)
