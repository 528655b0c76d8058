"""A script of a session from a file: JSON, or YAML for people; every key, value and total is checked here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from ..devices.known import DEVICES
from ..errors import InputError
from ..files.reading import read_bytes, unpack
from ..llama.flags import CACHE_TYPES
from .fields import (
    INT32,
    Reader,
    always,
    choice,
    flag,
    items,
    or_null,
    parts,
    power_of_two,
    shown,
    struct,
    text,
    whole,
)  # fmt: skip
from .script import CALLS, SCHEMA, ContextGiven, DeviceGiven, Group, ModelGiven, Script, Step
from .yaml_text import parse_yaml

MAX_BYTES = 16 << 20
"""Of a script, unpacked."""
MAX_STEPS = 100_000
MAX_REPEAT = 1_000_000
MAX_CALLS = 400_000
"""Steps with their repeats."""
MAX_TOKENS = 2_000_000
"""Of all decodes, with repeats."""
MAX_DECODES = 200_000
"""With repeats; so many micro-batches, too, as their tokens need at least."""
MAX_CELLS = 1 << 21
"""Of a context."""
MAX_SEQS = 256
"""LLAMA_MAX_SEQ."""
MAX_DEVICES = 15
"""With the CPU GGML_SCHED_MAX_BACKENDS."""
MAX_GROUPS = 10_000

_OUTPUTS = choice("last", "all", "none", "first", "default")
_SEQ = whole(0, MAX_SEQS - 1)
_ANY_SEQ = whole(-1, MAX_SEQS - 1)
_POS = whole(-1, INT32)


def _number_or_list(value: object, where: str) -> int | tuple[int, ...]:
    """A batch may name a sequence that the context does not have: llama_decode then says no."""
    one = whole(-1, 65535)
    found: int | tuple[int, ...] = (items(one, MAX_SEQS, 1) if isinstance(value, list) else one)(value, where)
    return found


def _layers(value: object, where: str) -> int | None:
    """Negative is llama.cpp's word for all."""
    number: int | None = or_null(whole(-2, 1 << 20))(value, where)
    return None if number is None or number < 0 else number


def _environment(value: object, where: str) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > 64:
        raise InputError(f"{where}: {shown(value)} is not an object with at most 64 names and values")
    found = {}
    for key, one in value.items():
        plain = str(int(one)) if isinstance(one, bool | int) else one  # YAML: NAME: 1
        found[text(200)(key, where)] = text(1000)(plain, f"{where}.{key[:200]}")
    return found


_CONTEXT: dict[str, Reader] = {
    "n_ctx": whole(0, MAX_CELLS),
    "n_batch": or_null(whole(1, MAX_CELLS)),
    "n_ubatch": whole(1, MAX_CELLS),
    "n_seq_max": whole(1, MAX_SEQS),
    "kv_unified": flag,
    "flash_attn": choice("off", "on", "auto"),
    "swa_full": flag,
    "embeddings": flag,
    "pooling_type": whole(-1, 4),
    "n_outputs_max": whole(0, MAX_CELLS),
    "offload_kqv": flag,
    "op_offload": flag,
    "n_rs_seq": whole(0, 256),
    "type_k": choice(*CACHE_TYPES),
    "type_v": choice(*CACHE_TYPES),
}
_DEVICE: dict[str, Reader] = {
    "name": text(60),
    "profile": choice("", *(name for name in DEVICES if name != "cpu")),
    "memory_mib": whole(1, 1 << 30),
    "alignment": or_null(power_of_two(1 << 20)),
    "async_events": or_null(flag),
    "host_buffer": or_null(flag),
    "max_size": or_null(whole(1, 1 << 60)),
    "alloc_limit": or_null(whole(0, 1 << 60)),
}
_MODEL: dict[str, Reader] = {
    "n_gpu_layers": _layers,
    "split_mode": choice("none", "layer"),
    "tensor_override": text(4096),
}
_GROUP: dict[str, Reader] = {
    "seq": _number_or_list,
    "n": whole(1, 1_000_000),
    "pos": or_null(whole(0, INT32)),
    "logits": or_null(_OUTPUTS),
}
_STEP: dict[str, Reader] = {
    "decode": items(struct(Group, _GROUP), MAX_GROUPS, 1),
    "seq_rm": parts(sequence=_ANY_SEQ, from_position=_POS, to_position=_POS),
    "seq_cp": parts(from_sequence=_SEQ, to_sequence=_SEQ, from_position=_POS, to_position=_POS),
    "seq_add": parts(sequence=_SEQ, from_position=_POS, to_position=_POS, added=whole(-INT32, INT32)),
    "clear": always,
    "set_embeddings": flag,
    "set_causal_attn": flag,
    "set_warmup": flag,
    "synchronize": always,
    "clear_cvec": always,
    "set_sampler": _SEQ,
    "set_abort": flag,
    "logits": _OUTPUTS,
    "input": choice("token", "embd"),
    "interleave": flag,
    "repeat": whole(1, MAX_REPEAT),
    "remove": flag,
}
_OF_DECODE = {"logits": "last", "input": "token", "interleave": False}
_any_step = struct(Step, {name: or_null(reader) if name in CALLS else reader for name, reader in _STEP.items()})


def _step(value: object, where: str) -> Step:
    """One call, and no options of another."""
    step = _any_step(value, where)
    calls = [name for name in CALLS if getattr(step, name) is not None]
    if len(calls) != 1:
        found = " and ".join(calls) if calls else "no call"
        raise InputError(f"{where}: {found}; a step is exactly one of {', '.join(CALLS)}")
    for name, usual in _OF_DECODE.items():
        if getattr(step, name) != usual and calls[0] != "decode":
            raise InputError(f"{where}.{name}: this belongs to a decode, the step is {calls[0]}")
    if step.remove and calls[0] != "set_sampler":
        raise InputError(f"{where}.remove: this belongs to set_sampler, the step is {calls[0]}")
    return step


_SCRIPT: dict[str, Reader] = {
    "schema": choice(SCHEMA),
    "name": text(200, free=True),
    "about": text(2000, free=True),
    "model": text(255),
    "context": struct(ContextGiven, _CONTEXT),
    "devices": items(struct(DeviceGiven, _DEVICE), MAX_DEVICES),
    "model_params": struct(ModelGiven, _MODEL),
    "env": _environment,
    "steps": items(_step, MAX_STEPS, 1),
}
_script = struct(Script, _SCRIPT)


def read_script(path: str | Path) -> Script:
    """Read a script, JSON or YAML by its content, plain or gzip.

    Raises:
        InputError: what is wrong, at which step and key, and what is allowed.
    """
    return parse_script(read_bytes(path), str(path))


def parse_script(data: bytes, name: str) -> Script:
    """The same from bytes; `name` is the file's name for messages.

    Raises:
        InputError: what is wrong, at which step and key, and what is allowed.
    """
    data = unpack(data, name)
    if len(data) > MAX_BYTES:
        raise InputError(f"{name}: larger than {MAX_BYTES >> 20} MiB, no script is")
    try:
        plain = _plain(data)
        if not isinstance(plain, dict):
            raise InputError(f"{shown(plain)} in place of a script, which is an object with model, context and steps")
        script = _script(plain, "")
        _check_whole(script)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return script


def _plain(data: bytes) -> Any:
    """Plain values of JSON, which a text that begins with a brace is taken for, or of YAML."""
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}") from None
    if source.lstrip()[:1] not in ("{", "["):
        return parse_yaml(source)
    try:
        plain = msgspec.json.decode(source)
        json.loads(source, object_pairs_hook=_no_key_twice)  # msgspec takes the last one
        return plain
    except msgspec.DecodeError as error:
        raise InputError(f"not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    except RecursionError:
        raise InputError("nested too deeply for a script") from None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> None:
    """Refuses an object that has a key twice.

    Raises:
        InputError: it has.
    """
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise InputError(f"the key {shown(key)} is given twice in one object")
        seen.add(key)


def _check_whole(script: Script) -> None:
    """What no single value shows: names, and totals before memory is taken for them."""
    if not script.model:
        raise InputError("the key 'model' is missing: the file name of a GGUF")
    if Path(script.model).name != script.model or script.model == ".." or "\\" in script.model:
        raise InputError(f"model: {shown(script.model)} is not a plain file name, without folders")
    names = [device.name for device in script.devices]
    for number, name in enumerate(names):
        if not name or name == "CPU" or name in names[:number]:
            raise InputError(f"devices[{number}].name: {shown(name)} is empty, CPU, or given twice")
    if not script.steps:
        raise InputError("the key 'steps' is missing: a list of calls such as {decode: [{seq: 0, n: 8}]}")
    calls = decodes = tokens = ubatches = 0
    for number, step in enumerate(script.steps):
        calls += step.repeat
        if step.decode is not None:
            n = sum(group.n for group in step.decode)
            decodes += step.repeat
            tokens += n * step.repeat
            ubatches += -(-n // script.context.n_ubatch) * step.repeat
        for total, most, what in (
            (tokens, MAX_TOKENS, "tokens"),
            (decodes, MAX_DECODES, "decodes"),
            (ubatches, MAX_DECODES, "ubatches"),
            (calls, MAX_CALLS, "calls"),
        ):
            if total > most:
                raise InputError(f"steps[{number}]: with it there are {total:,} {what}, at most {most:,} are played")


def model_path(script: Script, script_path: str | Path | None, models_folder: str | Path | None) -> Path:
    """Where the model of a script lies: beside the script, else in the folder of models.

    Raises:
        InputError: it lies in neither.
    """
    beside = [] if script_path is None else [Path(script_path).parent]
    folders = [*beside, *([] if models_folder is None else [Path(models_folder)])]
    for folder in folders:
        if os.path.isfile(folder / script.model):
            return folder / script.model
    looked = " and in ".join(str(folder) for folder in folders) or "no folder"
    more = "" if models_folder is not None else "; --models FOLDER names another"
    raise InputError(f"the model {script.model!r} of the session is missing: looked in {looked}{more}")
