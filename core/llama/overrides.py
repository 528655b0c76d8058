"""-ot and --n-cpu-moe: patterns of tensor names with the buffer type they ask for (common/arg.cpp, common.h)."""

from __future__ import annotations

from collections.abc import Collection

from ..errors import InputError, nearest
from .options import Options, Override

EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""LLM_FFN_EXPS_REGEX: what --cpu-moe and --n-cpu-moe catch."""

MAX_LAYERS = 512
"""LLAMA_MAX_LAYERS."""

MAX_OVERRIDES = 4095
"""llama_max_tensor_buft_overrides, less the empty one at the end."""


def parse_overrides(text: str) -> tuple[Override, ...]:
    """The value of one `-ot`: `PATTERN=BUFFER TYPE`, several separated by commas; a pattern cannot hold `,` or `=`.

    >>> parse_overrides("exps=CPU")
    (Override(pattern='exps', buft='CPU'),)

    Raises:
        InputError: a part has no `=`, or is empty.
    """
    overrides = []
    for part in text.split(","):
        pattern, equals, buft = part.partition("=")
        if not equals or not buft:
            raise InputError(
                f"-ot: {part!r} is not PATTERN=BUFFER TYPE, such as exps=CPU; "
                "a comma separates two, so that a pattern cannot hold one"
            )
        overrides.append(Override(pattern, buft.strip()))
    return tuple(overrides)


def cpu_moe(count: int) -> tuple[Override, ...]:
    """What `--n-cpu-moe COUNT` stands for (llm_add_n_cpu_ffn_overrides), without layers that no model has."""
    return tuple(Override(rf"blk\.{layer}{EXPERTS}", "CPU") for layer in range(min(count, MAX_LAYERS)))


def all_overrides(options: Options) -> tuple[Override, ...]:
    """Everything that moves weights by name, in the order llama.cpp tries it: `-ot` first, then `--n-cpu-moe`.

    llama.cpp keeps the order of the command line; where both catch a tensor, give `-ot` first there too.

    Raises:
        InputError: there are too many, or the number of layers is negative.
    """
    if options.n_cpu_moe < 0:
        raise InputError(f"--n-cpu-moe is {options.n_cpu_moe}, it counts layers from 0")
    if len(options.overrides) + options.n_cpu_moe > MAX_OVERRIDES:
        count = len(options.overrides) + options.n_cpu_moe
        raise InputError(f"{count} overrides of buffer types, llama.cpp takes up to {MAX_OVERRIDES}")
    return options.overrides + cpu_moe(options.n_cpu_moe)


def check_bufts(overrides: Collection[Override], known: Collection[str]) -> None:
    """Every override names a buffer type that is there.

    Raises:
        InputError: one does not; names those that are.
    """
    for one in overrides:
        if one.buft not in known:
            raise InputError(
                f"-ot {one.pattern}={one.buft}: unknown buffer type{nearest(one.buft, known)}; "
                f"available: {', '.join(known)}"
            )
