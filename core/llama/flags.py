"""The flags of llama.cpp's tools, one line each: names, meaning, how a value is read and written.

The command line, the page's panel, addresses and pasted commands all read this one table, so an option is the same
everywhere. Source: common/arg.cpp, llama.cpp b11549.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..dtypes import DTYPES, DType
from ..errors import InputError, nearest
from .options import DeviceSpec, FlashAttn, Options, Override, SplitMode
from .overrides import parse_overrides

MOST = (1 << 31) - 1
"""llama.cpp reads these numbers as int32."""
MAX_DEVICES = 15
"""ggml allows 16 backends, and the CPU is one of them."""
MAX_PATTERN = 400
"""Longest `-ot` pattern (characters)."""
MAX_OVERRIDES = 256
CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
"""kv_cache_types of common/arg.cpp."""


class Flag(msgspec.Struct, frozen=True):
    """One flag.

    Attributes:
        field: the attribute of `Options` it sets.
        names: as llama.cpp spells it, the one to print first.
        metavar: name of its value, empty for a switch.
        help: a line.
        read: from text to a value; ValueError with what is expected, or InputError.
        show: from a value to text; the texts of a repeated flag.
        repeat: it may be given several times and collects.
        switch: the value that giving it means, for a switch.
        undo: the switch's opposite, which llama.cpp has too.
        group: heading in the page's panel.
        choices: the values a menu offers; empty for free text.
    """

    field: str
    names: tuple[str, ...]
    metavar: str
    help: str
    read: Callable[[str], Any] = str
    show: Callable[[Any], list[str]] = lambda value: [str(value)]
    repeat: bool = False
    switch: bool | None = None
    undo: tuple[str, ...] = ()
    group: str = "model"
    choices: tuple[str, ...] = ()


def _number(least: int, what: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.strip().lstrip("-").isdecimal() and len(text) < 20 else None
        if number is not None and number > MOST:
            raise ValueError(f"{what}, {MOST} at most")
        if number is None or number < least:
            raise ValueError(f"{what}, {least} or more")
        return number

    return read


def _n_ctx(text: str) -> int | None:
    return _number(0, "a number of tokens")(text)


def _layers(text: str) -> int | None:
    if text in ("all", "auto"):
        return None
    number = _number(-2, "a number of layers, or all")(text)
    return None if number < 0 else number


def _cache_type(text: str) -> DType:
    if text not in CACHE_TYPES:
        raise ValueError(f"one of {', '.join(CACHE_TYPES)}{nearest(text, CACHE_TYPES)}")
    return DTYPES[text]


FLASH_WORDS = {
    "on": FlashAttn.ON,
    "1": FlashAttn.ON,
    "off": FlashAttn.OFF,
    "0": FlashAttn.OFF,
    "auto": FlashAttn.AUTO,
    "-1": FlashAttn.AUTO,
}
"""What `-fa` takes."""


def _flash(text: str) -> FlashAttn:
    if text not in FLASH_WORDS:
        raise ValueError("on, off or auto")
    return FLASH_WORDS[text]


def _split_mode(text: str) -> SplitMode:
    if text in ("row", "tensor"):
        raise ValueError(f"none or layer ({text} needs buffers that galloscope does not model)")
    if text not in SplitMode.__members__.values():
        raise ValueError("none or layer")
    return SplitMode(text)


def _tensor_split(text: str) -> tuple[float, ...]:
    parts = text.replace("/", ",").split(",")
    try:
        found = tuple(float(part) for part in parts if part.strip())
    except ValueError:
        found = ()
    if not found or len(found) > MAX_DEVICES or any(not 0 <= one < 1e9 for one in found) or not any(found):
        raise ValueError(f"up to {MAX_DEVICES} proportions such as 3,1, not all of them 0")
    return found


def _overrides(text: str) -> tuple[Override, ...]:
    made = parse_overrides(text)
    if any(len(one.pattern) > MAX_PATTERN or len(one.buft) > 63 for one in made):
        raise ValueError(f"patterns of at most {MAX_PATTERN} characters and a buffer type's name")
    return made


def _device(text: str) -> tuple[DeviceSpec, ...]:
    from ..devices.spec import parse_device  # brings every profile along, and most commands name none

    return (parse_device(text),)


def _device_texts(value: tuple[DeviceSpec, ...]) -> list[str]:
    from ..devices.spec import device_text

    return [device_text(one) for one in value]


def _proportions(value: tuple[float, ...]) -> list[str]:
    return [",".join(f"{one:g}" for one in value)]


FLAGS: tuple[Flag, ...] = (
    Flag("devices", ("--device",), "NAME[:MEMORY]", "a device; repeat it in priority order (see: galloscope devices)",
         _device, _device_texts, repeat=True, group="devices"),
    Flag("n_gpu_layers", ("-ngl", "--gpu-layers", "--n-gpu-layers"), "N", "layers on the GPUs (default: all)",
         _layers, lambda value: ["all" if value is None else str(value)], group="devices"),
    Flag("split_mode", ("-sm", "--split-mode"), "MODE", "none: one GPU, layer: layers over all GPUs (default)",
         _split_mode, lambda value: [value.value], group="devices", choices=("layer", "none")),
    Flag("tensor_split", ("-ts", "--tensor-split"), "N0,N1,...", "proportions per GPU (default: free memory)",
         _tensor_split, _proportions, group="devices"),
    Flag("main_gpu", ("-mg", "--main-gpu"), "INDEX", "with -sm none, the GPU that gets everything (0)",
         _number(0, "an index of a GPU"), group="devices"),
    Flag("overrides", ("-ot", "--override-tensor"), "PATTERN=BUFT,...", "weights of matching names go to a buffer type",
         _overrides, lambda value: [f"{one.pattern}={one.buft}" for one in value], repeat=True, group="devices"),
    Flag("n_cpu_moe", ("--n-cpu-moe", "-ncmoe"), "N", "experts of the first N layers stay on the CPU",
         _number(0, "a number of layers"), group="devices"),
    Flag("n_ctx", ("-c", "--ctx-size"), "N", "context in tokens, 0 for the model's (default 4096 at most)",
         _n_ctx, lambda value: [] if value is None else [str(value)], group="context"),
    Flag("n_batch", ("-b", "--batch-size"), "N", "tokens of a logical batch (default 2048)",
         _number(1, "a number of tokens"), group="context"),
    Flag("n_ubatch", ("-ub", "--ubatch-size"), "N", "tokens of a micro-batch (default 512)",
         _number(1, "a number of tokens"), group="context"),
    Flag("n_seq_max", ("-np", "--parallel"), "N", "sequences at a time (default 1)",
         _number(1, "a number of sequences"), group="context"),
    Flag("flash_attn", ("-fa", "--flash-attn"), "on|off|auto", "flash attention (default auto)",
         _flash, lambda value: [value.value], group="context", choices=("auto", "on", "off")),
    Flag("type_k", ("-ctk", "--cache-type-k"), "TYPE", "element type of the K cache (default f16)",
         _cache_type, lambda value: [value.name], group="context", choices=CACHE_TYPES),
    Flag("type_v", ("-ctv", "--cache-type-v"), "TYPE", "element type of the V cache (default f16)",
         _cache_type, lambda value: [value.name], group="context", choices=CACHE_TYPES),
    Flag("kv_unified", ("-kvu", "--kv-unified"), "", "one cache for all sequences", switch=True,
         undo=("-no-kvu", "--no-kv-unified"), group="context"),
    Flag("swa_full", ("--swa-full",), "", "window layers keep the whole context", switch=True, group="context"),
    Flag("offload_kqv", ("-nkvo", "--no-kv-offload"), "", "cache and attention stay on the CPU", switch=False,
         undo=("-kvo", "--kv-offload"), group="devices"),
    Flag("op_offload", ("--no-op-offload",), "", "no op of a host weight moves to a GPU", switch=False,
         undo=("--op-offload",), group="devices"),
    Flag("no_host", ("--no-host",), "", "no pinned host buffers", switch=True, group="devices"),
    Flag("repack", ("--repack",), "", "the CPU may repack weights (off by default here)", switch=True,
         undo=("-nr", "--no-repack"), group="devices"),
    Flag("n_tokens", ("--n-tokens",), "N", "tokens of the prefill graph (default: a whole micro-batch)",
         _number(1, "a number of tokens"), lambda value: [] if value is None else [str(value)], group="graph"),
    Flag("n_outputs", ("--n-outputs",), "N", "tokens whose logits are wanted (default: all)",
         _number(1, "a number of tokens"), lambda value: [] if value is None else [str(value)], group="graph"),
)  # fmt: skip
"""In the order of the panel and of a printed command."""

BY_NAME: dict[str, Flag] = {name: flag for flag in FLAGS for name in (*flag.names, *flag.undo)}


def read_value(flag: Flag, name: str, text: str) -> Any:
    """The value of a flag given as text.

    Raises:
        InputError: it is not what the flag takes.
    """
    try:
        text.encode()
    except UnicodeEncodeError:  # an argument of bytes that are no UTF-8
        raise InputError(f"{name} {text}: not UTF-8") from None
    try:
        return flag.read(text)
    except ValueError as error:
        raise InputError(f"{name} {text}: expected {error}") from None


def set_value(values: dict[str, Any], flag: Flag, value: Any, name: str) -> None:
    """Put a value among those of other flags; one that repeats is appended.

    Raises:
        InputError: too many of them.
    """
    if not flag.repeat:
        values[flag.field] = value
        return
    values[flag.field] = (*values.get(flag.field, ()), *value)
    most = MAX_DEVICES + 1 if flag.field == "devices" else MAX_OVERRIDES
    if len(values[flag.field]) > most:
        raise InputError(f"{name}: given {len(values[flag.field])} times, {most} are allowed")


def words(options: Options) -> list[str]:
    """The options as arguments, defaults left out; `read_words` of them gives equal options.

    >>> words(Options(n_ctx=8192, op_offload=False))
    ['-c', '8192', '--no-op-offload']
    """
    usual = Options()
    given = {flag.field: getattr(options, flag.field) for flag in FLAGS}
    return given_words({field: value for field, value in given.items() if value != getattr(usual, field)})


def given_words(given: Mapping[str, Any]) -> list[str]:
    """Options by the attribute of `Options` as arguments, those that are llama.cpp's defaults too.

    >>> given_words({"op_offload": True, "n_ctx": 4096})
    ['-c', '4096', '--op-offload']
    """
    out: list[str] = []
    for flag in FLAGS:
        if flag.field not in given:
            continue
        value = given[flag.field]
        if flag.switch is not None:
            out += (flag.names if value == flag.switch else flag.undo)[:1]
        else:
            for text in flag.show(value):
                out += [flag.names[0], text]
    return out
