"""Options that cannot be handed to llama.cpp at all; what it refuses by itself it says by itself."""

from __future__ import annotations

from ..devices.known import DEVICES
from ..errors import InputError, nearest
from ..llama.options import Options
from ..llama.overrides import MAX_OVERRIDES

MOST = (1 << 31) - 1
MOST_SEQUENCES = 256
"""LLAMA_MAX_SEQ."""
MOST_DEVICES = 15
"""GGML_SCHED_MAX_BACKENDS with the CPU."""


def check(options: Options) -> None:
    """Numbers in range, devices that exist.

    Raises:
        InputError: with the option's name.
    """
    for name, value, least in (
        ("-c", options.n_ctx, 0),
        ("-b", options.n_batch, 1),
        ("-ub", options.n_ubatch, 1),
        ("-np", options.n_seq_max, 1),
        ("-ngl", options.n_gpu_layers, 0),
        ("-mg", options.main_gpu, -1),
        ("--n-cpu-moe", options.n_cpu_moe, 0),
        ("--n-tokens", options.n_tokens, 1),
        ("--n-outputs", options.n_outputs, 1),
    ):
        most = {"-np": MOST_SEQUENCES, "--n-cpu-moe": MAX_OVERRIDES}.get(name, MOST)
        if value is not None and not least <= value <= most:
            raise InputError(f"{name} {value}: a number from {least} to {most} is expected")
    unknown = next((spec.profile for spec in options.devices if spec.profile not in DEVICES), None)
    if unknown is not None:
        raise InputError(f"{unknown!r} is not a device{nearest(unknown, DEVICES)}; known: {', '.join(DEVICES)}")
    types = [DEVICES[spec.profile].type for spec in options.devices]
    if types.count("cpu") > 1:
        raise InputError("--device cpu is given twice; there is one CPU")
    if len(types) - types.count("cpu") > MOST_DEVICES:
        raise InputError(f"{len(types) - types.count('cpu')} devices: ggml allows {MOST_DEVICES} beside the CPU")
    gpus = sum(kind in ("gpu", "igpu") for kind in types)
    if len(options.tensor_split) > max(gpus, 1):
        raise InputError(f"-ts has {len(options.tensor_split)} proportions, there are {gpus} GPUs")
    if len(options.overrides) + options.n_cpu_moe > MAX_OVERRIDES:
        raise InputError(f"more than {MAX_OVERRIDES} -ot patterns and --n-cpu-moe layers")
