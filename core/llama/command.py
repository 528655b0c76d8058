"""The options as the llama.cpp command that would do the same."""

from __future__ import annotations

import shlex

from ..devices.known import DEVICES, device_names
from .flags import FLAGS
from .options import Options, SplitMode

_ALWAYS = ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "flash_attn", "type_k", "type_v")
"""Printed whatever they are: the defaults of llama.cpp's tools differ in these."""
_OURS = ("devices", "n_gpu_layers", "n_tokens", "n_outputs", "repack")
"""Said in another way, or not at all."""


def command(options: Options, model: str) -> str:
    """One line for a shell: every value that decides is spelled out, and the automatic fitting is off.

    Args:
        options: with defaults filled in.
        model: the file's name.

    >>> command(Options(n_ctx=4096), "m.gguf")
    'llama-server -m m.gguf -dev none -c 4096 -b 2048 -ub 512 -np 1 -fa auto -ctk f16 -ctv f16 --no-repack -fit off'
    """
    usual = Options()
    gpus = gpu_names(options)
    words = ["llama-server", "-m", model, "-dev", ",".join(gpus) or "none"]
    if gpus:
        words += ["-ngl", "all" if options.n_gpu_layers is None else str(options.n_gpu_layers)]
    for flag in FLAGS:
        value = getattr(options, flag.field)
        if flag.field in _OURS or (flag.field == "main_gpu" and options.split_mode is not SplitMode.NONE):
            continue
        if flag.field not in _ALWAYS and value == getattr(usual, flag.field):
            continue
        name = flag.names[0]
        words += [name] if flag.switch is not None else [word for text in flag.show(value) for word in (name, text)]
    if options.n_seq_max > 1 and not options.kv_unified:
        words.append("-no-kvu")
    return shlex.join([*words, "--repack" if options.repack else "--no-repack", "-fit", "off"])


def gpu_names(options: Options) -> list[str]:
    """llama.cpp's names of the devices that `-dev` chooses among, in order: CUDA0, CUDA1, Vulkan0 ..."""
    profiles = [DEVICES[spec.profile] for spec in options.devices]
    named = zip(profiles, device_names(profiles), strict=True)
    return [name for profile, name in named if profile.type in ("gpu", "igpu")]
