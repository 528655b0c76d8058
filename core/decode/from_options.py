"""A script under options of llama.cpp: what a user gives on the command line in place of what the script says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import InputError, printable
from ..gguf.header import Header
from ..llama.flags import given_words
from ..llama.machine import Device, devices_of
from ..llama.options import DeviceSpec, Options, Override, SplitMode
from ..llama.overrides import EXPERTS
from .read import parse_script
from .script import ContextGiven, DeviceGiven, ModelGiven, Script, Step
from .script_options import read_overrides
from .write import write_script

MIB = 1 << 20
USUAL_BATCH = Options().n_batch
"""What llama.cpp's tools take for -b where only -ub is given."""
MOST_TOLD = 500
"""Letters of the options in the script's sentence about itself."""
OF_GRAPHS = ("n_tokens", "n_outputs")
"""Options about which graph is shown; a session makes its graphs itself."""

_CONTEXT = ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "kv_unified", "swa_full", "offload_kqv", "op_offload")
_LIMITS = ("align", "max_size")


def under_options(script: Script, given: Mapping[str, Any], *, causal: bool = True) -> Script:
    """The script with the given options in place of its own, which its sentence about itself then says.

    A batch that the script's own context took is taken under the options too: n_batch is raised for it.

    Args:
        script: checked.
        given: options by the attribute of `Options`, only those that were given; `arguments.read_given` reads them.
        causal: the model's attention is; else llama.cpp limits n_batch by no context, and takes a batch in one ubatch.

    Raises:
        InputError: a script cannot say an option, its value is out of range, or a batch would end the process.
    """
    used = {field: value for field, value in given.items() if field not in OF_GRAPHS}
    if not used:
        return script
    made = msgspec.structs.replace(
        script,
        context=_context(script.context, used),
        devices=_devices(used["devices"]) if "devices" in used else script.devices,
        model_params=_model(script.model_params, used),
    )
    _check_sayable(made, used)
    made = _fitting(script, made, used, causal)
    line = printable(shlex.join(given_words(used)))
    _check(made, line)
    return msgspec.structs.replace(made, about=f"{script.about} {_told(made, used, line)}".strip())


def is_causal(header: Header) -> bool:
    """Whether a token sees only earlier ones, as `CacheFacts.causal`."""
    return header.get("attention.causal") is not False


def _context(own: ContextGiven, used: Mapping[str, Any]) -> ContextGiven:
    changed = {field: used[field] for field in _CONTEXT if field in used}
    if "n_ubatch" in used and "n_batch" not in used:
        changed["n_batch"] = USUAL_BATCH
    if "flash_attn" in used:
        changed["flash_attn"] = used["flash_attn"].value
    for field in ("type_k", "type_v"):
        if field in used:
            changed[field] = used[field].name
    return msgspec.structs.replace(own, **changed)


def _model(own: ModelGiven, used: Mapping[str, Any]) -> ModelGiven:
    changed: dict[str, Any] = {}
    if "n_gpu_layers" in used:
        changed["n_gpu_layers"] = used["n_gpu_layers"]
    if "split_mode" in used:
        changed["split_mode"] = used["split_mode"].value
    if "overrides" in used or used.get("n_cpu_moe"):
        asked = used["overrides"] if "overrides" in used else read_overrides(own.tensor_override)
        changed["tensor_override"] = _override_text((*asked, *_experts(used.get("n_cpu_moe", 0))))
    return msgspec.structs.replace(own, **changed)


def _experts(n_layers: int) -> tuple[Override, ...]:
    """--n-cpu-moe in one pattern, so that it stays short."""
    layers = "|".join(map(str, range(n_layers)))
    return (Override(rf"blk\.({layers}){EXPERTS}", "CPU"),) if n_layers else ()


def _override_text(overrides: Sequence[Override]) -> str:
    """`REGEX -> BUFFER`, several with commas.

    Raises:
        InputError: a pattern cannot be written like that.
    """
    for one in overrides:
        text = f"{one.pattern} -> {one.buft}"
        if not one.pattern.strip() or read_overrides(text) != (one,):
            raise InputError(
                f"-ot {one.pattern}={one.buft}: a session writes a pattern as 'REGEX -> BUFFER', so it is not empty, "
                "holds no comma and no '->', and does not begin or end with a space; write it without"
            )
    return ", ".join(f"{one.pattern} -> {one.buft}" for one in overrides)


def _devices(specs: Sequence[DeviceSpec]) -> tuple[DeviceGiven, ...]:
    """The devices as a script has them; the CPU is always there."""
    found = [_device(one) for one in devices_of(Options(devices=tuple(specs)))]
    return tuple(one for one in found if one is not None)


def _device(one: Device) -> DeviceGiven | None:
    """One device under llama.cpp's name; None for the plain CPU.

    Raises:
        InputError: it is no GPU, or something about it cannot be said in a script.
    """
    spec, where = one.spec, f"--device {one.spec.profile}"
    if one.profile.type == "cpu":
        if spec.memory is not None or spec.limits:
            raise InputError(f"{where}: a session takes the CPU as it is; leave out its memory and limits")
        return None
    if one.profile.type not in ("gpu", "igpu"):
        raise InputError(f"{where}: a session has GPUs and the CPU; leave this device out")
    others = [name for name in spec.limits if name not in _LIMITS]
    if others:
        raise InputError(f"{where}: a session takes the limits {' and '.join(_LIMITS)}; leave out {others[0]}")
    if one.profile.memory % MIB:
        raise InputError(f"{where}: a session counts memory in whole MiB; say {one.profile.memory // MIB}MiB")
    return DeviceGiven(
        name=one.name,
        profile=spec.profile,
        memory_mib=one.profile.memory // MIB,
        alignment=spec.limits.get("align"),
        max_size=spec.limits.get("max_size"),
    )


def _check_sayable(made: Script, used: Mapping[str, Any]) -> None:
    """Refuse options that a script has no word for; llama.cpp's defaults need none."""
    if used.get("tensor_split"):
        raise InputError(
            f"{' '.join(given_words({'tensor_split': used['tensor_split']}))}: a session divides layers by the memory "
            "of the devices; say the proportions with it, such as --device cuda:18GiB --device cuda:6GiB for 3,1"
        )
    if used.get("main_gpu") and made.model_params.split_mode == SplitMode.NONE.value:
        raise InputError(
            f"-mg {used['main_gpu']}: with -sm none a session uses the first device; name that --device first"
        )
    if used.get("no_host"):
        raise InputError(
            "--no-host: a session has no word for it; save the script and give its devices host_buffer: false, for "
            "GPUs without pinned memory"
        )
    if used.get("repack"):
        raise InputError("--repack: a session leaves the weights of the CPU as they are in the file; leave it out")


def _fitting(own: Script, made: Script, used: Mapping[str, Any], causal: bool) -> Script:
    """The script with room for its longest batch, where it had room before.

    Raises:
        InputError: the options leave none; llama_decode would end the process (GGML_ASSERT).
    """
    number, longest = _longest(made.steps)
    if longest > _room(own.context, causal) or longest <= _room(made.context, causal):
        return made
    where, context = f"steps[{number}] decodes {longest:,} tokens at once", made.context
    if causal and 0 < context.n_ctx < longest:
        raise InputError(
            f"-c {context.n_ctx}: {where}, and llama.cpp takes no batch that is longer than the context: its process "
            f"ends there; say -c {longest} or more"
        )
    if "n_batch" in used and used["n_batch"] < longest:
        raise InputError(
            f"-b {used['n_batch']}: {where}, and llama.cpp takes no batch of more tokens than -b: its process ends "
            f"there; say -b {longest} or more"
        )
    if not causal and context.n_ubatch < longest:
        raise InputError(
            f"-ub {context.n_ubatch}: {where}, and a model without causal attention needs a batch in one ubatch: the "
            f"process ends there; say -ub {longest} or more"
        )
    return msgspec.structs.replace(made, context=msgspec.structs.replace(context, n_batch=longest))


def _longest(steps: Sequence[Step]) -> tuple[int, int]:
    """Number and tokens of the step with the longest batch."""
    sizes = [sum(group.n for group in step.decode or ()) for step in steps]
    longest = max(sizes, default=0)
    return (sizes.index(longest) if sizes else 0), longest


def _room(context: ContextGiven, causal: bool) -> int:
    """Tokens of a batch that llama_decode takes; with the model's own context the file is not asked."""
    n_batch = context.n_ubatch if context.n_batch is None else context.n_batch
    if not causal:
        return min(n_batch, context.n_ubatch)
    return min(context.n_ctx, n_batch) if context.n_ctx else n_batch


def _check(made: Script, line: str) -> None:
    """Everything that is checked of a script from a file, so that it can be written down and read again."""
    plain = msgspec.structs.replace(made, name="", about="", model="model.gguf")
    parse_script(write_script(plain), f"under {line[:MOST_TOLD]}")


def _told(made: Script, used: Mapping[str, Any], line: str) -> str:
    """A sentence about the options."""
    short = line if len(line) <= MOST_TOLD else line[: MOST_TOLD - 1] + "…"
    alone = not made.devices and any(field in used for field in ("n_gpu_layers", "split_mode"))
    return f"Under {short}." + (" No --device is named: all layers are on the CPU." if alone else "")
